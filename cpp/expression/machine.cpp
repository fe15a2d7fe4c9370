#include "expression/machine.hpp"

#include <algorithm>
#include <cassert>
#include <deque>
#include <optional>
#include <queue>
#include <string>

#include "expression/rules.hpp"
#include "glrsampler/error.hpp"
#include "support/hash.hpp"

namespace glr {

namespace {

constexpr unsigned kDeepest = 4000;            // calls of local() within each other
constexpr unsigned kBroadTurn = 5;             // of the searches for a text: every fifth term is taken breadth first
constexpr std::size_t kMostSearched = 32'768;  // terms looked at to find out whether one is empty

}  // namespace

Machine::Machine(bool careful) : careful_(careful), ends_(*this) {
  intern(Partition{});
  states_.resize(store_.size());
}

std::size_t Machine::bytes() const {
  // Hash and tree nodes are counted at 64 bytes each.
  return store_.bytes() + states_.bytes() + row_bytes_ + programs_.bytes() + partitions_.bytes() +
         rules_.capacity() * sizeof(Rule) +
         (meets_.size() + partition_of_.size() + first_of_.size() + relaxed_.size() + program_index_.size() +
          derivatives_.size() + empty_.size() + horizons_.size() + goes_on_.size() + frames_.size()) *
             64 +
         under_.bytes();
}

// --- byte classes ---------------------------------------------------------------------------------

std::uint32_t Machine::intern(const Partition& p) {
  std::uint64_t h = p.count;
  for (std::size_t i = 0; i < 256; i += 4) {
    h = mix(h, static_cast<std::uint64_t>(p.classes[i]) << 24 | static_cast<std::uint64_t>(p.classes[i + 1]) << 16 |
                   static_cast<std::uint64_t>(p.classes[i + 2]) << 8 | p.classes[i + 3]);
  }
  const auto [first, last] = partition_index_.equal_range(h);
  for (auto it = first; it != last; ++it) {
    if (partitions_[it->second] == p) return it->second;
  }
  const auto id = static_cast<std::uint32_t>(partitions_.push_back(p));
  partition_index_.emplace(h, id);
  return id;
}

// Classes are numbered in the order of their first byte, so that equal partitions are equal arrays.
std::uint32_t Machine::meet(std::uint32_t x, std::uint32_t y) {
  if (x == y || y == 0) return x;
  if (x == 0) return y;
  if (x > y) std::swap(x, y);
  const std::uint64_t key = std::uint64_t{x} << 32 | y;
  if (const auto it = meets_.find(key); it != meets_.end()) return it->second;
  const Partition& p = partitions_[x];
  const Partition& q = partitions_[y];
  std::vector<std::uint16_t> number(static_cast<std::size_t>(p.count) * q.count, 0xFFFF);
  Partition r;
  r.count = 0;
  for (std::size_t b = 0; b < 256; ++b) {
    std::uint16_t& n = number[static_cast<std::size_t>(p.classes[b]) * q.count + q.classes[b]];
    if (n == 0xFFFF) n = static_cast<std::uint16_t>(r.count++);
    r.classes[b] = static_cast<std::uint8_t>(n);
  }
  const std::uint32_t id = intern(r);
  meets_.emplace(key, id);
  return id;
}

Machine::Partition Machine::partition(const ByteSet& set) {
  Partition p;
  const bool first_in = set.contains(0);
  for (unsigned b = 0; b < 256; ++b) {
    const bool other = set.contains(static_cast<std::uint8_t>(b)) != first_in;
    p.classes[b] = other ? 1 : 0;
    if (other) p.count = 2;
  }
  return p;
}

std::uint32_t Machine::partition(ExprId id) {
  const Expr& e = store_[id];
  switch (e.kind) {
    case ExprKind::Call:
      return rules_[e.a].partition;
    case ExprKind::Star:
    case ExprKind::Repeat:
    case ExprKind::Endless:
    case ExprKind::Not:
      return partition(e.a);
    case ExprKind::Longest:
      if (e.b == kNothing) return partition(e.a);
      break;
    case ExprKind::Concat:
      if (!store_[e.a].nullable) return partition(e.a);
      break;
    case ExprKind::Bytes:
    case ExprKind::Alternation:
    case ExprKind::And:
    case ExprKind::Guarded:
      break;
    case ExprKind::Remaining:
      return partition(store_.member_heads(e)[0]);
    case ExprKind::Members: {
      std::uint32_t p = 0;
      for (ExprId head : store_.member_heads(e)) p = meet(p, partition(head));
      return p;
    }
    default:
      return 0;
  }
  if (const auto it = partition_of_.find(id); it != partition_of_.end()) return it->second;
  std::uint32_t p = e.kind == ExprKind::Bytes ? intern(partition(store_.byte_set(e))) : 0;
  for (ExprId operand : store_.operands(e)) p = meet(p, partition(operand));
  partition_of_.emplace(id, p);
  return p;
}

Machine::Row* Machine::row(ExprId q) {
  if (states_.size() < store_.size()) states_.resize(store_.size());
  if (Row* known = states_[q].row.load(std::memory_order_relaxed)) return known;
  const Partition& p = partitions_[partition(q)];
  auto made = std::make_unique<Row>(Row{p.classes.data(), std::make_unique<std::atomic<Transition>[]>(p.count)});
  for (std::uint32_t i = 0; i < p.count; ++i) made->entries[i].store(kUnknown, std::memory_order_relaxed);
  row_bytes_ += sizeof(Row) + sizeof(Transition) * p.count;
  ++rows_;
  states_[q].row.store(made.get(), std::memory_order_release);
  row_storage_.push_back(std::move(made));
  return row_storage_.back().get();
}

// --- derivatives -----------------------------------------------------------------------------------

void Machine::append(const Local& inner, ExprId rest, Local& out) {
  for (ExprId p : inner.plain) out.plain.push_back(store_.concat(p, rest));
  for (const Call& c : inner.calls) out.calls.push_back({c.rule, store_.concat(c.follow, rest), c.guard});
}

// Recurses on first factors only: bounded by head_depth. Calls in operands of intersections add to that.
void Machine::local(ExprId id, const Symbol& symbol, Local& out, bool operand) {
  struct Depth {
    explicit Depth(unsigned& d) : depth(d) {
      if (++depth <= kDeepest) return;
      --depth;
      throw BudgetError("intersections and complements are nested deeper than " + std::to_string(kDeepest),
                        "max_nesting", kDeepest, kDeepest + 1, "");
    }
    ~Depth() { --depth; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    unsigned& depth;
  };
  const Depth deeper(depth_);
  store_.step();
  const Expr e = store_[id];
  switch (e.kind) {
    case ExprKind::Nothing:
    case ExprKind::Empty:
      return;
    case ExprKind::Bytes:
      if (symbol.token < 0 && store_.byte_set(e).contains(symbol.byte)) out.plain.push_back(kEmpty);
      return;
    case ExprKind::Token: {
      const TokenRef& ref = store_.token(e);
      if (symbol.token >= 0 && (ref.negated ? symbol.text_token && symbol.token != ref.id : symbol.token == ref.id)) {
        out.plain.push_back(kEmpty);
      }
      return;
    }
    case ExprKind::Call: {
      const Rule& rule = rules_[e.a];
      if (symbol.token < 0 ? rule.first.contains(symbol.byte) : rule.token_first)
        out.calls.push_back({e.a, kEmpty, kNothing});
      return;
    }
    case ExprKind::Alternation:
      for (ExprId m : store_.alternatives(id)) local(m, symbol, out, operand);
      return;
    case ExprKind::Concat: {
      Local inner;
      local(e.a, symbol, inner, operand);
      append(inner, e.b, out);
      if (store_[e.a].nullable) local(e.b, symbol, out, operand);
      return;
    }
    case ExprKind::Star:
    case ExprKind::Repeat:
    case ExprKind::Endless: {
      Local inner;
      local(e.a, symbol, inner, operand);
      if (inner.plain.empty() && inner.calls.empty()) return;
      ExprId rest = id;
      if (e.kind == ExprKind::Repeat) {
        rest = store_.repeat(e.a, e.min == 0 ? 0 : e.min - 1, e.max == kNoMax ? kNoMax : e.max - 1);
      }
      append(inner, rest, out);
      return;
    }
    case ExprKind::And:
    case ExprKind::Not: {
      if (symbol.token >= 0) return;
      ExprId after;
      if (e.kind == ExprKind::Not) {
        after = store_.complement(derivative(e.a, symbol));
      } else {
        const auto list = store_.operands(store_[id]);
        std::vector<ExprId> members(list.begin(), list.end());
        for (ExprId& m : members) {
          m = derivative(m, symbol);
          if (m == kNothing) return;
        }
        after = store_.intersection(std::move(members));
      }
      for (ExprId m : store_.alternatives(after)) {
        if (operand || !empty(m)) out.plain.push_back(m);
      }
      return;
    }
    case ExprKind::Mark:
      return;
    case ExprKind::Members:
      return local(store_.next_members(id), symbol, out, operand);
    case ExprKind::Remaining: {
      if (e.b == kNothing) return local(store_.next_members(id), symbol, out, operand);
      if (symbol.token >= 0) return;
      const ExprId after = store_.within_name(e.a, e.min, derivative(e.b, symbol));
      if (after != kNothing) out.plain.push_back(after);
      return;
    }
    case ExprKind::Longest: {
      if (symbol.token >= 0) return;
      const ExprId after = derivative(e.a, symbol);
      const ExprId more = proper(after);
      const ExprId longer = e.b == kNothing ? more : proper(derivative(e.b, symbol));  // of what competes
      if (more != kNothing) out.plain.push_back(store_.longest(more, longer, e.min != 0));
      if (store_[after].nullable) out.plain.push_back(store_.guarded(longer, kEmpty));
      return;
    }
    case ExprKind::Guarded: {
      if (symbol.token >= 0) return local(e.b, symbol, out, operand);
      const ExprId after = derivative(e.a, symbol);
      if (store_[after].nullable) return;  // a longer reading is complete
      const ExprId guard = proper(after);
      Local inner;
      local(e.b, symbol, inner, operand);
      for (ExprId p : inner.plain) out.plain.push_back(store_.guarded(guard, p));
      for (const Call& c : inner.calls) out.calls.push_back({c.rule, c.follow, guard});
      return;
    }
  }
}

ExprId Machine::proper(ExprId operand) {
  std::vector<ExprId> members = store_.alternatives(store_.nonempty(operand));
  std::erase_if(members, [&](ExprId m) { return empty(m); });
  return store_.alternation(std::move(members));
}

ExprId Machine::state_of(std::vector<ExprId> alternatives) {
  if (std::ranges::none_of(alternatives, [&](ExprId a) { return store_[a].guarded; }))
    return store_.alternation(std::move(alternatives));
  std::vector<ExprId> free;
  std::map<ExprId, std::vector<ExprId>> under;
  for (ExprId a : alternatives) {
    for (ExprId m : store_.alternatives(a)) {
      const Expr e = store_[m];
      if (e.kind != ExprKind::Guarded) {
        free.push_back(m);
        continue;
      }
      const ByteSet kept_off = first(e.a);
      for (ExprId x : store_.alternatives(e.b)) {
        const bool matters = store_[x].nullable || first(x).intersects(kept_off);
        (matters ? under[e.a] : free).push_back(x);
      }
    }
  }
  std::vector<ExprId> members = store_.alternatives(store_.alternation(std::move(free)));  // ascending
  const std::vector<ExprId> said = members;
  for (auto& [guard, list] : under) {
    std::erase_if(list, [&](ExprId x) { return std::ranges::binary_search(said, x); });
    members.push_back(store_.guarded(guard, store_.alternation(std::move(list))));
  }
  return store_.alternation(std::move(members));
}

ExprId Machine::add_guard(ExprId guard, ExprId q) {
  const auto lock = lock_now();
  const std::uint64_t key = std::uint64_t{guard} << 32 | q;
  if (const std::uint64_t known = under_.find(key); known != ConcurrentMap::kMissing) return static_cast<ExprId>(known);
  const ExprId state = state_of({store_.guarded(guard, q)});
  if (states_.size() < store_.size()) states_.resize(store_.size());
  under_.insert(key, state);
  return state;
}

ExprId Machine::derivative(ExprId id, const Symbol& symbol) {
  if (id <= kEmpty) return kNothing;
  if (id == kAnything) return id;
  const std::uint64_t key = std::uint64_t{id} << 8 | partitions_[partition(id)].classes[symbol.byte];
  if (const auto it = derivatives_.find(key); it != derivatives_.end()) return it->second;
  Local found;
  local(id, symbol, found, true);
  while (!found.calls.empty()) {  // ends, since the left-corner graph has no cycle
    const Call call = found.calls.back();
    found.calls.pop_back();
    Local inside;
    local(rules_[call.rule].body, symbol, inside, true);
    append(inside, call.follow, found);
  }
  const ExprId d = store_.alternation(std::move(found.plain));
  derivatives_.emplace(key, d);
  return d;
}

bool Machine::empty(ExprId root) {
  if (const std::optional<bool> found = search(root, kMostSearched)) return *found;
  throw BudgetError("whether an intersection or a complement holds any text is not found out within " +
                        std::to_string(kMostSearched) + " derivatives",
                    "max_states", kMostSearched, kMostSearched + 1, "");
}

std::optional<bool> Machine::search(ExprId root, std::size_t most) {
  // Nothing to find out: every part of a term stands for some text, unless it is an intersection or a complement.
  const auto clearly_not = [&](ExprId id) {
    const Expr& e = store_[id];
    return id != kNothing && (e.nullable || (!e.boolean && !e.calls));
  };
  if (clearly_not(root)) return false;
  if (root == kNothing) return true;
  const std::scoped_lock lock(mutex_);
  if (const auto it = empty_.find(root); it != empty_.end()) return it->second;

  struct Search {
    std::unordered_map<ExprId, ExprId> came_from;
    std::deque<ExprId> todo;
  };
  // Depth first finds a long text where many states are near, breadth first a short one where a counter goes to a
  // thousand. Each takes ten times as long as the other on some schemas, so both go on, by turns and apart.
  Search deep{{{root, root}}, {root}};
  Search broad = deep;
  for (unsigned turn = 1; !deep.todo.empty() && !broad.todo.empty(); ++turn) {
    store_.step();
    const bool breadth = turn % kBroadTurn == 0;
    Search& search = breadth ? broad : deep;
    const ExprId at = breadth ? search.todo.front() : search.todo.back();
    if (breadth)
      search.todo.pop_front();
    else
      search.todo.pop_back();
    const Partition& p = partitions_[partition(at)];
    std::uint32_t seen = 0;  // classes are numbered by their first byte
    for (unsigned b = 0; b < 256 && seen < p.count; ++b) {
      if (p.classes[b] != seen) continue;
      ++seen;
      const ExprId d = derivative(at, Symbol{.byte = static_cast<std::uint8_t>(b)});
      for (ExprId next : store_.alternatives(d)) {
        const auto known = empty_.find(next);
        if (clearly_not(next) || (known != empty_.end() && !known->second)) {
          for (ExprId on_way = at;; on_way = search.came_from.at(on_way)) {
            empty_[on_way] = false;
            if (on_way == root) return false;
          }
        }
        if (known == empty_.end() && search.came_from.emplace(next, at).second) search.todo.push_back(next);
      }
    }
    if (search.came_from.size() > most) return std::nullopt;
  }
  for (const auto& [id, from] : (deep.todo.empty() ? deep : broad).came_from) empty_[id] = true;
  return true;
}

Transition Machine::derive(ExprId q, const Symbol& symbol) {
  // Vertices are made callers first. `incoming` of a rule, entered under a guard or none, gathers (frame, parent) until
  // its turn; rules with the same incoming pushes have the same stack and share a vertex, so that their targets merge.
  using Entered = std::pair<std::uint32_t, ExprId>;  // rule, guard
  using Incoming = std::vector<std::pair<ExprId, std::uint32_t>>;
  std::map<Entered, Incoming> incoming;
  std::priority_queue<std::pair<std::uint32_t, Entered>> turn;  // left-corner depth first
  std::map<Incoming, std::uint32_t> vertex_of;
  std::vector<std::vector<ExprId>> plain(1);
  Program program;

  // `guard`: under which the rule was entered whose body has led here.
  const auto take = [&](const Local& found, std::uint32_t vertex, ExprId guard) {
    for (ExprId p : found.plain) plain[vertex].push_back(store_.guarded(guard, p));
    for (const Call& c : found.calls) {
      const Entered entered(c.rule, guard == kNothing ? c.guard : guard);  // a body has no guard itself
      Incoming& in = incoming[entered];
      if (in.empty()) turn.emplace(rules_[c.rule].depth, entered);
      in.emplace_back(c.follow, vertex);
    }
  };
  Local found;
  local(q, symbol, found);
  take(found, 0, kNothing);
  while (!turn.empty()) {
    const Entered entered = turn.top().second;
    const auto [rule, guard] = entered;
    turn.pop();
    Incoming in = std::move(incoming[entered]);
    std::sort(in.begin(), in.end());
    in.erase(std::unique(in.begin(), in.end()), in.end());
    // Frames on the same parent join: (follow1 | follow2) on top of it.
    std::map<std::uint32_t, std::vector<ExprId>> by_parent;
    for (const auto& [follow, parent] : in) by_parent[parent].push_back(follow);
    in.clear();
    for (auto& [parent, follows] : by_parent) in.emplace_back(store_.alternation(std::move(follows)), parent);
    std::sort(in.begin(), in.end());
    std::uint32_t vertex;
    if (in.size() == 1 && in[0].first == kEmpty) {
      vertex = in[0].second;
    } else if (const auto it = vertex_of.find(in); it != vertex_of.end()) {
      vertex = it->second;
    } else {
      vertex = program.vertices++;
      plain.emplace_back();
      for (const auto& [follow, parent] : in) program.pushes.push_back({vertex, parent, follow});
      vertex_of.emplace(std::move(in), vertex);
    }
    Local inside;
    local(rules_[rule].body, symbol, inside);
    take(inside, vertex, guard);
  }
  for (std::uint32_t v = 0; v < program.vertices; ++v) {
    const ExprId state = state_of(std::move(plain[v]));
    if (state != kNothing) program.targets.push_back({state, v});
  }
  if (states_.size() < store_.size()) states_.resize(store_.size());
  ++transitions_;
  if (program.targets.empty()) return kDead;
  if (program.targets.size() == 1 && program.targets[0].vertex == 0) return program.targets[0].state;

  std::vector<std::uint32_t> key;
  for (const Push& p : program.pushes) key.insert(key.end(), {p.vertex, p.parent, p.frame});
  key.push_back(0xFFFFFFFF);
  for (const Target& t : program.targets) key.insert(key.end(), {t.state, t.vertex});
  const auto [it, fresh] = program_index_.emplace(std::move(key), 0);
  if (fresh) {
    for (const Push& p : program.pushes) {
      if (p.frame != kEmpty) frames_.insert(p.frame);
    }
    it->second = static_cast<Transition>(programs_.push_back(std::move(program))) | kProgram;
  }
  return it->second;
}

Transition Machine::fill(ExprId q, std::uint8_t byte) {
  const auto lock = lock_now();
  Row* r = row(q);
  std::atomic<Transition>& entry = r->entries[r->classes[byte]];
  Transition t = entry.load(std::memory_order_relaxed);
  if (t == kUnknown) {
    t = derive(q, Symbol{.byte = byte});
    entry.store(t, std::memory_order_release);
    noted_bytes_.store(bytes(), std::memory_order_relaxed);
  }
  return t;
}

std::vector<Transition> Machine::transitions_of(ExprId q) {
  const std::scoped_lock lock(mutex_);
  const Row* r = row(q);
  std::vector<Transition> found;
  std::array<bool, 256> seen{};
  for (unsigned b = 0; b < 256; ++b) {
    if (std::exchange(seen[r->classes[b]], true)) continue;
    const Transition t = fill(q, static_cast<std::uint8_t>(b));
    if (t != kDead) found.push_back(t);
  }
  return found;
}

std::vector<Transition> Machine::all_transitions_of(ExprId q) {
  std::vector<Transition> found = transitions_of(q);
  std::vector<TokenRef> literals;
  first_tokens(q, literals);
  for (const TokenRef& t : literals) {
    const std::int32_t token = t.negated ? (t.id == 0 ? 1 : 0) : t.id;
    if (const Transition by = token_successor(q, token, true); by != kDead) found.push_back(by);
  }
  return found;
}

Transition Machine::token_successor(ExprId q, std::int32_t token, bool text_token) {
  const std::scoped_lock lock(mutex_);
  if (!starts_with_token(q)) return kDead;
  const std::pair key(q, token);
  if (const auto it = token_transitions_.find(key); it != token_transitions_.end()) return it->second;
  const Transition t = derive(q, Symbol{.token = token, .text_token = text_token});
  token_transitions_.emplace(key, t);
  return t;
}

// --- first sets ------------------------------------------------------------------------------------

ByteSet Machine::ending(ExprId guard) {
  const Partition p = partitions_[partition(guard)];
  std::array<bool, 256> ends{};  // by class
  std::uint32_t seen = 0;        // classes are numbered by their first byte
  ByteSet set;
  for (unsigned b = 0; b < 256; ++b) {
    if (p.classes[b] == seen) {
      ends[seen] = store_[derivative(guard, Symbol{.byte = static_cast<std::uint8_t>(b)})].nullable;
      ++seen;
    }
    if (ends[p.classes[b]]) set.insert(static_cast<std::uint8_t>(b));
  }
  return set;
}

ByteSet Machine::first(ExprId id) {
  const std::scoped_lock lock(mutex_);
  const Expr& e = store_[id];
  switch (e.kind) {
    case ExprKind::Bytes:
      return store_.byte_set(e);
    case ExprKind::Call:
      return rules_[e.a].first;
    case ExprKind::Star:
    case ExprKind::Repeat:
    case ExprKind::Endless:
    case ExprKind::Longest:
      return first(e.a);
    case ExprKind::Guarded:
      return first(e.b);
    case ExprKind::Not: {
      // All bytes but those after which a text of the operand is certain, which is not worth knowing.
      ByteSet all;
      all.insert(0, 255);
      return all;
    }
    case ExprKind::And: {
      ByteSet common;
      common.insert(0, 255);
      for (ExprId operand : store_.operands(e)) {
        const ByteSet set = first(operand);
        for (std::size_t i = 0; i < 4; ++i) common.words[i] &= set.words[i];
      }
      return common;
    }
    case ExprKind::Concat:
      if (!store_[e.a].nullable) return first(e.a);
      break;
    case ExprKind::Alternation:
      break;
    case ExprKind::Members:
      return first(store_.next_members(id));
    case ExprKind::Remaining:
      if (e.b == kNothing) return first(store_.member_table(e).separator());
      break;
    default:
      return {};
  }
  if (const auto it = first_of_.find(id); it != first_of_.end()) return it->second;
  ByteSet set;
  if (e.kind == ExprKind::Remaining) {  // of the names those that may come
    std::array<std::optional<bool>, 256> lives;
    const Partition& p = partitions_[partition(id)];
    for (unsigned b = 0; b < 256; ++b) {
      const auto byte = static_cast<std::uint8_t>(b);
      auto& alive = lives[p.classes[b]];
      if (!alive) alive = store_.within_name(e.a, e.min, derivative(e.b, Symbol{.byte = byte})) != kNothing;
      if (*alive) set.insert(byte);
    }
  } else {
    for (ExprId operand : store_.operands(e)) set.insert(first(operand));
  }
  first_of_.emplace(id, set);
  return set;
}

bool Machine::starts_with_token(ExprId q) {
  std::vector<TokenRef> found;
  first_tokens(q, found);
  return !found.empty();
}

void Machine::first_tokens(ExprId q, std::vector<TokenRef>& out) {
  const std::scoped_lock lock(mutex_);
  std::vector<ExprId> todo{q};
  std::vector<std::uint32_t> entered;
  while (!todo.empty()) {
    const Expr& e = store_[todo.back()];
    const ExprId id = todo.back();
    todo.pop_back();
    switch (e.kind) {
      case ExprKind::Token:
        out.push_back(store_.token(e));
        break;
      case ExprKind::Call:
        if (rules_[e.a].token_first && std::find(entered.begin(), entered.end(), e.a) == entered.end()) {
          entered.push_back(e.a);
          todo.push_back(rules_[e.a].body);
        }
        break;
      case ExprKind::Star:
      case ExprKind::Repeat:
      case ExprKind::Endless:
        todo.push_back(e.a);
        break;
      case ExprKind::Alternation:
        for (ExprId m : store_.alternatives(id)) todo.push_back(m);
        break;
      case ExprKind::Concat:
        todo.push_back(e.a);
        if (store_[e.a].nullable) todo.push_back(e.b);
        break;
      case ExprKind::Guarded:
        todo.push_back(e.b);
        break;
      default:
        break;
    }
  }
}

// --- rules -----------------------------------------------------------------------------------------

std::uint32_t Machine::declare_rule() {
  rules_.emplace_back();
  return static_cast<std::uint32_t>(rules_.size() - 1);
}

void Machine::head_rules(ExprId root, std::vector<std::uint32_t>& out) const {
  std::vector<ExprId> todo{root};
  while (!todo.empty()) {
    const ExprId id = todo.back();
    const Expr& e = store_[id];
    todo.pop_back();
    if (!e.calls) continue;
    switch (e.kind) {
      case ExprKind::Call:
        out.push_back(e.a);
        break;
      case ExprKind::Concat:
        todo.push_back(e.a);
        if (store_[e.a].nullable) todo.push_back(e.b);
        break;
      case ExprKind::Members:
      case ExprKind::Remaining:
        for (ExprId head : store_.member_heads(e)) todo.push_back(head);
        break;
      default:
        for (ExprId operand : store_.operands(e)) todo.push_back(operand);
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
}

void Machine::define_rules(const std::vector<std::pair<std::uint32_t, ExprId>>& bodies) {
  const std::scoped_lock lock(mutex_);
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> callees;
  for (const auto& [rule, body] : bodies) {
    rules_[rule].body = body;
    head_rules(body, callees[rule]);
  }
  // Callees first, with an explicit stack; the left-corner graph has no cycle.
  std::unordered_map<std::uint32_t, bool> done;
  for (const auto& [start, unused] : bodies) {
    std::vector<std::pair<std::uint32_t, std::size_t>> path;
    if (!done[start]) path.emplace_back(start, 0);
    while (!path.empty()) {
      auto& [rule, next] = path.back();
      const auto& heads = callees[rule];
      if (next < heads.size()) {
        const std::uint32_t callee = heads[next++];
        if (callees.contains(callee) && !done[callee]) path.emplace_back(callee, 0);
        continue;
      }
      Rule& r = rules_[rule];
      for (std::uint32_t callee : heads) r.depth = std::max(r.depth, rules_[callee].depth + 1);
      r.first = first(r.body);
      r.partition = partition(r.body);
      r.token_first = starts_with_token(r.body);
      done[rule] = true;
      path.pop_back();
    }
  }
  if (states_.size() < store_.size()) states_.resize(store_.size());
}

}  // namespace glr
