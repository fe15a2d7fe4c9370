// The reader is one loop over the elements of a rule. Groups that are open stand on an explicit
// stack; the finished elements and alternatives of all open groups share two vectors, and a group
// knows where its own begin. A finished node is never looked at again, so the work is linear.

#include "grammar/gbnf.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "grammar/diagnostic.hpp"
#include "grammar/other_format.hpp"
#include "grammar/productive.hpp"
#include "grammar/source_text.hpp"
#include "support/utf8.hpp"

namespace glr {
namespace {

constexpr std::uint32_t kMaxBound = kUnbounded - 1;
constexpr std::uint32_t kMaxTokenId = 0x7FFFFFFF;
constexpr std::string_view kDefine = "::=";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_name(char c) { return is_digit(c) || is_letter(c) || c == '-' || c == '_'; }
bool is_newline(char c) { return c == '\n' || c == '\r'; }

std::optional<char32_t> hex_digit(char c) {
  if (is_digit(c)) return static_cast<char32_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<char32_t>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<char32_t>(c - 'A' + 10);
  return std::nullopt;
}

std::string code_point_name(char32_t c) {
  std::string digits;
  for (int shift = 28; shift >= 0; shift -= 4) {
    const char32_t digit = (c >> shift) & 15;
    if (digit != 0 || !digits.empty() || shift < 16) digits += "0123456789ABCDEF"[digit];
  }
  return "U+" + digits;
}

class Reader {
 public:
  Reader(std::string_view source, std::string_view file)
      : source_(source), file_(file), builder_(source, file, "gbnf") {}

  void read_rules();
  void check_references();
  RuleId find_root(std::string_view name);
  std::shared_ptr<const Grammar> build(RuleId root) { return std::move(builder_).build(root); }

 private:
  // A group that is open; the first one is the rule's body itself.
  struct Group {
    std::size_t opened;        // offset of '('
    std::size_t elements;      // where its current alternative begins in elements_
    std::size_t alternatives;  // where its alternatives begin in alternatives_
  };

  void read_rule();
  void read_define(std::string_view name);
  NodeId read_body();
  bool rule_continues();
  void read_element(char c);
  void read_literal();
  void read_class();
  void read_token();
  void read_reference();
  void read_quantifier(char c);
  std::pair<std::uint32_t, std::uint32_t> read_bounds();
  std::uint32_t read_number(std::uint32_t largest, std::string_view what);
  char32_t read_character(std::string_view what, std::size_t opened);
  char32_t read_escape();

  void open_group();
  void close_alternative();
  NodeId close_choice();
  void close_group();
  void add_element(NodeId node, std::size_t begin);

  RuleId rule_named(std::string_view name, Span use);
  std::string_view nearest_rule(std::string_view name) const;
  std::string rule_list() const;

  bool at_end() const { return at_ >= source_.size(); }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }
  std::string_view rest() const { return source_.substr(at_); }
  std::string_view read_name();
  void skip_blanks();
  void skip_space(bool newlines);  // and comments
  std::string place(std::size_t offset) const { return place_text(place_of(source_, offset)); }
  std::string found() const;
  std::size_t end_of_line(std::size_t offset) const {
    return std::min(source_.find_first_of("\r\n", offset), source_.size());
  }

  static Span span(std::size_t begin, std::size_t end) {
    return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end - begin)};
  }
  [[noreturn]] void fail(DiagnosticKind kind, Span where, std::string detail, std::string hint = "") const {
    throw grammar_error(source_, file_, {kind, where, std::move(detail), std::move(hint)});
  }
  [[noreturn]] void fail_unterminated(std::string_view what, std::size_t opened, std::string_view closing) const;
  [[noreturn]] void fail_unclosed_group(std::string_view before) const;
  [[noreturn]] void fail_misplaced_definition(std::string_view name, Span where) const;
  [[noreturn]] void fail_unexpected() const;
  [[noreturn]] void fail_no_rule_name() const;
  [[noreturn]] void fail_escape(std::size_t begin) const;

  std::string_view source_;
  std::string_view file_;
  GrammarBuilder builder_;
  std::size_t at_ = 0;
  std::size_t element_end_ = 0;  // where the last finished element ended

  std::unordered_map<std::string_view, RuleId> names_;
  std::vector<Span> first_use_;                    // by RuleId: of the name, in a body or where it is defined
  std::optional<std::size_t> literal_over_lines_;  // the first literal with a newline in it

  std::vector<Group> groups_;
  std::vector<NodeId> elements_;
  std::vector<std::size_t> begins_;  // by index in elements_: offset where it was written
  std::vector<NodeId> alternatives_;
};

