// The least fixed point by a worklist: each node waits for a number of the nodes it depends on (all
// children of a sequence, one child of a choice, the body of a rule it refers to) and, once it waits
// for none, releases those that depend on it.

#include "grammar/productive.hpp"

#include <span>
#include <string>

#include "grammar/diagnostic.hpp"

namespace glr {
namespace {

std::size_t index(NodeId id) { return static_cast<std::size_t>(id); }

// What `node` is made of: its children, or the body of the rule it refers to.
std::span<const NodeId> parts(const Grammar& grammar, const Node& node) {
  switch (node.kind) {
    case NodeKind::RuleRef:
      return {&grammar.rule(RuleId{node.first}).body, 1};
    case NodeKind::Sequence:
    case NodeKind::Choice:
    case NodeKind::Repeat:
    case NodeKind::Intersection:
    case NodeKind::Complement:
      return grammar.children(node);
    case NodeKind::Terminal:
      return grammar.children(node).first(1);
    case NodeKind::Members:
      return grammar.children(node).last(1);
    case NodeKind::Literal:
    case NodeKind::CodePoints:
    case NodeKind::Token:
      return {};
  }
  return {};
}

constexpr std::uint32_t kNever = kUnbounded;

// How many parts must be productive before `node` is.
std::uint32_t parts_needed(const Node& node) {
  switch (node.kind) {
    case NodeKind::Literal:
    case NodeKind::Token:
    case NodeKind::Complement:
      return 0;
    case NodeKind::CodePoints:
      return node.count == 0 ? kNever : 0;
    case NodeKind::Repeat:
      return node.min == 0 ? 0 : 1;
    case NodeKind::Sequence:
    case NodeKind::Intersection:
      return node.count;
    case NodeKind::RuleRef:
    case NodeKind::Choice:
    case NodeKind::Terminal:
    case NodeKind::Members:
      return 1;
  }
  return kNever;
}

// The first rule met twice on the way down from the root through parts that are not productive: it
// needs itself again. The root when the way ends otherwise (in a class of no code points, say).
RuleId rule_without_end(const Grammar& grammar, const std::vector<bool>& productive) {
  std::vector<bool> seen(grammar.rules().size());
  RuleId rule = grammar.root();
  seen[static_cast<std::size_t>(rule)] = true;
  for (NodeId at = grammar.rule(rule).body;;) {
    const Node& node = grammar.node(at);
    if (node.kind == NodeKind::RuleRef) {
      rule = RuleId{node.first};
      if (seen[node.first]) return rule;
      seen[node.first] = true;
    }
    const NodeId* next = nullptr;
    for (const NodeId& part : parts(grammar, node)) {
      if (productive[index(part)]) continue;
      next = &part;
      break;
    }
    if (next == nullptr) return rule;
    at = *next;
  }
}

}  // namespace

std::vector<bool> productive_nodes(const Grammar& grammar, const std::vector<bool>& impossible) {
  const std::size_t count = grammar.nodes().size();
  // The nodes that depend on node i are users[begin[i]] to users[begin[i + 1]].
  std::vector<std::size_t> begin(count + 1);
  for (const Node& node : grammar.nodes()) {
    for (const NodeId part : parts(grammar, node)) ++begin[index(part)];
  }
  std::size_t total = 0;
  for (std::size_t& b : begin) total = b += total;
  std::vector<std::uint32_t> users(total);
  for (std::size_t i = 0; i < count; ++i) {
    const Node& node = grammar.nodes()[i];
    for (const NodeId part : parts(grammar, node)) users[--begin[index(part)]] = static_cast<std::uint32_t>(i);
  }

  std::vector<bool> productive(count);
  std::vector<std::uint32_t> waits(count);
  std::vector<std::size_t> ready;
  const auto settle = [&](std::size_t i) {
    productive[i] = true;
    ready.push_back(i);
  };
  for (std::size_t i = 0; i < count; ++i) {
    waits[i] = !impossible.empty() && impossible[i] ? kNever : parts_needed(grammar.nodes()[i]);
    if (waits[i] == 0) settle(i);
  }
  while (!ready.empty()) {
    const std::size_t done = ready.back();
    ready.pop_back();
    for (std::size_t u = begin[done]; u < begin[done + 1]; ++u) {
      const std::size_t user = users[u];
      if (!productive[user] && --waits[user] == 0) settle(user);
    }
  }
  return productive;
}

void require_sentence(const Grammar& grammar) {
  const std::vector<bool> productive = productive_nodes(grammar);
  const Rule& root = grammar.rule(grammar.root());
  if (productive[index(root.body)]) return;
  const Rule& endless = grammar.rule(rule_without_end(grammar, productive));
  std::string hint = "every alternative of " + quoted(endless.name);
  if (&endless != &root) hint += " (" + place_text(place_of(grammar.source(), endless.span.offset)) + ")";
  hint += " needs something that never ends; add one that ends";
  throw grammar_error(
      grammar.source(), grammar.file(),
      {DiagnosticKind::NoSentence, root.span, "no finite text is a sentence of the rule " + quoted(root.name), hint});
}

}  // namespace glr
