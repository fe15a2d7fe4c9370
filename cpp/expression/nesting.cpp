// A nesting budget: every recursive rule in one copy per level, so that the language itself ends at the budget and
// nothing is counted while a text is read.
//
// What nests is what stands between brackets: a rule's use of a rule of its own cycle (a strongly connected component
// of the call graph) with something before it and something after it, in the same body, that are not nullable. `value`
// in `"[" value "]"` is one level; the operand in `("+" operand)*`, the branch of an open `if` and the statement in
// `statement "\n"` are none. So the level-k copy of a body calls its cycle's rules at level k - 1 between brackets and
// at level k elsewhere; rules of other cycles are called at level k. At level 0 the brackets go with what they hold,
// empty ones too: `"[" value? "]"` opens a bracket whether or not there is a value.
//
// This comes before rules are substituted in one another, so that brackets are counted as their author wrote them.
// Copies have no cycle that a call would have to cut, but they stay calls where the rules do: substituted in each other
// they would multiply by the number of brackets at each level.
//
// O(levels times the terms of the rules that reach a cycle). Operands of intersections, complements and lexemes are
// left as they are: their recursion is right-linear, so nothing in it is between brackets.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "expression/rules.hpp"
#include "glrsampler/error.hpp"

namespace glr {

namespace {

// Whatever the budget is: a second, and 100 MB.
constexpr std::uint64_t kMostTerms = 1 << 20;

class Levels {
 public:
  Levels(Rules& rules, std::uint32_t levels) : rules_(rules), levels_(levels), first_copy_(rules.bodies.size()) {}

  // How many terms the copies are made of; known before anything is copied.
  std::uint64_t plan() {
    const ExpressionStore& t = rules_.terms;
    std::vector<std::vector<std::uint32_t>> edges(rules_.bodies.size());
    for (std::uint32_t r = 0; r < edges.size(); ++r) {
      for (const auto& [callee, count] : calls_in(t, rules_.bodies[r])) edges[r].push_back(callee);
    }
    cycle_of_.resize(edges.size());
    std::uint64_t terms = 0;
    for (const auto& group : components(edges)) {  // callees first
      bool recursive = group.size() > 1;
      bool reaches = false;
      for (std::uint32_t r : group) {
        cycle_of_[r] = static_cast<std::uint32_t>(cycles_.size());
        for (std::uint32_t callee : edges[r]) {
          recursive = recursive || callee == r;
          reaches = reaches || (callee < levelled_.size() && levelled_[callee]);
        }
      }
      levelled_.resize(edges.size());
      for (std::uint32_t r : group) levelled_[r] = recursive || reaches;
      cycles_.push_back({group, {}, true});
      if (!recursive && !reaches) continue;
      std::vector<ExprId> bodies;
      for (std::uint32_t r : group) bodies.push_back(rules_.bodies[r]);
      cycles_.back().terms = t.reachable(bodies);
      terms += (std::uint64_t{levels_} + 1) * cycles_.back().terms.size();
    }
    return terms;
  }

  void write() {
    std::erase_if(cycles_, [&](const Cycle& cycle) { return !levelled_[cycle.rules[0]]; });
    rules_.calls = chosen_calls(rules_);
    for (Cycle& cycle : cycles_) {
      for (std::uint32_t r : cycle.rules) {
        first_copy_[r] = static_cast<std::uint32_t>(rules_.bodies.size());
        rules_.bodies.resize(rules_.bodies.size() + levels_ + 1, kNothing);
        rules_.calls.resize(rules_.bodies.size(), rules_.calls[r]);
      }
    }
    empty_.resize(rules_.bodies.size());
    for (std::uint32_t level = 0; level <= levels_; ++level) {
      for (Cycle& cycle : cycles_) write(cycle, level);
    }
    const ExprId root[1] = {rules_.root};
    rewrite_all(rules_.terms.reachable(root), kNoCycle, levels_);
    rules_.root = rewritten_.at(rules_.root)[0];
  }

 private:
  static constexpr std::uint32_t kNoCycle = 0xFFFFFFFF;
  // What stands around a term inside its body: kOpened, something before it that is not nullable; kClosed, after it.
  static constexpr unsigned kOpened = 1;
  static constexpr unsigned kClosed = 2;
  static constexpr unsigned kBrackets = kOpened | kClosed;
  using Readings = std::array<ExprId, 4>;  // by what stands around

  struct Cycle {
    std::vector<std::uint32_t> rules;
    std::vector<ExprId> terms;  // of the bodies, operands first
    bool may_be_empty;          // some rule had no text at the level before: a level has all the texts of that one
  };

  void write(Cycle& cycle, std::uint32_t level) {
    rewrite_all(cycle.terms, cycle_of_[cycle.rules[0]], level);
    for (std::uint32_t r : cycle.rules) rules_.bodies[first_copy_[r] + level] = rewritten_.at(rules_.bodies[r])[0];
    if (!cycle.may_be_empty) return;

    // Without what was dropped a rule may have no text any more. `empty_` is the complement of a least fixpoint.
    ExpressionStore& t = rules_.terms;
    for (std::uint32_t r : cycle.rules) empty_[first_copy_[r] + level] = true;
    const auto without_empty = [&](ExprId body) {
      Rewriter drop(
          t, [&](ExprId, ExprId id) { return t[id].kind == ExprKind::Call && empty_[t[id].a] ? kNothing : id; },
          Descend::OutsideOperators);
      return drop(body);
    };
    for (bool changed = true; std::exchange(changed, false);) {
      for (std::uint32_t r : cycle.rules) {
        const std::uint32_t copy = first_copy_[r] + level;
        if (!empty_[copy] || without_empty(rules_.bodies[copy]) == kNothing) continue;
        empty_[copy] = false;
        changed = true;
      }
    }
    cycle.may_be_empty =
        std::ranges::any_of(cycle.rules, [&](std::uint32_t r) { return empty_[first_copy_[r] + level]; });
    if (!cycle.may_be_empty) return;
    for (std::uint32_t r : cycle.rules) {
      const ExprId body = without_empty(rules_.bodies[first_copy_[r] + level]);
      rules_.bodies[first_copy_[r] + level] = body;
    }
  }

