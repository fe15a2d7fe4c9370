// Ends: how a state can be completed, once all that guards forbid is left out.
//
// Under guards a state may have no way to go on: after `a` of A: /a+/ another A can never come. So `ends(q)` is the set
// of guards under which q can come to an end at its level, by whatever text: {kNothing} when it can without any, and no
// more is asked then, since fewer conditions allow more; empty when it cannot, and then q is no state to be in. What q
// is completed to is completed further by the frame below, under that guard, and so on down to the bottom, where an end
// is an end (Stack::alive).
//
// The sets are least fixed points over the machine's own transitions: an exit of q, or an end of what a byte leads to;
// where that lies above pushed frames, an end of each frame under a guard that what is above ends with (the summaries
// of a pushdown system: Sharir and Pnueli 1981).
//
// Exact and slow: for grammars only of which it is not known that no guard ever leaves nothing to go on with
// (never_stuck.hpp). Looks at as many states as a query needs; over kMostStates or kMostLooks it is a BudgetError.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "expression/expression.hpp"

namespace glr {

class Machine;

class Ends {
 public:
  explicit Ends(Machine& machine) : machine_(machine) {}

  // The caller holds the machine's mutex; the reference is valid until the next call. Throws BudgetError.
  const std::vector<ExprId>& of(ExprId state);

 private:
  static constexpr std::size_t kMostStates = 65'536;
  static constexpr std::uint64_t kMostLooks = 20'000'000;  // a few seconds

  struct Entry {
    std::vector<ExprId> ends;        // ascending
    bool waiting = false;            // in todo_
    std::vector<ExprId> dependents;  // states to be looked at again when it grows; empty once all is settled
  };
  void wait(ExprId state, Entry& entry);
  std::vector<ExprId> evaluate(ExprId state);
  const std::vector<ExprId>& known(ExprId state, ExprId asked_for);

  Machine& machine_;
  std::uint64_t looked_at_ = 0;  // in the query that runs
  std::unordered_map<ExprId, Entry> entries_;
  std::unordered_set<std::uint64_t> depends_;  // a state and one of its dependents, while a query runs
  std::vector<ExprId> todo_;
  std::vector<ExprId> asked_;  // entries with dependents
};

}  // namespace glr
