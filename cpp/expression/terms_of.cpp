// Syntax tree -> terms. Children come before their parents in a Grammar, so one loop over its nodes does it.
#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>

#include "expression/rules.hpp"
#include "grammar/diagnostic.hpp"
#include "grammar/productive.hpp"
#include "support/utf8.hpp"

namespace glr {

namespace {

// Nodes nested deeper than this (counted where a derivative would have to look) become rules of their
// own, so that functions over terms may recurse on first factors. Half of the bound, since dropping the
// empty text can double the depth.
constexpr std::uint16_t kDeepest = kMaxHeadDepth / 4;

// The UTF-8 forms of the scalar values [lo, hi], split so that each piece is a sequence of byte ranges. Longer
// forms are left out where a byte is not in `writable`: they would be begun and never finished.
void utf8_pieces(ExpressionStore& t, char32_t lo, char32_t hi, const ByteSet& writable, std::vector<ExprId>& out) {
  constexpr char32_t kEnds[] = {0x7F, 0x7FF, 0xFFFF, kMaxCodePoint};
  const auto bytes = [](char32_t c, std::size_t n, std::uint8_t* to) {
    if (n == 1) {
      to[0] = static_cast<std::uint8_t>(c);
      return;
    }
    for (std::size_t i = n; i-- > 1; c >>= 6) to[i] = static_cast<std::uint8_t>(0x80 | (c & 0x3F));
    to[0] = static_cast<std::uint8_t>((0xF00u >> n & 0xFFu) | c);
  };
  std::vector<std::pair<char32_t, char32_t>> todo{{lo, hi}};
  while (!todo.empty()) {
    const auto [from, to] = todo.back();
    todo.pop_back();
    std::size_t n = 1;
    while (from > kEnds[n - 1]) ++n;
    char32_t cut = std::min(to, kEnds[n - 1]);
    // Continuation bytes vary freely only below a whole block: cut at the first place where they do not.
    for (std::size_t i = 1; i < n; ++i) {
      const char32_t block = (char32_t{1} << (6 * i)) - 1;
      if ((from & ~block) == (cut & ~block)) break;
      if ((from & block) != 0)
        cut = std::min<char32_t>(cut, from | block);
      else if ((cut & block) != block)
        cut = (cut & ~block) - 1;
    }
    if (cut < to) todo.emplace_back(cut + 1, to);
    std::uint8_t first[4];
    std::uint8_t last[4];
    bytes(from, n, first);
    bytes(cut, n, last);
    ExprId e = kEmpty;
    for (std::size_t i = n; i-- > 0;) {
      ByteSet set;
      set.insert(first[i], last[i]);
      // Single bytes stay: text that is given, not sampled, may hold them.
      for (std::size_t w = 0; n > 1 && w < set.words.size(); ++w) set.words[w] &= writable.words[w];
      e = set.empty() ? kNothing : t.concat(t.bytes(set), e);
    }
    out.push_back(e);
  }
}

TokenRef resolve(const Grammar& g, const Node& node, const Vocabulary& vocabulary) {
  const TokenLiteral& literal = g.token_literal(node);
  if (literal.text.empty()) {
    if (literal.id < vocabulary.size()) return {static_cast<std::int32_t>(literal.id), literal.negated};
    throw grammar_error(g.source(), g.file(),
                        {DiagnosticKind::NotAToken, node.span, "<[" + std::to_string(literal.id) + "]>",
                         "this vocabulary has " + std::to_string(vocabulary.size()) + " tokens, ids from 0"});
  }
  if (const auto id = vocabulary.find(literal.text)) return {*id, literal.negated};
  throw grammar_error(
      g.source(), g.file(),
      {DiagnosticKind::NotAToken, node.span, quoted(literal.text),
       "a token literal names one token of the model; for plain text write \"" + escaped(literal.text) + "\""});
}

// The bytes that the vocabulary's tokens hold.
ByteSet writable_bytes(const Vocabulary* vocabulary) {
  ByteSet set;
  for (unsigned b = 0; b < 256; ++b) {
    if (vocabulary == nullptr || vocabulary->has_byte(static_cast<std::uint8_t>(b)))
      set.insert(static_cast<std::uint8_t>(b));
  }
  return set;
}

bool writable_class(const Grammar& g, const Node& node, const ByteSet& writable) {
  ExpressionStore scratch;
  std::vector<ExprId> pieces;
  for (const CodePointRange& r : g.ranges(node)) {
    for (char32_t c = r.first; c <= std::min<char32_t>(r.last, 0x7F); ++c) {
      if (writable.contains(static_cast<std::uint8_t>(c))) return true;
    }
    if (r.last > 0x7F) utf8_pieces(scratch, std::max<char32_t>(r.first, 0x80), r.last, writable, pieces);
  }
  return std::any_of(pieces.begin(), pieces.end(), [](ExprId piece) { return piece != kNothing; });
}

// By NodeId: literals and classes of which no text can be written. Empty when all can. O(bytes of the grammar).
std::vector<bool> unwritable_nodes(const Grammar& g, const ByteSet& writable) {
  std::vector<bool> found;
  ByteSet utf8;
  utf8.insert(0x00, 0xBF);
  utf8.insert(0xC2, 0xF4);
  ByteSet both = writable;
  both.insert(utf8);
  const bool any_code_point = both.count() == writable.count();
  for (std::size_t i = 0; i < g.nodes().size(); ++i) {
    const Node& node = g.nodes()[i];
    bool can = true;
    if (node.kind == NodeKind::Literal) {
      const std::string_view bytes = g.literal(node);
      can = std::all_of(bytes.begin(), bytes.end(),
                        [&](char c) { return writable.contains(static_cast<std::uint8_t>(c)); });
    } else if (node.kind == NodeKind::CodePoints && node.count > 0 && !any_code_point) {
      can = writable_class(g, node, writable);
    }
    if (can) continue;
    found.resize(g.nodes().size());
    found[i] = true;
  }
  return found;
}

// A grammar that has sentences, but none that can be written: names a byte that is missing and the rule that needs it.
GrammarError missing_byte(const Grammar& g, const ByteSet& writable, const std::vector<bool>& unwritable,
                          const std::vector<bool>& productive) {
  const auto index = [](NodeId id) { return static_cast<std::size_t>(id); };
  // From the root through parts that have no writable text, breadth first.
  std::vector<std::pair<NodeId, RuleId>> queue{{g.rule(g.root()).body, g.root()}};
  std::vector<bool> seen(g.nodes().size());
  for (std::size_t at = 0; at < queue.size(); ++at) {
    const auto [id, rule] = queue[at];
    const Node& node = g.node(id);
    if (unwritable[index(id)]) {
      std::string text;
      if (node.kind == NodeKind::Literal)
        text = g.literal(node);
      else
        append_utf8(text, g.ranges(node)[0].first);
      const auto missing = std::find_if(text.begin(), text.end(),
                                        [&](char c) { return !writable.contains(static_cast<std::uint8_t>(c)); });
      constexpr char kHex[] = "0123456789ABCDEF";
      const auto byte = static_cast<std::uint8_t>(missing == text.end() ? text[0] : *missing);
      std::string name = std::string("the byte 0x") + kHex[byte >> 4] + kHex[byte & 15];
      if (byte > 0x20 && byte < 0x7F) name += std::string(" (") + static_cast<char>(byte) + ")";
      return grammar_error(
          g.source(), g.file(),
          {DiagnosticKind::MissingByte, node.span, name + ", which the rule " + quoted(g.rule(rule).name) + " needs",
           "no sentence can be written with this vocabulary; use another one, or add an alternative"});
    }
    const bool reference = node.kind == NodeKind::RuleRef;
    const RuleId inside = reference ? RuleId{node.first} : rule;
    const auto add = [&](NodeId part) {
      if (productive[index(part)] || seen[index(part)]) return;
      seen[index(part)] = true;
      queue.emplace_back(part, inside);
    };
    if (reference) add(g.rule(inside).body);
    if (node.kind == NodeKind::Sequence || node.kind == NodeKind::Choice || node.kind == NodeKind::Repeat ||
        node.kind == NodeKind::Intersection || node.kind == NodeKind::Terminal) {
      for (NodeId part : g.children(node)) add(part);
    }
    if (node.kind == NodeKind::Members) add(g.children(node).back());
  }
  return grammar_error(g.file(), {DiagnosticKind::MissingByte, {}, "a byte that every sentence needs", ""});
}

// The sequences that are used once, by a sequence, and the choices that are used once, by a choice: by node. Their
// parts are taken for their user's own, so that groups nested n deep become one list of n parts instead of n lists.
std::vector<bool> inlined_nodes(const Grammar& g) {
  std::vector<std::uint32_t> uses(g.nodes().size());
  std::vector<bool> inlined(g.nodes().size());
  for (const Rule& rule : g.rules()) ++uses[static_cast<std::size_t>(rule.body)];
  const auto has_children = [](const Node& n) {
    return n.kind != NodeKind::Literal && n.kind != NodeKind::CodePoints && n.kind != NodeKind::RuleRef &&
           n.kind != NodeKind::Token;
  };
  for (const Node& n : g.nodes()) {
    if (!has_children(n)) continue;
    for (NodeId child : g.children(n)) ++uses[static_cast<std::size_t>(child)];
  }
  for (const Node& n : g.nodes()) {
    if (n.kind != NodeKind::Sequence && n.kind != NodeKind::Choice) continue;
    for (NodeId child : g.children(n)) {
      const auto i = static_cast<std::size_t>(child);
      inlined[i] = uses[i] == 1 && g.node(child).kind == n.kind;
    }
  }
  return inlined;
}

// The parts of a sequence or a choice in order.
std::vector<NodeId> parts_of(const Grammar& g, const Node& node, const std::vector<bool>& inlined) {
  std::vector<NodeId> parts;
  const auto children = g.children(node);
  std::vector<NodeId> todo(children.rbegin(), children.rend());
  while (!todo.empty()) {
    const NodeId id = todo.back();
    todo.pop_back();
    if (!inlined[static_cast<std::size_t>(id)]) {
      parts.push_back(id);
      continue;
    }
    const auto own = g.children(g.node(id));
    todo.insert(todo.end(), own.rbegin(), own.rend());
  }
  return parts;
}

// `term`: by node; kNothing where it has no text.
ExprId members_of(const Grammar& g, const Node& node, ExpressionStore& t, const std::vector<ExprId>& term) {
  const Members& members = g.members(node);
  const auto children = g.children(node);
  const auto of = [&](std::size_t child) { return term[static_cast<std::size_t>(children[child])]; };
  const auto named = static_cast<std::uint32_t>(members.required.size());
  MemberTable table;
  table.ordered = members.ordered;
  table.named = named;
  table.required.resize((members.required.size() + 63) / 64);
  for (std::uint32_t member = 0; member < named; ++member) {
    if (members.required[member]) table.required[member / 64] |= std::uint64_t{1} << (member % 64);
  }
  table.min = members.min;
  table.max = members.max == kUnbounded ? kNoMax : members.max;
  bool begun = !t[of(0)].nullable;  // whatever comes reads something first
  std::vector<ExprId> names;
  for (std::uint32_t member = 0; member < named; ++member) {
    begun = begun && !t[of(1 + member)].nullable;
    names.push_back(t.concat(of(1 + member), t.mark(member)));
  }
  table.operands = {of(0), t.alternation(std::move(names))};
  for (std::size_t way = 0; way < members.ways.size(); ++way) {
    const auto [member, witnesses] = members.ways[way];
    const ExprId value = of(1 + named + way);
    begun = begun && (member < named || !t[value].nullable);
    table.operands.push_back(value);
    table.ways.push_back({member, witnesses});
    table.all_witnesses |= witnesses;
  }
  if (!begun) {
    throw grammar_error(g.source(), g.file(),
                        {DiagnosticKind::Unsupported, node.span, "members that may be empty",
                         "a separator, a name and an additional member read something"});
  }
  return t.members(std::move(table));
}

}  // namespace

// By NodeId: derives the empty text. The least fixed point by a worklist over the parents. A complement waits until its
// operand is settled: strata are taken in the order of the graph's components, parts before what is made of them.
std::vector<bool> nullable_nodes(const Grammar& g) {
  const auto& nodes = g.nodes();
  const auto index = [](NodeId id) { return static_cast<std::size_t>(id); };
  const auto parts = [&](const Node& n) {
    if (n.kind == NodeKind::RuleRef) return std::span<const NodeId>(&g.rule(RuleId{n.first}).body, 1);
    switch (n.kind) {
      case NodeKind::Sequence:
      case NodeKind::Choice:
      case NodeKind::Repeat:
      case NodeKind::Intersection:
      case NodeKind::Complement:
        return g.children(n);
      case NodeKind::Terminal:
        return g.children(n).first(1);
      default:
        return std::span<const NodeId>();
    }
  };
  // The nodes that hold node i are users[begin[i]] to users[begin[i + 1]].
  std::vector<std::uint32_t> begin(nodes.size() + 1);
  for (const Node& n : nodes) {
    for (NodeId part : parts(n)) ++begin[index(part)];
  }
  std::uint32_t total = 0;
  for (std::uint32_t& b : begin) total = b += total;
  std::vector<std::uint32_t> users(total);
  std::vector<std::uint32_t> needed(nodes.size());
  std::vector<bool> nullable(nodes.size());
  std::vector<std::uint32_t> todo;
  bool complements = false;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const Node& n = nodes[i];
    for (NodeId part : parts(n)) users[--begin[index(part)]] = i;
    switch (n.kind) {
      case NodeKind::Literal:
        needed[i] = n.count == 0 ? 0 : kUnbounded;
        break;
      case NodeKind::CodePoints:
      case NodeKind::Token:
      case NodeKind::Members:
        needed[i] = kUnbounded;
        break;
      case NodeKind::Complement:
        needed[i] = kUnbounded;
        complements = true;
        break;
      case NodeKind::Intersection:
      case NodeKind::Sequence:
        needed[i] = n.count;
        break;
      case NodeKind::Choice:
      case NodeKind::RuleRef:
      case NodeKind::Terminal:
        needed[i] = 1;
        break;
      case NodeKind::Repeat:
        needed[i] = n.min == 0 ? 0 : 1;
        break;
    }
    if (needed[i] == 0) todo.push_back(i);
  }
  const auto settle = [&] {
    while (!todo.empty()) {
      const std::uint32_t i = todo.back();
      todo.pop_back();
      if (nullable[i]) continue;
      nullable[i] = true;
      for (std::uint32_t u = begin[i]; u < begin[i + 1]; ++u) {
        const std::uint32_t user = users[u];
        if (needed[user] != 0 && needed[user] != kUnbounded && --needed[user] == 0) todo.push_back(user);
      }
    }
  };
  settle();
  if (!complements) return nullable;
  std::vector<std::vector<std::uint32_t>> edges(nodes.size());
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    for (NodeId part : parts(nodes[i])) edges[i].push_back(static_cast<std::uint32_t>(part));
  }
  for (const auto& group : components(edges)) {
    const std::uint32_t i = group[0];
    if (nodes[i].kind != NodeKind::Complement || nullable[edges[i][0]]) continue;
    todo.push_back(i);
    settle();
  }
  return nullable;
}

