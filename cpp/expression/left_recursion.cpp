// Left recursion into loops.
//
// The rules of one component of the left-corner graph are a left-linear system
//
//     A_i = Y_i | A_j X_ji | ...          (X_ji: what follows A_j in A_i)
//
// solved by elimination with Arden's rule, A = Y | A X  =>  A = Y X* (Arden 1961), exact for any Y and X,
// also when they call the rules again elsewhere. Since no body is nullable, hidden left recursion is visible as such
// and a cycle A = A is an X that holds the empty text, which X* ignores.
//
// Elimination may blow up on a large dense component. There the solution is left as right-linear rules
//
//     A_i = Y_k T_ki | ...      T_ki = (empty if k = i) | X_kj T_ji | ...
//
// whose recursion is in tail position and so costs no stack (Rosenkrantz 1967).
#include <algorithm>
#include <map>

#include "expression/rules.hpp"

namespace glr {

namespace {

constexpr std::size_t kLargestElimination = 48;  // rules: depth of terms grows with it
constexpr std::size_t kMostTerms = 100'000;      // that one elimination may make

// A term taken apart: the rules of the component at its head with what follows each, and all else.
struct Split {
  std::map<std::uint32_t, ExprId> follow;
  ExprId other = kNothing;
};

class Splitter {
 public:
  Splitter(ExpressionStore& t, const std::vector<std::uint32_t>& component_of, std::uint32_t component)
      : t_(t), component_of_(component_of), component_(component) {}

  // Recurses on first factors only.
  Split operator()(ExprId id) {
    t_.step();
    const Expr e = t_[id];
    const auto heads = head_calls(t_, id);
    const bool touches =
        std::any_of(heads.begin(), heads.end(), [&](std::uint32_t r) { return component_of_[r] == component_; });
    if (!touches) return {{}, id};
    Split result;
    switch (e.kind) {
      case ExprKind::Call:
        result.follow[e.a] = kEmpty;
        break;
      case ExprKind::Alternation:
        for (ExprId m : t_.alternatives(id)) join(result, (*this)(m));
        break;
      case ExprKind::Concat: {
        const Split head = (*this)(e.a);
        join(result, followed(head, e.b));
        if (t_[e.a].nullable) {
          result.other = without_empty(head, e.b);
          join(result, (*this)(e.b));
        }
        break;
      }
      case ExprKind::Star:
        join(result, looped(e.a, id, true));
        break;
      case ExprKind::Repeat: {
        const ExprId rest = t_.repeat(e.a, e.min == 0 ? 0 : e.min - 1, e.max == kNoMax ? kNoMax : e.max - 1);
        join(result, looped(e.a, rest, e.min == 0));
        break;
      }
      case ExprKind::And:
      case ExprKind::Not:
      case ExprKind::Longest:
        throw GrammarError("a rule refers to itself at the beginning of an operand of an intersection or a complement",
                           0, 0, "a rule that is recursive there reads something before it comes to itself");
      case ExprKind::Members:
        throw GrammarError("a rule refers to itself at the beginning of a list of members", 0, 0,
                           "a rule that is recursive there reads something before it comes to itself");
      default:
        result.other = id;
    }
    return result;
  }

 private:
  void join(Split& into, const Split& from) {
    into.other = t_.alternation(into.other, from.other);
    for (const auto& [rule, follow] : from.follow) {
      const auto [it, fresh] = into.follow.emplace(rule, follow);
      if (!fresh) it->second = t_.alternation(it->second, follow);
    }
  }
  Split followed(const Split& head, ExprId rest) {
    Split r;
    for (const auto& [rule, follow] : head.follow) r.follow[rule] = t_.concat(follow, rest);
    r.other = t_.concat(head.other, rest);
    return r;
  }
  // The part of `head rest` in which the head is neither a rule of the component nor empty.
  ExprId without_empty(const Split& head, ExprId rest) { return t_.concat(t_.nonempty(head.other), rest); }
  Split looped(ExprId body, ExprId rest, bool may_be_empty) {
    Split r = followed((*this)(body), rest);
    if (may_be_empty) r.other = t_.optional(r.other);
    return r;
  }

