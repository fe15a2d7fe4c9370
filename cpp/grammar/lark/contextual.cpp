#include "grammar/lark/contextual.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "grammar/diagnostic.hpp"
#include "grammar/lark/lalr.hpp"
#include "grammar/overlaps.hpp"
#include "grammar/productive.hpp"

namespace glr::lark {

namespace {

// Repetitions of more than this are loops to the parser, which then takes their last round for any other.
constexpr std::uint32_t kMostRounds = 8;
constexpr std::size_t kMostTerminals = 1000;
constexpr std::size_t kMostNamed = 5;  // in a warning

class Contexts {
 public:
  Contexts(const Grammar& plain, std::span<const LexerTerminal> terminals, GrammarBuilder out)
      : g_(plain), terminals_(terminals), out_(std::move(out)) {
    for (std::uint32_t t = 0; t < terminals.size(); ++t) {
      terminal_of_rule_.emplace(terminals[t].rule, t);
      if (terminals[t].ignored) ignored_.push_back(t);
    }
  }

  std::shared_ptr<const Grammar> build() {
    if (terminals_.size() > kMostTerminals) {
      throw grammar_error(g_.source(), g_.file(),
                          {DiagnosticKind::LimitExceeded, g_.rule(g_.root()).span,
                           "more than " + std::to_string(kMostTerminals) + " terminals for a contextual lexer",
                           "each is compared with all others; lexing=\"longest\" needs no such thing"});
    }
    overlaps_.emplace(g_, rules_of(terminals_));
    refuse_empty();
    number_nonterminals();
    lalr_.emplace(terminals_.size(), terminals_.size() + symbols_.size() + 1, productions_, start_);
    if (lalr_->too_large()) {
      throw grammar_error(g_.source(), g_.file(),
                          {DiagnosticKind::LimitExceeded, g_.rule(g_.root()).span, "the LALR automaton is too large",
                           "lexing=\"longest\" needs none"});
    }
    find_competitors();
    find_units();
    merge_units();
    warn();
    return write();
  }

 private:
  using State = Lalr::State;
  // A terminal and what it competes with: what may match longer, and what is taken instead for the same text.
  struct VariantKey {
    std::uint32_t terminal;
    std::vector<std::uint32_t> longer;
    std::vector<std::uint32_t> instead;
    bool answered;
    auto operator<=>(const VariantKey&) const = default;
  };
  using Variant = std::uint32_t;

  void refuse_empty() const {
    for (std::uint32_t t = 0; t < terminals_.size(); ++t) {
      if (terminals_[t].whole || !overlaps_->nullable(t)) continue;
      const Rule& rule = g_.rule(terminals_[t].rule);
      throw grammar_error(g_.source(), g_.file(),
                          {DiagnosticKind::Unsupported, rule.span, quoted(rule.name) + ", which may be empty",
                           "a contextual lexer reads something each time; let the rules that use it leave it out"});
    }
  }

  static std::vector<std::optional<RuleId>> rules_of(std::span<const LexerTerminal> terminals) {
    std::vector<std::optional<RuleId>> rules;
    for (const LexerTerminal& t : terminals) rules.push_back(t.whole ? std::nullopt : std::optional(t.rule));
    return rules;
  }

  // --- the grammar as productions: a nonterminal for each rule, and for choices and repetitions inside one ---

  using Elements = std::vector<Element>;
  static constexpr GrammarSymbol kNoSymbol = 0xFFFFFFFF;

  // A nonterminal. That of a rule may be empty, others are not: where they stand they are optional.
  struct Symbol {
    std::optional<RuleId> rule;
    NodeId node{};
    std::vector<Elements> rows{};  // by alternative; of a loop: one round
    bool loop = false;
    std::uint32_t min = 1;  // rounds of a loop
    std::uint32_t max = 1;
  };
  // What a node is in a row.
  struct Place {
    GrammarSymbol symbol = kNoSymbol;
    bool optional = false;
  };