void terms_of(const Grammar& g, const Vocabulary* vocabulary, Rules& rules) {
  const ByteSet writable = writable_bytes(vocabulary);
  const ByteSet every_byte = writable_bytes(nullptr);
  const std::vector<bool> unwritable = unwritable_nodes(g, writable);
  // Only a grammar without any sentence left is refused: which sentences a vocabulary can write is not a property of
  // the language, and text that is given, not sampled, may hold what no token does.
  if (!unwritable.empty()) {
    const std::vector<bool> written = productive_nodes(g, unwritable);
    if (!written[static_cast<std::size_t>(g.rule(g.root()).body)]) throw missing_byte(g, writable, unwritable, written);
  }
  const std::vector<bool> productive = productive_nodes(g);
  const std::vector<bool> nullable = nullable_nodes(g);
  ExpressionStore& t = rules.terms;
  rules.bodies.assign(g.rules().size(), kNothing);
  const auto call_of = [&](std::uint32_t rule, bool may_be_empty) {
    return may_be_empty ? t.optional(t.call(rule)) : t.call(rule);
  };

  // A term that is too deep becomes a rule.
  const auto shallow = [&](ExprId e) {
    if (t[e].head_depth <= kDeepest) return e;
    const bool empty = t[e].nullable;
    return call_of(rules.add(t.nonempty(e)), empty);
  };

  const std::vector<bool> inlined = inlined_nodes(g);
  std::unordered_map<std::string_view, ExprId> classes;  // by the bytes of their ranges
  std::vector<ExprId> term(g.nodes().size(), kNothing);
  for (std::size_t i = 0; i < term.size(); ++i) {
    t.step();
    const Node& n = g.nodes()[i];
    if (!productive[i] || inlined[i]) continue;
    ExprId e = kNothing;
    switch (n.kind) {
      case NodeKind::Literal:
        e = t.literal(g.literal(n));
        break;
      case NodeKind::CodePoints: {
        const auto ranges = g.ranges(n);
        ExprId& known = classes[std::string_view(reinterpret_cast<const char*>(ranges.data()), ranges.size_bytes())];
        if (known == kNothing) {
          std::vector<ExprId> pieces;
          for (const CodePointRange& r : ranges) utf8_pieces(t, r.first, r.last, every_byte, pieces);
          known = t.alternation(std::move(pieces));
        }
        e = known;
        break;
      }
      case NodeKind::RuleRef: {
        const bool empty = nullable[static_cast<std::size_t>(g.rule(RuleId{n.first}).body)];
        e = call_of(n.first, empty);
        break;
      }
      case NodeKind::Sequence: {
        e = kEmpty;
        const std::vector<NodeId> parts = parts_of(g, n, inlined);
        for (std::size_t p = parts.size(); p-- > 0;) e = shallow(t.concat(term[static_cast<std::size_t>(parts[p])], e));
        break;
      }
      case NodeKind::Choice: {
        std::vector<ExprId> members;
        for (NodeId c : parts_of(g, n, inlined)) members.push_back(term[static_cast<std::size_t>(c)]);
        e = t.alternation(std::move(members));
        break;
      }
      case NodeKind::Intersection: {
        std::vector<ExprId> members;
        for (NodeId c : g.children(n)) members.push_back(term[static_cast<std::size_t>(c)]);
        e = t.intersection(std::move(members));
        break;
      }
      case NodeKind::Complement:
        e = t.complement(term[static_cast<std::size_t>(g.children(n)[0])]);
        break;
      case NodeKind::Terminal: {
        const ExprId x = term[static_cast<std::size_t>(g.children(n)[0])];
        if (n.count == 1)
          e = lexeme(t, t.nonempty(x));
        else
          e = t.longest(t.nonempty(x), t.nonempty(term[static_cast<std::size_t>(g.children(n)[1])]), n.min != 0);
        if (t[x].nullable) e = t.optional(e);
        break;
      }
      case NodeKind::Repeat:
        e = t.repeat(term[static_cast<std::size_t>(g.children(n)[0])], n.min, n.max);
        break;
      case NodeKind::Members:
        e = members_of(g, n, t, term);
        break;
      case NodeKind::Token:
        if (vocabulary != nullptr) e = t.token(resolve(g, n, *vocabulary));
        break;
    }
    term[i] = shallow(e);
  }
  for (std::size_t r = 0; r < g.rules().size(); ++r) {
    rules.bodies[r] = t.nonempty(term[static_cast<std::size_t>(g.rules()[r].body)]);
  }
  const auto root = static_cast<std::uint32_t>(g.root());
  rules.root = call_of(root, nullable[static_cast<std::size_t>(g.rule(g.root()).body)]);
  if (rules.bodies[root] == kNothing)
    rules.root = nullable[static_cast<std::size_t>(g.rule(g.root()).body)] ? kEmpty : kNothing;
}

