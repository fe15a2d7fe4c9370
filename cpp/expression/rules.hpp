// Rules: a grammar as terms, on its way from the author's text to the machine. The stages, in order, one
// file each:
//
//   terms_of               syntax tree -> one term a rule; unproductive parts dropped, and every rule rewritten
//                          so that it never derives the empty text (a use of a nullable rule becomes `call | empty`)
//   remove_left_recursion  direct, indirect, hidden, cyclic: loops instead
//   drop_empty             intersections and complements: rules in their operands substituted, empty ones dropped
//   limit_nesting          with a nesting budget: recursive rules in one copy per level
//   choose_calls           right recursion into loops; which rules stay calls, all others are substituted
//   link                   into a machine, where equal rules of different grammars are one rule
//
// Throughout, a rule's body is never nullable and every rule is productive.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "expression/expression.hpp"
#include "expression/machine.hpp"
#include "glrsampler/grammar.hpp"
#include "glrsampler/limits.hpp"
#include "glrsampler/vocabulary.hpp"

namespace glr {

struct Rules {
  ExpressionStore terms;
  std::vector<ExprId> bodies;  // by rule
  ExprId root = kNothing;      // the sentences: a call of the root rule, or empty, or both
  std::vector<bool> calls;     // by rule, as far as it goes: stays a call where it is used more than once

  std::uint32_t add(ExprId body) {
    bodies.push_back(body);
    return static_cast<std::uint32_t>(bodies.size() - 1);
  }
};

// `vocabulary` resolves token literals; without one they match nothing. Throws GrammarError.
void terms_of(const Grammar& grammar, const Vocabulary* vocabulary, Rules& out);
// By NodeId: whether the empty text is one of the node's.
std::vector<bool> nullable_nodes(const Grammar& grammar);
// Whether the grammar has intersections or complements. Throws GrammarError when one of them, or a terminal, has an
// operand that is not regular.
bool check_operands(const Grammar& grammar);
// The term of a terminal whose language is x, not nullable: x itself where nothing has a longer reading.
ExprId lexeme(ExpressionStore& terms, ExprId x);
void remove_left_recursion(Rules& rules);
// For grammars with intersections or complements. Throws BudgetError when finding out takes too many derivatives.
void drop_empty(Rules& rules);
// Sentences nest at most `levels` deep. `rule` is the root's name, for the BudgetError when the copies would have
// more than `max_terms` terms: each may become a state.
void limit_nesting(Rules& rules, std::uint32_t levels, std::uint64_t max_terms, const std::string& rule);
void choose_calls(Rules& rules);
// By rule: whether choose_calls() would leave it a call.
std::vector<bool> chosen_calls(Rules& rules);

// Rules of a machine by what they mean, so that grammars share them.
using RuleIndex = std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t>;
// The root as a term of the machine. The caller holds the machine's mutex.
ExprId link(const Rules& rules, Machine& machine, RuleIndex& index);

// All of it. Of the limits it is max_nesting and max_states that count here. Throws GrammarError and BudgetError, with
// nothing changed but what the machine knows of terms.
ExprId lower(const Grammar& grammar, const Vocabulary* vocabulary, const Limits& limits, const Deadline& deadline,
             Machine& machine, RuleIndex& index);

// The rules called at the head of a term, ascending.
std::vector<std::uint32_t> head_calls(const ExpressionStore& terms, ExprId id);
// All rules called in a term, with how many terms refer to each.
std::map<std::uint32_t, std::uint32_t> calls_in(const ExpressionStore& terms, ExprId id);
// Strongly connected components of a graph, callees before callers.
std::vector<std::vector<std::uint32_t>> components(const std::vector<std::vector<std::uint32_t>>& edges);

// Whether the term's operands are languages and nothing more: no frames are made inside it.
inline bool is_operator(const Expr& e) {
  return e.kind == ExprKind::And || e.kind == ExprKind::Not || e.kind == ExprKind::Longest;
}

// Which terms a Rewriter looks into.
enum class Descend : std::uint8_t {
  Everywhere,
  OutsideOperators,  // not into the operands of intersections, complements and lexemes
  Counted,           // only where there are counters
};

// Rebuilds terms bottom up with some subterms replaced, each term once. `replace(id, rebuilt)` gets a term
// and the same term with its operands rebuilt, and says what to put. O(reachable terms), no recursion.
template <typename Replace>
class Rewriter {
 public:
  Rewriter(ExpressionStore& terms, Replace replace, Descend descend = Descend::Everywhere)
      : terms_(terms), replace_(std::move(replace)), descend_(descend) {}

  ExprId operator()(ExprId root) {
    std::vector<ExprId> path{root};
    while (!path.empty()) {
      terms_.step();
      const ExprId id = path.back();
      if (done_.contains(id)) {
        path.pop_back();
        continue;
      }
      bool ready = true;
      const Expr e = terms_[id];
      const bool leaf =
          descend_ == Descend::Counted ? !e.counted : descend_ == Descend::OutsideOperators && is_operator(e);
      const auto operands = leaf ? std::span<const ExprId>() : terms_.operands(terms_[id]);
      for (ExprId operand : operands) {
        if (done_.contains(operand)) continue;
        path.push_back(operand);
        ready = false;
      }
      if (!ready) continue;
      done_.insert(id, replace_(id, leaf ? id : rebuilt(id, e)));
      path.pop_back();
    }
    return done_.at(root);
  }

 private:
  ExprId rebuilt(ExprId id, const Expr& e) {
    switch (e.kind) {
      case ExprKind::Concat:
        return terms_.concat(done_.at(e.a), done_.at(e.b));
      case ExprKind::Star:
        return terms_.star(done_.at(e.a));
      case ExprKind::Repeat:
        return terms_.repeat(done_.at(e.a), e.min, e.max);
      case ExprKind::Endless:
        return terms_.endless(done_.at(e.a));
      case ExprKind::Not:
        return terms_.complement(done_.at(e.a));
      case ExprKind::Longest:
        return terms_.longest(done_.at(e.a), e.b == kNothing ? kNothing : done_.at(e.b), e.min != 0);
      case ExprKind::Guarded:
        return terms_.guarded(done_.at(e.a), done_.at(e.b));
      case ExprKind::Alternation:
      case ExprKind::And: {
        const auto list = terms_.operands(e);
        std::vector<ExprId> members(list.begin(), list.end());
        for (ExprId& m : members) m = done_.at(m);
        return e.kind == ExprKind::And ? terms_.intersection(std::move(members))
                                       : terms_.alternation(std::move(members));
      }
      case ExprKind::Members: {
        MemberTable table = terms_.member_table(e);
        for (ExprId& operand : table.operands) operand = done_.at(operand);
        return terms_.members(std::move(table));
      }
      default:
        return id;
    }
  }

  ExpressionStore& terms_;
  Replace replace_;
  Descend descend_;
  IdMap<ExprId> done_;
};

// Copies terms from one store to another. Calls become calls of `rules` of the same index.
class TermCopier {
 public:
  TermCopier(const ExpressionStore& from, ExpressionStore& to, const std::vector<std::uint32_t>& rules)
      : from_(from), to_(to), rules_(rules) {}
  ExprId operator()(ExprId root);

 private:
  ExprId copy(ExprId id);

  const ExpressionStore& from_;
  ExpressionStore& to_;
  const std::vector<std::uint32_t>& rules_;
  IdMap<ExprId> done_;
};

}  // namespace glr
