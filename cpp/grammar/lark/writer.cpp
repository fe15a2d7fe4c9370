#include "grammar/lark/writer.hpp"

#include <algorithm>

#include "grammar/diagnostic.hpp"
#include "grammar/json_schema/json_schema.hpp"

namespace glr::lark {
namespace {

// More than any grammar that people write. A template whose arguments grow in its own body has no end.
constexpr std::size_t kMostTemplates = 10'000;
constexpr std::size_t kMostCopied =
    1'000'000;  // expressions of templates and imported rules, each time they are written

// Of what a terminal is written as, without quotes and flags.
std::uint32_t length_of(const Expr& e, const Syntax& syntax) {
  if (e.kind == Kind::Text) return static_cast<std::uint32_t>(syntax.texts[e.text].size());
  return e.kind == Kind::Pattern ? e.part.length : e.span.length;
}

}  // namespace

RuleId Writer::write(SymbolId start) {
  terminals_.check();
  for (SymbolId id = 0; id < program_.symbols() && contextual_; ++id) {
    const Symbol& s = program_.symbol(id);
    if (!s.terminal || s.parts.size() != 1) continue;
    const Syntax& syntax = *program_.scope(s.parts[0].scope).syntax;
    const Expr& e = syntax.exprs[s.parts[0].body.root];
    if (e.kind == Kind::Text || e.kind == Kind::Pattern)
      named_texts_.try_emplace(std::string(syntax.spelled(e.span)), id);
  }
  const Symbol& symbol = program_.symbol(start);
  RuleId root{};
  const bool ignores = !program_.ignored().empty() && !contextual_;
  if (ignores) {
    root = builder_.declare(symbol.name);
    ignored_ = builder_.declare("ignored");
  }
  const Span where = program_.in_main(symbol.scope, symbol.span);
  const NodeId body = use_symbol(start, Program::kMain, where);
  for (std::uint32_t i = 0; i < instances_.size(); ++i) write_instance(i);
  check_ignored();
  if (contextual_) {
    for (const SymbolId ignored : program_.ignored()) {
      const RuleId rule = terminal_rule(ignored, program_.in_main(program_.symbol(ignored).scope, {}));
      std::ranges::find(lexer_terminals_, rule, &LexerTerminal::rule)->ignored = true;
    }
    root = builder_.declare(symbol.name);
    builder_.define(root, body, where);
    return root;
  }
  if (!ignores) {
    const bool terminal = symbol.terminal;
    return terminal ? terminal_rules_.at(start) : instances_.front().rule;
  }
  write_ignored(where);
  const NodeId parts[] = {builder_.rule_ref(*ignored_, where), body};
  builder_.define(root, builder_.sequence(parts, where), where);
  return root;
}

void Writer::check_ignored() const {
  for (const SymbolId ignored : program_.ignored()) {
    const Symbol& s = program_.symbol(ignored);
    if (s.declared) {
      program_.fail(
          s.scope, {DiagnosticKind::Unsupported, s.span, "ignored token " + quoted(s.name), "what is ignored is text"});
    }
    if (!s.terminal) {
      program_.fail(s.scope, {DiagnosticKind::Unsupported, s.span, "ignored rule " + quoted(s.name),
                              "what is ignored is a terminal, in upper case"});
    }
  }
}

// Each ignored terminal is a rule of its own, so that messages can name it.
void Writer::write_ignored(Span where) {
  std::vector<NodeId> uses;
  for (const SymbolId ignored : program_.ignored()) {
    const Symbol& s = program_.symbol(ignored);
    const Span place = program_.in_main(s.scope, s.span);
    const RuleId rule = builder_.declare(s.name);
    builder_.define(rule, terminals_.lexeme(ignored, place), place);
    uses.push_back(builder_.rule_ref(rule, place));
  }
  builder_.define(*ignored_, builder_.repeat(builder_.choice(uses, where), 0, kUnbounded, where), {});
}

std::uint32_t Writer::instance(SymbolId symbol, std::vector<Argument> arguments, ScopeId scope, Span use) {
  const auto [it, fresh] = known_.try_emplace({symbol, arguments}, static_cast<std::uint32_t>(instances_.size()));
  if (!fresh) return it->second;
  const Symbol& s = program_.symbol(symbol);
  if (!arguments.empty() && ++templates_ > kMostTemplates) {
    program_.fail(scope, {DiagnosticKind::LimitExceeded, use,
                          "more than " + std::to_string(kMostTemplates) + " uses of templates with different arguments",
                          "an argument that grows each time the template uses itself has no end"});
  }
  instances_.push_back({symbol, std::move(arguments), builder_.declare(s.name)});
  return it->second;
}

void Writer::write_instance(std::uint32_t id) {
  const Instance instance = instances_[id];
  const Symbol& symbol = program_.symbol(instance.symbol);
  std::vector<NodeId> alternatives;
  for (const Part& part : symbol.parts) alternatives.push_back(write_body(part, instance));
  const Span where = program_.in_main(symbol.scope, symbol.span);
  builder_.define(instance.rule, builder_.choice(alternatives, where), where);
}

NodeId Writer::write_body(const Part& part, const Instance& instance) {
  const Syntax& syntax = *program_.scope(part.scope).syntax;
  const Place place{part.scope, &instance, &program_.symbol(instance.symbol)};
  // By expression: its node, or what it is as an argument.
  const std::size_t count = part.body.root - part.body.first + 1;
  if (!instance.arguments.empty() || part.scope != Program::kMain) copied_ += count;
  if (copied_ > kMostCopied) {
    program_.fail(part.scope, {DiagnosticKind::LimitExceeded, syntax.exprs[part.body.root].span,
                               "more than " + std::to_string(kMostCopied) + " expressions of templates and imports",
                               "a rule that does not depend on the arguments is written once, outside the template"});
  }
  std::vector<NodeId> nodes(count);
  std::vector<Argument> arguments(count);
  std::vector<NodeId> parts;
  std::vector<Argument> given;
  for (std::uint32_t i = part.body.first; i <= part.body.root; ++i) {
    const Expr& e = syntax.exprs[i];
    const std::size_t at = i - part.body.first;
    parts.clear();
    given.clear();
    for (const std::uint32_t p : syntax.parts(e)) {
      parts.push_back(nodes[p - part.body.first]);
      given.push_back(arguments[p - part.body.first]);
    }
    if (e.argument)
      arguments[at] = argument(place, e, given);
    else if (e.kind == Kind::Template)
      nodes[at] =
          builder_.rule_ref(instances_[use_template(place, e, given)].rule, program_.in_main(part.scope, e.span));
    else
      nodes[at] = write_expr(place, e, parts);
  }
  return nodes.back();
}

NodeId Writer::write_expr(const Place& place, const Expr& e, std::span<const NodeId> parts) {
  const Syntax& syntax = *program_.scope(place.scope).syntax;
  const Span where = program_.in_main(place.scope, e.span);
  switch (e.kind) {
    case Kind::Text:
    case Kind::Pattern:
    case Kind::Range:
    case Kind::Substring:
      if (contextual_) return terminal(place, e);
      return then_ignored(terminals_.lexeme(place.scope, e), where);
    case Kind::Name: {
      const std::string_view name = syntax.texts[e.text];
      if (const auto bound = parameter(place, name)) return use(*bound, place, e.span);
      return use_symbol(program_.resolve(place.scope, name, e.span), place.scope, e.span);
    }
    case Kind::Tokens: {
      std::vector<NodeId> tokens;
      if (contextual_) return terminal(place, e);
      for (std::uint32_t i = 0; i < e.count; ++i) tokens.push_back(builder_.token(syntax.tokens[e.first + i], where));
      return then_ignored(builder_.choice(tokens, where), where);
    }
    case Kind::Json:
      return then_ignored(json(place.scope, e), where);
    case Kind::Sequence:
      return builder_.sequence(parts, where);
    case Kind::Choice:
      return builder_.choice(parts, where);
    case Kind::Repeat:
      return builder_.repeat(parts.front(), e.min, e.max, where);
    case Kind::Template:
    case Kind::Both:
    case Kind::Not:
      break;
  }
  program_.fail(place.scope,
                {DiagnosticKind::Unsupported, e.span, e.kind == Kind::Not ? "'~' in a rule" : "'&' in a rule",
                 "these are for regular languages: write it as a terminal, in upper case"});
}

// Templates.

std::optional<Writer::Argument> Writer::parameter(const Place& place, std::string_view name) const {
  const auto& parameters = place.symbol->parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].name == name) return place.instance->arguments[i];
  }
  return std::nullopt;
}