// Rules.

void Reader::read_rules() {
  if (source_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
  skip_space(true);
  if (at_end()) {
    fail(DiagnosticKind::EmptyGrammar, span(at_, at_), "no rule in the text",
         "a rule is written: root ::= \"yes\" | \"no\"");
  }
  while (!at_end()) read_rule();
}

void Reader::read_rule() {
  if (!is_name(peek())) fail_no_rule_name();
  const std::size_t begin = at_;
  const std::string_view name = read_name();
  const Span where = span(begin, at_);
  read_define(name);
  const RuleId rule = rule_named(name, where);
  if (builder_.defined(rule)) {
    const std::size_t first = builder_.rules()[static_cast<std::size_t>(rule)].span.offset;
    fail(DiagnosticKind::DuplicateRule, where, quoted(name),
         "it is defined at " + place(first) + " already; join the two with '|'");
  }
  skip_space(true);
  builder_.define(rule, read_body(), where);
}

void Reader::read_define(std::string_view name) {
  skip_blanks();
  if (rest().starts_with(kDefine)) {
    at_ += kDefine.size();
    return;
  }
  std::string hint = "a rule is written: " + std::string(name.substr(0, 40)) + " ::= ...";
  const std::size_t sign_end = source_.find_first_not_of(":=<->", at_);
  const std::string_view sign = source_.substr(at_, std::min<std::size_t>(sign_end - at_, 8));
  if (!sign.empty()) {
    if (sign == ":") hint += "; a Lark grammar is read by from_lark";
    fail(DiagnosticKind::Expected, span(at_, at_ + sign.size()),
         "'::=' after " + quoted(name) + ", found " + quoted(sign), hint);
  }
  if (!builder_.rules().empty())
    hint += "; a rule goes on in the next line inside parentheses, after '|', or when that line begins with '|'";
  fail(DiagnosticKind::Expected, span(at_, std::min(at_ + 1, source_.size())),
       "'::=' after " + quoted(name) + ", found " + found(), hint);
}

void Reader::check_references() {
  // Rules are numbered by their first mention, so the first undefined one is the first in the text.
  for (std::size_t i = 0; i < first_use_.size(); ++i) {
    if (builder_.defined(RuleId{static_cast<std::uint32_t>(i)})) continue;
    const std::string& name = builder_.rules()[i].name;
    const std::string_view nearest = nearest_rule(name);
    fail(DiagnosticKind::UndefinedRule, first_use_[i], quoted(name),
         !nearest.empty() ? "did you mean " + quoted(nearest) + "?" : rule_list());
  }
}

RuleId Reader::find_root(std::string_view name) {
  const auto found = names_.find(name);
  if (found != names_.end()) return found->second;
  std::string_view nearest = nearest_rule(name);
  if (builder_.rules().size() == 1) nearest = builder_.rules().front().name;
  const Rule& place = builder_.rules()[static_cast<std::size_t>(nearest.empty() ? RuleId{0} : names_.at(nearest))];
  fail(DiagnosticKind::MissingRoot, place.span, quoted(name),
       (nearest.empty()
            ? rule_list() + "; name one of them with root=..."
            : "did you mean " + quoted(nearest) + "? then pass root=\"" + std::string(nearest.substr(0, 40)) + "\"") +
           ", or define " + quoted(name));
}

RuleId Reader::rule_named(std::string_view name, Span use) {
  const auto [entry, fresh] = names_.try_emplace(name, RuleId{static_cast<std::uint32_t>(first_use_.size())});
  if (fresh) {
    builder_.declare(name);
    first_use_.push_back(use);
  }
  return entry->second;
}

std::string_view Reader::nearest_rule(std::string_view name) const {
  std::vector<std::string_view> defined;
  for (std::size_t i = 0; i < first_use_.size(); ++i) {
    if (builder_.defined(RuleId{static_cast<std::uint32_t>(i)})) defined.push_back(builder_.rules()[i].name);
  }
  return nearest_name(name, defined);
}

std::string Reader::rule_list() const {
  constexpr std::size_t shown = 6;
  std::string list;
  std::size_t defined = 0;
  for (std::size_t i = 0; i < first_use_.size(); ++i) {
    if (!builder_.defined(RuleId{static_cast<std::uint32_t>(i)})) continue;
    if (++defined <= shown) list += (defined == 1 ? "" : ", ") + quoted(builder_.rules()[i].name);
  }
  if (defined > shown) list += " and " + std::to_string(defined - shown) + " more";
  return "the rules are " + list;
}

// Bodies.

NodeId Reader::read_body() {
  groups_.assign(1, {at_, 0, 0});
  element_end_ = at_;
  for (;;) {
    const char c = peek();
    const bool nested = groups_.size() > 1;
    if (c == '|') {
      close_alternative();
      ++at_;
      skip_space(true);
      continue;
    }
    if (c == '(') {
      open_group();
      continue;
    }
    if (!nested && (at_end() || is_newline(c))) {
      if (rule_continues()) continue;
      return close_choice();
    }
    if (at_end()) fail_unclosed_group("at the end of the text");
    if (c == ')')
      close_group();
    else if (c == '*' || c == '+' || c == '?' || c == '{')
      read_quantifier(c);
    else
      read_element(c);
    element_end_ = at_;
    skip_space(groups_.size() > 1);
  }
}

// Moves to the next line that is not empty: a line that begins with '|' belongs to the rule.
bool Reader::rule_continues() {
  skip_space(true);
  return peek() == '|';
}

void Reader::read_element(char c) {
  if (c == '"') {
    read_literal();
  } else if (c == '[') {
    read_class();
  } else if (c == '.') {
    const std::size_t begin = at_++;
    add_element(builder_.code_points({{0, kMaxCodePoint}}, span(begin, at_)), begin);
  } else if (c == '<' || (c == '!' && peek(1) == '<')) {
    read_token();
  } else if (is_name(c)) {
    read_reference();
  } else {
    fail_unexpected();
  }
}

void Reader::add_element(NodeId node, std::size_t begin) {
  elements_.push_back(node);
  begins_.push_back(begin);
}

void Reader::open_group() {
  groups_.push_back({at_, elements_.size(), alternatives_.size()});
  ++at_;
  element_end_ = at_;
  skip_space(true);
}

void Reader::close_alternative() {
  const std::size_t first = groups_.back().elements;
  const bool empty = elements_.size() == first;
  const Span where = empty ? span(at_, at_) : span(begins_[first], element_end_);
  alternatives_.push_back(builder_.sequence(std::span(elements_).subspan(first), where));
  elements_.resize(first);
  begins_.resize(first);
}

NodeId Reader::close_choice() {
  close_alternative();
  const Group& group = groups_.back();
  const auto alternatives = std::span(alternatives_).subspan(group.alternatives);
  const NodeId node = builder_.choice(alternatives, span(group.opened, element_end_));
  alternatives_.resize(group.alternatives);
  return node;
}

void Reader::close_group() {
  if (groups_.size() == 1) fail(DiagnosticKind::Unmatched, span(at_, at_ + 1), "')'", "no '(' is open here");
  const std::size_t opened = groups_.back().opened;
  const NodeId node = close_choice();
  groups_.pop_back();
  ++at_;
  add_element(node, opened);
}

void Reader::read_reference() {
  const std::size_t begin = at_;
  const std::string_view name = read_name();
  const Span where = span(begin, at_);
  skip_blanks();
  if (rest().starts_with(kDefine)) fail_misplaced_definition(name, where);
  at_ = begin + name.size();
  add_element(builder_.rule_ref(rule_named(name, where), where), begin);
}

void Reader::read_literal() {
  const std::size_t begin = at_++;
  std::string bytes;
  for (;;) {
    const std::size_t stop = source_.find_first_of("\"\\", at_);
    if (stop == std::string_view::npos) fail_unterminated("literal", begin, "\"");
    bytes += source_.substr(at_, stop - at_);
    at_ = stop;
    if (peek() == '"') break;
    append_utf8(bytes, read_character("literal", begin));
  }
  ++at_;
  const bool over_lines = source_.substr(begin, at_ - begin).find_first_of("\r\n") != std::string_view::npos;
  if (!literal_over_lines_ && over_lines) literal_over_lines_ = begin;
  add_element(builder_.literal(bytes, span(begin, at_)), begin);
}

void Reader::read_class() {
  const std::size_t begin = at_++;
  const bool negated = peek() == '^';
  if (negated) ++at_;
  if (peek() == ']') {
    fail(DiagnosticKind::EmptyClass, span(begin, at_ + 1), quoted(source_.substr(begin, at_ + 1 - begin)),
         "the bracket itself is written \\] in a class, any code point is '.', the empty text \"\"");
  }
  std::vector<CodePointRange> ranges;
  while (peek() != ']') {
    const std::size_t range_begin = at_;
    const char32_t first = read_character("class", begin);
    char32_t last = first;
    // A '-' before the closing bracket stands for itself.
    if (peek() == '-' && peek(1) != ']') {
      ++at_;
      last = read_character("class", begin);
    }
    if (last < first) {
      const std::string_view text = source_.substr(range_begin, at_ - range_begin);
      fail(DiagnosticKind::InvertedRange, span(range_begin, at_), quoted(text),
           "a range goes from the lower code point to the higher; a '-' alone is written \\-");
    }
    ranges.push_back({first, last});
  }
  ++at_;
  if (negated) ranges = complement(ranges);
  if (ranges.empty()) {
    fail(DiagnosticKind::EmptyClass, span(begin, at_), quoted(source_.substr(begin, at_ - begin)),
         "it excludes every code point");
  }
  add_element(builder_.code_points(std::move(ranges), span(begin, at_)), begin);
}

void Reader::read_token() {
  const std::size_t begin = at_;
  TokenLiteral literal;
  literal.negated = peek() == '!';
  if (literal.negated) ++at_;
  const std::size_t opened = at_;
  if (peek(1) == '[') {
    at_ += 2;
    if (!is_digit(peek())) {
      fail(DiagnosticKind::Expected, span(at_, std::min(at_ + 1, source_.size())),
           "the number of a token after '<[', found " + found(),
           "a token is named by its id, <[1000]>, or its text, <think>");
    }
    literal.id = read_number(kMaxTokenId, "token id");
    if (!rest().starts_with("]>")) fail_unterminated("token literal", begin, "]>");
    at_ += 2;
  } else {
    const std::size_t end = source_.find_first_of(">\r\n", at_);
    if (end == std::string_view::npos || source_[end] != '>') fail_unterminated("token literal", begin, ">");
    at_ = end + 1;
    literal.text = source_.substr(opened, at_ - opened);
  }
  add_element(builder_.token(std::move(literal), span(begin, at_)), begin);
}

// Quantifiers.

void Reader::read_quantifier(char c) {
  const std::size_t begin = at_;
  if (elements_.size() == groups_.back().elements) {
    fail(DiagnosticKind::NothingToRepeat, span(begin, begin + 1), quoted(std::string_view(&c, 1)),
         "a quantifier follows what it repeats; a literal is written \"" + std::string(1, c) + "\"");
  }
  std::pair<std::uint32_t, std::uint32_t> bounds;
  if (c == '{') {
    bounds = read_bounds();
  } else {
    ++at_;
    bounds = {c == '+' ? 1 : 0, c == '?' ? 1 : kUnbounded};
  }
  elements_.back() = builder_.repeat(elements_.back(), bounds.first, bounds.second, span(begins_.back(), at_));
}

std::pair<std::uint32_t, std::uint32_t> Reader::read_bounds() {
  const std::size_t begin = at_++;
  std::uint32_t min = 0;
  std::uint32_t max = kUnbounded;
  skip_space(true);
  const bool has_min = is_digit(peek());
  if (has_min) {
    max = min = read_number(kMaxBound, "bound");
    skip_space(true);
  }
  if (peek() == ',') {
    ++at_;
    skip_space(true);
    max = kUnbounded;
    if (is_digit(peek())) {
      max = read_number(kMaxBound, "bound");
      skip_space(true);
    } else if (!has_min) {
      fail(DiagnosticKind::Expected, span(begin, at_), "a number in '{,}'", "any number of times is '*'");
    }
  } else if (!has_min) {
    fail(DiagnosticKind::Expected, span(at_, std::min(at_ + 1, source_.size())), "a number after '{', found " + found(),
         "bounds are written {3}, {3,}, {3,5} or {,5}; a literal brace is written \"{\"");
  }
  if (peek() != '}') {
    fail(DiagnosticKind::Expected, span(at_, std::min(at_ + 1, source_.size())),
         "'}' after the bounds of a repetition, found " + found(), "bounds are written {3}, {3,}, {3,5} or {,5}");
  }
  ++at_;
  if (min > max) {
    const auto text = [](std::uint32_t a, std::uint32_t b) {
      return '{' + std::to_string(a) + ',' + std::to_string(b) + '}';
    };
    fail(DiagnosticKind::InvertedBounds, span(begin, at_), text(min, max), "write " + text(max, min));
  }
  return {min, max};
}

std::uint32_t Reader::read_number(std::uint32_t largest, std::string_view what) {
  const std::size_t begin = at_;
  std::uint64_t value = 0;
  for (; is_digit(peek()); ++at_) {
    value = value * 10 + static_cast<std::uint64_t>(peek() - '0');
    value = std::min<std::uint64_t>(value, std::uint64_t{largest} + 1);
  }
  if (value > largest) {
    fail(DiagnosticKind::NumberTooLarge, span(begin, at_), quoted(source_.substr(begin, at_ - begin)),
         "the largest " + std::string(what) + " is " + std::to_string(largest));
  }
  return static_cast<std::uint32_t>(value);
}

// Characters.

// `what` is the literal or class that began at `opened`.
char32_t Reader::read_character(std::string_view what, std::size_t opened) {
  if (at_end()) fail_unterminated(what, opened, what == "class" ? "]" : "\"");
  if (peek() == '\\') {
    if (at_ + 1 == source_.size()) fail_unterminated(what, opened, what == "class" ? "]" : "\"");
    return read_escape();
  }
  const DecodedCodePoint c = decode_utf8(source_, at_);
  at_ += c.length;
  return c.value;
}

char32_t Reader::read_escape() {
  const std::size_t begin = at_++;
  const char kind = peek();
  ++at_;
  switch (kind) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case '\\':
    case '"':
    case '[':
    case ']':
    case '-':
      return static_cast<char32_t>(kind);
    case 'x':
    case 'u':
    case 'U':
      break;
    default:
      fail_escape(begin);
  }
  const std::size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : 8;
  char32_t value = 0;
  for (std::size_t i = 0; i < digits; ++i, ++at_) {
    const auto digit = hex_digit(peek());
    if (!digit) {
      const std::string_view text = source_.substr(begin, at_ - begin);
      fail(DiagnosticKind::BadEscape, span(begin, at_), quoted(text),
           std::string("\\") + kind + " is followed by " + std::to_string(digits) + " hexadecimal digits");
    }
    value = value << 4 | *digit;
  }
  if (is_scalar_value(value)) return value;
  std::string hint = "the largest code point is U+10FFFF";
  if (value <= kMaxCodePoint) {
    hint = "a code point beyond U+FFFF is one escape, as in \\U0001F600";
    // A pair of escapes as JSON writes it: say what it stands for.
    char32_t low = 0;
    bool pair = value < 0xDC00 && rest().starts_with("\\u");
    for (std::size_t i = 2; pair && i < 6; ++i) {
      const auto digit = hex_digit(peek(i));
      pair = digit.has_value();
      low = low << 4 | digit.value_or(0);
    }
    if (pair && low >= 0xDC00 && low <= 0xDFFF)
      hint = "write the pair as one escape, \\U000" +
             code_point_name(0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00)).substr(2);
  }
  fail(DiagnosticKind::BadCodePoint, span(begin, at_),
       quoted(source_.substr(begin, at_ - begin)) + (value > kMaxCodePoint ? "" : ", a surrogate"), hint);
}