  GrammarSymbol add(Symbol symbol) {
    symbols_.push_back(std::move(symbol));
    return static_cast<GrammarSymbol>(terminals_.size() + symbols_.size() - 1);
  }

  // A node as elements in a row; sequences in sequences are one.
  Elements row(NodeId root) const {
    Elements elements;
    std::vector<NodeId> todo{root};
    while (!todo.empty()) {
      const NodeId id = todo.back();
      const Node& n = g_.node(id);
      todo.pop_back();
      if (n.kind == NodeKind::Sequence) {
        const auto children = g_.children(n);
        todo.insert(todo.end(), children.rbegin(), children.rend());
      } else if (n.kind == NodeKind::RuleRef) {
        const auto terminal = terminal_of_rule_.find(RuleId{n.first});
        const bool is_terminal = terminal != terminal_of_rule_.end();
        elements.push_back({is_terminal ? terminal->second : symbol_of_rule_[n.first]});
      } else if (const Place place = places_[static_cast<std::size_t>(id)]; place.symbol != kNoSymbol) {
        elements.push_back({place.symbol, place.optional});
      }
    }
    return elements;
  }

  static bool may_be_empty(const Elements& elements) {
    return std::ranges::all_of(elements, [](const Element& e) { return e.optional; });
  }

  // The same without the empty row: its first element that is there is any of them.
  static void add_rows(const Elements& elements, std::vector<Elements>& rows) {
    if (!may_be_empty(elements)) return rows.push_back(elements);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      rows.emplace_back(elements.begin() + static_cast<std::ptrdiff_t>(i), elements.end()).front().optional = false;
    }
  }

  // A symbol that stands for the rows.
  GrammarSymbol grouped(NodeId node, std::vector<Elements> rows) {
    if (rows.size() == 1 && rows[0].size() == 1) return rows[0][0].symbol;
    return add({.rule = std::nullopt, .node = node, .rows = std::move(rows)});
  }

  void number_nonterminals() {
    const auto rules = g_.rules().size();
    for (std::uint32_t r = 0; r < rules; ++r) {
      const bool terminal = terminal_of_rule_.contains(RuleId{r});
      symbol_of_rule_.push_back(terminal ? kNoSymbol : add({.rule = RuleId{r}, .node = g_.rule(RuleId{r}).body}));
    }
    // Children come before what they stand in.
    for (std::uint32_t i = 0; i < g_.nodes().size(); ++i) {
      const Node& n = g_.nodes()[i];
      Place& place = places_.emplace_back();
      std::vector<Elements> rows;
      if (n.kind == NodeKind::Choice) {
        for (NodeId child : g_.children(n)) {
          const Elements elements = row(child);
          place.optional = place.optional || may_be_empty(elements);
          add_rows(elements, rows);
        }
        if (!rows.empty() || n.count == 0) place.symbol = grouped(NodeId{i}, std::move(rows));
      } else if (n.kind == NodeKind::Repeat) {
        const Elements once = row(g_.children(n)[0]);
        add_rows(once, rows);
        const bool empty = may_be_empty(once);
        place.optional = n.min == 0 || empty;
        if (rows.empty()) continue;
        if (n.max <= 1) {
          place.symbol = grouped(NodeId{i}, std::move(rows));
        } else if (n.max <= kMostRounds) {
          const Element round{grouped(NodeId{i}, std::move(rows))};
          std::vector<Elements> counts;
          for (std::uint32_t k = empty ? 1 : std::max(n.min, 1U); k <= n.max; ++k) counts.emplace_back(k, round);
          place.symbol = grouped(NodeId{i}, std::move(counts));
        } else {
          if (rows.size() > 1) rows = {{{grouped(NodeId{i}, std::move(rows))}}};
          place.symbol = add({.rule = std::nullopt,
                              .node = NodeId{i},
                              .rows = std::move(rows),
                              .loop = true,
                              .min = empty ? 1 : std::max(n.min, 1U),
                              .max = n.max});
        }
      }
    }
    for (std::uint32_t r = 0; r < rules; ++r) {
      if (symbol_of_rule_[r] == kNoSymbol) continue;
      const Elements elements = row(g_.rule(RuleId{r}).body);
      Symbol& symbol = symbols_[symbol_of_rule_[r] - terminals_.size()];
      add_rows(elements, symbol.rows);
      if (may_be_empty(elements)) symbol.rows.emplace_back();
    }
    for (std::size_t i = 0; i < symbols_.size(); ++i) {
      const auto left = static_cast<GrammarSymbol>(terminals_.size() + i);
      for (const Elements& elements : symbols_[i].rows) productions_.push_back({left, elements});
      if (!symbols_[i].loop) continue;
      Elements again{{left}};
      again.insert(again.end(), symbols_[i].rows[0].begin(), symbols_[i].rows[0].end());
      productions_.push_back({left, std::move(again)});
    }
    start_ = static_cast<GrammarSymbol>(terminals_.size() + symbols_.size());
    productions_.push_back({start_, {{symbol_of_rule_[static_cast<std::size_t>(g_.root())]}}});
  }