Writer::Argument Writer::argument(const Place& place, const Expr& e, std::span<const Argument> parts) {
  const Syntax& syntax = *program_.scope(place.scope).syntax;
  switch (e.kind) {
    case Kind::Name: {
      const std::string_view name = syntax.texts[e.text];
      if (const auto bound = parameter(place, name)) return *bound;
      return {Argument::Kind::Symbol, program_.resolve(place.scope, name, e.span)};
    }
    case Kind::Template:
      return {Argument::Kind::Instance, use_template(place, e, parts)};
    default: {
      std::string says(syntax.spelled(e.span));
      const auto [it, fresh] = texts_.try_emplace(std::move(says));
      if (fresh) it->second = write_expr(place, e, {});
      return {Argument::Kind::Node, static_cast<std::uint32_t>(it->second)};
    }
  }
}

std::uint32_t Writer::use_template(const Place& place, const Expr& e, std::span<const Argument> arguments) {
  const std::string_view name = program_.scope(place.scope).syntax->texts[e.text];
  const Span where{e.span.offset, static_cast<std::uint32_t>(name.size())};
  SymbolId symbol = 0;
  if (const auto bound = parameter(place, name)) {
    if (bound->kind != Argument::Kind::Symbol) {
      program_.fail(place.scope, {DiagnosticKind::Unexpected, where, "arguments of " + quoted(name),
                                  "what was given for it takes no arguments"});
    }
    symbol = bound->id;
  } else {
    symbol = program_.resolve(place.scope, name, where);
  }
  const Symbol& s = program_.symbol(symbol);
  if (s.parameters.size() != arguments.size()) {
    program_.fail(place.scope,
                  {DiagnosticKind::Unexpected, e.span,
                   "number of arguments of " + quoted(s.name) + ": " + std::to_string(arguments.size()),
                   s.parameters.empty() ? "it takes none" : "it takes " + std::to_string(s.parameters.size())});
  }
  return instance(symbol, {arguments.begin(), arguments.end()}, place.scope, e.span);
}