std::string_view Reader::read_name() {
  const std::size_t begin = at_;
  while (is_name(peek())) ++at_;
  return source_.substr(begin, at_ - begin);
}

void Reader::skip_blanks() {
  while (peek() == ' ' || peek() == '\t') ++at_;
}

void Reader::skip_space(bool newlines) {
  for (;; ++at_) {
    skip_blanks();
    if (peek() == '#') at_ = end_of_line(at_);
    if (!newlines || !is_newline(peek())) return;
  }
}

// Errors. None of these returns; they may look at as much of the text as they like, once.

std::string Reader::found() const {
  if (at_end()) return "the end of the text";
  if (is_newline(peek())) return "the end of the line";
  if (is_name(peek())) {
    std::size_t end = at_;
    while (end < source_.size() && is_name(source_[end])) ++end;
    return quoted(source_.substr(at_, end - at_));
  }
  const DecodedCodePoint c = decode_utf8(source_, at_);
  return quoted(source_.substr(at_, c.length)) + (c.length > 1 ? " (" + code_point_name(c.value) + ")" : "");
}

void Reader::fail_unterminated(std::string_view what, std::size_t opened, std::string_view closing) const {
  std::string hint = "close it with " + std::string(closing);
  // One missing quote turns every literal after it inside out; the culprit is the first long one.
  if (what == "literal" && literal_over_lines_)
    hint += "; the literal at " + place(*literal_over_lines_) + " goes over lines, is its closing quote missing?";
  fail(DiagnosticKind::Unterminated, span(opened, std::max(end_of_line(opened), opened + 1)), std::string(what), hint);
}