  // --- what competes with a terminal ---

  // The lexer takes the next lexeme in the state after the last one, before any reduction. So a terminal that is read
  // in a state competes with what is accepted in those from which reductions lead to it.
  void find_competitors() {
    std::vector<bool> lexes(lalr_->states());
    lexes[Lalr::kStart] = true;
    for (State s = 0; s < lalr_->states(); ++s) {
      for (const auto& [symbol, to] : lalr_->moves(s)) {
        if (symbol < terminals_.size()) lexes[to] = true;
      }
    }
    std::set<std::tuple<State, TerminalSet, TerminalSet, TerminalSet>> seen;  // many states say the same
    for (State s = 0; s < lexes.size(); ++s) {
      if (!lexes[s]) continue;
      for (const auto& [at, possible] : lalr_->reductions(s)) {
        if (!seen.emplace(at, possible, lalr_->accepts(s), shifts(s)).second) continue;
        for (const auto& [symbol, to] : lalr_->moves(at)) {
          if (symbol >= terminals_.size() || !possible.contains(symbol)) continue;
          const auto [it, fresh] = competitors_.try_emplace({at, symbol}, terminals_.size());
          it->second.insert(lalr_->accepts(s));
          const auto [always, alone] = always_.try_emplace({at, symbol}, lalr_->accepts(s));
          if (!alone) always->second = always->second.common(lalr_->accepts(s));
          // Whatever is read in the state before the reductions is read by the same parser.
          TerminalSet read = shifts(s);
          read.insert(shifts(at));
          const auto [known, first] = read_.try_emplace({at, symbol}, read);
          if (!first) known->second = known->second.common(read);
        }
      }
    }
  }

  TerminalSet shifts(State state) const {
    TerminalSet set(terminals_.size());
    for (const auto& [symbol, to] : lalr_->moves(state)) {
      if (symbol < terminals_.size()) set.insert(symbol);
    }
    return set;
  }

  TerminalSet read_with(State state, GrammarSymbol terminal) const {
    const auto it = read_.find({state, terminal});
    return it == read_.end() ? shifts(state) : it->second;
  }

  using ByPlace = std::map<std::pair<State, GrammarSymbol>, TerminalSet>;
  const TerminalSet& known(const ByPlace& sets, State state, GrammarSymbol terminal) const {
    const auto it = sets.find({state, terminal});
    return it == sets.end() ? lalr_->accepts(state) : it->second;  // no text leads there
  }