  ExpressionStore& t_;
  const std::vector<std::uint32_t>& component_of_;
  std::uint32_t component_;
};

// Returns false, with nothing changed in the rules, when it would grow too large.
bool eliminate(Rules& rules, const std::vector<std::uint32_t>& members, std::vector<Split> equations) {
  ExpressionStore& t = rules.terms;
  const std::size_t most = t.size() + kMostTerms;
  if (members.size() > kLargestElimination) return false;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::uint32_t rule = members[i];
    Split& own = equations[i];
    if (const auto it = own.follow.find(rule); it != own.follow.end()) {
      const ExprId loop = t.star(it->second);
      own.follow.erase(it);
      own.other = t.concat(own.other, loop);
      for (auto& [other, follow] : own.follow) follow = t.concat(follow, loop);
    }
    for (std::size_t k = i + 1; k < members.size(); ++k) {
      Split& later = equations[k];
      const auto it = later.follow.find(rule);
      if (it == later.follow.end()) continue;
      const ExprId after = it->second;
      later.follow.erase(it);
      later.other = t.alternation(later.other, t.concat(own.other, after));
      for (const auto& [other, follow] : own.follow) {
        ExprId& x = later.follow.emplace(other, kNothing).first->second;
        x = t.alternation(x, t.concat(follow, after));
      }
    }
    if (t.size() > most) return false;
  }
  // Rule i now refers at its head to later rules only.
  for (std::size_t i = 0; i < members.size(); ++i) {
    std::vector<ExprId> alternatives{equations[i].other};
    for (const auto& [other, follow] : equations[i].follow) alternatives.push_back(t.concat(t.call(other), follow));
    rules.bodies[members[i]] = t.alternation(std::move(alternatives));
  }
  return true;
}

// Only the rules that are still called get a body: in a chain of n rules, one of them, n tail rules, not n * n.
void right_linear(Rules& rules, const std::vector<std::uint32_t>& members, const std::vector<Split>& equations,
                  const std::vector<bool>& called_outside) {
  ExpressionStore& t = rules.terms;
  const std::size_t n = members.size();
  std::map<std::uint32_t, std::size_t> number;
  for (std::size_t i = 0; i < n; ++i) number[members[i]] = i;
  // after[k]: (j, X) with A_j = A_k X, X without the empty text; units[k]: the j reached from k by empty X alone.
  std::vector<std::vector<std::pair<std::size_t, ExprId>>> after(n);
  std::vector<std::vector<std::size_t>> unit(n);
  for (std::size_t j = 0; j < n; ++j) {
    for (const auto& [rule, follow] : equations[j].follow) {
      const std::size_t k = number[rule];
      if (t[follow].nullable) unit[k].push_back(j);
      if (const ExprId x = t.nonempty(follow); x != kNothing) after[k].emplace_back(j, x);
    }
  }
  std::vector<std::vector<bool>> reaches(n, std::vector<bool>(n));
  for (std::size_t k = 0; k < n; ++k) {
    std::vector<std::size_t> todo{k};
    reaches[k][k] = true;
    while (!todo.empty()) {
      t.step();
      const std::size_t u = todo.back();
      todo.pop_back();
      for (std::size_t j : unit[u]) {
        if (!reaches[k][j]) {
          reaches[k][j] = true;
          todo.push_back(j);
        }
      }
    }
  }
  std::vector<std::vector<std::size_t>> before(n);       // k of every A_j = A_k X
  std::vector<std::vector<std::size_t>> unit_before(n);  // of those with empty X
  for (std::size_t k = 0; k < n; ++k) {
    for (const auto& [j, x] : after[k]) before[j].push_back(k);
    for (std::size_t j : unit[k]) unit_before[j].push_back(k);
  }
  // By i, when first asked for: the k that can be turned into an A_i by reading something.
  std::map<std::size_t, std::vector<bool>> productive;
  const auto turns_into = [&](std::size_t i) -> const std::vector<bool>& {
    const auto [it, fresh] = productive.try_emplace(i, n);
    if (!fresh) return it->second;
    std::vector<bool> any(n);  // by reading something or nothing
    std::vector<bool>& something = it->second;
    std::vector<std::pair<std::size_t, bool>> todo{{i, false}};
    any[i] = true;
    while (!todo.empty()) {
      t.step();
      const auto [j, read] = todo.back();
      todo.pop_back();
      const auto reach = [&](std::size_t k, bool reads) {
        std::vector<bool>& seen = reads ? something : any;
        if (seen[k]) return;
        seen[k] = true;
        todo.emplace_back(k, reads);
      };
      for (std::size_t k : before[j]) reach(k, true);
      for (std::size_t k : unit_before[j]) reach(k, read);
    }
    return something;
  };
  // Tail rule (k, i): what turns an A_k just read into an A_i, at least one step that reads something.
  std::map<std::pair<std::size_t, std::size_t>, std::uint32_t> tails;
  std::vector<std::pair<std::size_t, std::size_t>> todo;
  const auto tail = [&](std::size_t k, std::size_t i) {
    if (!turns_into(i)[k]) return reaches[k][i] ? kEmpty : kNothing;
    const auto [it, fresh] = tails.emplace(std::pair(k, i), 0);
    if (fresh) {
      it->second = rules.add(kNothing);
      todo.emplace_back(k, i);
    }
    const ExprId call = t.call(it->second);
    return reaches[k][i] ? t.optional(call) : call;
  };
  std::vector<bool> called(n);
  for (std::size_t i = 0; i < n; ++i) called[i] = called_outside[members[i]];
  const auto calls_of = [&](ExprId id) {
    for (const auto& [rule, count] : calls_in(t, id)) {
      if (const auto it = number.find(rule); it != number.end()) called[it->second] = true;
    }
  };
  for (const Split& equation : equations) {
    calls_of(equation.other);
    for (const auto& [rule, follow] : equation.follow) calls_of(follow);
  }
  for (std::size_t i = 0; i < n; ++i) {
    rules.bodies[members[i]] = kNothing;
    if (!called[i]) continue;
    std::vector<ExprId> alternatives;
    for (std::size_t k = 0; k < n; ++k) {
      if (equations[k].other != kNothing) alternatives.push_back(t.concat(equations[k].other, tail(k, i)));
    }
    rules.bodies[members[i]] = t.alternation(std::move(alternatives));
  }
  while (!todo.empty()) {
    const auto [k, i] = todo.back();
    todo.pop_back();
    t.step();
    std::vector<ExprId> alternatives;
    for (std::size_t u = 0; u < n; ++u) {
      if (!reaches[k][u]) continue;
      for (const auto& [j, x] : after[u]) alternatives.push_back(t.concat(x, tail(j, i)));
    }
    rules.bodies[tails.at({k, i})] = t.alternation(std::move(alternatives));
  }
}

}  // namespace

