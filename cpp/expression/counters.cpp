// Counters: the canonical form of states whose counters are far from their bounds.
//
// An iteration takes at least one byte, so within L bytes (the longest token) x{m,n} is x{m,} for n > L, and "x for
// ever" (ExprKind::Endless) for m > L: what can be read is the same, and so is where a text may end. States that differ
// in a far counter alone have one form, and one walk of the vocabulary.
//
// That is all there is to it where every term stands for some text. Of an intersection it has to be shown that what is
// left is empty or not in the relaxed form as in the exact one, and that may depend on the far end: x{m} & (x x)* goes
// by the parity of m. Two cases are shown by a search of the relaxed form's derivatives, once for all counts:
//
//   - Only greatest numbers are far. The relaxed form admits more, but the two agree on texts shorter than each of
//   these
//     numbers. Let H, the horizon, be the length by which each derivative of the relaxed form that has a text has one.
//     With n > L + H for every counter, after at most L bytes the exact form has a text when the relaxed one has.
//   - One counter has a far least number: P x{m,n} R & B, in one operand, not inside a loop. The relaxed form is
//     P endless(x) R & B, and so are its derivatives. Suppose that from each of them there is a way to the end of the
//     iteration that P is of, to a derivative again; from there one to the end of one iteration more; and that R & B
//     has a text there. Then any number of iterations can be made and left: the exact form has a text wherever the
//     relaxed one has a derivative at all. The derivatives are noted as not empty, which no search could find out,
//     since they never end. Alternatives of an operand count for themselves: each may have a number of its own.
//
// In all other cases (two far least numbers, a far counter in a complement, more than kMostStates derivatives, an
// intersection in a lexeme, where guards ask for what is left without the empty text) counters stay as they are: exact,
// with a walk for each number.
#include <algorithm>
#include <deque>

#include "expression/machine.hpp"
#include "expression/rules.hpp"