  // Whether of two terminals that match the same text the other one is taken.
  bool gives_way(std::uint32_t x, std::uint32_t y) const {
    const auto rank = [&](const LexerTerminal& t) { return std::tuple(t.priority, t.text, t.written); };
    const LexerTerminal& a = terminals_[x];
    const LexerTerminal& b = terminals_[y];
    if (rank(a) != rank(b)) return rank(a) < rank(b);
    return a.name > b.name;
  }

  // `accepted`: what may come in its place, `always`: by whatever ended before; `read`: terminals that a parser that
  // reads this one reads as well, on the same stack.
  Variant variant(std::uint32_t terminal, const TerminalSet& accepted, const TerminalSet& always,
                  const TerminalSet& read) {
    std::vector<std::uint32_t> longer;
    std::vector<std::uint32_t> instead;
    for (std::uint32_t t = 0; t < terminals_.size() && !terminals_[terminal].whole; ++t) {
      if (t == terminal || terminals_[t].whole || (!accepted.contains(t) && !terminals_[t].ignored)) continue;
      if (overlaps_->longer(terminal, t)) longer.push_back(t);
      if (overlaps_->same(terminal, t) && gives_way(terminal, t)) instead.push_back(t);
    }
    for (const auto* others : {&longer, &instead}) {
      for (std::uint32_t t : *others) {
        if (!always.contains(t) && !terminals_[t].ignored) sometimes_.emplace(terminal, t);
      }
    }
    VariantKey key{terminal, std::move(longer), std::move(instead), false};
    key.answered = answered(key, read);
    return variants_.try_emplace(std::move(key), static_cast<Variant>(variants_.size())).first->second;
  }

  // Whether, whenever a competitor may still match more, some parse is inside a terminal that may too, so that a match
  // is not cancelled for one that no parser takes: what a state accepts may be due to another state that it was merged
  // with. It does not matter of those that have won or lost with the next byte.
  bool answered(const VariantKey& key, const TerminalSet& read) const {
    // What it reads itself, or what is read on the way to it and gives way to nothing that is not.
    std::vector<std::uint32_t> sure{key.terminal};
    for (std::uint32_t x : key.longer) {
      const auto gives_way_to_unread = [&](std::uint32_t t) {
        return overlaps_->same(x, t) && gives_way(x, t) && !terminals_[t].ignored && !read.contains(t);
      };
      bool is_sure = terminals_[x].ignored || read.contains(x);
      for (std::uint32_t t = 0; t < terminals_.size() && is_sure; ++t) is_sure = t == x || !gives_way_to_unread(t);
      if (is_sure) sure.push_back(x);
    }
    return std::ranges::all_of(key.longer, [&](std::uint32_t y) {
      if (overlaps_->settled_at_once(key.terminal, y)) return true;
      return std::ranges::any_of(sure, [&](std::uint32_t z) { return overlaps_->covers(key.terminal, y, z); });
    });
  }

  // What may be ignored in a state, a variant each.
  std::uint32_t ignored_in(State state) {
    std::vector<Variant> list;
    for (std::uint32_t t : ignored_)
      list.push_back(variant(t, lalr_->accepts(state), lalr_->accepts(state), shifts(state)));
    return ignored_lists_.try_emplace(std::move(list), static_cast<std::uint32_t>(ignored_lists_.size())).first->second;
  }

  // --- units: nonterminals by the state they begin in, and rests of their rows by the state that they are in ---

  static constexpr std::uint32_t kNoUnit = 0xFFFFFFFF;

  struct Unit {
    GrammarSymbol symbol;
    State state;
    std::uint32_t row = kNoUnit;  // of the symbol; kNoUnit: the whole symbol
    std::uint32_t at = 0;         // elements of the row before it
    // Of the whole symbol: the rests that its rows begin with; of a loop: those of the first round and the later ones.
    std::vector<std::uint32_t> rows{};
    // Of a rest: its first element, and what follows it and what follows when it is left out.
    bool terminal = false;
    std::uint32_t first = kNoUnit;  // Variant, or unit; kNoUnit: the row ends here
    std::uint32_t ignored = 0;      // after a terminal
    std::uint32_t then = kNoUnit;
    std::uint32_t without = kNoUnit;
  };

