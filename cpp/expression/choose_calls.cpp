// Which rules are calls, and which are substituted where they are used.
//
// A call costs a frame, and a residual wherever its body may end; a substituted rule costs states of its
// own in every place. So:
//   - a rule that (after the substitutions so far) calls itself stays a call: the fewest calls that cut
//     every cycle, found greedily, rules used once and small rules first;
//   - a rule used in several places stays a call when it is large, or when it is a loop over many bytes that
//     cannot end inside the loop (a string: it ends at its quote), so that "inside a string" is one state
//     however many places have strings;
//   - a wide loop that authors wrote inline is cut out the same way, together with the factor that ends it.
// A loop that may end anywhere (an identifier) is substituted: as a call it would leave a residual at every
// node of the trie that it reaches.
//
// Rules that call each other in tail position alone cost no frames as calls, whatever their number. A large cycle of
// them (the remainders of a multipleOf) stays as it is: substituting in it is eliminating in a dense system, each
// rule's ten callers then calling its ten callees.
//
// Before that, right recursion A = X A | Y becomes X* Y where an alternative ends with the rule itself, so
// that prefix operators and the like need no call.
#include <algorithm>
#include <queue>
#include <set>
#include <unordered_map>

#include "expression/rules.hpp"

namespace glr {

namespace {

constexpr std::uint32_t kLargeRule = 200;         // factors; below it sharing saves less than a frame costs
constexpr std::uint32_t kLargestCaller = 20'000;  // factors; substitution stops there
// Rules. At 17 both ways cost the same; at 97 substituting costs 3 times the compile and a tenth more states.
constexpr std::size_t kLargeTailCycle = 16;
constexpr unsigned kWideLoop = 32;  // bytes a loop may begin with: a walk of it visits much of the trie

// Bytes a call-free term can begin with.
ByteSet first_bytes(const ExpressionStore& t, ExprId id) {
  ByteSet set;
  std::vector<ExprId> todo{id};
  while (!todo.empty()) {
    const ExprId at = todo.back();
    const Expr& e = t[at];
    todo.pop_back();
    if (e.kind == ExprKind::Bytes) {
      set.insert(t.byte_set(e));
    } else if (e.kind == ExprKind::Concat) {
      todo.push_back(e.a);
      if (t[e.a].nullable) todo.push_back(e.b);
    } else {
      for (ExprId operand : t.operands(e)) todo.push_back(operand);
    }
  }
  return set;
}

bool wide_loop(const ExpressionStore& t, ExprId id) {
  const Expr& e = t[id];
  const bool loop = e.kind == ExprKind::Star || (e.kind == ExprKind::Repeat && e.max > kSmallBound);
  return loop && !e.calls && first_bytes(t, e.a).count() >= kWideLoop;
}

bool has_wide_loop(const ExpressionStore& t, ExprId root) {
  const ExprId roots[1] = {root};
  const auto all = t.reachable(roots);
  return std::any_of(all.begin(), all.end(), [&](ExprId id) { return wide_loop(t, id); });
}

// Whether the term may end inside a wide loop.
bool ends_in_wide_loop(const ExpressionStore& t, ExprId root) {
  std::vector<ExprId> todo{root};
  while (!todo.empty()) {
    const ExprId at = todo.back();
    const Expr& e = t[at];
    todo.pop_back();
    if (wide_loop(t, at)) return true;
    if (e.kind == ExprKind::Concat) {
      todo.push_back(e.b);
      if (t[e.b].nullable) todo.push_back(e.a);
    } else {
      for (ExprId operand : t.operands(e)) todo.push_back(operand);
    }
  }
  return false;
}

// The rules called anywhere but at the end of the term's text.
std::set<std::uint32_t> inner_calls(const ExpressionStore& t, ExprId root) {
  std::set<std::uint32_t> found;
  IdMap<bool> seen;
  std::vector<ExprId> todo{root};
  while (!todo.empty()) {
    t.step();
    const ExprId at = todo.back();
    const Expr& e = t[at];
    todo.pop_back();
    if (!e.calls || !seen.insert(at, true)) continue;
    if (e.kind == ExprKind::Concat) {
      for (const auto& [rule, count] : calls_in(t, e.a)) found.insert(rule);
      todo.push_back(e.b);
    } else if (e.kind == ExprKind::Alternation) {
      for (ExprId m : t.operands(e)) todo.push_back(m);
    } else if (e.kind != ExprKind::Call) {
      for (const auto& [rule, count] : calls_in(t, at)) found.insert(rule);
    }
  }
  return found;
}

// A = X A | Y  =>  A = X* Y, for the alternatives that end with A. Exact whatever X and Y hold (Arden).
void loop_right_recursion(Rules& rules, std::uint32_t rule) {
  ExpressionStore& t = rules.terms;
  const ExprId self = t.call(rule);
  std::vector<ExprId> before;
  std::vector<ExprId> other;
  for (ExprId m : t.alternatives(rules.bodies[rule])) {
    std::vector<ExprId> spine;
    ExprId last = m;
    for (; t[last].kind == ExprKind::Concat; last = t[last].b) spine.push_back(t[last].a);
    if (last != self || spine.empty()) {
      other.push_back(m);
      continue;
    }
    ExprId x = kEmpty;
    for (std::size_t i = spine.size(); i-- > 0;) x = t.concat(spine[i], x);
    before.push_back(x);
  }
  if (before.empty() || other.empty()) return;
  const ExprId loop = t.star(t.alternation(std::move(before)));
  rules.bodies[rule] = t.concat(loop, t.alternation(std::move(other)));
}

// By rule: in a cycle of more than kLargeTailCycle rules that call each other in tail position alone.
std::vector<bool> in_tail_cycles(const Rules& rules) {
  const ExpressionStore& t = rules.terms;
  std::vector<std::vector<std::uint32_t>> edges(rules.bodies.size());
  for (std::uint32_t r = 0; r < edges.size(); ++r) {
    for (const auto& [callee, count] : calls_in(t, rules.bodies[r])) edges[r].push_back(callee);
  }
  std::vector<bool> found(edges.size());
  std::vector<std::uint32_t> cycle_of(edges.size());
  std::uint32_t cycle = 0;
  for (const auto& group : components(edges)) {  // callees first
    ++cycle;
    for (std::uint32_t r : group) cycle_of[r] = cycle;
    if (group.size() <= kLargeTailCycle) continue;
    const bool tail_only = std::ranges::all_of(group, [&](std::uint32_t r) {
      return std::ranges::none_of(inner_calls(t, rules.bodies[r]),
                                  [&](std::uint32_t callee) { return cycle_of[callee] == cycle; });
    });
    if (!tail_only) continue;
    for (std::uint32_t r : group) found[r] = true;
  }
  return found;
}

// The call graph while substitution is decided on it: terms are rebuilt once, at the end. The root is a node
// like the rules, the last one, and stays.
class Substitution {
 public:
  explicit Substitution(const Rules& rules) : rules_(rules), nodes_(rules.bodies.size() + 1) {
    const ExpressionStore& t = rules.terms;
    std::vector<std::uint16_t> deepest(t.size());  // head_depth of the term and of all that it may become
    for (ExprId id = 0; id < deepest.size(); ++id) {
      deepest[id] = t[id].head_depth;
      for (ExprId operand : t.operands(t[id])) deepest[id] = std::max(deepest[id], deepest[operand]);
    }
    for (std::uint32_t r = 0; r < nodes_.size(); ++r) {
      const ExprId body = r == rules.bodies.size() ? rules.root : rules.bodies[r];
      nodes_[r].size = t[body].size;
      nodes_[r].depth = deepest[body];
      for (const auto& [callee, count] : calls_in(t, body)) {
        nodes_[r].calls[callee] = {count, nodes_[r].depth};
        nodes_[callee].callers.insert(r);
        nodes_[callee].uses += count;
      }
    }
  }