void Reader::fail_unclosed_group(std::string_view before) const {
  const std::size_t open = groups_.size() - 1;
  // At the end of the text the place is just after the last element, where ')' has to be written.
  const Span where = at_end() ? span(element_end_, element_end_) : span(at_, at_ + 1);
  std::string hint = open == 1 ? "the '(' at " : std::to_string(open) + " groups are open, the first '(' is at ";
  hint += place(groups_[1].opened);
  if (open == 1) hint += " is not closed";
  fail(DiagnosticKind::Expected, where, "')' " + std::string(before), hint);
}

void Reader::fail_misplaced_definition(std::string_view name, Span where) const {
  const std::string rule = "the rule " + quoted(name);
  if (groups_.size() > 1) {
    const std::size_t open = groups_.size() - 1;
    fail(DiagnosticKind::Expected, where, "')' before " + rule,
         (open == 1 ? "the '(' at " : std::to_string(open) + " groups are open, the first '(' is at ") +
             place(groups_[1].opened) + (open == 1 ? " is not closed" : ""));
  }
  if (elements_.size() == groups_.back().elements)
    fail(DiagnosticKind::Expected, where, "an alternative before " + rule, "the empty text is written \"\"");
  fail(DiagnosticKind::Expected, where, "a new line before " + rule, "each rule begins on a line of its own");
}