  std::uint32_t unit(GrammarSymbol symbol, State state, std::uint32_t row = kNoUnit, std::uint32_t at = 0) {
    const auto [it, fresh] = unit_of_.try_emplace({symbol, state, row, at}, static_cast<std::uint32_t>(units_.size()));
    if (fresh) units_.push_back({.symbol = symbol, .state = state, .row = row, .at = at});
    return it->second;
  }

  void find_units() {
    ignored_in_start_ = ignored_in(Lalr::kStart);
    unit(symbol_of_rule_[static_cast<std::size_t>(g_.root())], Lalr::kStart);
    for (std::uint32_t u = 0; u < units_.size(); ++u) {
      Unit made = units_[u];
      const Symbol& symbol = symbols_[made.symbol - terminals_.size()];
      if (made.row == kNoUnit) {
        for (std::uint32_t r = 0; r < symbol.rows.size(); ++r) made.rows.push_back(unit(made.symbol, made.state, r));
        if (symbol.loop) made.rows.push_back(unit(made.symbol, lalr_->after(made.state, made.symbol), 0));
      } else if (made.at < symbol.rows[made.row].size()) {
        const auto [x, optional] = symbol.rows[made.row][made.at];
        const State next = lalr_->after(made.state, x);
        made.terminal = x < terminals_.size();
        made.first = made.terminal ? variant(x, known(competitors_, made.state, x), known(always_, made.state, x),
                                             read_with(made.state, x))
                                   : unit(x, made.state);
        made.ignored = made.terminal ? ignored_in(next) : 0;
        made.then = unit(made.symbol, next, made.row, made.at + 1);
        if (optional) made.without = unit(made.symbol, made.state, made.row, made.at + 1);
      }
      units_[u] = std::move(made);
    }
  }

  // Units of the same place in the grammar that say the same.
  void merge_units() {
    classes_.assign(units_.size(), 0);
    for (std::size_t before = 0, count = 1; count != before;) {
      before = count;
      std::map<std::vector<std::uint32_t>, std::uint32_t> known;
      std::vector<std::uint32_t> next;
      const auto class_of = [&](std::uint32_t u) { return u == kNoUnit ? kNoUnit : classes_[u]; };
      for (std::uint32_t u = 0; u < units_.size(); ++u) {
        const Unit& unit = units_[u];
        std::vector<std::uint32_t> says{unit.symbol,
                                        unit.row,
                                        unit.at,
                                        classes_[u],
                                        unit.terminal ? unit.first : class_of(unit.first),
                                        unit.ignored,
                                        class_of(unit.then),
                                        class_of(unit.without)};
        for (std::uint32_t row : unit.rows) says.push_back(classes_[row]);
        next.push_back(known.try_emplace(std::move(says), static_cast<std::uint32_t>(known.size())).first->second);
      }
      classes_ = std::move(next);
      count = known.size();
    }
  }

  // A terminal behind a rule that can end in several ways competes with what may come after any of them.
  void warn() {
    std::string pairs;
    std::size_t count = 0;
    for (const auto& [x, y] : sometimes_) {
      if (++count <= kMostNamed) pairs += (count == 1 ? "" : ", ") + terminals_[x].name + " by " + terminals_[y].name;
    }
    if (count > kMostNamed) pairs += " and " + std::to_string(count - kMostNamed) + " more";
    if (count == 0) return;
    out_.warn(
        "contextual lexing: these may be outdone in more places than in Lark, so that fewer texts are sentences: " +
        pairs);
  }

  // --- the new grammar ---

  const Rule& rule_of(std::uint32_t terminal) const { return g_.rule(terminals_[terminal].rule); }