ExprId lower(const Grammar& grammar, const Vocabulary* vocabulary, const Limits& limits, const Deadline& deadline,
             Machine& machine, RuleIndex& index) {
  Rules rules;
  rules.terms.set_deadline(deadline);
  const bool booleans = check_operands(grammar);
  const Rule& root = grammar.rule(grammar.root());
  const auto require_sentence = [&](const std::string& hint) {
    if (rules.root != kNothing || vocabulary == nullptr) return;
    throw grammar_error(
        grammar.source(), grammar.file(),
        {DiagnosticKind::NoSentence, root.span, "no text is a sentence of the rule " + quoted(root.name), hint});
  };
  terms_of(grammar, vocabulary, rules);
  remove_left_recursion(rules);
  // Members may have no text without their node showing it (bounds, witnesses): then a rule may be called that has
  // none.
  const bool nothing = std::ranges::find(rules.bodies, kNothing) != rules.bodies.end();
  if (booleans || nothing) drop_empty(rules);
  require_sentence("what it asks for excludes itself");
  if (const std::uint32_t nesting = limits.max_nesting; nesting != 0) {
    limit_nesting(rules, nesting, limits.max_states, root.name);
    require_sentence("every one nests deeper than max_nesting, " + std::to_string(nesting));
  }
  choose_calls(rules);
  const TimedLock lock(machine, deadline);
  return link(rules, machine, index);
}

}  // namespace glr
