// How this front end refuses.
#pragma once

#include <string>
#include <string_view>

#include "grammar/diagnostic.hpp"

namespace glr::json_schema {

// "schema#/properties/a: unsupported keyword 'x'". `pointer` is "#" or "#/...".
[[noreturn]] inline void fail(std::string_view file, const std::string& pointer, DiagnosticKind kind,
                              std::string detail, std::string hint = "") {
  throw SchemaError(grammar_error(std::string(file) + pointer, {kind, {}, std::move(detail), std::move(hint)}),
                    pointer);
}

// One more step of a pointer, escaped as RFC 6901 has it.
inline std::string step(const std::string& pointer, std::string_view key) {
  std::string out = pointer + '/';
  for (const char c : key) {
    if (c == '~')
      out += "~0";
    else if (c == '/')
      out += "~1";
    else
      out += c;
  }
  return out;
}

}  // namespace glr::json_schema
