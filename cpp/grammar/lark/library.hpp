// The grammars that every Lark file can import without a folder: the terminals of Lark's `common` and `unicode`, in
// definitions of our own.
#pragma once

#include <string>
#include <string_view>

namespace glr::lark {

// The text of a grammar of the library, or an empty view.
std::string_view library_text(std::string_view name);

// Whether `common` defines the terminal.
bool in_common(std::string_view terminal);

}  // namespace glr::lark
