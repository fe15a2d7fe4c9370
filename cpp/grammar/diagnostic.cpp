#include "grammar/diagnostic.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <utility>
#include <vector>

#include "support/utf8.hpp"

namespace glr {
namespace {

// An excerpt and its marker stay on one line of an 80-column terminal.
constexpr std::size_t kContextBefore = 40;  // code points kept left of the place
constexpr std::size_t kContextAfter = 32;
constexpr std::size_t kQuoted = 60;  // code points of a quoted piece

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// The code point at `offset`; an invalid byte stands for itself.
DecodedCodePoint at(std::string_view text, std::size_t offset) {
  const DecodedCodePoint c = decode_utf8(text, offset);
  return c.length == 0 ? DecodedCodePoint{0xFFFD, 1} : c;
}

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// Characters that would break a message's lines or reorder them.
bool needs_escape(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029 || (c >= 0x200B && c <= 0x200F) ||
         (c >= 0x202A && c <= 0x202E) || (c >= 0x2060 && c <= 0x2069) || c == 0xFEFF;
}

// East Asian wide characters and emoji take two columns of a terminal.
bool is_wide(char32_t c) {
  static constexpr std::array<std::pair<char32_t, char32_t>, 9> wide = {{{0x1100, 0x115F},
                                                                         {0x2E80, 0xA4CF},
                                                                         {0xAC00, 0xD7A3},
                                                                         {0xF900, 0xFAFF},
                                                                         {0xFE30, 0xFE6F},
                                                                         {0xFF00, 0xFF60},
                                                                         {0xFFE0, 0xFFE6},
                                                                         {0x1F300, 0x1FAFF},
                                                                         {0x20000, 0x3FFFD}}};
  return std::any_of(wide.begin(), wide.end(), [c](const auto& r) { return c >= r.first && c <= r.second; });
}

void append_escaped(std::string& out, std::string_view text, std::size_t offset, DecodedCodePoint c) {
  std::array<char, 16> buffer;
  if (decode_utf8(text, offset).length == 0) {
    std::snprintf(buffer.data(), buffer.size(), "\\x%02X", static_cast<unsigned char>(text[offset]));
    out += buffer.data();
  } else if (c.value == '\n') {
    out += "\\n";
  } else if (c.value == '\r') {
    out += "\\r";
  } else if (c.value == '\t') {
    out += "\\t";
  } else if (c.value < 0x80 && needs_escape(c.value)) {
    std::snprintf(buffer.data(), buffer.size(), "\\x%02X", static_cast<unsigned>(c.value));
    out += buffer.data();
  } else if (needs_escape(c.value)) {
    std::snprintf(buffer.data(), buffer.size(), "\\u{%X}", static_cast<unsigned>(c.value));
    out += buffer.data();
  } else {
    out += text.substr(offset, c.length);
  }
}

std::size_t columns_of(std::string_view shown) {
  std::size_t columns = 0;
  for (std::size_t i = 0; i < shown.size();) {
    const DecodedCodePoint c = at(shown, i);
    columns += is_wide(c.value) ? 2 : 1;
    i += c.length;
  }
  return columns;
}

std::size_t line_begin(std::string_view source, std::size_t offset) {
  const std::size_t end = offset == 0 ? std::string_view::npos : source.find_last_of("\r\n", offset - 1);
  return end == std::string_view::npos ? 0 : end + 1;
}

// The line of the place with a marker under it.
std::string excerpt(std::string_view source, std::size_t offset, std::size_t length) {
  const std::size_t begin = line_begin(source, offset);
  const std::size_t end = std::min(source.find_first_of("\r\n", offset), source.size());

  std::size_t from = offset;
  for (std::size_t kept = 0; from > begin && kept < kContextBefore; ++kept) {
    --from;
    while (from > begin && is_continuation(source[from])) --from;
  }
  std::string text = from > begin ? "..." : "";
  if (from == 0 && source.starts_with(kByteOrderMark)) from = std::min(offset, kByteOrderMark.size());
  const auto show = [&](std::size_t i, DecodedCodePoint c) {
    if (c.value == '\t')
      text += ' ';
    else
      append_escaped(text, source, i, c);
  };
  for (std::size_t i = from; i < offset;) {
    const DecodedCodePoint c = at(source, i);
    show(i, c);
    i += c.length;
  }
  const std::size_t before = columns_of(text);
  std::size_t marked = before;
  std::size_t i = offset;
  for (std::size_t kept = 0; i < end && kept < kContextAfter; ++kept) {
    const DecodedCodePoint c = at(source, i);
    show(i, c);
    i += c.length;
    if (i <= offset + length) marked = columns_of(text);
  }
  if (i < end) text += "...";
  const std::size_t tail = marked > before ? marked - before - 1 : 0;
  return "  " + text + "\n  " + std::string(before, ' ') + '^' + std::string(tail, '~');
}

std::string folded(std::string_view name) {
  std::string result(name);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '_') c = '-';
  }
  return result;
}

// Insertions, deletions, replacements and swaps of neighbours that turn a into b, or limit + 1 when
// there are more. Only the band of the table within `limit` of its diagonal is filled:
// O(limit * length).
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit) {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > limit) return limit + 1;
  const std::size_t far = limit + 1;
  const std::size_t width = 2 * limit + 1;  // cell k of row i is column i + k - limit
  std::vector<std::size_t> before(width + 2, far), above(width + 2, far), row(width + 2, far);
  for (std::size_t i = 0; i <= a.size(); ++i) {
    std::fill(row.begin(), row.end(), far);
    for (std::size_t k = 0; k < width; ++k) {
      if (i + k < limit || i + k - limit > b.size()) continue;
      const std::size_t j = i + k - limit;
      std::size_t best = i == 0 ? j : j == 0 ? i : far;
      if (i > 0 && j > 0) best = std::min(best, above[k] + (a[i - 1] == b[j - 1] ? 0 : 1));
      if (i > 0) best = std::min(best, above[k + 1] + 1);
      if (j > 0 && k > 0) best = std::min(best, row[k - 1] + 1);
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) best = std::min(best, before[k] + 1);
      row[k] = std::min(best, far);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size() + limit - a.size()];
}

