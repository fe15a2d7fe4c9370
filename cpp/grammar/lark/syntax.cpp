// One loop over the elements of a body. Groups that are open stand on an explicit stack; the finished elements,
// conjuncts and alternatives of all open groups share three vectors, and a group knows where its own begin.
#include "grammar/lark/syntax.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "grammar/diagnostic.hpp"
#include "grammar/json_schema/value.hpp"
#include "grammar/source_text.hpp"
#include "support/utf8.hpp"

namespace glr::lark {
namespace {

constexpr std::uint32_t kMaxBound = kUnbounded - 1;
constexpr std::uint32_t kMaxPriority = 1'000'000'000;
constexpr std::uint32_t kMaxTokenId = 0x7FFFFFFF;
constexpr std::size_t kMostTokens = 65'536;  // that a file may name by ids and ranges: each is a node

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_name(char c) { return is_digit(c) || is_lower(c) || is_upper(c) || c == '_'; }
bool is_newline(char c) { return c == '\n' || c == '\r'; }

std::optional<char32_t> hex_digit(char c) {
  if (is_digit(c)) return static_cast<char32_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<char32_t>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<char32_t>(c - 'A' + 10);
  return std::nullopt;
}

class Reader {
 public:
  explicit Reader(Syntax& syntax) : syntax_(syntax), source_(syntax.source) {}

  void read();

 private:
  // '~' just before what comes.
  struct Negations {
    std::size_t count = 0;
    std::size_t begin = 0;  // of the first
  };
  struct Group {
    char bracket;               // ( [ or {; \0: the body itself
    std::size_t opened;         // offset of the bracket
    std::size_t begin;          // offset of what the group is: of the name of a template
    std::size_t elements;       // where its current sequence begins in elements_
    std::size_t conjuncts;      // likewise
    std::size_t alternatives;   // likewise
    Negations negations;        // before it
    std::uint32_t name = 0;     // of a template, in texts
    std::size_t arguments = 0;  // of a template: those that are done
  };

  void read_statement();
  void read_import();
  void read_declare();
  void read_definition(DefinitionKind kind);
  void read_parameters(Definition& definition);
  std::int32_t read_priority();
  void read_colon(const Definition& definition);
  Body read_body();
  bool body_continues();
  bool definition_here() const;
  void read_alias();
  void read_element(char c);
  void read_text();
  void read_range(std::size_t begin, const std::string& from);
  std::string read_string(bool& ignore_case);
  char32_t read_escape(std::string& out);
  void read_pattern();
  void read_tokens();
  void read_token_ids(std::size_t begin);
  void read_directive();
  Span read_json(std::size_t begin);
  void read_substring(std::size_t begin);
  void read_reference();
  void read_tilde();
  void read_quantifier(char c);
  std::pair<std::uint32_t, std::uint32_t> read_bounds();
  std::uint32_t read_number(std::uint32_t largest, std::string_view what);
  void repeat_last(std::uint32_t min, std::uint32_t max, std::size_t begin);

  void open_group(char bracket, std::size_t begin, std::uint32_t name = 0);
  void close_sequence();
  void close_alternative();
  std::uint32_t close_choice();
  void close_group(char bracket);
  void next_argument();
  void add_element(std::uint32_t expr, std::size_t begin);

  std::uint32_t add(Expr expr) {
    syntax_.exprs.push_back(expr);
    return static_cast<std::uint32_t>(syntax_.exprs.size() - 1);
  }
  std::uint32_t add(Kind kind, std::span<const std::uint32_t> children, Span span);
  std::uint32_t text(std::string value) {
    syntax_.texts.push_back(std::move(value));
    return static_cast<std::uint32_t>(syntax_.texts.size() - 1);
  }