namespace glr {

namespace {

// Derivatives of a relaxed intersection. They are looked at in 1 to 3 us a byte class, so some 10 ms, once.
constexpr std::size_t kMostStates = 2048;
constexpr std::uint32_t kNoHorizon = 0xFFFFFFFF;

// An alternative of an operand, taken apart at its Endless factor: before, x, after.
struct Loop {
  ExprId before = kEmpty;
  ExprId body = kNothing;
  ExprId after = kEmpty;
};

// The alternatives of an operand; false when one of them has no Endless factor. `any`: whether one has.
bool take_apart(ExpressionStore& t, ExprId operand, std::vector<Loop>& out, bool& any) {
  std::vector<std::pair<ExprId, ExprId>> todo{{kEmpty, operand}};  // before, what is left
  bool all = true;
  while (!todo.empty()) {
    const auto [before, at] = todo.back();
    todo.pop_back();
    const Expr e = t[at];
    const ExprId factor = e.kind == ExprKind::Concat ? e.a : at;
    const ExprId rest = e.kind == ExprKind::Concat ? e.b : kEmpty;
    if (e.kind == ExprKind::Alternation) {
      for (ExprId m : t.alternatives(at)) todo.emplace_back(before, m);
    } else if (t[factor].kind == ExprKind::Endless) {
      out.push_back({before, t[factor].a, rest});
      any = true;
    } else if (rest != kEmpty) {
      todo.emplace_back(t.concat(before, factor), rest);
    } else {
      all = false;
    }
  }
  return all;
}

}  // namespace

ExprId Machine::relax(ExprId q, std::uint32_t length) {
  const bool operands = store_[q].counted_operands && !store_[q].lexemes;
  if ((!store_[q].counted && !operands) || careful_) return q;
  const std::scoped_lock lock(mutex_);
  const auto key = [&](ExprId id) {
    return std::uint64_t{length} << 33 | std::uint64_t{operands ? 1u : 0u} << 32 | id;
  };
  if (const auto it = relaxed_.find(key(q)); it != relaxed_.end()) return it->second;
  const ExprId root[1] = {q};
  const auto relaxed = [&](ExprId id) {
    const auto it = relaxed_.find(key(id));
    return it == relaxed_.end() ? id : it->second;
  };
  for (ExprId id : store_.reachable(root)) {
    const Expr e = store_[id];
    if ((!e.counted && !(operands && e.counted_operands)) || relaxed_.contains(key(id))) continue;
    ExprId r = id;
    switch (e.kind) {
      case ExprKind::Concat:
        r = store_.concat(relaxed(e.a), relaxed(e.b));
        break;
      case ExprKind::Star:
        r = store_.star(relaxed(e.a));
        break;
      case ExprKind::Endless:
        r = store_.endless(relaxed(e.a));
        break;
      case ExprKind::Longest:
        r = store_.longest(relaxed(e.a), relaxed(e.b), e.min != 0);
        break;
      case ExprKind::Guarded:
        r = store_.guarded(relaxed(e.a), relaxed(e.b));
        break;
      case ExprKind::Repeat:
        if (e.min > length)
          r = store_.endless(relaxed(e.a));
        else
          r = store_.repeat(relaxed(e.a), e.min, e.max > length ? kNoMax : e.max);
        break;
      case ExprKind::Alternation: {
        std::vector<ExprId> members;
        for (ExprId m : store_.alternatives(id)) members.push_back(relaxed(m));
        r = store_.alternation(std::move(members));
        break;
      }
      case ExprKind::And:
        r = relax_intersection(id, length);
        break;
      default:
        break;
    }
    relaxed_.emplace(key(id), r);
  }
  if (states_.size() < store_.size()) states_.resize(store_.size());
  return relaxed(q);
}

std::vector<ExprId> Machine::near_bounds(ExprId q, std::uint32_t length) {
  if (!store_[q].counted) return {};
  const std::scoped_lock lock(mutex_);
  const std::uint32_t near = length + 1;
  std::vector<ExprId> found;
  for (const bool least : {true, false}) {
    Rewriter rewrite(
        store_,
        [&](ExprId, ExprId rebuilt) {
          const Expr e = store_[rebuilt];
          if (e.kind != ExprKind::Repeat) return rebuilt;
          const std::uint32_t bound = least ? e.min : e.max;
          if (bound == kNoMax || bound <= near) return rebuilt;
          const std::uint32_t passed = bound - near;
          return store_.repeat(e.a, e.min - std::min(e.min, passed), e.max == kNoMax ? kNoMax : e.max - passed);
        },
        Descend::Counted);
    if (const ExprId there = rewrite(q); there != q) found.push_back(there);
  }
  if (states_.size() < store_.size()) states_.resize(store_.size());
  return found;
}

ExprId Machine::relax_intersection(ExprId id, std::uint32_t length) {
  const auto list = store_.operands(store_[id]);
  const std::vector<ExprId> operands(list.begin(), list.end());
  std::uint32_t nearest = kNoMax;  // of the greatest numbers that are far
  std::size_t least = 0;           // operands with far least numbers
  std::vector<ExprId> relaxed;
  for (ExprId operand : operands) {
    bool far_least = false;
    Rewriter rewrite(
        store_,
        [&](ExprId, ExprId rebuilt) {
          const Expr e = store_[rebuilt];
          if (e.kind != ExprKind::Repeat) return rebuilt;
          if (e.min > length) {
            far_least = true;
            return store_.endless(e.a);
          }
          if (e.max == kNoMax || e.max <= length) return rebuilt;
          nearest = std::min(nearest, e.max);
          return store_.repeat(e.a, e.min, kNoMax);
        },
        Descend::Counted);
    relaxed.push_back(rewrite(operand));
    if (!far_least) continue;
    ++least;
    // One far counter in each alternative, and none where take_apart() does not look.
    std::vector<Loop> loops;
    bool any = false;
    if (!take_apart(store_, relaxed.back(), loops, any)) return id;
    for (const Loop& loop : loops) {
      const auto counted = [&](ExprId part) { return store_[part].counted || holds_endless(part); };
      if (counted(loop.before) || counted(loop.body) || counted(loop.after)) return id;
    }
  }
  if (relaxed == operands || least > 1 || (least == 1 && nearest != kNoMax)) return id;
  // What was relaxed for a longer text never ends: nothing can be found out about it.
  if (std::ranges::any_of(operands, [&](ExprId operand) { return holds_endless(operand); })) return id;
  const ExprId form = store_.intersection(std::move(relaxed));
  if (least == 1) return goes_on(form) ? form : id;
  const std::uint32_t far = horizon(form);
  return far != kNoHorizon && nearest > std::uint64_t{length} + far ? form : id;
}

bool Machine::holds_endless(ExprId root) const {
  const ExprId roots[1] = {root};
  return std::ranges::any_of(store_.reachable(roots), [&](ExprId id) { return store_[id].kind == ExprKind::Endless; });
}

// A graph of the alternatives of a relaxed intersection's derivatives, each for itself: P endless(x) R & B.
class Machine::Iterations {
 public:
  explicit Iterations(Machine& machine) : machine_(machine), t_(machine.store_) {}

