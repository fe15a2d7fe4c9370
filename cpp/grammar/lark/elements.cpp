#include "grammar/lark/reader.hpp"

#include <optional>

#include "grammar/json_schema/value.hpp"
#include "support/utf8.hpp"

namespace glr::lark {
namespace {

constexpr std::uint32_t kMaxTokenId = 0x7FFFFFFF;
constexpr std::size_t kMostTokens = 65'536;  // that a file may name by ids and ranges: each is a node

std::optional<char32_t> hex_digit(char c) {
  if (is_digit(c)) return static_cast<char32_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<char32_t>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<char32_t>(c - 'A' + 10);
  return std::nullopt;
}

}  // namespace

// Elements.

void Reader::read_reference() {
  const std::size_t begin = at_;
  const std::string_view name = expect_name("a name");
  const Span where = span(begin, at_);
  const std::uint32_t index = text(std::string(name));
  if (peek() == '{') {
    std::size_t inside = 1;
    while (peek(inside) == ' ' || peek(inside) == '\t') ++inside;
    if (!is_digit(peek(inside)) && peek(inside) != ',') return open_group('{', begin, index);
  }
  const std::size_t end = at_;
  skip_blanks();
  if (peek() == ':') fail_misplaced_definition(name, where);
  at_ = end;
  add_element(add({.kind = Kind::Name, .span = where, .text = index}), begin);
}

void Reader::read_text() {
  const std::size_t begin = at_;
  bool ignore_case = false;
  std::string value = read_string(ignore_case);
  const std::size_t end = at_;
  skip_blanks();
  if (take("..")) {
    if (ignore_case) fail(DiagnosticKind::Unexpected, span(end - 1, end), "'i' in a range", "a range has no flags");
    return read_range(begin, value);
  }
  at_ = end;
  const std::uint32_t index = text(std::move(value));
  add_element(add({.kind = Kind::Text, .span = span(begin, end), .text = index, .ignore_case = ignore_case}), begin);
}

void Reader::read_range(std::size_t begin, const std::string& from) {
  skip_blanks();
  if (peek() != '"') {
    fail(DiagnosticKind::Expected, here(), "the end of a range after '..', found " + found(),
         "a range is written \"a\"..\"z\"");
  }
  bool ignore_case = false;
  const std::string to = read_string(ignore_case);
  const auto single = [&](const std::string& text) -> char32_t {
    const DecodedCodePoint c = decode_utf8(text, 0);
    if (!text.empty() && c.length == text.size()) return c.value;
    fail(DiagnosticKind::Expected, span(begin, at_), "one character at each end of a range",
         "a range is written \"a\"..\"z\"");
  };
  const char32_t first = single(from);
  const char32_t last = single(to);
  if (ignore_case) fail(DiagnosticKind::Unexpected, span(at_ - 1, at_), "'i' in a range", "a range has no flags");
  if (last < first) {
    fail(DiagnosticKind::InvertedRange, span(begin, at_), quoted(source_.substr(begin, at_ - begin)),
         "a range goes from the lower code point to the higher");
  }
  add_element(add({.kind = Kind::Range, .span = span(begin, at_), .first_code_point = first, .last_code_point = last}),
              begin);
}

// At the opening quote.
std::string Reader::read_string(bool& ignore_case) {
  const std::size_t begin = at_++;
  std::string value;
  for (;;) {
    const std::size_t stop = source_.find_first_of("\"\\\r\n", at_);
    if (stop == std::string_view::npos || is_newline(source_[stop])) fail_unterminated("text", begin, "\"");
    value += source_.substr(at_, stop - at_);
    at_ = stop;
    if (peek() == '"') break;
    if (at_ + 1 == source_.size() || is_newline(peek(1))) fail_unterminated("text", begin, "\"");
    if (const char32_t c = read_escape(value); c != 0) append_utf8(value, c);
  }
  ++at_;
  ignore_case = peek() == 'i' && !is_name(peek(1));
  if (ignore_case) ++at_;
  if (!ignore_case && peek() == 'i') {
    fail(DiagnosticKind::Unexpected, here(), found() + " after a text",
         "the flag of a text is i: \"select\"i; a name is written apart");
  }
  return value;
}

// What is no code point by itself is added to `out`, and 0 returned.
char32_t Reader::read_escape(std::string& out) {
  const std::size_t begin = at_++;
  const char kind = peek();
  switch (kind) {
    case 'n':
      ++at_;
      return '\n';
    case 'r':
      ++at_;
      return '\r';
    case 't':
      ++at_;
      return '\t';
    case 'f':
      ++at_;
      return '\f';
    case '\\':
    case '"':
      ++at_;
      return static_cast<char32_t>(kind);
    case 'x':
    case 'u':
    case 'U':
      break;
    default: {
      const DecodedCodePoint c = decode_utf8(source_, at_);
      at_ += c.length;
      const std::string_view escape = source_.substr(begin, at_ - begin);
      if (c.length == 1 && is_name(kind)) {
        fail(DiagnosticKind::BadEscape, span(begin, at_), quoted(escape),
             "Lark reads two characters here; write \\" + std::string(escape) +
                 " for these, or one of \\n \\r \\t \\f \\\\ \\\" \\xHH \\uHHHH \\UHHHHHHHH");
      }
      out += escape;  // as Lark has it: the backslash is a character of the text
      return 0;
    }
  }
  ++at_;
  const std::size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : 8;
  char32_t value = 0;
  for (std::size_t i = 0; i < digits; ++i, ++at_) {
    const auto digit = hex_digit(peek());
    if (!digit) {
      fail(DiagnosticKind::BadEscape, span(begin, at_), quoted(source_.substr(begin, at_ - begin)),
           std::string("\\") + kind + " is followed by " + std::to_string(digits) + " hexadecimal digits");
    }
    value = value << 4 | *digit;
  }
  if (!is_scalar_value(value)) {
    fail(DiagnosticKind::BadCodePoint, span(begin, at_), quoted(source_.substr(begin, at_ - begin)),
         value > kMaxCodePoint ? "the largest code point is U+10FFFF"
                               : "a code point beyond U+FFFF is one escape, as in \\U0001F600");
  }
  if (value == 0) out += '\0';
  return value;
}

void Reader::read_pattern() {
  const std::size_t begin = at_++;
  for (;;) {
    const std::size_t stop = source_.find_first_of("/\\", at_);
    if (stop == std::string_view::npos || (source_[stop] == '\\' && stop + 1 == source_.size()))
      fail_unterminated("pattern", begin, "/");
    at_ = stop + (source_[stop] == '\\' ? 2 : 1);
    if (source_[stop] == '/') break;
  }
  const Span part = span(begin + 1, at_ - 1);
  const std::size_t flags_begin = at_;
  while (is_lower(peek()) && std::string_view("imslux").find(peek()) != std::string_view::npos) ++at_;
  const std::string flags(source_.substr(flags_begin, at_ - flags_begin));
  if (is_name(peek())) {
    fail(DiagnosticKind::Unexpected, here(), found() + " after a pattern",
         "the flags of a pattern are i m s u x; a name is written apart");
  }
  if (const std::size_t l = flags.find('l'); l != std::string::npos) {
    fail(DiagnosticKind::Unsupported, span(flags_begin + l, flags_begin + l + 1), "flag 'l'",
         "what a locale says is not known here; i ignores case by Unicode");
  }
  const std::size_t line = source_.find_first_of("\r\n", begin);
  if (line < at_ && flags.find('x') == std::string::npos) {
    fail(DiagnosticKind::Unterminated, span(begin, line), "pattern",
         "close it with / in its line, where a slash itself is \\/; a pattern over several lines has the flag x");
  }
  if (part.length == 0) fail(DiagnosticKind::Expected, span(begin, at_), "a pattern between '/' and '/'");
  const std::uint32_t index = text(flags);
  add_element(add({.kind = Kind::Pattern, .span = span(begin, at_), .text = index, .part = part}), begin);
}

void Reader::read_tokens() {
  const std::size_t begin = at_;
  const auto first = static_cast<std::uint32_t>(syntax_.tokens.size());
  if (peek(1) == '[') {
    at_ += 2;
    read_token_ids(begin);
  } else {
    const std::size_t end = source_.find_first_of(">\r\n", at_);
    if (end == std::string_view::npos || source_[end] != '>') fail_unterminated("token", begin, ">");
    at_ = end + 1;
    syntax_.tokens.push_back({.text = std::string(source_.substr(begin, at_ - begin))});
  }
  const auto count = static_cast<std::uint32_t>(syntax_.tokens.size()) - first;
  add_element(add({.kind = Kind::Tokens, .span = span(begin, at_), .first = first, .count = count}), begin);
}

void Reader::read_token_ids(std::size_t begin) {
  do {
    skip_blanks();
    const std::size_t range = at_;
    if (peek() == '*' || peek() == '^') {
      fail(DiagnosticKind::Unsupported, here(), quoted(source_.substr(at_, 1)) + " in a list of tokens",
           "tokens are named by ids and ranges of ids, <[1-5,7]>; any text is /(?s:.)*/");
    }
    if (!is_digit(peek())) {
      fail(DiagnosticKind::Expected, here(), "the number of a token, found " + found(),
           "a token is named by its id, <[1000]>, or its text, <think>");
    }
    const std::uint32_t low = read_number(kMaxTokenId, "token id");
    std::uint32_t high = low;
    skip_blanks();
    if (take("-")) {
      skip_blanks();
      if (!is_digit(peek()))
        fail(DiagnosticKind::Expected, here(), "the number of a token after '-', found " + found());
      high = read_number(kMaxTokenId, "token id");
      skip_blanks();
    }
    if (high < low) {
      fail(DiagnosticKind::InvertedRange, span(range, at_), quoted(source_.substr(range, at_ - range)),
           "write " + std::to_string(high) + "-" + std::to_string(low));
    }
    if (syntax_.tokens.size() + (high - low) >= kMostTokens) {
      fail(DiagnosticKind::LimitExceeded, span(begin, at_), "more than " + std::to_string(kMostTokens) + " tokens",
           "free text is a pattern: /(?s:.)*/");
    }
    for (std::uint32_t id = low;; ++id) {
      syntax_.tokens.push_back({.text = "", .id = id});
      if (id == high) break;
    }
  } while (take(","));
  if (!take("]>")) fail_unterminated("token", begin, "]>");
}

void Reader::read_directive() {
  const std::size_t begin = at_;
  if (take("%json")) {
    const Span part = read_json(begin);
    return add_element(add({.kind = Kind::Json, .span = span(begin, at_), .part = part}), begin);
  }
  if (take("%regex")) return read_substring(begin);
  if (rest().starts_with("%lark")) {
    fail(DiagnosticKind::Unsupported, span(at_, at_ + 5), "nested grammar '%lark'", "put its rules beside the others");
  }
  fail_statement();
}

// A JSON object: its span, found by its brackets. What stands in it is read later.
Span Reader::read_json(std::size_t begin) {
  skip_space();
  if (peek() != '{') {
    fail(DiagnosticKind::Expected, here(),
         "'{' after " + quoted(source_.substr(begin, source_.find_first_of(" \t\r\n{", begin) - begin)) + ", found " +
             found());
  }
  const std::size_t opened = at_;
  std::size_t depth = 0;
  for (;;) {
    at_ = source_.find_first_of("{}\"", at_);
    if (at_ == std::string_view::npos) {
      at_ = source_.size();
      fail_unterminated("object", opened, "}");
    }
    const char c = source_[at_++];
    if (c == '{') {
      ++depth;
    } else if (c == '}') {
      if (--depth == 0) return span(opened, at_);
    } else {
      for (;; at_ += 2) {
        at_ = source_.find_first_of("\"\\", at_);
        if (at_ == std::string_view::npos) {
          at_ = source_.size();
          fail_unterminated("object", opened, "}");
        }
        if (source_[at_] == '"') break;
      }
      ++at_;
    }
  }
}

void Reader::read_substring(std::size_t begin) {
  const Span part = read_json(begin);
  const json_schema::Document document(source_.substr(0, part.offset + part.length), part.offset, syntax_.file);
  const json_schema::Value& object = document.root();
  using json_schema::ValueKind;
  const auto refuse = [&](std::string detail) {
    fail(DiagnosticKind::Unsupported, span(begin, at_), std::move(detail),
         "known are {\"substring_chunks\": [...]}, {\"substring_words\": \"...\"} and {\"substring_chars\": \"...\"}");
  };
  if (object.keys.size() != 1) refuse("'%regex' of " + std::to_string(object.keys.size()) + " keys");
  const std::string& key = object.keys.front();
  const json_schema::Value& value = *object.children.front();
  const auto first = static_cast<std::uint32_t>(syntax_.texts.size());
  if (key == "substring_chunks" && value.kind == ValueKind::Array) {
    for (const json_schema::Value* chunk : value.children) {
      if (chunk->kind != ValueKind::String) refuse("chunk that is no text");
      text(chunk->text);
    }
  } else if ((key == "substring_words" || key == "substring_chars") && value.kind == ValueKind::String) {
    const std::string& all = value.text;
    for (std::size_t i = 0; i < all.size();) {
      std::size_t end = i;
      // A byte of 0x80 and more belongs to a letter of some script.
      const auto in_word = [&] { return end < all.size() && (is_name(all[end]) || (all[end] & 0x80) != 0); };
      if (key == "substring_words" && in_word()) {
        while (in_word()) ++end;
      } else {
        end += decode_utf8(all, i).length;
      }
      text(all.substr(i, end - i));
      i = end;
    }
  } else {
    refuse("'%regex' of " + quoted(key));
  }
  const auto count = static_cast<std::uint32_t>(syntax_.texts.size()) - first;
  add_element(add({.kind = Kind::Substring, .span = span(begin, at_), .count = count, .text = first}), begin);
}

}  // namespace glr::lark
