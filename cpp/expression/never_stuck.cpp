#include "expression/never_stuck.hpp"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "expression/rules.hpp"
#include "support/hash.hpp"

namespace glr {

namespace {

constexpr std::size_t kMostOfATerminal = 256;  // derivatives of one terminal; those that people write have up to fifty
constexpr std::size_t kMostPlaces = 65'536;    // with a pending guard, or on the way to an end
constexpr std::uint32_t kMostUnrolled = 64;    // rounds of a counted repetition

using Words = std::array<std::uint64_t, 4>;

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

  // Whether a way on was found at every place.
  bool proves(ExprId root) {
    gather(kRootLevel, root);
    while (!gave_up_ && !to_gather_.empty()) {
      const std::uint32_t rule = to_gather_.back();
      to_gather_.pop_back();
      gather(rule, m_.body(rule));
    }
    while (!gave_up_ && !todo_.empty()) {
      const Place place = todo_.back();
      todo_.pop_back();
      look(place);
    }
    return !gave_up_;
  }

 private:
  using Level = std::uint32_t;  // a rule
  static constexpr Level kRootLevel = 0xFFFFFFFF;

  // What is left of a rule, under a guard.
  struct Place {
    Level level;
    ExprId guard;
    ExprId rest;
    auto operator<=>(const Place&) const = default;
  };
  struct Frame {
    Level level;
    ExprId rest;
    bool operator==(const Frame&) const = default;
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
      if (seen.size() > kMostPlaces) gave_up_ = true;
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
        case ExprKind::Repeat:
          // The last round and one before it: a guard left by either is left by every round.
          todo.emplace_back(e.a, rest);
          for (std::uint32_t n = 1; n <= std::min(e.max - 1, kMostUnrolled); ++n)
            todo.emplace_back(e.a, t_.concat(t_.repeat(e.a, e.min > n ? e.min - n : 0, left(e.max, n)), rest));
          gave_up_ = gave_up_ || (e.max != kNoMax && e.max > kMostUnrolled) || e.min > kMostUnrolled;
          break;
        case ExprKind::Longest:
          for (ExprId guard : guards_of(e.a)) enter({level, guard, rest});
          break;
        case ExprKind::Call:
          add_frame(e.a, {level, rest});
          break;
        default:  // members of objects with lexemes in them, which no front end makes
          gave_up_ = true;
      }
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

  static std::uint32_t left(std::uint32_t max, std::uint32_t n) { return max == kNoMax ? kNoMax : max - n; }

  void add_frame(std::uint32_t rule, Frame frame) {
    if (rule >= frames_.size()) {
      frames_.resize(rule + 1);
      exits_.resize(rule + 1);
      gathered_.resize(rule + 1);
    }
    if (!gathered_[rule]) {
      gathered_[rule] = true;
      to_gather_.push_back(rule);
    }
    if (std::ranges::find(frames_[rule], frame) != frames_[rule].end()) return;
    frames_[rule].push_back(frame);
    for (ExprId guard : exits_[rule]) enter({frame.level, guard, frame.rest});
  }

  void add_exit(Level level, ExprId guard) {
    if (level == kRootLevel) return;
    if (std::ranges::find(exits_[level], guard) != exits_[level].end()) return;
    exits_[level].push_back(guard);
    const std::vector<Frame> frames = frames_[level];
    for (const Frame& f : frames) enter({f.level, guard, f.rest});
  }

  void enter(Place place) {
    if (place.guard == kNothing) return;
    if (t_[place.rest].kind == ExprKind::Guarded) {
      place.guard = t_.alternation(place.guard, t_[place.rest].a);
      place.rest = t_[place.rest].b;
    }
    if (!t_[place.rest].nullable && !m_.first(place.rest).intersects(m_.first(place.guard))) return;
    if (!seen_.insert(place).second) return;
    if (seen_.size() > kMostPlaces) gave_up_ = true;
    todo_.push_back(place);
  }

  void look(const Place& place) {
    if (outcomes(place.rest, m_.first(place.guard)).empty()) {
      gave_up_ = true;
      return;
    }
    if (t_[place.rest].nullable) add_exit(place.level, place.guard);
    const ByteSet first = m_.first(place.guard);
    for_each_class({place.guard, place.rest}, [&](std::uint8_t byte) {
      if (!first.contains(byte)) return;
      const Machine::Symbol symbol{.byte = byte};
      const ExprId after = m_.derivative(place.guard, symbol);
      if (t_[after].nullable) return;
      const ExprId guard = m_.proper(after);
      if (guard == kNothing) return;
      Machine::Local found;
      m_.local(place.rest, symbol, found);
      take(place.level, guard, byte, found);
    });
  }