std::vector<std::uint32_t> head_calls(const ExpressionStore& terms, ExprId id) {
  std::vector<std::uint32_t> found;
  std::vector<ExprId> todo{id};
  while (!todo.empty()) {
    terms.step();
    const ExprId at = todo.back();
    const Expr& e = terms[at];
    todo.pop_back();
    if (!e.calls) continue;
    if (e.kind == ExprKind::Call) {
      found.push_back(e.a);
    } else if (e.kind == ExprKind::Concat) {
      todo.push_back(e.a);
      if (terms[e.a].nullable) todo.push_back(e.b);
    } else if (e.kind == ExprKind::Members) {
      for (ExprId head : terms.member_heads(e)) todo.push_back(head);
    } else {
      for (ExprId operand : terms.operands(e)) todo.push_back(operand);
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

// Tarjan 1972, with an explicit stack.
std::vector<std::vector<std::uint32_t>> components(const std::vector<std::vector<std::uint32_t>>& edges) {
  constexpr std::uint32_t kUnseen = 0xFFFFFFFF;
  const auto n = static_cast<std::uint32_t>(edges.size());
  std::vector<std::uint32_t> order(n, kUnseen);
  std::vector<std::uint32_t> low(n);
  std::vector<bool> open(n);
  std::vector<std::uint32_t> stack;
  std::vector<std::pair<std::uint32_t, std::size_t>> path;
  std::vector<std::vector<std::uint32_t>> result;
  std::uint32_t count = 0;
  const auto enter = [&](std::uint32_t v) {
    order[v] = low[v] = count++;
    open[v] = true;
    stack.push_back(v);
    path.emplace_back(v, 0);
  };
  for (std::uint32_t start = 0; start < n; ++start) {
    if (order[start] != kUnseen) continue;
    enter(start);
    while (!path.empty()) {
      const std::uint32_t v = path.back().first;
      if (path.back().second < edges[v].size()) {
        const std::uint32_t w = edges[v][path.back().second++];
        if (order[w] == kUnseen)
          enter(w);
        else if (open[w])
          low[v] = std::min(low[v], order[w]);
        continue;
      }
      path.pop_back();
      if (!path.empty()) low[path.back().first] = std::min(low[path.back().first], low[v]);
      if (low[v] != order[v]) continue;
      result.emplace_back();
      std::uint32_t w;
      do {
        w = stack.back();
        stack.pop_back();
        open[w] = false;
        result.back().push_back(w);
      } while (w != v);
    }
  }
  return result;
}

void remove_left_recursion(Rules& rules) {
  std::vector<std::vector<std::uint32_t>> edges;
  for (ExprId body : rules.bodies) edges.push_back(head_calls(rules.terms, body));
  const auto groups = components(edges);
  std::vector<std::uint32_t> component_of(edges.size());
  for (std::uint32_t c = 0; c < groups.size(); ++c) {
    for (std::uint32_t rule : groups[c]) component_of[rule] = c;
  }
  // Rules called by others than those of their component. Solving a component moves calls about but adds none.
  std::vector<bool> called_outside(edges.size());
  for (const auto& [rule, count] : calls_in(rules.terms, rules.root)) called_outside[rule] = true;
  for (std::uint32_t r = 0; r < edges.size(); ++r) {
    for (const auto& [rule, count] : calls_in(rules.terms, rules.bodies[r])) {
      if (component_of[rule] != component_of[r]) called_outside[rule] = true;
    }
  }
  for (std::uint32_t c = 0; c < groups.size(); ++c) {
    std::vector<std::uint32_t> members = groups[c];
    std::sort(members.begin(), members.end());
    if (members.size() == 1 && !std::ranges::binary_search(edges[members[0]], members[0])) continue;
    Splitter split(rules.terms, component_of, c);
    std::vector<Split> equations;
    for (std::uint32_t rule : members) equations.push_back(split(rules.bodies[rule]));
    if (eliminate(rules, members, equations)) continue;
    right_linear(rules, members, equations, called_outside);
  }
}

}  // namespace glr
