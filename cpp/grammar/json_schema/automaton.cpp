#include "grammar/json_schema/automaton.hpp"

#include <algorithm>

namespace glr::json_schema {

Automaton::State Automaton::add(bool accepting) {
  states_.push_back({accepting, {}});
  return static_cast<State>(states_.size() - 1);
}

Automaton Automaton::minimised() const {
  constexpr State none = 0xFFFFFFFF;
  const std::size_t n = states_.size();
  // Backwards from acceptance.
  std::vector<std::vector<State>> before(n);
  for (State s = 0; s < n; ++s) {
    for (const auto& [c, to] : states_[s].moves) before[to].push_back(s);
  }
  std::vector<bool> live(n);
  std::vector<State> todo;
  for (State s = 0; s < n; ++s) {
    if (states_[s].accepting) todo.push_back(s);
  }
  while (!todo.empty()) {
    const State s = todo.back();
    todo.pop_back();
    if (live[s]) continue;
    live[s] = true;
    todo.insert(todo.end(), before[s].begin(), before[s].end());
  }
  // Classes are split by acceptance, then by the classes moves lead to, until nothing splits.
  std::vector<State> group(n);
  for (State s = 0; s < n; ++s) group[s] = !live[s] ? none : states_[s].accepting ? 1 : 0;
  for (std::size_t count = 0;;) {
    std::map<std::vector<std::uint64_t>, State> known;
    std::vector<State> next(n, none);
    for (State s = 0; s < n; ++s) {
      if (!live[s]) continue;
      std::vector<std::uint64_t> key{group[s]};
      for (const auto& [c, to] : states_[s].moves) {
        if (live[to]) key.push_back(std::uint64_t{static_cast<unsigned char>(c)} << 32 | group[to]);
      }
      next[s] = known.emplace(std::move(key), static_cast<State>(known.size())).first->second;
    }
    group = std::move(next);
    if (known.size() == count) break;
    count = known.size();
  }
  Automaton out;
  if (n == 0 || !live[0]) return out;
  // State 0 is numbered first because it is looked at first.
  State groups = 0;
  for (State s = 0; s < n; ++s) {
    if (live[s]) groups = std::max(groups, group[s] + 1);
  }
  out.states_.resize(groups);
  for (State s = 0; s < n; ++s) {
    if (!live[s]) continue;
    out.states_[group[s]].accepting = states_[s].accepting;
    for (const auto& [c, to] : states_[s].moves) {
      if (live[to]) out.states_[group[s]].moves[c] = group[to];
    }
  }
  return out;
}

// Tarjan's algorithm with the path on a stack of its own.
std::vector<std::vector<Automaton::State>> Automaton::components() const {
  struct Visit {
    State state;
    std::map<char, State>::const_iterator next;
  };
  constexpr std::uint32_t unseen = 0xFFFFFFFF;
  std::vector<std::uint32_t> order(states_.size(), unseen);
  std::vector<std::uint32_t> low(states_.size());
  std::vector<bool> open(states_.size());
  std::vector<State> waiting;
  std::vector<Visit> path;
  std::vector<std::vector<State>> out;
  std::uint32_t count = 0;
  const auto enter = [&](State s) {
    order[s] = low[s] = count++;
    open[s] = true;
    waiting.push_back(s);
    path.push_back({s, states_[s].moves.begin()});
  };
  for (State start = 0; start < states_.size(); ++start) {
    if (order[start] != unseen) continue;
    enter(start);
    while (!path.empty()) {
      Visit& top = path.back();
      const State s = top.state;
      if (top.next != states_[s].moves.end()) {
        const State to = (top.next++)->second;
        if (order[to] == unseen)
          enter(to);
        else if (open[to])
          low[s] = std::min(low[s], order[to]);
        continue;
      }
      path.pop_back();
      if (!path.empty()) low[path.back().state] = std::min(low[path.back().state], low[s]);
      if (low[s] != order[s]) continue;
      std::vector<State> component;
      State member = s;
      do {
        member = waiting.back();
        waiting.pop_back();
        open[member] = false;
        component.push_back(member);
      } while (member != s);
      out.push_back(std::move(component));
    }
  }
  return out;
}

NodeId Automaton::write(GrammarBuilder& builder) const { return minimised().write_minimal(builder); }

NodeId Automaton::write_minimal(GrammarBuilder& builder) const {
  if (states_.empty()) return builder.nothing({});
  std::vector<NodeId> nodes(states_.size());
  const auto moves_to = [&](State s) {
    std::map<State, std::vector<CodePointRange>> by_target;
    for (const auto& [c, to] : states_[s].moves)
      by_target[to].push_back({static_cast<char32_t>(c), static_cast<char32_t>(c)});
    return by_target;
  };
  const auto body = [&](State s, bool with_self) {
    std::vector<NodeId> ways;
    if (states_[s].accepting) ways.push_back(builder.empty({}));
    for (const auto& [to, characters] : moves_to(s)) {
      if (to == s && !with_self) continue;
      ways.push_back(builder.sequence(std::vector{builder.code_points(characters, {}), nodes[to]}, {}));
    }
    return builder.choice(ways, {});
  };
  for (const auto& component : components()) {
    if (component.size() == 1) {
      const State s = component[0];
      const auto moves = moves_to(s);
      const NodeId rest = body(s, false);
      const auto loop = moves.find(s);
      if (loop == moves.end()) {
        nodes[s] = rest;
      } else {
        const NodeId again = builder.repeat(builder.code_points(loop->second, {}), 0, kUnbounded, {});
        nodes[s] = builder.sequence(std::vector{again, rest}, {});
      }
      continue;
    }
    std::vector<RuleId> rules;
    for (const State s : component) {
      rules.push_back(builder.declare("number-state"));
      nodes[s] = builder.rule_ref(rules.back(), {});
    }
    for (std::size_t i = 0; i < component.size(); ++i) builder.define(rules[i], body(component[i], true), {});
  }
  return nodes[0];
}

}  // namespace glr::json_schema
