// What every grammar text has to be before a reader looks at it.
#pragma once

#include <cstddef>
#include <string_view>

namespace glr {

constexpr std::size_t kMaxSource = std::size_t{1} << 30;  // bytes; keeps every id within 32 bits
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// UTF-8 without NUL, of at most kMaxSource bytes. Throws GrammarError otherwise.
void check_source(std::string_view source, std::string_view file);

}  // namespace glr
