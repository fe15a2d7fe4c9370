// Names and languages are Lark's. Patterns avoid reluctant quantifiers and look-around, which cost more.
#include "grammar/lark/library.hpp"

#include <string>

namespace glr::lark {
namespace {

constexpr std::string_view kCommon = R"lark(
DIGIT: /[0-9]/
HEXDIGIT: /[0-9a-fA-F]/
INT: /[0-9]+/
SIGNED_INT: /[-+]?[0-9]+/
DECIMAL: /[0-9]+\.[0-9]*|\.[0-9]+/
_EXP: /[eE][-+]?[0-9]+/
FLOAT: INT _EXP | DECIMAL _EXP?
SIGNED_FLOAT: /[-+]/? FLOAT
NUMBER: FLOAT | INT
SIGNED_NUMBER: /[-+]/? NUMBER

_STRING_INNER: /[^\n]*?/
_STRING_ESC_INNER: /(?:[^"\\\n]|\\[^\n])*/
ESCAPED_STRING: /"(?:[^"\\\n]|\\[^\n])*"/

LCASE_LETTER: /[a-z]/
UCASE_LETTER: /[A-Z]/
LETTER: /[a-zA-Z]/
WORD: /[a-zA-Z]+/
CNAME: /[a-zA-Z_][a-zA-Z0-9_]*/

WS_INLINE: /[ \t]+/
WS: /[ \t\f\r\n]+/
CR: /\r/
LF: /\n/
NEWLINE: /(?:\r?\n)+/

SH_COMMENT: /#[^\n]*/
CPP_COMMENT: /\/\/[^\n]*/
C_COMMENT: /\/\*(?:[^*]|\*+[^*\/])*\*+\//
SQL_COMMENT: /--[^\n]*/
)lark";

constexpr std::string_view kUnicode = R"lark(
WS_INLINE: /[ \t\xA0]+/
WS: /[ \t\xA0\f\r\n]+/
)lark";

}  // namespace

std::string_view library_text(std::string_view name) {
  if (name == "common") return kCommon;
  if (name == "unicode") return kUnicode;
  return {};
}

bool in_common(std::string_view terminal) {
  return kCommon.find("\n" + std::string(terminal) + ":") != std::string_view::npos;
}

}  // namespace glr::lark