void Reader::fail_unexpected() const {
  const char c = peek();
  const DecodedCodePoint decoded = decode_utf8(source_, at_);
  std::string detail = found();
  std::string hint;
  const bool curly = decoded.value >= 0x2018 && decoded.value <= 0x201F;
  if (c == '\'' || c == '`' || curly) {
    std::string_view text = source_.substr(at_ + decoded.length, end_of_line(at_) - at_ - decoded.length);
    const bool single = c == '\'';
    const std::size_t close = single || c == '`' ? text.find(c) : std::string_view::npos;
    hint = "a literal is written in double quotes: \"" +
           (close == std::string_view::npos || close > 40 ? "..." : std::string(text.substr(0, close))) + "\"";
    detail = (single ? "single quote " : c == '`' ? "back quote " : "curly quote ") + detail;
  } else if (c == '=' || c == ':') {
    hint = "a rule is written: name ::= ...";
  } else if (c == ',') {
    hint = "elements stand one after the other without commas";
  } else if (c == ';') {
    hint = "a rule ends with its line, without ';'";
  } else if (c == '/') {
    hint = "a comment begins with '#'; a regular expression is read by from_regex";
  } else if (c == '!') {
    hint = "'!' negates a token literal only: !<think>; a negated class is [^...]";
  } else if (c == '\\') {
    hint = "escapes stand inside literals and classes";
  } else if (c == ']' || c == '}' || c == '>') {
    fail(DiagnosticKind::Unmatched, span(at_, at_ + 1), detail, "a literal is written \"" + std::string(1, c) + "\"");
  } else if (decoded.length > 1) {
    hint = "literal text is written in double quotes; names are made of A-Z a-z 0-9 - _";
  } else {
    hint = "literal text is written in double quotes";
  }
  fail(DiagnosticKind::Unexpected, span(at_, at_ + decoded.length), detail, hint);
}