  // What a byte leads to while the guard is pending.
  void take(Level level, ExprId guard, std::uint8_t byte, const Machine::Local& found) {
    struct Body {
      Level level;
      Machine::Local found;
    };
    std::vector<Body> bodies{{level, found}};
    while (!bodies.empty()) {
      const Body body = std::move(bodies.back());
      bodies.pop_back();
      for (ExprId p : body.found.plain) enter({body.level, guard, p});
      for (const Machine::Call& c : body.found.calls) {
        add_frame(c.rule, {body.level, c.follow});
        if (!bodies_.emplace(std::pair(c.rule, guard), byte).second) continue;
        Body inside{c.rule, {}};
        m_.local(m_.body(c.rule), Machine::Symbol{.byte = byte}, inside.found);
        bodies.push_back(std::move(inside));
      }
    }
  }

  // A byte of each class that terms tell apart.
  template <typename F>
  void for_each_class(std::initializer_list<ExprId> terms, F&& visit) {
    std::uint32_t p = 0;
    for (ExprId e : terms) p = m_.meet(p, m_.partition(e));
    const auto classes = m_.partitions_[p].classes;
    std::uint32_t seen = 0;  // classes are numbered by their first byte
    for (unsigned b = 0; b < 256; ++b) {
      if (classes[b] != seen) continue;
      ++seen;
      visit(static_cast<std::uint8_t>(b));
    }
  }

  // What a terminal can leave pending. Of one with too many derivatives, something that keeps off as much as any of
  // them and stays pending for as long: its bytes without an end.
  const std::vector<ExprId>& guards_of(ExprId terminal) {
    const auto [it, fresh] = guards_.try_emplace(terminal);
    if (!fresh) return it->second;
    std::set<ExprId> found;
    const bool all = explore(terminal, ByteSet{}, [&](ExprId state) {
      found.insert(m_.proper(state));
      return true;
    });
    if (!all) found = {t_.endless(t_.bytes(bytes_of(terminal)))};
    it->second.assign(found.begin(), found.end());
    return it->second;
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

  // Derivatives of a regular term by texts that do not begin with a byte of `kept_off`, depth first, as long as
  // `accepts` says so of those that may be empty. False when there are too many.
  template <typename F>
  bool explore(ExprId term, const ByteSet& kept_off, F&& accepts) {
    std::vector<ExprId> todo{term};
    std::unordered_set<ExprId> seen;
    bool first = true;
    bool go_on = true;
    while (go_on && !todo.empty()) {
      if (seen.size() > kMostOfATerminal) return false;
      const ExprId at = todo.back();
      todo.pop_back();
      for_each_class({at}, [&](std::uint8_t byte) {
        if (!go_on || (first && kept_off.contains(byte))) return;
        const ExprId after = m_.derivative(at, Machine::Symbol{.byte = byte});
        if (after == kNothing || !seen.insert(after).second) return;
        todo.push_back(after);
        if (t_[after].nullable) go_on = accepts(after);
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
      case ExprKind::Repeat:
        if (e.min <= kMostUnrolled) then(e.a, t_.repeat(e.a, e.min == 0 ? 0 : e.min - 1, left(e.max, 1)));
        break;
      case ExprKind::Call:
        add(known(m_.body(e.a), key.kept_off));
        break;
      case ExprKind::Longest:
        explore(e.a, key.kept_off, [&](ExprId state) {
          add_least(found, m_.first(m_.proper(state)));
          return !found[0].empty();
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
    for_each_class({id}, [&](std::uint8_t byte) {
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
  std::vector<std::vector<Frame>> frames_;  // by rule: what lies below it
  std::vector<std::vector<ExprId>> exits_;  // by rule: guards under which it may end
  std::vector<bool> gathered_;              // by rule
  std::vector<std::uint32_t> to_gather_;
  std::set<Place> seen_;
  std::vector<Place> todo_;
  std::set<std::pair<std::pair<std::uint32_t, ExprId>, std::uint8_t>> bodies_;  // entered under a guard by a byte
  std::unordered_map<ExprId, std::vector<ExprId>> guards_;
  std::unordered_map<ExprId, bool> plain_;
  std::unordered_map<Key, Way, KeyHash> ways_;
};

bool never_stuck(Machine& machine, ExprId root) { return StuckSearch(machine).proves(root); }

}  // namespace glr