  // Whether from each of them, and from each that is come to so, an iteration can be ended, and another one begun and
  // ended, and R read to the end in place of it.
  bool go_on(const std::vector<ExprId>& terms) {
    for (ExprId term : terms) {
      std::vector<std::uint32_t> own;
      if (!add(term, own) || own.empty()) return false;
    }
    std::vector<std::vector<std::uint32_t>> after;
    std::vector<std::vector<std::uint32_t>> before;
    for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
      if (nodes_.size() > kMostStates) return false;
      after.emplace_back();
      if (!successors(n, after.back())) return false;
    }
    before.resize(nodes_.size());
    std::vector<bool> ends(nodes_.size());  // the iteration can be ended, by reading something or nothing
    std::vector<std::uint32_t> todo;
    for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
      if (nodes_[n].between)
        todo.push_back(n);
      else
        for (std::uint32_t next : after[n]) before[next].push_back(n);
    }
    while (!todo.empty()) {
      const std::uint32_t n = todo.back();
      todo.pop_back();
      if (ends[n]) continue;
      ends[n] = true;
      todo.insert(todo.end(), before[n].begin(), before[n].end());
    }
    for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
      if (!ends[n]) return false;
      if (!nodes_[n].between) continue;
      if (std::ranges::none_of(after[n], [&](std::uint32_t next) { return ends[next]; })) return false;
      const std::optional<bool> none = machine_.search(with(nodes_[n], nodes_[n].loop.after), kMostStates);
      if (!none || *none) return false;
    }
    return true;
  }

 private:
  struct Node {
    ExprId term;
    Loop loop;
    std::vector<ExprId> others;
    bool between;  // iterations: what is left of one may be nothing
  };

  ExprId with(const Node& node, ExprId operand) {
    std::vector<ExprId> operands = node.others;
    operands.push_back(operand);
    return t_.intersection(std::move(operands));
  }

  // The alternatives of a term; false when it is of another form.
  bool add(ExprId term, std::vector<std::uint32_t>& out) {
    const auto list = t_.operands(t_[term]);
    const bool intersection = t_[term].kind == ExprKind::And;
    std::vector<ExprId> others = intersection ? std::vector<ExprId>(list.begin(), list.end()) : std::vector{term};
    std::vector<Loop> loops;
    bool one = false;
    bool whole = true;
    std::erase_if(others, [&](ExprId operand) {
      std::vector<Loop> found;
      bool any = false;
      const bool all = take_apart(t_, operand, found, any);
      if (!any) return false;
      whole = whole && all && !one;
      one = true;
      loops = std::move(found);
      return true;
    });
    if (!whole || !one) return false;
    for (const Loop& loop : loops) {
      Node node{kNothing, loop, others, t_[loop.before].nullable};
      node.term = with(node, t_.concat(loop.before, t_.concat(t_.endless(loop.body), loop.after)));
      if (node.term == kNothing) continue;
      const auto [it, fresh] = known_.emplace(node.term, static_cast<std::uint32_t>(nodes_.size()));
      if (fresh) nodes_.push_back(std::move(node));
      out.push_back(it->second);
    }
    return true;
  }

  // By one byte of the iteration that a node is in; between two, of the next one.
  bool successors(std::uint32_t n, std::vector<std::uint32_t>& out) {
    ExprId from = nodes_[n].term;
    if (nodes_[n].between) {
      const Loop loop = nodes_[n].loop;
      from = with(nodes_[n], t_.concat(loop.body, t_.concat(t_.endless(loop.body), loop.after)));
    }
    bool all = true;
    machine_.for_each_derivative(from, [&](ExprId next) { all = all && add(next, out); });
    return all;
  }

  Machine& machine_;
  ExpressionStore& t_;
  std::vector<Node> nodes_;
  std::unordered_map<ExprId, std::uint32_t> known_;
};