  // The readings of terms at a level, in a cycle. Operands come first.
  void rewrite_all(const std::vector<ExprId>& terms, std::uint32_t cycle, std::uint32_t level) {
    cycle_ = cycle;
    level_ = level;
    rewritten_.clear();
    around_calls_.clear();
    for (ExprId id : terms) rewritten_.emplace(id, rewrite(id));
  }

  Readings rewrite(ExprId id) {
    ExpressionStore& t = rules_.terms;
    t.step();
    const Expr e = t[id];
    if (!e.calls || is_operator(e)) return {id, id, id, id};
    Readings readings{};
    if (e.kind == ExprKind::Call) {
      if (!levelled_[e.a]) return {id, id, id, id};
      readings.fill(copy(e.a, level_));
      if (cycle_of_[e.a] != cycle_) return readings;
      around_calls_[id] = 1u << 0;
      readings[kBrackets] = level_ == 0 ? kNothing : copy(e.a, level_ - 1);
      return readings;
    }
    if (e.kind == ExprKind::Concat) {
      const unsigned around_a = t[e.b].nullable ? 0 : kClosed;
      const unsigned around_b = t[e.a].nullable ? 0 : kOpened;
      around_calls_[id] = joined(around_calls_[e.a], around_a) | joined(around_calls_[e.b], around_b);
      const Readings a = rewritten_.at(e.a);
      const Readings b = rewritten_.at(e.b);
      for (unsigned around = 0; around < 4; ++around)
        readings[around] = t.concat(a[around | around_a], b[around | around_b]);
      return readings;
    }
    unsigned calls = 0;
    for (ExprId operand : t.operands(e)) calls |= around_calls_[operand];
    around_calls_[id] = calls;
    for (unsigned around = 0; around < 4; ++around) {
      // These brackets hold a call, or nothing in its place.
      const bool between = ((joined(calls & ~(1u << kBrackets), around) >> kBrackets) & 1) != 0;
      if (between && e.nullable && level_ == 0) {
        readings[around] = kNothing;
        continue;
      }
      std::vector<ExprId> operands;
      for (ExprId operand : t.operands(t[id])) operands.push_back(rewritten_.at(operand)[around]);
      switch (e.kind) {
        case ExprKind::Alternation:
          readings[around] = t.alternation(std::move(operands));
          break;
        case ExprKind::Star:
          readings[around] = t.star(operands[0]);
          break;
        case ExprKind::Repeat:
          readings[around] = t.repeat(operands[0], e.min, e.max);
          break;
        case ExprKind::Members: {
          MemberTable table = t.member_table(e);
          table.operands = std::move(operands);
          readings[around] = t.members(std::move(table));
          break;
        }
        default:
          readings[around] = t.endless(operands[0]);
      }
    }
    return readings;
  }

  // A set of what stands around calls, with more around all of them.
  static unsigned joined(unsigned set, unsigned around) {
    unsigned result = 0;
    for (unsigned inside = 0; inside < 4; ++inside) {
      if ((set >> inside & 1) != 0) result |= 1u << (inside | around);
    }
    return result;
  }

  ExprId copy(std::uint32_t rule, std::uint32_t level) {
    const std::uint32_t copy = first_copy_[rule] + level;
    return empty_[copy] ? kNothing : rules_.terms.call(copy);
  }

  Rules& rules_;
  std::uint32_t levels_;
  std::vector<std::uint32_t> first_copy_;  // by rule, where it is levelled: of level 0, the others behind it
  std::vector<Cycle> cycles_;
  std::vector<std::uint32_t> cycle_of_;  // by rule
  std::vector<bool> levelled_;           // by rule: in a cycle, or reaches one
  std::vector<bool> empty_;              // by copy

  std::uint32_t level_ = 0;
  std::uint32_t cycle_ = kNoCycle;
  std::unordered_map<ExprId, Readings> rewritten_;
  // Of the calls of the cycle in a term: what stands around them inside it, a bit for each of the four.
  std::unordered_map<ExprId, unsigned> around_calls_;
};

}  // namespace

void limit_nesting(Rules& rules, std::uint32_t levels, std::uint64_t max_terms, const std::string& rule) {
  max_terms = std::min(max_terms, kMostTerms);
  Levels copies(rules, levels);
  const std::uint64_t planned = copies.plan();
  if (planned > max_terms) {
    throw BudgetError("a nesting budget of " + std::to_string(levels) + " levels makes " + std::to_string(planned) +
                          " terms of the recursive rules under '" + rule + "', more than max_states (" +
                          std::to_string(max_terms) + "); ask for fewer levels",
                      "max_states", max_terms, planned, rule);
  }
  if (planned != 0) copies.write();
}

}  // namespace glr
