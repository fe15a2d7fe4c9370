#include "grammar/overlaps.hpp"

#include <set>
#include <unordered_set>

#include "expression/machine.hpp"
#include "expression/rules.hpp"

namespace glr {

namespace {

constexpr std::size_t kMostPairs = 1024;     // of derivatives of two terminals; those that people write have some tens
constexpr std::size_t kMostInAll = 100'000;  // of all terminals of a grammar

}  // namespace

// Looks at derivatives of two terms by the same texts.
class OverlapSearch {
 public:
  explicit OverlapSearch(Machine& machine) : m_(machine) {}

  struct Found {
    bool same = false;
    bool longer = false;
    bool open = false;
    bool all() const { return same && longer && open; }
  };
  Found operator()(ExprId x, ExprId y) {
    Found found;
    if (x == kNothing || y == kNothing || !m_.first(x).intersects(m_.first(y))) return found;
    std::vector<std::pair<ExprId, ExprId>> todo{{x, y}};
    std::unordered_set<std::uint64_t> seen;
    while (!todo.empty() && !found.all()) {
      const auto [p, q] = todo.back();
      todo.pop_back();
      for_each_byte(m_.meet(m_.partition(p), m_.partition(q)), [&](const Machine::Symbol& symbol) {
        const ExprId dp = m_.derivative(p, symbol);
        const ExprId dq = m_.derivative(q, symbol);
        if (dp == kNothing || dq == kNothing || !seen.insert(std::uint64_t{dp} << 32 | dq).second) return;
        if (m_.nullable(dp)) {
          found.same = found.same || m_.nullable(dq);
          found.longer = found.longer || m_.proper(dq) != kNothing;
          found.open = found.open || open_after_a_byte(dq);
        }
        todo.emplace_back(dp, dq);
      });
      if (seen.size() > kMostPairs || ++looked_at_ > kMostInAll) return {true, true, true};
    }
    return found;
  }

  bool covers(ExprId x, ExprId y, ExprId z) {
    struct State {
      ExprId x, y, z;  // x: kNothing behind one of its texts
      auto operator<=>(const State&) const = default;
    };
    std::vector<State> todo{{x, y, z}};
    std::set<State> seen;
    while (!todo.empty()) {
      const State at = todo.back();
      todo.pop_back();
      bool covered = true;
      const std::uint32_t partition = m_.meet(m_.meet(m_.partition(at.x), m_.partition(at.y)), m_.partition(at.z));
      for_each_byte(partition, [&](const Machine::Symbol& symbol) {
        State next{m_.derivative(at.x, symbol), m_.derivative(at.y, symbol), m_.derivative(at.z, symbol)};
        const bool behind = at.x == kNothing;
        if (next.y == kNothing || (next.x == kNothing && !behind)) return;
        const bool more = m_.proper(next.z) != kNothing;
        if (behind) {
          covered = covered && more;
          if (!m_.nullable(next.y) && seen.insert(next).second) todo.push_back(next);
          return;
        }
        if (seen.insert(next).second) todo.push_back(next);
        if (!m_.nullable(next.x) || m_.proper(next.y) == kNothing) return;
        covered = covered && more;
        next.x = kNothing;
        if (seen.insert(next).second) todo.push_back(next);
      });
      if (!covered || seen.size() > kMostPairs || ++looked_at_ > kMostInAll) return false;
    }
    return true;
  }

 private:
  // One of each class of bytes.
  template <typename F>
  void for_each_byte(std::uint32_t partition, F&& visit) {
    const auto classes = m_.partitions_[partition].classes;
    std::uint32_t next = 0;  // classes are numbered by their first byte
    for (unsigned b = 0; b < 256; ++b) {
      if (classes[b] != next) continue;
      ++next;
      visit(Machine::Symbol{.byte = static_cast<std::uint8_t>(b)});
    }
  }

  bool open_after_a_byte(ExprId q) {
    bool open = false;
    for_each_byte(m_.partition(q), [&](const Machine::Symbol& symbol) {
      const ExprId d = m_.derivative(q, symbol);
      open = open || (!m_.nullable(d) && m_.proper(d) != kNothing);
    });
    return open;
  }

  Machine& m_;
  std::size_t looked_at_ = 0;  // pairs
};

struct Overlaps::Automata {
  Machine machine;
  OverlapSearch search{machine};
  std::vector<ExprId> terms;
};

Overlaps::~Overlaps() = default;

bool Overlaps::covers(std::uint32_t x, std::uint32_t y, std::uint32_t z) const {
  const std::scoped_lock lock(automata_->machine.mutex());
  const std::vector<ExprId>& terms = automata_->terms;
  return automata_->search.covers(terms[x], terms[y], terms[z]);
}

Overlaps::Overlaps(const Grammar& grammar, std::span<const std::optional<RuleId>> terminals)
    : automata_(std::make_unique<Automata>()) {
  Rules rules;
  check_operands(grammar);
  const std::vector<bool> nullable = nullable_nodes(grammar);
  terms_of(grammar, nullptr, rules);
  Machine& machine = automata_->machine;
  const std::scoped_lock lock(machine.mutex());
  RuleIndex index;
  std::vector<ExprId>& terms = automata_->terms;
  for (const auto rule : terminals) {
    rules.root = rule ? rules.bodies[static_cast<std::size_t>(*rule)] : kNothing;
    terms.push_back(link(rules, machine, index));
    nullable_.push_back(rule && nullable[static_cast<std::size_t>(grammar.rule(*rule).body)]);
  }
  OverlapSearch& search = automata_->search;
  pairs_.resize(terms.size() * terms.size());
  for (std::size_t x = 0; x < terms.size(); ++x) {
    for (std::size_t y = 0; y < terms.size(); ++y) {
      const auto [same, longer, open] = search(terms[x], terms[y]);
      pairs_[x * terms.size() + y] = {same, longer, open};
    }
  }
}

}  // namespace glr
