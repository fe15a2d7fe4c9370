#include "expression/ends.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

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
  ++looked_at_;
  const auto [it, fresh] = entries_.try_emplace(state);
  if (fresh) wait(state, it->second);
  if (depends_.insert(std::uint64_t{state} << 32 | asked_for).second) {
    if (it->second.dependents.empty()) asked_.push_back(state);
    it->second.dependents.push_back(asked_for);
  }
  return it->second.ends;
}

void Ends::wait(ExprId state, Entry& entry) {
  if (std::exchange(entry.waiting, true)) return;
  todo_.push_back(state);
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
    // Pushes are in the order of their vertices, parents first: backwards, what is above a vertex is known.
    for (std::size_t i = program.pushes.size(); i-- > 0;) {
      const Push& p = program.pushes[i];
      if (p.frame == kEmpty) {
        above[p.parent].insert(above[p.vertex].begin(), above[p.vertex].end());
        continue;
      }
      for (ExprId guard : above[p.vertex]) take(machine_.under(guard, p.frame), above[p.parent]);
    }
    found.insert(above[0].begin(), above[0].end());
  }
  return least(found);
}

const std::vector<ExprId>& Ends::of(ExprId state) {
  if (const auto it = entries_.find(state); it != entries_.end()) return it->second.ends;
  const std::size_t before = entries_.size();
  looked_at_ = 0;
  wait(state, entries_.try_emplace(state).first->second);
  while (!todo_.empty()) {
    const ExprId at = todo_.back();
    todo_.pop_back();
    entries_.at(at).waiting = false;
    std::vector<ExprId> ends = evaluate(at);
    Entry& entry = entries_.at(at);
    if (ends != entry.ends) {
      entry.ends = std::move(ends);
      for (ExprId dependent : entry.dependents) wait(dependent, entries_.at(dependent));
    }
    if (entries_.size() - before <= kMostStates && looked_at_ <= kMostLooks) continue;
    const std::size_t entries = entries_.size();
    entries_.clear();
    todo_.clear();
    asked_.clear();
    depends_.clear();
    throw BudgetError("whether a longest match leaves anything to go on with is not found out within " +
                          std::to_string(kMostStates) + " states and " + std::to_string(kMostLooks) +
                          " looks at them; lexing=\"all\" asks for no such thing",
                      "max_states", kMostStates, entries, "");
  }
  for (ExprId id : asked_) entries_.at(id).dependents.clear();
  asked_.clear();
  depends_.clear();
  return entries_.at(state).ends;
}

}  // namespace glr