  // Each variant is a rule of its own, so that messages can name it.
  RuleId write_variant(const VariantKey& key) {
    const auto& [terminal, longer, instead, answered] = key;
    const LexerTerminal& t = terminals_[terminal];
    if (t.whole) return t.rule;
    const Span span = rule_of(terminal).span;
    const NodeId texts = rule_of(terminal).body;
    const auto any_of = [&](const std::vector<std::uint32_t>& others) {
      std::vector<NodeId> bodies;
      for (std::uint32_t other : others) bodies.push_back(rule_of(other).body);
      return out_.choice(bodies, span);
    };
    NodeId body = texts;
    if (!instead.empty()) {
      const NodeId both[] = {texts, out_.complement(any_of(instead), span)};
      body = out_.intersection(both, span);
    }
    if (longer.empty() && instead.empty()) {
      if (overlaps_->longer(terminal, terminal)) body = out_.terminal(texts, span);
    } else {
      const NodeId all[] = {any_of(longer), body};
      body = out_.terminal(body, out_.choice(all, span), answered, span);
    }
    const RuleId rule = out_.declare(t.name);
    out_.define(rule, body, span);
    return rule;
  }

  std::shared_ptr<const Grammar> write() {
    const Rule& start = g_.rule(g_.root());
    out_.include(g_, std::nullopt);  // nodes and rules keep their numbers
    std::vector<RuleId> variant_rules(variants_.size());
    for (const auto& [key, id] : variants_) {
      variant_rules[id] = write_variant(key);
    }
    const Span where = start.span;
    std::vector<std::optional<RuleId>> ignored(ignored_lists_.size());
    for (const auto& [list, id] : ignored_lists_) {
      if (list.empty()) continue;
      std::vector<NodeId> uses;
      for (Variant v : list) uses.push_back(out_.rule_ref(variant_rules[v], where));
      ignored[id] = out_.declare("ignored");
      out_.define(*ignored[id], out_.repeat(out_.choice(uses, where), 0, kUnbounded, where), {});
    }
    // One unit of each class. What others are made of comes first: symbols inside rules as they were numbered, and of a
    // row the shorter rests.
    std::vector<std::uint32_t> order;
    std::vector<bool> has(units_.size());
    for (std::uint32_t u = 0; u < units_.size(); ++u) {
      if (!has[classes_[u]]) order.push_back(u);
      has[classes_[u]] = true;
    }
    std::ranges::sort(order, {}, [&](std::uint32_t u) {
      const Unit& unit = units_[u];
      return std::tuple(of_unit(u).rule.has_value(), unit.symbol, unit.row == kNoUnit,
                        -static_cast<std::int64_t>(unit.at));
    });
    std::vector<NodeId> nodes(units_.size());  // by class
    std::vector<RuleId> rules(units_.size());
    for (std::uint32_t u : order) {
      const auto rule = of_unit(u).rule;
      if (rule && units_[u].row == kNoUnit) rules[classes_[u]] = out_.declare(g_.rule(*rule).name);
    }
    for (std::uint32_t u : order) {
      const Symbol& symbol = of_unit(u);
      const Unit& unit = units_[u];
      const Span span = g_.node(symbol.node).span;
      const auto node = [&](std::uint32_t other) { return nodes[classes_[other]]; };
      NodeId& made = nodes[classes_[u]];
      if (unit.row != kNoUnit) {
        made = rest_node(unit, span, variant_rules, ignored, rules, nodes);
      } else if (symbol.loop && classes_[unit.rows[0]] == classes_[unit.rows[1]]) {
        made = out_.repeat(node(unit.rows[0]), symbol.min, symbol.max, span);
      } else if (symbol.loop) {
        const std::uint32_t most = symbol.max == kUnbounded ? kUnbounded : symbol.max - 1;
        const NodeId both[] = {node(unit.rows[0]), out_.repeat(node(unit.rows[1]), symbol.min - 1, most, span)};
        made = out_.sequence(both, span);
      } else {
        std::vector<NodeId> ways;
        for (std::uint32_t row : unit.rows) ways.push_back(node(row));
        made = out_.choice(ways, span);
      }
      if (symbol.rule && unit.row == kNoUnit) out_.define(rules[classes_[u]], made, g_.rule(*symbol.rule).span);
    }
    const RuleId root = out_.declare(start.name);
    std::vector<NodeId> parts;
    if (const auto& before = ignored[ignored_in_start_]) parts.push_back(out_.rule_ref(*before, where));
    parts.push_back(out_.rule_ref(rules[classes_[0]], where));
    out_.define(root, out_.sequence(parts, where), where);
    return std::move(out_).build(root);
  }

