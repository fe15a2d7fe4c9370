// Whole files.
#pragma once

#include <string>
#include <string_view>

namespace glr {

// Of a regular file. Throws std::filesystem::filesystem_error.
std::string read_file(const std::string& path);

// Puts a file with these bytes at `path`, in one step: whoever looks sees the old file or the whole new one, also when
// the machine stops half way. Throws std::filesystem::filesystem_error; what was there is then still there.
void replace_file(const std::string& path, std::string_view bytes);

}  // namespace glr
