// A grammar of any front end as GBNF: nodes are copied, members of objects in their order are written out as rules.
#include <algorithm>
#include <optional>
#include <vector>

#include "glrsampler/grammar.hpp"
#include "grammar/diagnostic.hpp"
#include "grammar/dump.hpp"
#include "grammar/productive.hpp"
#include "support/utf8.hpp"

namespace glr {

namespace {

// Nodes come after what they are made of, so one pass copies them.
class Exporter {
 public:
  explicit Exporter(const Grammar& grammar)
      : g_(grammar), productive_(productive_nodes(grammar)), builder_(grammar.source(), grammar.file(), "gbnf") {}

  std::string text() {
    require_sentence(g_);
    find_used();
    rules_.resize(g_.rules().size());
    const auto root = static_cast<std::size_t>(g_.root());
    rules_[root] = builder_.declare("root");
    for (std::size_t r = 0; r < rules_.size(); ++r) {
      if (r != root && used_[index(g_.rules()[r].body)]) rules_[r] = builder_.declare(g_.rules()[r].name);
    }
    nodes_.resize(g_.nodes().size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (used_[i]) nodes_[i] = copy(g_.nodes()[i]);
    }
    for (std::size_t r = 0; r < rules_.size(); ++r) {
      if (rules_[r]) builder_.define(*rules_[r], of(g_.rules()[r].body), {});
    }
    return dump(*std::move(builder_).build(*rules_[root]));
  }

 private:
  static std::size_t index(NodeId id) { return static_cast<std::size_t>(id); }
  NodeId of(NodeId id) const { return *nodes_[index(id)]; }

  // What the root reaches through productive nodes.
  void find_used() {
    used_.resize(g_.nodes().size());
    std::vector<NodeId> todo;
    const auto visit = [&](NodeId id) {
      if (!productive_[index(id)] || used_[index(id)]) return;
      used_[index(id)] = true;
      todo.push_back(id);
    };
    visit(g_.rule(g_.root()).body);
    while (!todo.empty()) {
      const Node& n = g_.node(todo.back());
      todo.pop_back();
      if (n.kind == NodeKind::RuleRef) {
        visit(g_.rule(RuleId{n.first}).body);
      } else if (n.kind != NodeKind::Literal && n.kind != NodeKind::CodePoints && n.kind != NodeKind::Token) {
        for (NodeId child : g_.children(n)) visit(child);
      }
    }
  }

  [[noreturn]] void refuse(const Node& n, const std::string& what, const std::string& hint) const {
    const Diagnostic why{DiagnosticKind::Unsupported, n.span, what + " in GBNF", hint};
    if (n.span.length > 0) throw grammar_error(g_.source(), g_.file(), why);
    throw grammar_error(g_.file(), why);
  }

  NodeId copy(const Node& n) {
    switch (n.kind) {
      case NodeKind::Literal: {
        const std::string_view bytes = g_.literal(n);
        for (std::size_t i = 0; i < bytes.size();) {
          const DecodedCodePoint c = decode_utf8(bytes, i);
          if (c.length == 0) refuse(n, "bytes that are no UTF-8", "GBNF is text over code points");
          i += c.length;
        }
        return builder_.literal(bytes, {});
      }
      case NodeKind::CodePoints: {
        const auto ranges = g_.ranges(n);
        return builder_.code_points({ranges.begin(), ranges.end()}, {});
      }
      case NodeKind::RuleRef:
        return builder_.rule_ref(*rules_[n.first], {});
      case NodeKind::Sequence:
      case NodeKind::Choice: {
        std::vector<NodeId> children;
        for (NodeId child : g_.children(n)) {
          if (used_[index(child)]) children.push_back(of(child));
        }
        return n.kind == NodeKind::Sequence ? builder_.sequence(children, {}) : builder_.choice(children, {});
      }
      case NodeKind::Repeat: {
        const NodeId child = g_.children(n)[0];
        return used_[index(child)] ? builder_.repeat(of(child), n.min, n.max, {}) : builder_.empty({});
      }
      case NodeKind::Token:
        return builder_.token(g_.token_literal(n), {});
      case NodeKind::Members:
        return members(n);
      case NodeKind::Terminal:
        refuse(n, "a terminal", "GBNF has no lexer: every split of a text counts there");
      case NodeKind::Intersection:
      case NodeKind::Complement:
        break;
    }
    refuse(n, "an intersection or a complement",
           "these come from patterns beside other keywords, from patternProperties and from negations");
  }

  // A rule for each place in the row: what may follow a member, and what may come first.
  NodeId members(const Node& n) {
    const Members& m = g_.members(n);
    const std::size_t named = m.required.size();
    if (!m.ordered) refuse(n, "members in any order", "these come from property_order=\"any\" and from uniqueItems");
    const bool witnesses = std::ranges::any_of(m.ways, [](const Members::Way& way) { return way.witnesses != 0; });
    if (m.min > 0 || m.max != kUnbounded || witnesses)
      refuse(n, "members that are counted", "leave minProperties, maxProperties and negated schemas out");
    const auto children = g_.children(n);
    const NodeId separator = of(children[0]);
    std::vector<std::optional<NodeId>> member(named);
    std::vector<NodeId> additional;
    for (std::size_t way = 0; way < m.ways.size(); ++way) {
      const NodeId value = children[1 + named + way];
      if (!used_[index(value)]) continue;
      if (const std::uint32_t i = m.ways[way].member; i < named)
        member[i] = builder_.sequence(std::vector{of(children[1 + i]), of(value)}, {});
      else
        additional.push_back(of(value));
    }
    const auto rule = [&](std::string_view name, NodeId body) {
      const RuleId id = builder_.declare(name);
      builder_.define(id, body, {});
      return builder_.rule_ref(id, {});
    };
    const auto sequence = [&](std::initializer_list<NodeId> nodes) {
      return builder_.sequence(std::vector<NodeId>(nodes), {});
    };
    NodeId after = builder_.empty({});
    std::optional<NodeId> first;
    if (!additional.empty()) {
      const NodeId one = rule("additional-member", builder_.choice(additional, {}));
      after = rule("more-members", builder_.repeat(sequence({separator, one}), 0, kUnbounded, {}));
      first = sequence({one, after});
    }
    for (std::size_t i = named; i-- > 0;) {
      if (!member[i]) continue;
      const NodeId one = rule("member", *member[i]);
      const NodeId begins = sequence({one, after});
      const NodeId next = sequence({separator, one});
      first = m.required[i] || !first ? begins : rule("first-member", builder_.choice(std::vector{begins, *first}, {}));
      after = rule("more-members", sequence({m.required[i] ? next : builder_.repeat(next, 0, 1, {}), after}));
    }
    if (!first) refuse(n, "members of which none has a text", "");
    return *first;
  }

  const Grammar& g_;
  std::vector<bool> productive_;
  std::vector<bool> used_;
  GrammarBuilder builder_;
  std::vector<std::optional<RuleId>> rules_;
  std::vector<std::optional<NodeId>> nodes_;
};

}  // namespace

std::string Grammar::to_gbnf() const { return Exporter(*this).text(); }

}  // namespace glr
