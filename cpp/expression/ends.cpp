#include "expression/ends.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "expression/machine.hpp"
#include "glrsampler/error.hpp"

namespace glr {

namespace {

using Guards = std::set<ExprId>;

std::vector<ExprId> least(const Guards& guards) {
  if (guards.contains(kNothing)) return {kNothing};
  return {guards.begin(), guards.end()};
}

}  // namespace

const std::vector<ExprId>& Ends::known(ExprId state, ExprId asked_for) {
  const auto [it, fresh] = entries_.try_emplace(state);
  if (fresh) todo_.push_back(state);
  std::vector<ExprId>& dependents = it->second.dependents;
  if (dependents.empty()) asked_.push_back(state);
  if (std::ranges::find(dependents, asked_for) == dependents.end()) dependents.push_back(asked_for);
  return it->second.ends;
}

std::vector<ExprId> Ends::evaluate(ExprId state) {
  // What was found stays: where ends of parts have become fewer, since one of them needs no guard, they allow more.
  const std::vector<ExprId>& before = entries_.at(state).ends;
  Guards found(before.begin(), before.end());
  const auto take = [&](ExprId next, Guards& into) {
    const auto& ends = known(next, state);
    into.insert(ends.begin(), ends.end());
  };
  // Each alternative for itself: there are far fewer of them than sets of them.
  if (machine_.store()[state].kind == ExprKind::Alternation) {
    for (ExprId m : machine_.store().alternatives(state)) take(m, found);
    return least(found);
  }
  machine_.for_each_exit(state, [&](ExprId guard) { found.insert(guard); });
  for (const Transition t : machine_.all_transitions_of(state)) {
    if (found.contains(kNothing)) break;
    if (t == kDead) continue;
    if (!(t & kProgram)) {
      take(t, found);
      continue;
    }
    const Program& program = machine_.program(t);
    std::vector<Guards> above(program.vertices);  // with what the targets end above each vertex
    for (const Target& target : program.targets) take(target.state, above[target.vertex]);
    for (std::uint32_t v = program.vertices; v-- > 1;) {
      for (const Push& p : program.pushes) {
        if (p.vertex != v) continue;
        for (ExprId guard : above[v]) {
          if (p.frame == kEmpty)
            above[p.parent].insert(guard);
          else
            take(machine_.under(guard, p.frame), above[p.parent]);
        }
      }
    }
    found.insert(above[0].begin(), above[0].end());
  }
  return least(found);
}

const std::vector<ExprId>& Ends::of(ExprId state) {
  if (const auto it = entries_.find(state); it != entries_.end()) return it->second.ends;
  const std::size_t before = entries_.size();
  entries_.try_emplace(state);
  todo_.push_back(state);
  while (!todo_.empty()) {
    const ExprId at = todo_.back();
    todo_.pop_back();
    std::vector<ExprId> ends = evaluate(at);
    Entry& entry = entries_.at(at);
    if (ends != entry.ends) {
      entry.ends = std::move(ends);
      todo_.insert(todo_.end(), entry.dependents.begin(), entry.dependents.end());
    }
    if (entries_.size() - before <= kMostStates) continue;
    entries_.clear();
    todo_.clear();
    asked_.clear();
    throw BudgetError("whether a longest match leaves anything to go on with is not found out within " +
                          std::to_string(kMostStates) + " states",
                      "max_states", kMostStates, kMostStates + 1, "");
  }
  for (ExprId id : asked_) entries_.at(id).dependents.clear();
  asked_.clear();
  return entries_.at(state).ends;
}

}  // namespace glr