  bool at_end() const { return at_ >= source_.size(); }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }
  std::string_view rest() const { return source_.substr(at_); }
  bool take(std::string_view sign);
  std::string_view read_name();
  std::string_view expect_name(std::string_view what);
  bool comment_here() const { return peek() == '#' || (peek() == '/' && peek(1) == '/'); }
  void skip_blanks();
  void skip_space();  // blanks, lines and comments
  void end_line(std::string_view after);
  std::size_t end_of_line(std::size_t offset) const {
    return std::min(source_.find_first_of("\r\n", offset), source_.size());
  }
  std::string place(std::size_t offset) const { return place_text(place_of(source_, offset)); }
  std::string found() const;
  static Span span(std::size_t begin, std::size_t end) {
    return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end - begin)};
  }
  Span here() const { return span(at_, std::min(at_ + 1, source_.size())); }
  [[noreturn]] void fail(DiagnosticKind kind, Span where, std::string detail, std::string hint = "") const {
    throw grammar_error(source_, syntax_.file, {kind, where, std::move(detail), std::move(hint)});
  }
  [[noreturn]] void fail_unterminated(std::string_view what, std::size_t opened, std::string_view closing) const;
  [[noreturn]] void fail_unclosed_group(std::string_view before) const;
  [[noreturn]] void fail_misplaced_definition(std::string_view name, Span where) const;
  [[noreturn]] void fail_unexpected() const;
  [[noreturn]] void fail_statement() const;

  Syntax& syntax_;
  std::string_view source_;
  std::size_t at_ = 0;
  std::size_t element_end_ = 0;  // where the last finished element ended
  Negations negations_;
  bool quantified_ = false;  // the last element has its quantifier

  std::vector<Group> groups_;
  std::vector<std::uint32_t> elements_;
  std::vector<std::size_t> begins_;  // by index in elements_
  std::vector<std::uint32_t> conjuncts_;
  std::vector<std::uint32_t> alternatives_;
};

// Statements.