NodeId Writer::use(const Argument& argument, const Place& place, Span where) {
  switch (argument.kind) {
    case Argument::Kind::Symbol:
      return use_symbol(argument.id, place.scope, where);
    case Argument::Kind::Instance:
      return builder_.rule_ref(instances_[argument.id].rule, program_.in_main(place.scope, where));
    case Argument::Kind::Node:
      break;
  }
  return NodeId{argument.id};
}

// Rules and terminals.

NodeId Writer::use_symbol(SymbolId symbol, ScopeId scope, Span where) {
  const Symbol& s = program_.symbol(symbol);
  const Span use = program_.in_main(scope, where);
  if (!s.terminal) {
    if (!s.parameters.empty()) {
      program_.fail(
          scope, {DiagnosticKind::Expected, where, "arguments after " + quoted(s.name),
                  "it is a template of " + std::to_string(s.parameters.size()) + ": " + std::string(s.name) + "{...}"});
    }
    return builder_.rule_ref(instances_[instance(symbol, {}, scope, where)].rule, use);
  }
  return builder_.rule_ref(terminal_rule(symbol, use), use);
}

RuleId Writer::terminal_rule(SymbolId symbol, Span use) {
  const Symbol& s = program_.symbol(symbol);
  const auto [it, fresh] = terminal_rules_.try_emplace(symbol);
  if (!fresh) return it->second;
  const RuleId rule = it->second = builder_.declare(s.name);
  const NodeId lexeme = terminals_.lexeme(symbol, use);
  builder_.define(rule, then_ignored(lexeme, use), program_.in_main(s.scope, s.span));
  if (contextual_) {
    LexerTerminal made{.rule = rule, .name = std::string(s.name), .priority = s.priority, .whole = s.declared};
    for (const Part& part : s.parts) {
      const Expr& e = program_.scope(part.scope).syntax->exprs[part.body.root];
      made.text = s.parts.size() == 1 && e.kind == Kind::Text;
      made.written += length_of(e, *program_.scope(part.scope).syntax);
    }
    lexer_terminals_.push_back(std::move(made));
  }
  return rule;
}