void Reader::fail_no_rule_name() const {
  std::string hint = "a rule is written: root ::= \"yes\" | \"no\"";
  const char c = peek();
  if (c == '<')
    hint = "names are written without angle brackets: root ::= ...";
  else if (c == '%')
    hint = "a Lark grammar is read by from_lark";
  else if (c == '/')
    hint = "a comment begins with '#'";
  else if (!builder_.rules().empty())
    hint = "a rule goes on in the next line inside parentheses, after '|', or when that line begins with '|'";
  else if (c == '^' || c == '[' || c == '(')
    hint += "; a regular expression is read by from_regex";
  fail(DiagnosticKind::Expected, span(at_, at_ + decode_utf8(source_, at_).length),
       "the name of a rule, found " + found(), hint);
}

void Reader::fail_escape(std::size_t begin) const {
  const DecodedCodePoint c = decode_utf8(source_, begin + 1);
  const std::string_view character = source_.substr(begin + 1, c.length);
  std::string hint = "the escapes are \\n \\r \\t \\\\ \\\" \\[ \\] \\- \\xHH \\uHHHH \\UHHHHHHHH";
  static constexpr std::pair<char, std::string_view> meant[] = {
      {'d', "[0-9]"}, {'w', "[A-Za-z0-9_]"}, {'s', "[ \\t\\r\\n]"}, {'0', "\\x00"},
      {'b', "\\x08"}, {'f', "\\x0C"},        {'v', "\\x0B"},        {'e', "\\x1B"}};
  for (const auto& [letter, text] : meant) {
    if (character.size() == 1 && character.front() == letter) hint = "write " + std::string(text) + "; " + hint;
  }
  if (!character.empty() && !is_name(character.front()) && !is_newline(character.front()))
    hint = "write " + std::string(character) + " without the backslash; " + hint;
  fail(DiagnosticKind::BadEscape, span(begin, begin + 1 + c.length), quoted(source_.substr(begin, 1 + c.length)), hint);
}

}  // namespace

std::shared_ptr<const Grammar> read_gbnf(std::string_view source, std::string_view root, std::string_view file) {
  check_source(source, file);
  Reader reader(source, file);
  refuse_other_formats(source, file);
  reader.read_rules();
  reader.check_references();
  auto grammar = reader.build(reader.find_root(root));
  require_sentence(*grammar);
  return grammar;
}

std::shared_ptr<const Grammar> Grammar::from_gbnf(std::string_view text, std::string_view root, std::string_view file) {
  return read_gbnf(text, root, file);
}

}  // namespace glr
