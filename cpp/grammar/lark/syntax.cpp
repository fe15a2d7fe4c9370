#include "grammar/lark/reader.hpp"

#include <array>

#include "grammar/json_schema/value.hpp"
#include "grammar/source_text.hpp"
#include "support/utf8.hpp"

namespace glr::lark {
namespace {

constexpr std::uint32_t kMaxPriority = 1'000'000'000;

}  // namespace

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

bool is_terminal_name(std::string_view name) { return std::any_of(name.begin(), name.end(), is_upper); }

void read_syntax(Syntax& syntax) {
  check_source(syntax.source, syntax.file);
  Reader(syntax).read();
}

}  // namespace glr::lark
