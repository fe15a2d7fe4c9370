#include "expression/never_stuck.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "expression/rules.hpp"
#include "support/hash.hpp"

namespace glr {

namespace {

constexpr std::size_t kMostOfATerminal = 256;  // derivatives of one terminal; those that people write have up to fifty
constexpr std::size_t kMostPlaces = 65'536;    // of one rule, or on the way to an end
constexpr std::uint32_t kMostRounds = 1024;    // of a counted repetition, what follows each is looked at
constexpr std::uint32_t kMostUnrolled = 64;    // of these, to see what they leave

bool within(const ByteSet& x, const ByteSet& y) {
  for (std::size_t i = 0; i < 4; ++i) {
    if ((x.words[i] & ~y.words[i]) != 0) return false;
  }
  return true;
}

// Sets none of which holds another: of those that were added, the least.
void add_least(std::vector<ByteSet>& sets, const ByteSet& set) {
  if (std::ranges::any_of(sets, [&](const ByteSet& s) { return within(s, set); })) return;
  std::erase_if(sets, [&](const ByteSet& s) { return within(set, s); });
  sets.push_back(set);
}

}  // namespace

class StuckSearch {
 public:
  explicit StuckSearch(Machine& machine) : m_(machine), t_(machine.store()) {}

  // Whether a way on was found everywhere.
  bool proves(ExprId root) {
    gather(kRootLevel, root);
    while (!gave_up_ && !todo_.empty()) {
      const std::uint32_t rule = todo_.back();
      todo_.pop_back();
      gather(rule, m_.body(rule));
    }
    return !gave_up_;
  }

 private:
  using Level = std::uint32_t;  // a rule
  static constexpr Level kRootLevel = 0xFFFFFFFF;

  // What is left of a rule when a rule that it calls has ended.
  struct Frame {
    Level level;
    ExprId rest;
    bool operator==(const Frame&) const = default;
  };
  struct Rule {
    bool gathered = false;
    std::vector<Frame> below;
    std::vector<ByteSet> exits;  // what may be kept off when it ends
  };

  // Every lexeme and every call in a term, with what follows it.
  void gather(Level level, ExprId root) {
    std::vector<std::pair<ExprId, ExprId>> todo{{root, kEmpty}};
    std::set<std::pair<ExprId, ExprId>> seen;
    while (!todo.empty() && !gave_up_) {
      const auto [id, rest] = todo.back();
      todo.pop_back();
      const Expr e = t_[id];
      if (plain(id) || !seen.emplace(id, rest).second) continue;
      gave_up_ = gave_up_ || seen.size() > kMostPlaces;
      switch (e.kind) {
        case ExprKind::Concat:
          todo.emplace_back(e.a, t_.concat(e.b, rest));
          todo.emplace_back(e.b, rest);
          break;
        case ExprKind::Alternation:
          for (ExprId m : t_.alternatives(id)) todo.emplace_back(m, rest);
          break;
        case ExprKind::Star:
          todo.emplace_back(e.a, t_.concat(id, rest));
          break;
        case ExprKind::Repeat: {
          const std::uint32_t rounds = e.max == kNoMax ? e.min + 1 : e.max;
          gave_up_ = gave_up_ || rounds > kMostRounds;
          for (std::uint32_t n = 1; n <= rounds && !gave_up_; ++n) {
            const std::uint32_t more = e.max == kNoMax ? kNoMax : e.max - n;
            todo.emplace_back(e.a, t_.concat(t_.repeat(e.a, e.min > n ? e.min - n : 0, more), rest));
          }
          break;
        }
        case ExprKind::Longest:
          look(level, e.a, rest);
          break;
        case ExprKind::Call:
          add_frame(e.a, {level, rest});
          break;
        default:  // members of objects with lexemes in them, which no front end makes
          gave_up_ = true;
      }
    }
  }

  // Inside a lexeme, of which a text of `terminal` is the whole, above `rest`.
  void look(Level level, ExprId terminal, ExprId rest) {
    if (!looked_.insert({level, terminal, rest}).second) return;
    // Mostly there is a way on though all bytes of the terminal are kept off, and they are not any more at its end.
    const std::vector<ByteSet> whatever = outcomes(rest, bytes_of(terminal));
    if (whatever.size() == 1 && whatever[0].empty()) return;
    // Else wherever in the terminal a text is, by some end that it can come to from there.
    std::vector<ExprId> within{terminal};
    const bool all = explore(terminal, {}, [&](ExprId state) {
      within.push_back(state);
      return true;
    });
    if (!all) return add_exits(level, whatever);
    for (ExprId state : within) {
      const ExprId more = m_.proper(state);
      if (more != kNothing) add_exits(level, outcomes(t_.concat(t_.longest(more), rest), {}));
    }
  }

