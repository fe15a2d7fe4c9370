#include "grammar/lark/reader.hpp"

namespace glr::lark {

// Bodies.

std::uint32_t Reader::add(Kind kind, std::span<const std::uint32_t> children, Span where) {
  if (children.size() == 1) return children.front();
  const auto first = static_cast<std::uint32_t>(syntax_.children.size());
  syntax_.children.insert(syntax_.children.end(), children.begin(), children.end());
  return add({.kind = kind, .span = where, .first = first, .count = static_cast<std::uint32_t>(children.size())});
}

Body Reader::read_body() {
  const auto first = static_cast<std::uint32_t>(syntax_.exprs.size());
  groups_.assign(1, {'\0', at_, at_, 0, 0, 0, {}});
  elements_.clear();
  begins_.clear();
  conjuncts_.clear();
  alternatives_.clear();
  element_end_ = at_;
  negations_ = {};
  quantified_ = true;
  for (;;) {
    const char c = peek();
    const bool nested = groups_.size() > 1;
    if (!nested && (at_end() || is_newline(c) || comment_here())) {
      if (body_continues()) continue;
      const std::uint32_t root = close_choice();
      return {first, root};
    }
    if (at_end()) fail_unclosed_group("at the end of the text");
    if (groups_.back().bracket == '{' && (c == ',' || c == '}')) {
      next_argument();
      continue;
    }
    if (groups_.back().bracket == '{' && (c == '|' || c == '&')) {
      fail(DiagnosticKind::Unexpected, here(), quoted(std::string_view(&c, 1)) + " in an argument",
           "an argument is a name, a text or a pattern; give an expression a rule of its own");
    }
    if (c == '|' || c == '&') {
      if (c == '|')
        close_alternative();
      else
        close_sequence();
      ++at_;
      skip_blanks();
      const std::size_t end = at_;
      skip_space();
      // An empty alternative at the end of its line, and the next definition below it.
      if (!nested && c == '|' && at_ > end && (peek() == '%' || definition_here())) at_ = end;
      continue;
    }
    if (c == '-' && peek(1) == '>') {
      read_alias();
      continue;
    }
    if (c == ')' || c == ']')
      close_group(c);
    else if (c == '(' || c == '[')
      open_group(c, at_);
    else
      read_element(c);
    if (groups_.size() > 1)
      skip_space();
    else
      skip_blanks();
  }
}

// Whether a rule or a terminal is defined here: its name, parameters and priority, and the colon.
bool Reader::definition_here() const {
  std::size_t i = peek() == '?' || peek() == '!' ? 1 : 0;
  if (!is_name(peek(i))) return false;
  while (is_name(peek(i))) ++i;
  if (peek(i) == '{') {
    while (at_ + i < source_.size() && peek(i) != '}' && !is_newline(peek(i))) ++i;
    if (peek(i) == '}') ++i;
  }
  while (peek(i) == '.' || peek(i) == '-' || is_digit(peek(i)) || peek(i) == ' ' || peek(i) == '\t') ++i;
  return peek(i) == ':';
}

// Moves to the next line that is not empty: a line that begins with '|' belongs to the body.
bool Reader::body_continues() {
  skip_space();
  return peek() == '|';
}

void Reader::read_alias() {
  at_ += 2;
  skip_blanks();
  const std::size_t begin = at_;
  const std::string_view name = expect_name("a name after '->'");
  if (is_terminal_name(name)) {
    fail(DiagnosticKind::Unexpected, span(begin, at_), quoted(name), "an alias is lower-case, as rules are");
  }
  if (groups_.size() > 1)
    skip_space();
  else
    skip_blanks();
  const char c = peek();
  const bool over = groups_.size() == 1 && (at_end() || is_newline(c) || comment_here());
  if (over || c == '|' || c == ')' || c == ']') {
    quantified_ = true;
    return;
  }
  fail(DiagnosticKind::Expected, here(), "the end of the alternative after its alias, found " + found(),
       "an alias is the last thing of an alternative");
}

void Reader::read_element(char c) {
  const bool quantifier = c == '*' || c == '+' || c == '?' || c == '{';
  if (quantifier)
    read_quantifier(c);
  else if (c == '~')
    read_tilde();
  else if (c == '"')
    read_text();
  else if (c == '/')
    read_pattern();
  else if (c == '<')
    read_tokens();
  else if (c == '%')
    read_directive();
  else if (is_name(c))
    read_reference();
  else
    fail_unexpected();
}

void Reader::add_element(std::uint32_t expr, std::size_t begin) {
  if (negations_.count > 0) begin = negations_.begin;
  for (; negations_.count > 0; --negations_.count) {
    const auto first = static_cast<std::uint32_t>(syntax_.children.size());
    syntax_.children.push_back(expr);
    expr = add({.kind = Kind::Not, .span = span(begin, at_), .first = first, .count = 1});
  }
  elements_.push_back(expr);
  begins_.push_back(begin);
  element_end_ = at_;
  quantified_ = false;
}

void Reader::open_group(char bracket, std::size_t begin, std::uint32_t name) {
  groups_.push_back({bracket, at_, begin, elements_.size(), conjuncts_.size(), alternatives_.size(),
                     std::exchange(negations_, {}), name});
  ++at_;
  element_end_ = at_;
  quantified_ = true;
  skip_space();
}

void Reader::close_sequence() {
  const std::size_t first = groups_.back().elements;
  if (negations_.count > 0) fail(DiagnosticKind::Expected, here(), "what '~' excludes, found " + found());
  const bool empty = elements_.size() == first;
  const Span where = empty ? span(at_, at_) : span(begins_[first], element_end_);
  conjuncts_.push_back(add(Kind::Sequence, std::span(elements_).subspan(first), where));
  elements_.resize(first);
  begins_.resize(first);
  quantified_ = true;
}

void Reader::close_alternative() {
  close_sequence();
  const Group& group = groups_.back();
  const auto conjuncts = std::span(conjuncts_).subspan(group.conjuncts);
  const std::uint32_t begin = syntax_.exprs[conjuncts.front()].span.offset;
  alternatives_.push_back(add(Kind::Both, conjuncts, span(begin, std::max<std::size_t>(begin, element_end_))));
  conjuncts_.resize(group.conjuncts);
}

std::uint32_t Reader::close_choice() {
  close_alternative();
  const Group& group = groups_.back();
  const auto alternatives = std::span(alternatives_).subspan(group.alternatives);
  const std::uint32_t expr = add(Kind::Choice, alternatives, span(group.opened, element_end_));
  alternatives_.resize(group.alternatives);
  return expr;
}

void Reader::close_group(char bracket) {
  const char opened = groups_.back().bracket;
  const char due = opened == '(' ? ')' : opened == '[' ? ']' : '}';
  if (opened == '\0') {
    fail(DiagnosticKind::Unmatched, here(), quoted(source_.substr(at_, 1)),
         std::string("no '") + (bracket == ')' ? '(' : '[') + "' is open here");
  }
  if (due != bracket) {
    fail(DiagnosticKind::Unmatched, here(), quoted(source_.substr(at_, 1)),
         std::string("the '") + opened + "' at " + place(groups_.back().opened) + " is closed by '" + due + "'");
  }
  std::uint32_t expr = close_choice();
  const Group group = groups_.back();
  groups_.pop_back();
  ++at_;
  if (opened == '[') {
    const auto first = static_cast<std::uint32_t>(syntax_.children.size());
    syntax_.children.push_back(expr);
    expr = add({.kind = Kind::Repeat, .span = span(group.opened, at_), .first = first, .count = 1, .min = 0, .max = 1});
  }
  negations_ = group.negations;
  add_element(expr, group.opened);
}

// At the ',' or '}' after an argument of a template.
void Reader::next_argument() {
  Group& group = groups_.back();
  const std::size_t given = elements_.size() - group.elements;
  const std::size_t due = group.arguments + 1;
  if (given != due) {
    fail(given < due ? DiagnosticKind::Expected : DiagnosticKind::Unexpected, here(),
         given < due ? "an argument of " + quoted(syntax_.texts[group.name]) + ", found " + found()
                     : "several elements in an argument of " + quoted(syntax_.texts[group.name]),
         "an argument is a name, a text or a pattern; give an expression a rule of its own");
  }
  Expr& argument = syntax_.exprs[elements_.back()];
  if (argument.kind == Kind::Repeat || argument.kind == Kind::Not || argument.kind == Kind::Sequence ||
      argument.kind == Kind::Choice || argument.kind == Kind::Json || argument.kind == Kind::Both) {
    fail(DiagnosticKind::Unsupported, argument.span, "an expression as an argument of a template",
         "an argument is a name, a text or a pattern; give an expression a rule of its own");
  }
  argument.argument = true;
  if (peek() == ',') {
    ++group.arguments;
    ++at_;
    skip_space();
    return;
  }
  ++at_;
  const auto arguments = std::span(elements_).subspan(group.elements);
  const auto first = static_cast<std::uint32_t>(syntax_.children.size());
  syntax_.children.insert(syntax_.children.end(), arguments.begin(), arguments.end());
  const std::uint32_t expr = add({.kind = Kind::Template,
                                  .span = span(group.begin, at_),
                                  .first = first,
                                  .count = static_cast<std::uint32_t>(arguments.size()),
                                  .text = group.name});
  const Group done = group;
  elements_.resize(done.elements);
  begins_.resize(done.elements);
  groups_.pop_back();
  negations_ = done.negations;
  add_element(expr, done.begin);
  if (groups_.size() > 1)
    skip_space();
  else
    skip_blanks();
}

// Quantifiers.

// `x ~ 3`, `x ~ 3..5`, or what is not: `~x`.
void Reader::read_tilde() {
  const std::size_t begin = at_++;
  skip_blanks();
  if (peek() == '-') fail(DiagnosticKind::Unexpected, here(), "'-' in a bound", "bounds count from 0");
  if (!is_digit(peek())) {
    if (negations_.count++ == 0) negations_.begin = begin;
    return;
  }
  const std::uint32_t min = read_number(kMaxBound, "bound");
  std::uint32_t max = min;
  const std::size_t end = at_;
  skip_blanks();
  if (take("..")) {
    skip_blanks();
    if (!is_digit(peek())) {
      fail(DiagnosticKind::Expected, here(), "a number after '..', found " + found(),
           "bounds are written ~ 3 or ~ 3..5; without an end {3,}");
    }
    max = read_number(kMaxBound, "bound");
  } else {
    at_ = end;
  }
  repeat_last(min, max, begin);
}

void Reader::read_quantifier(char c) {
  const std::size_t begin = at_;
  if (c == '{') {
    const auto [min, max] = read_bounds();
    return repeat_last(min, max, begin);
  }
  ++at_;
  repeat_last(c == '+' ? 1 : 0, c == '?' ? 1 : kUnbounded, begin);
}

void Reader::repeat_last(std::uint32_t min, std::uint32_t max, std::size_t begin) {
  const std::string_view spelling = source_.substr(begin, at_ - begin);
  if (groups_.back().bracket == '{') {
    fail(DiagnosticKind::Unexpected, span(begin, at_), quoted(spelling) + " in an argument",
         "an argument is a name, a text or a pattern; give an expression a rule of its own");
  }
  if (negations_.count > 0 || elements_.size() == groups_.back().elements) {
    fail(DiagnosticKind::NothingToRepeat, span(begin, at_), quoted(spelling),
         "a quantifier follows what it repeats; a text is written \"" + std::string(1, spelling[0]) + "\"");
  }
  if (quantified_) {
    fail(DiagnosticKind::Unexpected, span(begin, at_), "second quantifier " + quoted(spelling),
         "repeat a repetition in parentheses: (x*)~2; reluctant quantifiers are for patterns, /.*?/");
  }
  if (min > max) {
    fail(DiagnosticKind::InvertedBounds, span(begin, at_), quoted(spelling),
         "from the lower bound to the higher: " + std::to_string(max) + ".." + std::to_string(min));
  }
  const auto first = static_cast<std::uint32_t>(syntax_.children.size());
  syntax_.children.push_back(elements_.back());
  elements_.back() = add(
      {.kind = Kind::Repeat, .span = span(begins_.back(), at_), .first = first, .count = 1, .min = min, .max = max});
  quantified_ = true;
  element_end_ = at_;
}

std::pair<std::uint32_t, std::uint32_t> Reader::read_bounds() {
  const std::size_t begin = at_++;
  std::uint32_t min = 0;
  std::uint32_t max = kUnbounded;
  skip_blanks();
  const bool has_min = is_digit(peek());
  if (has_min) {
    max = min = read_number(kMaxBound, "bound");
    skip_blanks();
  }
  if (take(",")) {
    skip_blanks();
    max = kUnbounded;
    if (is_digit(peek())) {
      max = read_number(kMaxBound, "bound");
      skip_blanks();
    } else if (!has_min) {
      fail(DiagnosticKind::Expected, span(begin, at_), "a number in '{,}'", "any number of times is '*'");
    }
  } else if (!has_min) {
    fail(DiagnosticKind::Expected, here(), "a number after '{', found " + found(),
         "bounds are written {3}, {3,}, {3,5} or {,5}; a literal brace is written \"{\"");
  }
  if (!take("}")) {
    fail(DiagnosticKind::Expected, here(), "'}' after the bounds of a repetition, found " + found(),
         "bounds are written {3}, {3,}, {3,5} or {,5}");
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

}  // namespace glr::lark