std::string headline(const Diagnostic& diagnostic) {
  std::string text(kind_text(diagnostic.kind));
  if (!diagnostic.detail.empty()) text += ' ' + escaped(diagnostic.detail);
  return text;
}

std::string hint_line(const std::string& hint) { return hint.empty() ? "" : "\nhint: " + escaped(hint); }

}  // namespace

std::string_view kind_text(DiagnosticKind kind) {
  switch (kind) {
    case DiagnosticKind::InvalidUtf8:
      return "invalid UTF-8:";
    case DiagnosticKind::NulByte:
      return "NUL byte";
    case DiagnosticKind::SourceTooLong:
      return "source too long:";
    case DiagnosticKind::EmptyGrammar:
      return "empty grammar:";
    case DiagnosticKind::OtherFormat:
      return "not this kind of grammar:";
    case DiagnosticKind::Expected:
      return "expected";
    case DiagnosticKind::Unexpected:
      return "unexpected";
    case DiagnosticKind::NothingToRepeat:
      return "nothing to repeat before";
    case DiagnosticKind::Unterminated:
      return "unterminated";
    case DiagnosticKind::Unmatched:
      return "unmatched";
    case DiagnosticKind::EmptyClass:
      return "empty class";
    case DiagnosticKind::InvertedRange:
      return "inverted range";
    case DiagnosticKind::InvertedBounds:
      return "inverted bounds";
    case DiagnosticKind::BadEscape:
      return "bad escape";
    case DiagnosticKind::BadCodePoint:
      return "not a code point:";
    case DiagnosticKind::NumberTooLarge:
      return "number too large:";
    case DiagnosticKind::UndefinedRule:
      return "undefined rule";
    case DiagnosticKind::UndefinedTerminal:
      return "undefined terminal";
    case DiagnosticKind::DuplicateRule:
      return "duplicate rule";
    case DiagnosticKind::MissingRoot:
      return "missing root rule";
    case DiagnosticKind::NoSentence:
      return "no sentence:";
    case DiagnosticKind::MissingByte:
      return "no token of the vocabulary holds";
    case DiagnosticKind::NotAToken:
      return "not one token of the vocabulary:";
    case DiagnosticKind::InvalidValue:
      return "invalid value";
    case DiagnosticKind::Unsupported:
      return "unsupported";
    case DiagnosticKind::LimitExceeded:
      return "limit exceeded:";
  }
  return "error";
}

GrammarError grammar_error(std::string_view source, std::string_view file, const Diagnostic& diagnostic) {
  const std::size_t offset = std::min<std::size_t>(diagnostic.span.offset, source.size());
  const Place place = place_of(source, offset);
  return {escaped(file) + ':' + std::to_string(place.line) + ':' + std::to_string(place.column) + ": " +
              headline(diagnostic) + '\n' + excerpt(source, offset, diagnostic.span.length) +
              hint_line(diagnostic.hint),
          place.line, place.column, escaped(diagnostic.hint)};
}

GrammarError grammar_error(std::string_view file, const Diagnostic& diagnostic) {
  return {escaped(file) + ": " + headline(diagnostic) + hint_line(diagnostic.hint), 0, 0, escaped(diagnostic.hint)};
}

Place place_of(std::string_view source, std::size_t offset) {
  offset = std::min(offset, source.size());
  std::size_t line = 1;
  for (std::size_t i = 0; i < offset; ++i) {
    // A '\r' counts when no '\n' follows; the offset may stand between the two.
    if (source[i] == '\n' || (source[i] == '\r' && !(i + 1 < source.size() && source[i + 1] == '\n'))) ++line;
  }
  std::size_t begin = line_begin(source, offset);
  if (begin == 0 && source.starts_with(kByteOrderMark)) begin = std::min(offset, kByteOrderMark.size());
  if (begin == offset && offset > 0 && source[offset - 1] == '\r' && offset < source.size() && source[offset] == '\n')
    begin = line_begin(source, offset - 1);
  std::size_t column = 1;
  for (std::size_t i = begin; i < offset; i += at(source, i).length) ++column;
  return {line, column};
}

std::string place_text(Place place) {
  return "line " + std::to_string(place.line) + ", column " + std::to_string(place.column);
}

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const DecodedCodePoint c = at(text, i);
    append_escaped(out, text, i, c);
    i += c.length;
  }
  return out;
}

std::string quoted(std::string_view text) {
  std::size_t end = 0;
  for (std::size_t kept = 0; end < text.size() && kept < kQuoted; ++kept) end += at(text, end).length;
  std::string result = "'";
  result += escaped(text.substr(0, end));
  result += end < text.size() ? "...'" : "'";
  return result;
}

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates) {
  // One slip in names up to three bytes, one more for every four bytes, at most four.
  std::size_t limit = std::min<std::size_t>(1 + name.size() / 4, 4);
  const std::string wanted = folded(name);
  std::string_view nearest;
  for (const std::string_view candidate : candidates) {
    if (candidate.empty()) continue;
    const std::size_t distance = edit_distance(wanted, folded(candidate), limit);
    // A candidate with no byte in common is no help: 'a' for 'b'.
    if (distance > limit || distance >= std::max(name.size(), candidate.size())) continue;
    nearest = candidate;
    if (distance == 0) break;
    limit = distance - 1;
  }
  return nearest;
}

}  // namespace glr