  void add_frame(std::uint32_t rule, Frame frame) {
    Rule& r = rules_[rule];
    if (!std::exchange(r.gathered, true)) todo_.push_back(rule);
    if (std::ranges::find(r.below, frame) != r.below.end()) return;
    r.below.push_back(frame);
    const std::vector<ByteSet> exits = r.exits;
    for (const ByteSet& kept_off : exits) add_exits(frame.level, outcomes(frame.rest, kept_off));
  }

  // Any one of the exits will do, so all of them must do. None: there is no way on.
  void add_exits(Level level, const std::vector<ByteSet>& found) {
    std::vector<std::pair<Level, ByteSet>> todo;
    const auto add = [&](Level at, const std::vector<ByteSet>& exits) {
      gave_up_ = gave_up_ || exits.empty();
      for (const ByteSet& kept_off : exits) todo.emplace_back(at, kept_off);
    };
    add(level, found);
    while (!gave_up_ && !todo.empty()) {
      const auto [at, kept_off] = todo.back();
      todo.pop_back();
      if (at == kRootLevel || kept_off.empty()) continue;
      Rule& r = rules_[at];
      if (std::ranges::find(r.exits, kept_off) != r.exits.end()) continue;
      r.exits.push_back(kept_off);
      const std::vector<Frame> below = r.below;
      for (const Frame& f : below) add(f.level, outcomes(f.rest, kept_off));
    }
  }

  // Whether a term holds no lexeme, the rules that it calls included.
  bool plain(ExprId id) {
    if (t_[id].lexemes) return false;
    if (!t_[id].calls) return true;
    if (const auto it = plain_.find(id); it != plain_.end()) return it->second;
    std::set<std::uint32_t> reached;
    std::vector<ExprId> todo{id};
    bool result = true;
    while (result && !todo.empty()) {
      const ExprId at = todo.back();
      todo.pop_back();
      result = !t_[at].lexemes;
      for (const auto& [rule, count] : calls_in(t_, at)) {
        if (reached.insert(rule).second) todo.push_back(m_.body(rule));
      }
    }
    plain_.emplace(id, result);
    return result;
  }

  // A byte of each class that a term tells apart.
  template <typename F>
  void for_each_class(ExprId term, F&& visit) {
    const auto classes = m_.partitions_[m_.partition(term)].classes;
    std::uint32_t seen = 0;  // classes are numbered by their first byte
    for (unsigned b = 0; b < 256; ++b) {
      if (classes[b] != seen) continue;
      ++seen;
      visit(static_cast<std::uint8_t>(b));
    }
  }

  ByteSet bytes_of(ExprId terminal) {
    ByteSet set;
    const ExprId roots[1] = {terminal};
    for (ExprId id : t_.reachable(roots)) {
      const Expr& e = t_[id];
      if (e.kind == ExprKind::Bytes) set.insert(t_.byte_set(e));
      if (e.kind == ExprKind::Not || e.kind == ExprKind::Call) set.insert(0, 255);
    }
    return set;
  }

  // Derivatives of a regular term by texts that do not begin with a byte of `kept_off`, depth first, as long as `visit`
  // says so. False when there are too many.
  template <typename F>
  bool explore(ExprId term, const ByteSet& kept_off, F&& visit) {
    std::vector<ExprId> todo{term};
    std::unordered_set<ExprId> seen;
    bool first = true;
    bool go_on = true;
    while (go_on && !todo.empty()) {
      if (seen.size() > kMostOfATerminal) return false;
      const ExprId at = todo.back();
      todo.pop_back();
      for_each_class(at, [&](std::uint8_t byte) {
        if (!go_on || (first && kept_off.contains(byte))) return;
        const ExprId after = m_.derivative(at, Machine::Symbol{.byte = byte});
        if (after == kNothing || !seen.insert(after).second) return;
        todo.push_back(after);
        go_on = visit(after);
      });
      first = false;
    }
    return true;
  }

  // --- ways to an end: least fixed points over (term, bytes that are kept off) ---

  struct Key {
    ExprId term;
    ByteSet kept_off;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& k) const {
      std::uint64_t h = k.term;
      for (std::uint64_t w : k.kept_off.words) h = mix(h, w);
      return static_cast<std::size_t>(h);
    }
  };
  struct Way {
    std::vector<ByteSet> ends;  // what is kept off after it, the least of these
    std::vector<Key> dependents;
  };