  NodeId rest_node(const Unit& unit, Span span, const std::vector<RuleId>& variants,
                   const std::vector<std::optional<RuleId>>& ignored, const std::vector<RuleId>& rules,
                   const std::vector<NodeId>& nodes) {
    if (unit.first == kNoUnit) return out_.empty(span);
    std::vector<NodeId> parts;
    if (unit.terminal) {
      parts.push_back(out_.rule_ref(variants[unit.first], span));
      if (ignored[unit.ignored]) parts.push_back(out_.rule_ref(*ignored[unit.ignored], span));
    } else {
      const std::uint32_t c = classes_[unit.first];
      parts.push_back(of_unit(unit.first).rule ? out_.rule_ref(rules[c], span) : nodes[c]);
    }
    const NodeId then = nodes[classes_[unit.then]];
    const bool ends = units_[unit.then].first == kNoUnit;
    if (unit.without == kNoUnit) {
      if (!ends) parts.push_back(then);
      return out_.sequence(parts, span);
    }
    if (classes_[unit.then] == classes_[unit.without]) {
      const NodeId optional = out_.repeat(out_.sequence(parts, span), 0, 1, span);
      const NodeId both[] = {optional, then};
      return ends ? optional : out_.sequence(both, span);
    }
    if (!ends) parts.push_back(then);
    const NodeId ways[] = {out_.sequence(parts, span), nodes[classes_[unit.without]]};
    return out_.choice(ways, span);
  }

  const Symbol& of_unit(std::uint32_t unit) const { return symbols_[units_[unit].symbol - terminals_.size()]; }

  const Grammar& g_;
  std::span<const LexerTerminal> terminals_;
  GrammarBuilder out_;
  std::optional<Overlaps> overlaps_;
  std::map<RuleId, std::uint32_t> terminal_of_rule_;
  std::vector<std::uint32_t> ignored_;
  std::vector<Symbol> symbols_;
  std::vector<GrammarSymbol> symbol_of_rule_;
  std::vector<Place> places_;  // by NodeId
  std::vector<Production> productions_;
  GrammarSymbol start_ = 0;
  std::optional<Lalr> lalr_;
  ByPlace competitors_;  // of a terminal that is read in a state
  ByPlace always_;       // of these, those that compete in each state from which reductions lead there
  ByPlace read_;         // by all parsers that read the terminal there
  std::set<std::pair<std::uint32_t, std::uint32_t>>
      sometimes_;  // a terminal and one that competes after some ends only
  std::map<VariantKey, Variant> variants_;
  std::map<std::vector<Variant>, std::uint32_t> ignored_lists_;
  std::map<std::tuple<GrammarSymbol, State, std::uint32_t, std::uint32_t>, std::uint32_t> unit_of_;
  std::vector<Unit> units_;
  std::vector<std::uint32_t> classes_;  // by unit
  std::uint32_t ignored_in_start_ = 0;
};

}  // namespace

std::shared_ptr<const Grammar> contextual(const Grammar& plain, std::span<const LexerTerminal> terminals,
                                          GrammarBuilder out) {
  return Contexts(plain, terminals, std::move(out)).build();
}

}  // namespace glr::lark