void Reader::read() {
  if (source_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
  skip_space();
  if (at_end()) {
    fail(DiagnosticKind::EmptyGrammar, span(at_, at_), "no rule in the text",
         "a rule is written: start: \"yes\" | \"no\"");
  }
  while (!at_end()) {
    if (peek() == '%')
      read_statement();
    else
      read_definition(DefinitionKind::Define);
    skip_space();
  }
}

void Reader::read_statement() {
  const std::size_t begin = at_;
  if (take("%ignore")) {
    skip_blanks();
    const Body body = read_body();
    if (syntax_.exprs[body.root].kind == Kind::Sequence && syntax_.exprs[body.root].count == 0)
      fail(DiagnosticKind::Expected, span(begin, begin + 7), "what to ignore after '%ignore'",
           "as in: %ignore /[ \\t]+/");
    syntax_.ignored.push_back(body);
  } else if (take("%import")) {
    read_import();
  } else if (take("%declare")) {
    read_declare();
  } else if (take("%override")) {
    skip_blanks();
    read_definition(DefinitionKind::Override);
  } else if (take("%extend")) {
    skip_blanks();
    read_definition(DefinitionKind::Extend);
  } else if (take("%llguidance")) {
    skip_blanks();
    const Span json = read_json(begin);
    const json_schema::Document document(source_.substr(0, json.offset + json.length), json.offset, syntax_.file);
    if (document.root().find("skip_repetition") != nullptr) {
      fail(DiagnosticKind::Unsupported, json, "option 'skip_repetition' of llguidance",
           "ignored texts repeat; put the bounds where the text may stand, into the rules");
    }
    end_line("'%llguidance {...}'");
  } else {
    fail_statement();
  }
}

void Reader::read_import() {
  Import import;
  skip_blanks();
  const std::size_t begin = at_;
  import.relative = take(".");
  std::size_t last = at_;
  for (;;) {
    skip_blanks();
    last = at_;
    import.path.push_back(expect_name("a name"));
    skip_blanks();
    if (!take(".")) break;
  }
  if (take("(")) {
    import.span = span(begin, at_ - 1);
    do {
      skip_space();
      const std::size_t at = at_;
      const std::string_view name = expect_name("the name of what is imported");
      import.names.push_back({name, name, span(at, at_)});
      skip_space();
    } while (take(","));
    if (!take(")")) {
      fail(DiagnosticKind::Expected, here(), "',' or ')' in a list of names, found " + found(),
           "several names are imported with %import common (INT, WS)");
    }
  } else {
    import.span = span(begin, last + import.path.back().size());
    const std::string_view name = import.path.back();
    import.path.pop_back();
    if (import.path.empty()) {
      fail(DiagnosticKind::Expected, span(begin, at_), "the name of what is imported after " + quoted(name),
           "an import names a grammar and something in it: %import common.INT");
    }
    std::string_view alias = name;
    if (take("->")) {
      skip_blanks();
      const std::size_t at = at_;
      alias = expect_name("a name after '->'");
      if (is_terminal_name(alias) != is_terminal_name(name)) {
        fail(DiagnosticKind::Unexpected, span(at, at_), quoted(alias) + " for " + quoted(name),
             "terminals are upper-case and rules lower-case under their new names too");
      }
    }
    import.names.push_back({name, alias, span(last, last + name.size())});
  }
  syntax_.imports.push_back(std::move(import));
  end_line("an import");
}

void Reader::read_declare() {
  skip_blanks();
  do {
    const std::size_t begin = at_;
    const std::string_view name = expect_name("the name of a terminal");
    if (!is_terminal_name(name)) {
      fail(DiagnosticKind::Unsupported, span(begin, at_), "declared rule " + quoted(name),
           "a declared name stands for a token of the model and is upper-case");
    }
    syntax_.declared.push_back({name, span(begin, at_)});
    skip_blanks();
  } while (is_name(peek()));
  end_line("declared names");
}

void Reader::read_definition(DefinitionKind kind) {
  while (peek() == '?' || peek() == '!') ++at_;
  const std::size_t begin = at_;
  Definition definition;
  definition.kind = kind;
  definition.name = expect_name("the name of a rule or a terminal");
  definition.span = span(begin, at_);
  definition.terminal = is_terminal_name(definition.name);
  if (definition.name.starts_with("__")) {
    fail(DiagnosticKind::Unexpected, definition.span, quoted(definition.name),
         "names that begin with two '_' are reserved");
  }
  read_parameters(definition);
  definition.priority = read_priority();
  read_colon(definition);
  skip_blanks();
  definition.body = read_body();
  syntax_.definitions.push_back(std::move(definition));
}

void Reader::read_parameters(Definition& definition) {
  skip_blanks();
  if (peek() == '[') {
    fail(DiagnosticKind::Unsupported, here(), "attributes of " + quoted(definition.name),
         "captures, temperatures and stops are no part of a grammar; a terminal that ends as soon as it can has a "
         "reluctant quantifier, /.*?<end>/");
  }
  if (peek() == ':' && peek(1) == ':') return;
  const std::size_t begin = at_;
  if (!take("{")) return;
  if (definition.terminal) {
    fail(DiagnosticKind::Unsupported, span(begin, at_), "parameters of the terminal " + quoted(definition.name),
         "templates are rules, in lower case");
  }
  do {
    skip_space();
    const std::size_t at = at_;
    const std::string_view name = expect_name("the name of a parameter");
    for (const Parameter& p : definition.parameters) {
      if (p.name == name) {
        fail(DiagnosticKind::DuplicateRule, span(at, at_), "parameter " + quoted(name),
             "each parameter of a template has a name of its own");
      }
    }
    definition.parameters.push_back({name, span(at, at_)});
    skip_space();
  } while (take(","));
  if (!take("}")) fail(DiagnosticKind::Expected, here(), "',' or '}' after a parameter, found " + found());
  skip_blanks();
}

// Priorities decide between readings of a text. That it has one does not depend on those of rules.
std::int32_t Reader::read_priority() {
  if (!take(".")) return 0;
  skip_blanks();
  const std::size_t begin = at_;
  const bool negative = peek() == '-';
  if (negative || peek() == '+') ++at_;
  if (!is_digit(peek())) {
    fail(DiagnosticKind::Expected, span(begin, std::min(at_ + 1, source_.size())),
         "a number after '.', found " + found(), "a priority is written name.2: ...");
  }
  const auto value = static_cast<std::int32_t>(read_number(kMaxPriority, "priority"));
  skip_blanks();
  return negative ? -value : value;
}

void Reader::read_colon(const Definition& definition) {
  const std::string name(definition.name.substr(0, 40));
  const std::string hint = "it is written: " + name + ": ...";
  if (rest().starts_with("::=")) {
    fail(DiagnosticKind::Expected, span(at_, at_ + 3), "':' after " + quoted(name) + ", found '::='",
         hint + "; a GBNF grammar is read by from_gbnf");
  }
  if (rest().starts_with("::")) {
    fail(DiagnosticKind::Unsupported, span(at_, at_ + 2), "parametric rule " + quoted(name),
         "write the cases out, or as a template: " + name + "{x}: ...");
  }
  if (take(":")) return;
  const bool later = !syntax_.definitions.empty();
  fail(DiagnosticKind::Expected, here(), "':' after " + quoted(name) + ", found " + found(),
       hint + (later ? "; a rule goes on in the next line when that line begins with '|', or inside parentheses" : ""));
}

void Reader::end_line(std::string_view after) {
  skip_blanks();
  if (at_end() || is_newline(peek()) || comment_here()) return;
  fail(DiagnosticKind::Expected, here(), "the end of the line after " + std::string(after) + ", found " + found());
}

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

// Characters.

bool Reader::take(std::string_view sign) {
  if (!rest().starts_with(sign)) return false;
  // A keyword is a whole word: %json is no part of %jsonschema.
  if (sign.front() == '%' && is_name(peek(sign.size()))) return false;
  at_ += sign.size();
  return true;
}

// Letters, digits and '_', and '-' between these.
std::string_view Reader::read_name() {
  const std::size_t begin = at_;
  while (is_name(peek()) || (peek() == '-' && at_ > begin && is_name(peek(1)))) ++at_;
  return source_.substr(begin, at_ - begin);
}

std::string_view Reader::expect_name(std::string_view what) {
  const std::size_t begin = at_;
  const std::string_view name = read_name();
  if (name.empty()) {
    std::string hint;
    if (what.ends_with("a rule or a terminal")) {
      hint = peek() == '<' ? "names are written without angle brackets: start: ..."
             : syntax_.definitions.empty()
                 ? "a rule is written: start: \"yes\" | \"no\""
                 : "a rule goes on in the next line when that line begins with '|', or inside parentheses";
    }
    const DecodedCodePoint c = decode_utf8(source_, at_);
    fail(DiagnosticKind::Expected, span(at_, at_ + c.length), std::string(what) + ", found " + found(), hint);
  }
  const bool lower = std::any_of(name.begin(), name.end(), is_lower);
  const bool upper = std::any_of(name.begin(), name.end(), is_upper);
  const std::size_t letter = name.find_first_not_of('_');
  if (lower == upper || is_digit(name[letter])) {
    fail(DiagnosticKind::Unexpected, span(begin, at_), "name " + quoted(name),
         "names of rules are lower-case, those of terminals upper-case, and they begin with a letter or '_'");
  }
  return name;
}

void Reader::skip_blanks() {
  for (;;) {
    while (peek() == ' ' || peek() == '\t') ++at_;
    // A backslash at the end of a line joins the next one to it.
    if (peek() != '\\') return;
    std::size_t end = 1;
    while (peek(end) == ' ') ++end;
    if (peek(end) == '\r' && peek(end + 1) == '\n') ++end;
    if (peek(end) != '\n') return;
    at_ += end + 1;
  }
}

void Reader::skip_space() {
  for (;; ++at_) {
    skip_blanks();
    if (comment_here()) at_ = end_of_line(at_);
    if (!is_newline(peek())) return;
  }
}

// Errors. None of these returns.

std::string Reader::found() const {
  if (at_end()) return "the end of the text";
  if (is_newline(peek())) return "the end of the line";
  if (is_name(peek())) {
    std::size_t end = at_;
    while (end < source_.size() && is_name(source_[end])) ++end;
    return quoted(source_.substr(at_, end - at_));
  }
  return quoted(source_.substr(at_, decode_utf8(source_, at_).length));
}

void Reader::fail_unterminated(std::string_view what, std::size_t opened, std::string_view closing) const {
  fail(DiagnosticKind::Unterminated, span(opened, std::max(end_of_line(opened), opened + 1)), std::string(what),
       "close it with " + std::string(closing));
}

void Reader::fail_unclosed_group(std::string_view before) const {
  const Group& group = groups_[1];
  const std::size_t open = groups_.size() - 1;
  const Span where = at_end() ? span(element_end_, element_end_) : here();
  const std::string sign = groups_.back().bracket == '(' ? ")" : groups_.back().bracket == '[' ? "]" : "}";
  std::string hint = open == 1 ? "the '" : std::to_string(open) + " groups are open, the first '";
  hint += std::string(1, group.bracket) + "' is at " + place(group.opened);
  fail(DiagnosticKind::Expected, where, "'" + sign + "' " + std::string(before), hint);
}

void Reader::fail_misplaced_definition(std::string_view name, Span where) const {
  const std::string definition = "the definition of " + quoted(name);
  if (groups_.size() > 1) {
    const Group& group = groups_[1];
    fail(DiagnosticKind::Expected, where, "a closing bracket before " + definition,
         "the '" + std::string(1, group.bracket) + "' at " + place(group.opened) + " is not closed");
  }
  fail(DiagnosticKind::Expected, where, "a new line before " + definition, "each rule begins on a line of its own");
}

void Reader::fail_unexpected() const {
  const char c = peek();
  const DecodedCodePoint decoded = decode_utf8(source_, at_);
  std::string hint;
  if (c == '\'' || c == '`' || (decoded.value >= 0x2018 && decoded.value <= 0x201F))
    hint = "a text is written in double quotes: \"...\"";
  else if (c == '=')
    hint = "a rule is written: name: ...";
  else if (c == ',')
    hint = "elements stand one after the other without commas";
  else if (c == ';')
    hint = "a rule ends with its line, without ';'";
  else if (c == '.')
    hint = "a range is written \"a\"..\"z\"; any character is the pattern /./";
  else if (c == '@')
    hint = "grammars are put together with %import; a JSON Schema is written %json {...}";
  else if (c == '!')
    hint = "'!' and '?' stand before the name of a rule where it is defined";
  else if (c == '}' || c == '>')
    fail(DiagnosticKind::Unmatched, here(), found(), "a text is written \"" + std::string(1, c) + "\"");
  else
    hint = "a text is written in double quotes, a pattern between slashes";
  fail(DiagnosticKind::Unexpected, span(at_, at_ + decoded.length), found(), hint);
}

void Reader::fail_statement() const {
  static constexpr std::array<std::string_view, 8> known = {"ignore", "import",     "declare", "override",
                                                            "extend", "llguidance", "json",    "regex"};
  std::size_t end = at_ + 1;
  while (end < source_.size() && is_name(source_[end])) ++end;
  const std::string_view nearest = nearest_name(source_.substr(at_ + 1, end - at_ - 1), known);
  const std::string_view text = source_.substr(at_, end - at_);
  const bool body = text == "%json" || text == "%regex";
  fail(DiagnosticKind::Unexpected, span(at_, end), quoted(text),
       body              ? "it stands in the body of a rule: name: " + std::string(text) + " {...}"
       : nearest.empty() ? "statements are %ignore, %import, %declare, %override, %extend and %llguidance"
                         : "did you mean %" + std::string(nearest) + "?" +
                               (groups_.empty() ? "" : " statements begin on a line of their own"));
}

}  // namespace

bool is_terminal_name(std::string_view name) { return std::any_of(name.begin(), name.end(), is_upper); }

void read_syntax(Syntax& syntax) {
  check_source(syntax.source, syntax.file);
  Reader(syntax).read();
}

}  // namespace glr::lark