  // What can be kept off after some text of the term: the least sets that were found.
  const std::vector<ByteSet>& outcomes(ExprId term, const ByteSet& kept_off) {
    const Key key{term, kept_off};
    if (const auto it = ways_.find(key); it != ways_.end()) return it->second.ends;
    ways_.try_emplace(key);
    std::vector<Key> todo{key};
    while (!todo.empty() && ways_.size() <= kMostPlaces) {
      const Key at = todo.back();
      todo.pop_back();
      const std::size_t before = ways_.at(at).ends.size();
      std::vector<ByteSet> ends = evaluate(at, todo);
      Way& way = ways_.at(at);
      if (ends == way.ends && before == ends.size()) continue;
      way.ends = std::move(ends);
      todo.insert(todo.end(), way.dependents.begin(), way.dependents.end());
    }
    gave_up_ = gave_up_ || !todo.empty();
    return ways_.at(key).ends;
  }

  std::vector<ByteSet> evaluate(const Key& key, std::vector<Key>& todo) {
    std::vector<ByteSet> found = ways_.at(key).ends;
    if (found.size() == 1 && found[0].empty()) return found;
    const auto known = [&](ExprId term, const ByteSet& kept_off) {
      const Key part{term, kept_off};
      const auto [it, fresh] = ways_.try_emplace(part);
      if (fresh) todo.push_back(part);
      std::vector<Key>& dependents = it->second.dependents;
      if (std::ranges::find(dependents, key) == dependents.end()) dependents.push_back(key);
      return it->second.ends;
    };
    const auto add = [&](const std::vector<ByteSet>& sets) {
      for (const ByteSet& s : sets) add_least(found, s);
    };
    const auto then = [&](ExprId head, ExprId rest) {
      for (const ByteSet& s : known(head, key.kept_off)) add(known(rest, s));
    };
    const ExprId id = key.term;
    const Expr e = t_[id];
    if (e.nullable) add_least(found, key.kept_off);
    if (plain(id)) {  // no guard is left behind
      if (begins_outside(id, key.kept_off)) add_least(found, {});
      return found;
    }
    switch (e.kind) {
      case ExprKind::Concat:
        then(e.a, e.b);
        break;
      case ExprKind::Alternation:
        for (ExprId m : t_.alternatives(id)) add(known(m, key.kept_off));
        break;
      case ExprKind::Star:
        then(e.a, id);
        break;
      case ExprKind::Repeat: {
        // Once a round changes nothing any number of them does not.
        std::vector<ByteSet> now{key.kept_off};
        const auto round = [&] {
          std::vector<ByteSet> next;
          for (const ByteSet& s : now) {
            for (const ByteSet& end : known(e.a, s)) add_least(next, end);
          }
          return next;
        };
        std::uint32_t rounds = 0;
        for (std::vector<ByteSet> next; rounds < e.min && rounds < kMostUnrolled; ++rounds) {
          next = round();
          if (std::exchange(now, next) == next) rounds = e.min - 1;
        }
        if (rounds < e.min) break;
        add(now);
        if (e.max > e.min) add(round());
        break;
      }
      case ExprKind::Call:
        add(known(m_.body(e.a), key.kept_off));
        break;
      case ExprKind::Longest:
        explore(e.a, key.kept_off, [&](ExprId state) {
          if (t_[state].nullable) add_least(found, m_.first(m_.proper(state)));
          return found.empty() || !found[0].empty();
        });
        break;
      default:
        break;
    }
    return found;
  }

  // Whether a term without lexemes has a text that begins with none of the bytes.
  bool begins_outside(ExprId id, const ByteSet& bytes) {
    if (within(m_.first(id), bytes)) return m_.starts_with_token(id);
    // First bytes may be more than those that lead somewhere.
    bool found = m_.starts_with_token(id);
    for_each_class(id, [&](std::uint8_t byte) {
      if (found || bytes.contains(byte)) return;
      std::vector<ExprId> todo{id};
      std::set<std::uint32_t> entered;
      while (!found && !todo.empty()) {
        Machine::Local after;
        m_.local(todo.back(), Machine::Symbol{.byte = byte}, after);
        todo.pop_back();
        found = !after.plain.empty();
        for (const Machine::Call& c : after.calls) {
          if (entered.insert(c.rule).second) todo.push_back(m_.body(c.rule));
        }
      }
    });
    return found;
  }

  Machine& m_;
  ExpressionStore& t_;
  bool gave_up_ = false;
  std::map<std::uint32_t, Rule> rules_;
  std::vector<std::uint32_t> todo_;
  std::set<std::tuple<Level, ExprId, ExprId>> looked_;
  std::unordered_map<ExprId, bool> plain_;
  std::unordered_map<Key, Way, KeyHash> ways_;
};

bool never_stuck(Machine& machine, ExprId root) { return StuckSearch(machine).proves(root); }

}  // namespace glr
