#include "automaton/fill.hpp"

#include <algorithm>

namespace glr {

Filler::Filler(Machine& machine, MaskAutomaton& masks, ExprId root, std::uint32_t longest_token)
    : machine_(machine), masks_(masks), longest_token_(longest_token) {
  if (root == kNothing) return;
  discover(root);
  put_below(root, kNothingBelow);
}

void Filler::discover(ExprId state) {
  if (!places_.emplace(state, Place{}).second) return;
  to_explore_.push_back(state);
  arrive(state, kRootResidual);
}

void Filler::put_below(ExprId state, ExprId frame) {
  // Pairs to settle: a frame that goes below one state goes below all that share its level.
  std::vector<std::pair<ExprId, ExprId>> todo{{state, frame}};
  const auto share = [&](ExprId from, ExprId to) {
    if (!at_same_level(from, to)) return;
    for (ExprId f : places_[from].below) todo.emplace_back(to, f);
  };
  while (!todo.empty()) {
    const auto [upper, lower] = todo.back();
    todo.pop_back();
    if (!places_[upper].below.insert(lower).second) continue;
    for (ExprId other : places_[upper].same_level) todo.emplace_back(other, lower);
    if (lower == kNothingBelow && !machine_.careful()) continue;
    if (lower == kNothingBelow) {
      for (ResidualId n : places_[upper].left) arrive(lower, n);
      continue;
    }
    // The stack takes a loop off the lower of two equal ones (Stack::without_leading).
    const ExpressionStore& terms = machine_.store();
    const ExprId star = terms[upper].trailing_star;
    if (star != kNothing && terms.leading_star(lower) == star) {
      const Expr& top = terms[lower];
      if (top.kind == ExprKind::Star) {
        share(lower, upper);
      } else {
        discover(top.b);
        share(lower, top.b);
        todo.emplace_back(upper, top.b);
      }
    }
    for (ResidualId n : places_[upper].left) arrive(lower, n);
    machine_.for_each_exit(upper, [&](ExprId guard) {
      const ExprId popped = machine_.under(guard, lower);
      if (popped == lower) return;
      discover(popped);
      share(lower, popped);
    });
  }
}

// Notes it; false when it was known.
bool Filler::at_same_level(ExprId from, ExprId to) {
  if (from == to) return false;
  std::vector<ExprId>& same = places_[from].same_level;
  if (std::find(same.begin(), same.end(), to) != same.end()) return false;
  same.push_back(to);
  return true;
}

void Filler::share_below(ExprId from, ExprId to) {
  if (!at_same_level(from, to)) return;
  for (ExprId frame : std::vector<ExprId>(places_[from].below.begin(), places_[from].below.end())) put_below(to, frame);
}

void Filler::arrive(ExprId state, ResidualId residual) {
  std::vector<ResidualId>& arrived = places_[state].arrived;
  if (std::find(arrived.begin(), arrived.end(), residual) != arrived.end()) return;
  arrived.push_back(residual);
  to_visit_.push_back({state, residual});
}

void Filler::explore(ExprId state) {
  ++explored_;
  const ExprId relaxed = machine_.relax(state, longest_token_);
  if (relaxed != state) {
    // Far from its bounds a counter is explored as if it had none; near them as it is.
    std::vector<ExprId> instead = machine_.near_bounds(state, longest_token_);
    const bool far = !instead.empty();
    instead.push_back(relaxed);
    for (ExprId s : instead) {
      discover(s);
      share_below(state, s);
    }
    // Inside intersections what is near a bound depends on all that was read before.
    if (far && !machine_.store()[state].counted_operands) return;
  }
  for (const Transition t : machine_.all_transitions_of(state)) {
    ++transitions_;
    if (!(t & kProgram)) {
      discover(t);
      share_below(state, t);
      continue;
    }
    const Program& program = machine_.program(t);
    // The frames on top of each vertex; vertex 0 keeps what is below the state.
    std::vector<std::vector<ExprId>> tops(program.vertices);
    std::vector<bool> open(program.vertices);
    open[0] = true;
    const auto over = [&](ExprId upper, std::uint32_t vertex) {
      if (open[vertex]) share_below(state, upper);
      for (ExprId frame : tops[vertex]) put_below(upper, frame);
    };
    for (const Push& p : program.pushes) {
      if (p.frame == kEmpty) {
        open[p.vertex] = open[p.vertex] || open[p.parent];
        tops[p.vertex].insert(tops[p.vertex].end(), tops[p.parent].begin(), tops[p.parent].end());
        continue;
      }
      discover(p.frame);
      over(p.frame, p.parent);
      tops[p.vertex].push_back(p.frame);
    }
    for (const Target& target : program.targets) {
      discover(target.state);
      over(target.state, target.vertex);
    }
  }
}

Filler::Progress Filler::step(bool give_way) {
  if (!to_visit_.empty()) {
    const Pair pair = to_visit_.front();
    Visit visit;
    if (!give_way)
      visit = masks_.visit(pair.state, pair.residual);
    else if (!masks_.fill(pair.state, pair.residual, visit))
      return Progress::GaveWay;
    to_visit_.pop_front();
    if (visit.residual == kNoResidual) return Progress::More;
    std::vector<ResidualId>& left = places_[pair.state].left;
    if (std::find(left.begin(), left.end(), visit.residual) != left.end()) return Progress::More;
    left.push_back(visit.residual);
    const auto below = places_[pair.state].below;
    for (ExprId frame : below) {
      if (frame != kNothingBelow || machine_.careful()) arrive(frame, visit.residual);
    }
    return Progress::More;
  }
  return explore_next() ? Progress::More : Progress::Done;
}

bool Filler::explore_next() {
  if (to_explore_.empty()) return false;
  const ExprId state = to_explore_.front();
  to_explore_.pop_front();
  explore(state);
  return true;
}

std::unordered_set<ExprId> Filler::found() const {
  std::unordered_set<ExprId> states;
  for (const auto& [state, place] : places_) states.insert(state);
  return states;
}

}  // namespace glr
