// Rules -> rules of a Grammar.
//
// A rule is written when something refers to it, a template once for each combination of arguments. What is to be
// written waits in a queue: nothing recurses on the nesting of rules, bodies or arguments.
//
// Ignored texts may stand before, between and after terminals. The grammar says so with one rule for any number of
// them, at the start of the text and after each terminal; between two terminals they are not written twice.
//
// For a contextual lexer nothing ignored is written, and each terminal is a rule of its own: contextual.hpp goes on.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "glrsampler/grammar.hpp"
#include "grammar/lark/contextual.hpp"
#include "grammar/lark/imports.hpp"
#include "grammar/lark/terminals.hpp"

namespace glr::lark {

class Writer {
 public:
  Writer(const Program& program, GrammarBuilder& builder, LarkOptions::Lexing lexing)
      : program_(program),
        builder_(builder),
        terminals_(program, builder, lexing),
        contextual_(lexing == LarkOptions::Lexing::Contextual) {}

  // The root: what the symbol `start` stands for.
  RuleId write(SymbolId start);
  // For a contextual lexer: the terminals that were written.
  const std::vector<LexerTerminal>& terminals() const { return lexer_terminals_; }

 private:
  // An argument of a template: a rule or a terminal, an instance of a template, or a text or pattern.
  struct Argument {
    enum class Kind : std::uint8_t { Symbol, Instance, Node } kind = Kind::Symbol;
    std::uint32_t id = 0;
    auto operator<=>(const Argument&) const = default;
  };
  struct Instance {
    SymbolId symbol;
    std::vector<Argument> arguments;
    RuleId rule;
  };
  struct Place {
    ScopeId scope;
    const Instance* instance;  // whose body is being written
    const Symbol* symbol;
  };

  std::uint32_t instance(SymbolId symbol, std::vector<Argument> arguments, ScopeId scope, Span use);
  void write_instance(std::uint32_t id);
  void write_ignored(Span where);
  NodeId write_body(const Part& part, const Instance& instance);
  NodeId write_expr(const Place& place, const Expr& expr, std::span<const NodeId> parts);
  Argument argument(const Place& place, const Expr& expr, std::span<const Argument> parts);
  std::optional<Argument> parameter(const Place& place, std::string_view name) const;
  std::uint32_t use_template(const Place& place, const Expr& expr, std::span<const Argument> arguments);
  NodeId use(const Argument& argument, const Place& place, Span where);
  NodeId use_symbol(SymbolId symbol, ScopeId scope, Span where);
  NodeId then_ignored(NodeId lexeme, Span where);
  NodeId terminal(const Place& place, const Expr& expr);
  RuleId terminal_rule(SymbolId symbol, Span use);
  void check_ignored() const;
  NodeId json(ScopeId scope, const Expr& expr);

  const Program& program_;
  GrammarBuilder& builder_;
  Terminals terminals_;
  bool contextual_;
  std::vector<LexerTerminal> lexer_terminals_;
  std::map<std::string, SymbolId> named_texts_;  // terminals that are one text or pattern, by what it says
  std::map<std::string, RuleId> unnamed_;        // others of rules, by what they say
  std::vector<Instance> instances_;
  std::map<std::pair<SymbolId, std::vector<Argument>>, std::uint32_t> known_;
  std::map<SymbolId, RuleId> terminal_rules_;
  std::map<std::string, NodeId> texts_;  // arguments that are texts and patterns, by what they say
  std::optional<RuleId> ignored_;        // any number of ignored texts
  std::size_t templates_ = 0;            // instances with arguments
  std::size_t copied_ = 0;               // expressions written for these and for imported rules
};

}  // namespace glr::lark