// A terminal of a contextual lexer that stands in a rule. What says the same is the same one, also when it has a name.
NodeId Writer::terminal(const Place& place, const Expr& e) {
  const Syntax& syntax = *program_.scope(place.scope).syntax;
  const Span where = program_.in_main(place.scope, e.span);
  std::string says(syntax.spelled(e.span));
  if (const auto named = named_texts_.find(says); named != named_texts_.end()) {
    return builder_.rule_ref(terminal_rule(named->second, where), where);
  }
  const auto [it, fresh] = unnamed_.try_emplace(says);
  if (!fresh) return builder_.rule_ref(it->second, where);
  LexerTerminal made{.name = says, .text = e.kind == Kind::Text, .written = length_of(e, syntax)};
  made.whole = e.kind == Kind::Tokens;
  made.rule = it->second = builder_.declare(says);
  NodeId body{};
  if (e.kind == Kind::Tokens) {
    std::vector<NodeId> tokens;
    for (std::uint32_t i = 0; i < e.count; ++i) tokens.push_back(builder_.token(syntax.tokens[e.first + i], where));
    body = builder_.choice(tokens, where);
  } else {
    body = terminals_.lexeme(place.scope, e);
  }
  builder_.define(made.rule, body, where);
  lexer_terminals_.push_back(std::move(made));
  return builder_.rule_ref(it->second, where);
}

NodeId Writer::then_ignored(NodeId lexeme, Span where) {
  if (!ignored_) return lexeme;
  const NodeId parts[] = {lexeme, builder_.rule_ref(*ignored_, where)};
  return builder_.sequence(parts, where);
}

NodeId Writer::json(ScopeId scope, const Expr& e) {
  const Syntax& syntax = *program_.scope(scope).syntax;
  const glr::Place at = place_of(syntax.source, e.span.offset);
  const std::string_view text = std::string_view(syntax.source).substr(0, e.part.offset + e.part.length);
  try {
    const RuleId rule = add_json_schema(builder_, text, e.part.offset, {}, syntax.file);
    if (contextual_)
      lexer_terminals_.push_back({.rule = rule, .name = std::string(syntax.spelled(e.span)), .whole = true});
    return builder_.rule_ref(rule, program_.in_main(scope, e.span));
  } catch (const SchemaError& error) {
    // "grammar#/type: ..." is about a file; this schema has a place in one.
    const std::string file_name = escaped(syntax.file);
    const std::string place = ':' + std::to_string(at.line) + ':' + std::to_string(at.column);
    const std::string message = file_name + place + std::string(error.what()).substr(file_name.size());
    throw SchemaError({message, at.line, at.column, error.hint}, error.pointer);
  }
}

}  // namespace glr::lark
