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
    for (std::size_t i = 0; i < places_.size() && !gave_up_; ++i) {
      const auto [place, without] = places_[i];
      look(place, without);
      gave_up_ = gave_up_ || (!place.answered && may_wait(place));
    }
    return !gave_up_;
  }

 private:
  using Level = std::uint32_t;  // a rule
  static constexpr Level kRootLevel = 0xFFFFFFFF;

  // Where the parse stands that leaves something out: at `term` in the rule, or, as all before it in the rule may be
  // left out with it, where that stands that leaves out the call.
  struct Without {
    ExprId term = kNothing;
    bool call = false;
    auto operator<=>(const Without&) const = default;
  };
  // A lexeme, what competes with it (kNothing: itself alone), and what follows it in its rule.
  struct Place {
    Level level;
    ExprId terminal;
    ExprId scope;
    bool answered;
    ExprId rest;
    auto operator<=>(const Place&) const = default;
  };
  // What is left of a rule when a rule that it calls has ended.
  struct Frame {
    Level level;
    ExprId rest;
    Without without;
    bool operator==(const Frame&) const = default;
  };
  // A way a rule can end: what is kept off then, and where the parse stands that left out the lexeme, a text of
  // `terminal`, which this way is about.
  struct Exit {
    Level level;
    ByteSet kept_off;
    ExprId terminal = kNothing;  // kNothing: there is no such parse
    bool before_call = false;    // of the rule; else after it
    friend bool operator==(const Exit&, const Exit&) = default;
  };
  struct ExitHash {
    std::size_t operator()(const Exit& e) const {
      std::uint64_t h = mix(mix(e.level, e.terminal), e.before_call ? 1 : 0);
      for (std::uint64_t w : e.kept_off.words) h = mix(h, w);
      return static_cast<std::size_t>(h);
    }
  };
  using ExitId = std::uint32_t;
  static constexpr ExitId kPlace = 0xFFFFFFFF;  // what needs an exit is a place
  struct KnownExit {
    Exit exit;
    bool fails = false;  // on some stack there is no way on from it
    std::vector<std::uint32_t> needs;
  };
  // Any one of some exits will do.
  struct Need {
    ExitId whose;
    std::size_t left;  // exits that do not fail
  };
  struct Rule {
    bool gathered = false;
    std::vector<Frame> below;
  };

  // Every lexeme and every call in a term, with what follows it.
  void gather(Level level, ExprId root) {
    using Part = std::tuple<ExprId, ExprId, Without>;
    std::vector<Part> todo{{root, kEmpty, {.call = true}}};
    std::set<Part> seen;
    while (!todo.empty() && !gave_up_) {
      const auto [id, rest, without] = todo.back();
      const Expr e = t_[id];
      todo.pop_back();
      if (plain(id) || !seen.emplace(id, rest, without).second) continue;
      gave_up_ = gave_up_ || seen.size() > kMostPlaces;
      const Without here = e.nullable ? Without{.term = rest} : without;
      switch (e.kind) {
        case ExprKind::Concat: {
          const ExprId after = t_.concat(e.b, rest);
          todo.emplace_back(e.a, after, t_[e.a].nullable ? Without{.term = after} : without);
          todo.emplace_back(e.b, rest, t_[e.b].nullable ? Without{.term = rest} : Without{});
          break;
        }
        case ExprKind::Alternation:
          for (ExprId m : t_.alternatives(id)) todo.emplace_back(m, rest, here);
          break;
        case ExprKind::Star:
          todo.emplace_back(e.a, t_.concat(id, rest), here);
          break;
        case ExprKind::Repeat: {
          const std::uint32_t rounds = e.max == kNoMax ? e.min + 1 : e.max;
          gave_up_ = gave_up_ || rounds > kMostRounds;
          for (std::uint32_t n = 1; n <= rounds && !gave_up_; ++n) {
            const std::uint32_t more = e.max == kNoMax ? kNoMax : e.max - n;
            todo.emplace_back(e.a, t_.concat(t_.repeat(e.a, e.min > n ? e.min - n : 0, more), rest), Without{});
          }
          break;
        }
        case ExprKind::Longest:
          add_place({level, e.a, e.b, e.b == kNothing || e.min != 0, rest}, without);
          break;
        case ExprKind::Call:
          add_frame(e.a, {level, rest, without});
          break;
        default:  // members of objects with lexemes in them, which no front end makes
          gave_up_ = true;
      }
    }
  }

  void add_place(const Place& place, Without without) {
    if (looked_.emplace(place, without).second) places_.emplace_back(place, without);
  }

  void add_frame(std::uint32_t rule, Frame frame) {
    Rule& r = rules_[rule];
    if (!std::exchange(r.gathered, true)) todo_.push_back(rule);
    if (std::ranges::find(r.below, frame) == r.below.end()) r.below.push_back(frame);
  }

  // Inside a lexeme.
  void look(const Place& p, Without without) {
    if (without.term != kNothing && comes_first(p.terminal, p.level, without.term)) return;
    const bool parse = without.call || (without.term != kNothing && t_[without.term].nullable);
    const auto need_one = [&](const std::vector<ByteSet>& found) {
      need(kPlace, p.level, found, parse ? p.terminal : kNothing, without.call);
      settle();
    };
    // Mostly there is a way on though all bytes of the terminal are kept off, and they are not any more at its end.
    ByteSet bytes = bytes_of(p.terminal);
    if (p.scope != kNothing) bytes.insert(bytes_of(p.scope));
    const std::vector<ByteSet> whatever = outcomes(p.rest, bytes);
    if (whatever.size() == 1 && whatever[0].empty()) return;
    // Else wherever in the terminal a text is, by some end that it can come to from there.
    std::vector<std::pair<ExprId, ExprId>> within{{p.terminal, p.scope}};
    const bool all = explore(p.terminal, p.scope, {}, [&](ExprId state, ExprId scope) {
      within.emplace_back(state, scope);
      return true;
    });
    if (!all) return need_one(whatever);
    for (const auto& [state, scope] : within) {
      if (gave_up_) break;
      const ExprId more = m_.proper(state);
      const ExprId longer = scope == kNothing ? kNothing : m_.proper(scope);
      if (more != kNothing)
        need_one(outcomes(t_.concat(t_.longest(more, longer, true), p.rest), {}));
      else if (longer != kNothing && t_[state].nullable)
        need_one(outcomes(p.rest, m_.first(longer)));
    }
  }

  // Whether behind a lexeme with unanswered competitors a text may go on while it is open whether one of them matches:
  // then nothing says that this reading is not the only one.
  bool may_wait(const Place& p) {
    ByteSet open;
    const bool all = explore(p.terminal, p.scope, {}, [&](ExprId state, ExprId scope) {
      const ExprId longer = t_[state].nullable ? m_.proper(scope) : kNothing;
      if (longer == kNothing) return true;
      for_each_class(longer, [&](std::uint8_t byte) {
        const ExprId after = m_.derivative(longer, Machine::Symbol{.byte = byte});
        if (t_[after].nullable || m_.proper(after) == kNothing) return;
        const auto& classes = m_.partitions_[m_.partition(longer)].classes;
        for (unsigned b = 0; b < 256; ++b) {
          if (classes[b] == classes[byte]) open.insert(static_cast<std::uint8_t>(b));
        }
      });
      return true;
    });
    if (!all) return true;
    std::vector<std::pair<Level, ExprId>> todo{{p.level, p.rest}};
    std::set<Level> ended;
    while (!todo.empty()) {
      const auto [level, rest] = todo.back();
      todo.pop_back();
      if (m_.first(rest).intersects(open)) return true;
      if (!t_[rest].nullable || level == kRootLevel || !ended.insert(level).second) continue;
      for (const Frame& frame : rules_.at(level).below) todo.emplace_back(frame.level, frame.rest);
    }
    return false;
  }

  // Whether a lexeme of the terminal may come first in a term of a rule. White space that is ignored and, where two
  // words need some between them, also demanded, is such a case: once it is read as ignored, what demands it is stuck.
  // But then the parse that leaves out the ignored one is in the other, with the same text. There it is looked at
  // again, and nothing more is left out.
  bool comes_first(ExprId terminal, Level level, ExprId term) {
    using Part = std::pair<ExprId, ExprId>;  // with what follows it
    std::vector<Part> todo{{term, kEmpty}};
    std::set<Part> seen;
    while (!todo.empty()) {
      const auto [id, rest] = todo.back();
      const Expr e = t_[id];
      todo.pop_back();
      if (plain(id) || !seen.insert({id, rest}).second) continue;
      switch (e.kind) {
        case ExprKind::Concat:
          todo.emplace_back(e.a, t_.concat(e.b, rest));
          if (t_[e.a].nullable) todo.emplace_back(e.b, rest);
          break;
        case ExprKind::Alternation:
          for (ExprId m : t_.alternatives(id)) todo.emplace_back(m, rest);
          break;
        case ExprKind::Star:
          todo.emplace_back(e.a, t_.concat(id, rest));
          break;
        case ExprKind::Call:  // as if written out: what is below it matters here, not what is below it elsewhere
          todo.emplace_back(m_.body(e.a), rest);
          break;
        case ExprKind::Longest:
          if (e.a != terminal) break;
          add_place({level, terminal, e.b, e.b == kNothing || e.min != 0, rest}, {});
          return true;
        default:
          break;
      }
    }
    return false;
  }

  // One of the ends of a rule is needed. Stacks end, so an exit fails only where that shows.
  void need(ExitId whose, Level level, const std::vector<ByteSet>& found, ExprId terminal, bool before_call) {
    if (level == kRootLevel && !found.empty()) return;
    if (std::ranges::any_of(found, [](const ByteSet& kept_off) { return kept_off.empty(); })) return;
    const auto id = static_cast<std::uint32_t>(needs_.size());
    Need made{whose, 0};
    for (const ByteSet& kept_off : found) {
      const Exit exit{level, kept_off, terminal, before_call};
      const auto [it, fresh] = exit_ids_.try_emplace(exit, static_cast<ExitId>(exits_.size()));
      if (fresh) {
        exits_.push_back({exit, false, {}});
        exits_todo_.push_back(it->second);
      }
      exits_[it->second].needs.push_back(id);
      if (!exits_[it->second].fails) ++made.left;
    }
    needs_.push_back(made);
    if (made.left == 0) fail(whose);
  }

  void fail(ExitId failed) {
    std::vector<ExitId> todo{failed};
    while (!todo.empty()) {
      const ExitId at = todo.back();
      todo.pop_back();
      if (at == kPlace) {
        gave_up_ = true;
        return;
      }
      if (std::exchange(exits_[at].fails, true)) continue;
      for (const std::uint32_t n : exits_[at].needs) {
        if (--needs_[n].left == 0) todo.push_back(needs_[n].whose);
      }
    }
  }

  // On to what is below, for every exit that is not followed yet.
  void settle() {
    while (!gave_up_ && !exits_todo_.empty()) {
      const ExitId id = exits_todo_.back();
      exits_todo_.pop_back();
      gave_up_ = gave_up_ || exits_.size() > kMostPlaces;
      const Exit exit = exits_[id].exit;
      for (const Frame& frame : rules_.at(exit.level).below) {
        if (gave_up_ || exits_[id].fails) break;
        const bool before = exit.terminal != kNothing && exit.before_call;
        const ExprId term = exit.terminal == kNothing ? kNothing : before ? frame.without.term : frame.rest;
        if (term != kNothing && comes_first(exit.terminal, frame.level, term)) continue;
        const bool before_call = before && frame.without.call;
        const bool parse = before_call || (term != kNothing && t_[term].nullable);
        need(id, frame.level, outcomes(frame.rest, exit.kept_off), parse ? exit.terminal : kNothing, before_call);
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

  // Bytes that stand in texts of a terminal, or more: operands come before the terms they stand in.
  ByteSet bytes_of(ExprId terminal) {
    std::unordered_map<ExprId, ByteSet> of;
    const ExprId roots[1] = {terminal};
    for (ExprId id : t_.reachable(roots)) {
      const Expr& e = t_[id];
      ByteSet set;
      if (e.kind == ExprKind::Bytes) set = t_.byte_set(e);
      if (e.kind == ExprKind::Not || e.kind == ExprKind::Call || e.kind == ExprKind::And) set.insert(0, 255);
      if (e.kind != ExprKind::Not) {
        for (ExprId operand : t_.operands(e)) {
          if (e.kind == ExprKind::And)
            set.keep(of[operand]);
          else
            set.insert(of[operand]);
        }
      }
      of[id] = set;
    }
    return of[terminal];
  }

  // Derivatives of a regular term by texts that do not begin with a byte of `kept_off`, depth first, as long as `visit`
  // says so. False when there are too many.
  // `scope` goes along, unless it is kNothing.
  template <typename F>
  bool explore(ExprId term, ExprId scope, const ByteSet& kept_off, F&& visit) {
    std::vector<std::pair<ExprId, ExprId>> todo{{term, scope}};
    std::set<std::pair<ExprId, ExprId>> seen;
    bool first = true;
    bool go_on = true;
    while (go_on && !todo.empty()) {
      if (seen.size() > kMostOfATerminal) return false;
      const auto [at, with] = todo.back();
      todo.pop_back();
      for_each_class(t_.alternation(at, with), [&](std::uint8_t byte) {
        if (!go_on || (first && kept_off.contains(byte))) return;
        const Machine::Symbol symbol{.byte = byte};
        const std::pair after{m_.derivative(at, symbol), with == kNothing ? kNothing : m_.derivative(with, symbol)};
        if (after.first == kNothing || !seen.insert(after).second) return;
        todo.push_back(after);
        go_on = visit(after.first, after.second);
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
        explore(e.a, e.b, key.kept_off, [&](ExprId state, ExprId scope) {
          if (t_[state].nullable) add_least(found, m_.first(m_.proper(scope == kNothing ? state : scope)));
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
  std::set<std::pair<Place, Without>> looked_;
  std::vector<std::pair<Place, Without>> places_;
  std::vector<KnownExit> exits_;
  std::unordered_map<Exit, ExitId, ExitHash> exit_ids_;
  std::vector<ExitId> exits_todo_;
  std::vector<Need> needs_;
  std::unordered_map<ExprId, bool> plain_;
  std::unordered_map<Key, Way, KeyHash> ways_;
};

bool never_stuck(Machine& machine, ExprId root) { return StuckSearch(machine).proves(root); }

}  // namespace glr
