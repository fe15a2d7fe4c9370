// Operands of intersections and complements: they must be regular, and what they leave may be nothing.
#include <algorithm>
#include <string>
#include <unordered_map>

#include "expression/rules.hpp"
#include "grammar/diagnostic.hpp"

namespace glr {

namespace {

constexpr std::uint32_t kLargestOperand = 1'000'000;  // factors; larger rules stay calls, which is as exact

std::span<const NodeId> parts(const Grammar& g, const Node& n) {
  switch (n.kind) {
    case NodeKind::RuleRef:
      return {&g.rule(RuleId{n.first}).body, 1};
    case NodeKind::Sequence:
    case NodeKind::Choice:
    case NodeKind::Repeat:
    case NodeKind::Intersection:
    case NodeKind::Complement:
    case NodeKind::Terminal:
    case NodeKind::Members:
      return g.children(n);
    default:
      return {};
  }
}

// The rules referred to in a body, other bodies not entered.
std::vector<std::uint32_t> references(const Grammar& g, NodeId body) {
  std::vector<std::uint32_t> found;
  std::unordered_map<NodeId, bool> seen;
  std::vector<NodeId> todo{body};
  while (!todo.empty()) {
    const NodeId id = todo.back();
    todo.pop_back();
    if (std::exchange(seen[id], true)) continue;
    const Node& n = g.node(id);
    if (n.kind == NodeKind::RuleRef) {
      found.push_back(n.first);
      continue;
    }
    for (NodeId child : parts(g, n)) todo.push_back(child);
  }
  return found;
}

// The first reference from a body to rules of its own component that is not at the end of the body's text.
const Node* inner_reference(const Grammar& g, NodeId body, const std::vector<std::uint32_t>& component_of,
                            std::uint32_t component) {
  struct Step {
    NodeId node;
    bool last;
  };
  std::unordered_map<std::uint64_t, bool> seen;
  std::vector<Step> todo{{body, true}};
  while (!todo.empty()) {
    const Step at = todo.back();
    todo.pop_back();
    if (std::exchange(seen[std::uint64_t{static_cast<std::uint32_t>(at.node)} << 1 | at.last], true)) continue;
    const Node& n = g.node(at.node);
    if (n.kind == NodeKind::RuleRef) {
      if (!at.last && component_of[n.first] == component) return &n;
      continue;
    }
    const auto children = parts(g, n);
    for (std::size_t i = 0; i < children.size(); ++i) {
      const bool last = n.kind == NodeKind::Sequence ? i + 1 == children.size()
                        : n.kind == NodeKind::Repeat ? n.max == 1
                                                     : n.kind != NodeKind::Complement;
      todo.push_back({children[i], at.last && last});
    }
  }
  return nullptr;
}

// By rule: whether its language holds a text. The least fixed point by a worklist: a term waits for a number of
// the terms it depends on.
std::vector<bool> productive_rules(const Rules& rules) {
  constexpr std::uint32_t kNever = 0xFFFFFFFF;
  const ExpressionStore& t = rules.terms;
  const std::vector<ExprId> terms = t.reachable(rules.bodies);
  std::vector<std::vector<ExprId>> users(t.size());
  std::vector<std::vector<std::uint32_t>> bodies(t.size());  // rules with this body
  std::vector<std::vector<ExprId>> calls(rules.bodies.size());
  std::vector<std::uint32_t> waits(t.size());
  std::vector<bool> productive(rules.bodies.size());
  std::vector<ExprId> todo;
  for (std::uint32_t r = 0; r < productive.size(); ++r) bodies[rules.bodies[r]].push_back(r);
  for (const ExprId id : terms) {
    const Expr& e = t[id];
    if (e.kind == ExprKind::Members) {
      // For the values of those that must come. The first way of a member admits every value of its other ways.
      const MemberTable& table = t.member_table(e);
      for (std::uint32_t member = 0; member < table.named; ++member) {
        if (!table.requires_member(member)) continue;
        users[table.value(ways_of(table, member).first)].push_back(id);
        ++waits[id];
      }
      if (waits[id] == 0) todo.push_back(id);
      continue;
    }
    for (const ExprId operand : t.operands(e)) users[operand].push_back(id);
    switch (e.kind) {
      case ExprKind::Nothing:
        waits[id] = kNever;
        break;
      case ExprKind::Call:
        waits[id] = 1;
        calls[e.a].push_back(id);
        break;
      case ExprKind::Concat:
        waits[id] = 2;
        break;
      case ExprKind::Alternation:
      case ExprKind::Endless:
        waits[id] = 1;
        break;
      case ExprKind::Repeat:
        waits[id] = e.min == 0 ? 0 : 1;
        break;
      // An intersection that is still here holds a text.
      default:
        waits[id] = 0;
    }
    if (waits[id] == 0) todo.push_back(id);
  }
  const auto release = [&](ExprId id) {
    if (waits[id] != 0 && waits[id] != kNever && --waits[id] == 0) todo.push_back(id);
  };
  while (!todo.empty()) {
    t.step();
    const ExprId id = todo.back();
    todo.pop_back();
    for (const ExprId user : users[id]) release(user);
    for (const std::uint32_t r : bodies[id]) {
      productive[r] = true;
      for (const ExprId call : calls[r]) release(call);
    }
  }
  return productive;
}

}  // namespace

bool check_operands(const Grammar& g) {
  std::vector<NodeId> todo;
  bool booleans = false;
  for (const Node& n : g.nodes()) {
    const bool boolean = n.kind == NodeKind::Intersection || n.kind == NodeKind::Complement;
    if (!boolean && n.kind != NodeKind::Terminal) continue;
    booleans = booleans || boolean;
    for (NodeId child : g.children(n)) todo.push_back(child);
  }
  if (todo.empty()) return false;
  std::vector<bool> seen(g.nodes().size());
  std::vector<bool> inside(g.rules().size());
  while (!todo.empty()) {
    const NodeId id = todo.back();
    todo.pop_back();
    if (seen[static_cast<std::size_t>(id)]) continue;
    seen[static_cast<std::size_t>(id)] = true;
    const Node& n = g.node(id);
    if (n.kind == NodeKind::Token) {
      throw grammar_error(
          g.source(), g.file(),
          {DiagnosticKind::Unsupported, n.span, "a token literal in a terminal, an intersection or a complement",
           "these are made of texts; write the token beside them"});
    }
    if (n.kind == NodeKind::Terminal) {
      throw grammar_error(
          g.source(), g.file(),
          {DiagnosticKind::Unsupported, n.span, "a terminal in a terminal, an intersection or a complement",
           "write what it consists of: inside these nothing says where a lexeme ends"});
    }
    if (n.kind == NodeKind::Members) {
      throw grammar_error(g.source(), g.file(),
                          {DiagnosticKind::Unsupported, n.span, "members in an intersection or a complement",
                           "these are for regular languages"});
    }
    if (n.kind == NodeKind::RuleRef) inside[n.first] = true;
    for (NodeId part : parts(g, n)) todo.push_back(part);
  }
  std::vector<std::vector<std::uint32_t>> edges;
  for (const Rule& rule : g.rules()) edges.push_back(references(g, rule.body));
  const auto groups = components(edges);
  std::vector<std::uint32_t> component_of(edges.size());
  for (std::uint32_t c = 0; c < groups.size(); ++c) {
    for (std::uint32_t rule : groups[c]) component_of[rule] = c;
  }
  for (std::uint32_t r = 0; r < edges.size(); ++r) {
    if (!inside[r]) continue;
    if (const Node* n = inner_reference(g, g.rules()[r].body, component_of, component_of[r])) {
      throw grammar_error(
          g.source(), g.file(),
          {DiagnosticKind::Unsupported, n->span,
           "the recursive rule " + quoted(g.rules()[n->first].name) + " in a terminal, an intersection or a complement",
           "these are for regular languages: a rule in them may refer to itself only where its text ends"});
    }
  }
  return booleans;
}

void drop_empty(Rules& rules) {
  ExpressionStore& t = rules.terms;
  // Rules called in operands are substituted there, callees first, as far as they are neither recursive nor too deep.
  std::vector<std::vector<std::uint32_t>> edges;
  for (ExprId body : rules.bodies) {
    edges.emplace_back();
    for (const auto& [callee, count] : calls_in(t, body)) edges.back().push_back(callee);
  }
  std::vector<ExprId> inlined(rules.bodies.size(), kNothing);  // what a call becomes
  Rewriter substitute(
      t, [&](ExprId id, ExprId rebuilt) { return t[id].kind == ExprKind::Call ? inlined[t[id].a] : rebuilt; });
  for (const auto& group : components(edges)) {
    for (std::uint32_t r : group) inlined[r] = t.call(r);
    const bool recursive = group.size() > 1 || std::ranges::find(edges[group[0]], group[0]) != edges[group[0]].end();
    if (recursive) continue;
    const ExprId body = substitute(rules.bodies[group[0]]);
    if (t[body].head_depth < kMaxHeadDepth / 2 && t[body].size < kLargestOperand) inlined[group[0]] = body;
  }
  Rewriter in_operands(
      t, [&](ExprId id, ExprId rebuilt) { return is_operator(t[id]) ? substitute(id) : rebuilt; },
      Descend::OutsideOperators);
  for (std::size_t r = 0; r < inlined.size(); ++r) {
    const ExprId body = in_operands(rules.bodies[r]);
    rules.bodies[r] = body;
  }
  rules.root = in_operands(rules.root);

  // A machine with the rules that operands still call.
  Machine machine;
  const TimedLock lock(machine, t.deadline());
  std::vector<ExprId> operators;
  const auto collect = [&](ExprId id, ExprId rebuilt) {
    if (is_operator(t[id])) operators.push_back(id);
    return rebuilt;
  };
  Rewriter collector(t, collect, Descend::OutsideOperators);
  for (ExprId body : std::vector<ExprId>(rules.bodies)) collector(body);
  collector(rules.root);
  std::vector<bool> called(rules.bodies.size());
  std::vector<ExprId> todo = operators;
  std::vector<std::uint32_t> linked(rules.bodies.size());
  while (!todo.empty()) {
    const ExprId id = todo.back();
    todo.pop_back();
    for (const auto& [rule, count] : calls_in(t, id)) {
      if (called[rule]) continue;
      called[rule] = true;
      linked[rule] = machine.declare_rule();
      todo.push_back(rules.bodies[rule]);
    }
  }
  TermCopier copy(t, machine.store(), linked);
  std::vector<std::pair<std::uint32_t, ExprId>> bodies;
  for (std::uint32_t r = 0; r < called.size(); ++r) {
    if (called[r]) bodies.emplace_back(linked[r], copy(rules.bodies[r]));
  }
  machine.define_rules(bodies);

  const auto empty = [&](ExprId id) { return machine.empty(copy(t[id].kind == ExprKind::Longest ? t[id].a : id)); };
  Rewriter drop(
      t, [&](ExprId id, ExprId rebuilt) { return is_operator(t[id]) && empty(id) ? kNothing : rebuilt; },
      Descend::OutsideOperators);
  for (std::size_t r = 0; r < inlined.size(); ++r) {
    const ExprId body = drop(rules.bodies[r]);
    rules.bodies[r] = body;
  }
  rules.root = drop(rules.root);

  const std::vector<bool> productive = productive_rules(rules);
  Rewriter drop_calls(t, [&](ExprId id, ExprId rebuilt) {
    return t[id].kind == ExprKind::Call && !productive[t[id].a] ? kNothing : rebuilt;
  });
  for (std::size_t r = 0; r < inlined.size(); ++r) {
    const ExprId body = drop_calls(rules.bodies[r]);
    rules.bodies[r] = body;
  }
  rules.root = drop_calls(rules.root);
}

}  // namespace glr