// The derivatives of a term, each with those that lead to it.
struct Machine::Closure {
  std::vector<ExprId> terms;
  std::vector<std::vector<std::uint32_t>> before;
};

// False when there are too many.
bool Machine::close(ExprId root, Closure& out) {
  std::unordered_map<ExprId, std::uint32_t> known;
  const auto number = [&](ExprId id) {
    const auto [it, fresh] = known.emplace(id, static_cast<std::uint32_t>(out.terms.size()));
    if (fresh) {
      out.terms.push_back(id);
      out.before.emplace_back();
    }
    return it->second;
  };
  number(root);
  for (std::uint32_t at = 0; at < out.terms.size(); ++at) {
    for_each_derivative(out.terms[at], [&](ExprId next) {
      const std::uint32_t n = number(next);
      if (out.before[n].empty() || out.before[n].back() != at) out.before[n].push_back(at);
    });
    if (out.terms.size() > kMostStates) return false;
  }
  return true;
}

// The length by which each derivative that has a text has one; kNoHorizon when that takes too much to find out.
std::uint32_t Machine::horizon(ExprId root) {
  if (const auto it = horizons_.find(root); it != horizons_.end()) return it->second;
  Closure closure;
  const bool whole = close(root, closure);
  std::uint32_t farthest = 0;
  std::vector<std::uint32_t> distance(closure.terms.size(), kNoHorizon);
  std::deque<std::uint32_t> todo;
  for (std::uint32_t n = 0; whole && n < distance.size(); ++n) {
    if (!store_[closure.terms[n]].nullable) continue;
    distance[n] = 0;
    todo.push_back(n);
  }
  while (!todo.empty()) {  // breadth first: the last is the farthest
    const std::uint32_t n = todo.front();
    todo.pop_front();
    farthest = distance[n];
    for (std::uint32_t b : closure.before[n]) {
      if (distance[b] != kNoHorizon) continue;
      distance[b] = distance[n] + 1;
      todo.push_back(b);
    }
  }
  // A derivative's derivatives are among these.
  for (std::uint32_t n = 0; n < distance.size(); ++n) {
    horizons_.emplace(closure.terms[n], whole ? farthest : kNoHorizon);
    if (whole) empty_.emplace(closure.terms[n], distance[n] == kNoHorizon);
  }
  return horizons_.at(root);
}

// Whether every derivative of a relaxed intersection with an Endless factor stands for some text with any number in its
// place. Then they are known not to be empty.
bool Machine::goes_on(ExprId root) {
  if (const auto it = goes_on_.find(root); it != goes_on_.end()) return it->second;
  Closure closure;
  const bool all = close(root, closure) && Iterations(*this).go_on(closure.terms);
  for (ExprId term : closure.terms) {
    goes_on_.emplace(term, all);
    if (all) empty_[term] = false;
  }
  return all;
}

}  // namespace glr