  // By rule: whether it is substituted. No cycle of calls consists of such rules alone.
  std::vector<bool> decide() {
    const std::size_t rules = rules_.bodies.size();
    std::vector<bool> substituted(rules);
    const std::vector<bool> in_cycle = in_tail_cycles(rules_);
    std::set<std::pair<std::uint64_t, std::uint32_t>> turn;
    const auto weight = [&](std::uint32_t r) {
      const Node& n = nodes_[r];
      return n.uses <= 1 ? 0 : static_cast<std::uint64_t>(n.uses) * n.size;
    };
    std::vector<std::uint64_t> queued(rules);
    for (std::uint32_t r = 0; r < rules; ++r) turn.emplace(queued[r] = weight(r), r);
    while (!turn.empty()) {
      const std::uint32_t r = turn.begin()->second;
      turn.erase(turn.begin());
      if (weight(r) > queued[r]) {
        turn.emplace(queued[r] = weight(r), r);
        continue;
      }
      rules_.terms.step();
      if (in_cycle[r] || !may_substitute(r)) continue;
      substituted[r] = true;
      substitute(r);
    }
    return substituted;
  }

 private:
  struct Call {
    std::uint64_t count = 0;
    std::uint64_t depth = 0;  // at most so deep in the caller
  };
  struct Node {
    std::map<std::uint32_t, Call> calls;
    std::set<std::uint32_t> callers;
    std::uint64_t uses = 0;
    std::uint64_t size = 0;
    std::uint64_t depth = 0;
  };
  static constexpr std::uint64_t kMany = 1u << 20;

  bool may_substitute(std::uint32_t r) {
    const Node& n = nodes_[r];
    if (n.calls.contains(r)) return false;
    if (n.uses > 1) {
      if (n.size > kLargeRule || (r < rules_.calls.size() && rules_.calls[r])) return false;
      if (has_wide_loop(rules_.terms, rules_.bodies[r]) && !ends_in_wide_loop(rules_.terms, rules_.bodies[r]))
        return false;
    }
    return std::all_of(n.callers.begin(), n.callers.end(), [&](std::uint32_t c) {
      rules_.terms.step();
      const Call& call = nodes_[c].calls.at(r);
      const bool fits = n.uses <= 1 || nodes_[c].size + call.count * n.size <= kLargestCaller;
      return fits && call.depth + n.depth <= kMaxHeadDepth;
    });
  }

