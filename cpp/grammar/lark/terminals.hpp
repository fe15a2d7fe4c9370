// Terminals -> nodes of a Grammar.
//
// A terminal is put together as one regular expression before it is translated, whatever it was written as: an
// assertion or a reluctant quantifier in one piece speaks of the text of all pieces. Only what regular expressions
// cannot say (`&`, `~`, %regex) is put together of nodes, and assertions in its parts end there.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "glrsampler/grammar.hpp"
#include "grammar/lark/imports.hpp"
#include "grammar/regex_syntax.hpp"

namespace glr::lark {

class Terminals {
 public:
  Terminals(const Program& program, GrammarBuilder& builder, LarkOptions::Lexing lexing)
      : program_(program), builder_(builder), lexing_(lexing), known_(program.symbols()) {}

  // One lexeme of a terminal, or of a text, a pattern, a range or %regex in a rule. A lexeme that is not cut short is
  // a Terminal node; one that has a single text, or any lexeme but under Lexing::Longest, is what it consists of.
  NodeId lexeme(SymbolId terminal, Span use);
  NodeId lexeme(ScopeId scope, const Expr& expr);

  // Terminals may not contain themselves. Looks at those of the main file that nothing uses, too.
  void check();

 private:
  // What an expression is so far: a node of tree_, or one of the grammar.
  struct Operand {
    bool in_tree = false;
    std::uint32_t tree = 0;
    NodeId node{};
  };
  struct Known {
    enum class State : std::uint8_t { New, Open, Done } state = State::New;  // of the search for recursion
    std::optional<Operand> operand{};
    std::optional<NodeId> lexeme{};
  };
  struct Use {
    SymbolId symbol;
    ScopeId scope;  // where the name stands
    Span span;
  };

  std::vector<SymbolId> order(SymbolId symbol);
  std::vector<Use> uses(const Symbol& symbol) const;
  const Operand& operand(SymbolId symbol);
  Operand build(ScopeId scope, const Body& body);
  Operand build(ScopeId scope, const Expr& expr, std::span<const Operand> parts);
  Operand text(ScopeId scope, const Expr& expr);
  Operand choice(const std::vector<Operand>& parts, Span span);
  Operand combined(Kind kind, const Expr& expr, std::span<const Operand> parts, Span span);

  Operand tree(std::uint32_t id) const { return {.in_tree = true, .tree = id}; }
  Operand node(NodeId id) const { return {.node = id}; }
  NodeId node_of(const Operand& operand, Span where);
  NodeId lexeme_of(const Operand& operand, Span where);
  RegexTree cut_out(std::uint32_t root, Span where);
  NodeId translated(RegexTree tree, Span where);

  const Program& program_;
  GrammarBuilder& builder_;
  LarkOptions::Lexing lexing_;
  RegexTree tree_;  // of all terminals; equal parts are the same nodes
  std::vector<Known> known_;
  std::size_t written_ = 0;  // nodes of trees that were translated
  std::unordered_map<char32_t, std::vector<CodePointRange>> case_variants_;
};

}  // namespace glr::lark