  void substitute(std::uint32_t r) {
    const Node& gone = nodes_[r];
    for (std::uint32_t c : gone.callers) {
      rules_.terms.step();
      Node& caller = nodes_[c];
      const Call at = caller.calls.at(r);
      caller.calls.erase(r);
      caller.size = std::min<std::uint64_t>(caller.size + at.count * gone.size, 1u << 30);
      caller.depth = std::max(caller.depth, at.depth + gone.depth);
      for (const auto& [callee, call] : gone.calls) {
        Call& now = caller.calls[callee];
        now.count = std::min(now.count + call.count * at.count, kMany);
        now.depth = std::max(now.depth, at.depth + call.depth);
        nodes_[callee].callers.insert(c);
        nodes_[callee].uses = std::min(nodes_[callee].uses + call.count * at.count, kMany);
      }
    }
    for (const auto& [callee, call] : gone.calls) {
      nodes_[callee].callers.erase(r);
      nodes_[callee].uses -= std::min(nodes_[callee].uses, call.count);
    }
  }

  const Rules& rules_;
  std::vector<Node> nodes_;
};

}  // namespace

std::map<std::uint32_t, std::uint32_t> calls_in(const ExpressionStore& terms, ExprId id) {
  std::map<std::uint32_t, std::uint32_t> found;
  IdMap<bool> seen;
  std::vector<ExprId> todo{id};
  const auto visit = [&](ExprId at) {
    const Expr& e = terms[at];
    if (e.kind == ExprKind::Call)
      ++found[e.a];
    else if (e.calls && seen.insert(at, true))
      todo.push_back(at);
  };
  todo.clear();
  visit(id);
  while (!todo.empty()) {
    terms.step();
    const ExprId at = todo.back();
    todo.pop_back();
    for (ExprId operand : terms.operands(terms[at])) visit(operand);
  }
  return found;
}

std::vector<bool> chosen_calls(Rules& rules) {
  const std::vector<ExprId> bodies = rules.bodies;
  for (std::uint32_t r = 0; r < bodies.size(); ++r) loop_right_recursion(rules, r);
  std::vector<bool> calls = Substitution(rules).decide();
  calls.flip();
  rules.bodies = bodies;
  return calls;
}

void choose_calls(Rules& rules) {
  ExpressionStore& t = rules.terms;
  for (std::uint32_t r = 0; r < rules.bodies.size(); ++r) loop_right_recursion(rules, r);

  const std::vector<bool> substituted = Substitution(rules).decide();
  std::vector<std::vector<std::uint32_t>> edges(rules.bodies.size());
  for (std::uint32_t r = 0; r < edges.size(); ++r) {
    for (const auto& [callee, count] : calls_in(t, rules.bodies[r])) {
      if (substituted[callee]) edges[r].push_back(callee);
    }
  }
  Rewriter rewrite(t, [&](ExprId id, ExprId rebuilt) {
    const Expr e = t[id];
    if (e.kind == ExprKind::Longest && t[rebuilt].kind == ExprKind::Longest && t[rebuilt].b == kNothing)
      return lexeme(t, t[rebuilt].a);
    return e.kind == ExprKind::Call && substituted[e.a] ? rules.bodies[e.a] : rebuilt;
  });
  for (const auto& group : components(edges)) {  // callees first
    for (std::uint32_t r : group) rules.bodies[r] = rewrite(rules.bodies[r]);
  }
  rules.root = rewrite(rules.root);

  // Wide loops inside a longer sequence: `loop end` becomes a rule of its own.
  std::unordered_map<ExprId, std::uint32_t> cut;
  Rewriter cut_out(
      t,
      [&](ExprId id, ExprId rebuilt) {
        const Expr e = t[rebuilt];
        if (t[id].kind != ExprKind::Concat || e.kind != ExprKind::Concat || !wide_loop(t, e.a)) return rebuilt;
        const Expr rest = t[e.b];
        if (rest.kind != ExprKind::Concat || t[rest.a].nullable || t[rest.a].calls) return rebuilt;
        const ExprId unit = t.concat(e.a, rest.a);
        const auto [it, fresh] = cut.emplace(unit, 0);
        if (fresh) it->second = rules.add(unit);
        return t.concat(t.call(it->second), rest.b);
      },
      Descend::OutsideOperators);
  const std::size_t count = rules.bodies.size();
  for (std::size_t r = 0; r < count; ++r) {
    if (!substituted[r]) {
      const ExprId body = cut_out(rules.bodies[r]);
      rules.bodies[r] = body;
    }
  }
  rules.root = cut_out(rules.root);
}

}  // namespace glr
