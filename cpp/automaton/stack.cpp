#include "automaton/stack.hpp"

#include <algorithm>
#include <bit>

#include "support/hash.hpp"

namespace glr {

namespace {
constexpr std::size_t kFirstBuckets = 256;
constexpr std::size_t kUnions = 4096;
// Nodes freed and memo entries dropped per operation: a few microseconds, and more than an operation makes.
constexpr std::size_t kCollectPerCall = 256;

std::uint64_t hash_node(std::uint32_t kind, std::uint32_t a, std::uint32_t b) { return mix(mix(kind, a), b); }
}  // namespace

Stack::Stack(Machine& machine) : machine_(machine) {
  nodes_.push_back(Node{.references = 1, .kind = Kind::Bottom, .accepts = true});
  buckets_.resize(kFirstBuckets);
  for (std::size_t i = 0; i < kFirstBuckets; ++i) buckets_[i] = kNone;
  bucket_count_ = kFirstBuckets;
}

// --- the table of nodes ------------------------------------------------------------------------------

std::size_t Stack::bucket(std::uint64_t hash) const {
  const std::size_t half = std::bit_floor(bucket_count_);
  const std::size_t i = hash & (2 * half - 1);
  return i < bucket_count_ ? i : hash & (half - 1);
}

void Stack::split_bucket() {
  const std::size_t half = std::bit_floor(bucket_count_);
  const std::size_t from = bucket_count_ - half;
  const std::size_t fresh = bucket_count_++;
  buckets_.resize(bucket_count_);
  std::uint32_t kept = kNone;
  std::uint32_t moved = kNone;
  for (std::uint32_t id = buckets_[from]; id != kNone;) {
    Node& n = nodes_[id];
    const std::uint32_t next = n.next;
    std::uint32_t& chain = bucket(hash_node(static_cast<std::uint32_t>(n.kind), n.a, n.b)) == fresh ? moved : kept;
    n.next = chain;
    chain = id;
    id = next;
  }
  buckets_[from] = kept;
  buckets_[fresh] = moved;
}

StackId Stack::intern(Kind kind, std::uint32_t a, std::uint32_t b) {
  const std::uint64_t h = hash_node(static_cast<std::uint32_t>(kind), a, b);
  for (std::uint32_t id = buckets_[bucket(h)]; id != kNone; id = nodes_[id].next) {
    const Node& n = nodes_[id];
    if (n.a == a && n.b == b && n.kind == kind) return id;
  }
  if (++live_ > bucket_count_) split_bucket();
  StackId id = free_;
  if (id == kNone)
    id = static_cast<StackId>(nodes_.push_back({}));
  else
    free_ = nodes_[id].next;
  Node node{.a = a, .b = b, .kind = kind, .queued = true};
  ++nodes_[b].references;
  if (kind == Kind::Frame) {
    node.depth = nodes_[b].depth + 1;
    node.accepts = machine_.nullable(a) && nodes_[b].accepts;
  } else {
    ++nodes_[a].references;
    node.depth = std::max(nodes_[a].depth, nodes_[b].depth);
    node.accepts = nodes_[a].accepts || nodes_[b].accepts;
  }
  std::uint32_t& head = buckets_[bucket(h)];
  node.next = head;
  head = id;
  nodes_[id] = node;
  queue_.push_back(id);  // nobody refers to it yet
  return id;
}

void Stack::unlink(StackId id) {
  const Node& n = nodes_[id];
  std::uint32_t* link = &buckets_[bucket(hash_node(static_cast<std::uint32_t>(n.kind), n.a, n.b))];
  while (*link != id) link = &nodes_[*link].next;
  *link = n.next;
}

void Stack::release(StackId id) {
  Node& n = nodes_[id];
  if (--n.references == 0 && !n.queued) {
    n.queued = true;
    queue_.push_back(id);
  }
}

template <typename V>
void Stack::rotate(TailMemo<V>& memo) {
  if (memo.young.size() < TailMemo<V>::kFull) return;
  if (!memo.old.empty()) memo.garbage.push_back(std::move(memo.old));
  memo.old = std::move(memo.young);
  memo.young = {};
}

void Stack::forget_masks() {
  for (auto* map : {&tail_masks_.young, &tail_masks_.old}) {
    if (!map->empty()) tail_masks_.garbage.push_back(std::move(*map));
    *map = {};
  }
}

void Stack::remember(TailMemo<std::uint32_t>& memo, std::uint64_t key, std::uint32_t value) {
  if (memo.young.emplace(key, value).second) retain(static_cast<StackId>(key >> 32));
}

void Stack::collect() {
  // Only between operations: within one, a memo entry must not vanish before its user has read it.
  ++operation_;
  rotate(closures_);
  rotate(tail_masks_);
  for (std::size_t n = 0; n < kCollectPerCall && !closures_.garbage.empty(); ++n) {
    auto& map = closures_.garbage.back();
    const auto it = map.begin();
    release(static_cast<StackId>(it->first >> 32));
    for (const Head& h : it->second) release(h.tail);
    map.erase(it);
    if (map.empty()) closures_.garbage.pop_back();
  }
  for (std::size_t n = 0; n < kCollectPerCall && !tail_masks_.garbage.empty(); ++n) {
    auto& map = tail_masks_.garbage.back();
    release(static_cast<StackId>(map.begin()->first >> 32));
    map.erase(map.begin());
    if (map.empty()) tail_masks_.garbage.pop_back();
  }
  // More of a long queue, so that what operations make is freed as fast as it is made.
  const std::size_t most = std::max(kCollectPerCall, queue_.size() / 4);
  for (std::size_t n = 0; n < most && !queue_.empty(); ++n) {
    const StackId id = queue_.back();
    queue_.pop_back();
    Node& node = nodes_[id];
    node.queued = false;
    if (node.references != 0) continue;
    unlink(id);
    const Node gone = node;
    node = Node{.next = free_};
    free_ = id;
    --live_;
    release(gone.b);
    if (gone.kind == Kind::List) release(gone.a);
  }
}

// --- sets of stacks -----------------------------------------------------------------------------------

bool Stack::before(StackId x, StackId y) const {
  const Node& n = nodes_[x];
  const Node& m = nodes_[y];
  return n.depth != m.depth ? n.depth > m.depth : x > y;
}

// `members` in order, all before those of `rest` (kNone: no more).
StackId Stack::list(std::vector<StackId>& members, StackId rest) {
  drop_included(members, rest);
  if (rest == kNone) {
    rest = members.back();
    members.pop_back();
  }
  for (std::size_t i = members.size(); i-- > 0;) rest = intern(Kind::List, members[i], rest);
  return rest;
}

// Takes out what the first few members include already by pops of their frames. Looks at a bounded number of
// stacks: an included one that is missed costs a list member, nothing else.
void Stack::drop_included(std::vector<StackId>& members, StackId& rest) {
  for (std::size_t i = 0; i < members.size() && i < kIncluding; ++i) {
    if (!is_frame(members[i]) || !machine_.nullable(frame(members[i])) || machine_.guarded(frame(members[i]))) continue;
    chain_.clear();
    chain_.push_back(below(members[i]));
    const auto included = [&](StackId s) { return std::find(chain_.begin(), chain_.end(), s) != chain_.end(); };
    for (std::size_t k = 0; k < chain_.size() && chain_.size() < kIncluded; ++k) {
      const auto reach = [&](StackId s) {
        if (!included(s)) chain_.push_back(s);
      };
      const StackId s = chain_[k];
      if (is_list(s)) {
        reach(first(s));
        reach(this->rest(s));
      } else if (is_frame(s) && machine_.nullable(frame(s))) {
        reach(below(s));
      }
    }
    // The beginning of the rest is looked at as well.
    for (std::size_t n = 0; n < kIncluding && rest != kNone && !included(rest); ++n) {
      members.push_back(is_list(rest) ? first(rest) : rest);
      rest = is_list(rest) ? this->rest(rest) : kNone;
    }
    if (rest != kNone && included(rest)) rest = kNone;
    const auto from = members.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    const auto to =
        members.size() - i - 1 > kShortChain ? from + static_cast<std::ptrdiff_t>(kShortChain) : members.end();
    members.erase(std::remove_if(from, to, included), to);
  }
}

StackId Stack::unite(StackId x, StackId y) {
  if (x == y) return x;
  if (unions_.empty()) unions_.resize(kUnions);
  if (x > y) std::swap(x, y);
  Union& kept = unions_[mix(x, y) % kUnions];
  if (kept.operation != operation_ || kept.x != x || kept.y != y) kept = {x, y, merged(x, y), operation_};
  return kept.result;
}

StackId Stack::merged(StackId x, StackId y) {
  const auto head = [&](StackId s) { return is_list(s) ? first(s) : s; };
  const auto tail = [&](StackId s) { return is_list(s) ? rest(s) : kNone; };
  std::vector<StackId>& members = members_;
  members.clear();
  StackId remainder = kNone;
  while (x != y) {
    if (x == kNone || y == kNone) {
      remainder = x == kNone ? y : x;
      break;
    }
    if (head(x) == head(y)) {
      members.push_back(head(x));
      x = tail(x);
      y = tail(y);
    } else if (before(head(x), head(y))) {
      members.push_back(head(x));
      x = tail(x);
    } else {
      members.push_back(head(y));
      y = tail(y);
    }
  }
  if (x == y) remainder = x;
  return list(members, remainder);
}

StackId Stack::push(ExprId frame, StackId tail) {
  return frame == kEmpty ? tail
                         : intern(Kind::Frame, frame, without_leading(machine_.store()[frame].trailing_star, tail));
}

// The stacks with the loop `star` taken off where they begin with it.
StackId Stack::without_leading(ExprId star, StackId tail) {
  const ExpressionStore& terms = machine_.store();
  while (star != kNothing && is_frame(tail) && terms.leading_star(frame(tail)) == star) {
    const Expr& top = terms[frame(tail)];
    tail = top.kind == ExprKind::Star ? below(tail) : push(top.b, below(tail));
  }
  return tail;
}

StackId Stack::configuration(const Heads& heads) {
  std::vector<StackId> nodes;
  nodes.reserve(heads.size());
  for (const Head& h : heads) nodes.push_back(intern(Kind::Frame, h.state, h.tail));
  std::sort(nodes.begin(), nodes.end(), [&](StackId x, StackId y) { return before(x, y); });
  return list(nodes, kNone);
}

void Stack::heads(StackId id, Heads& out) const {
  out.clear();
  for (; is_list(id); id = rest(id)) out.push_back({frame(first(id)), below(first(id))});
  out.push_back({frame(id), below(id)});
}

// --- steps --------------------------------------------------------------------------------------------

void Stack::add(Heads& heads, ExprId state, StackId tail) {
  const Expr* e = &machine_.store()[state];
  while ((state == kEmpty || e->guarded) && is_frame(tail)) {
    if (state != kEmpty && (e->kind != ExprKind::Guarded || e->b != kEmpty)) break;
    state = machine_.under(state == kEmpty ? kNothing : e->a, frame(tail));
    e = &machine_.store()[state];
    tail = below(tail);
  }
  if (machine_.careful() && !alive(state, tail)) return;
  join(heads, state, without_leading(e->trailing_star, tail));
}

// Follows completions of the state and of what is below, guard by guard. `at_bottom(guard)` gets those that reach the
// bottom and says whether to go on. `freely`: an end without a guard counts as one at the bottom, since every stack can
// be completed from there.
template <typename Bottom>
void Stack::descend(ExprId state, StackId tail, bool freely, Bottom&& at_bottom) {
  struct Place {
    StackId stack;
    ExprId guard;
    bool operator==(const Place&) const = default;
  };
  std::vector<Place> todo;
  const auto reach = [&](StackId stack, ExprId guard) {
    const Place place{stack, guard};
    if (std::find(todo.begin(), todo.end(), place) == todo.end()) todo.push_back(place);
  };
  for (ExprId guard : machine_.ends(state)) reach(tail, guard);
  for (std::size_t i = 0; i < todo.size(); ++i) {
    const auto [stack, guard] = todo[i];
    if (stack == kBottom || (freely && guard == kNothing)) {
      if (!at_bottom(guard)) return;
    } else if (is_list(stack)) {
      reach(first(stack), guard);
      reach(rest(stack), guard);
    } else {
      for (ExprId end : machine_.ends(machine_.under(guard, frame(stack)))) reach(below(stack), end);
    }
  }
}

bool Stack::alive(ExprId state, StackId tail) {
  bool found = false;
  descend(state, tail, true, [&](ExprId) {
    found = true;
    return false;
  });
  return found;
}

std::vector<ExprId> Stack::ends(ExprId state, StackId tail) {
  std::vector<ExprId> found;
  descend(state, tail, false, [&](ExprId guard) {
    if (guard == kNothing) found.clear();
    found.push_back(guard);
    return guard != kNothing;
  });
  std::sort(found.begin(), found.end());
  return found;
}

void Stack::join(Heads& heads, ExprId state, StackId tail) {
  for (Head& h : heads) {
    if (h.state == state) {
      if (h.tail != tail) h.tail = unite(h.tail, tail);
      return;
    }
  }
  heads.push_back({state, tail});
}

void Stack::run(Transition t, StackId tail, Heads& out) {
  if (t == kDead) return;
  if (!(t & kProgram)) return add(out, t, tail);
  const Program& program = machine_.program(t);
  std::vector<StackId> tails(program.vertices, kNone);
  tails[0] = tail;
  for (const Push& p : program.pushes) {
    if (machine_.careful() && (tails[p.parent] == kNone || !alive(p.frame, tails[p.parent]))) continue;
    const StackId pushed = push(p.frame, tails[p.parent]);
    StackId& joined = tails[p.vertex];
    joined = joined == kNone ? pushed : unite(joined, pushed);
  }
  for (const Target& target : program.targets) {
    if (tails[target.vertex] != kNone) add(out, target.state, tails[target.vertex]);
  }
}

// The frames that pops from a state above `tail`, ending under `guard`, make the state.
void Stack::close_tail(StackId tail, ExprId guard, Heads& out) {
  chain_.clear();
  chain_.push_back(tail);
  for (std::size_t i = 0; i < chain_.size(); ++i) {
    const auto reach = [&](StackId s) {
      if (s != kBottom && std::find(chain_.begin(), chain_.end(), s) == chain_.end()) chain_.push_back(s);
    };
    const StackId s = chain_[i];
    if (is_list(s)) {
      reach(first(s));
      reach(rest(s));
    } else if (is_frame(s) && machine_.nullable(frame(s))) {
      reach(below(s));
    }
    if (chain_.size() > kShortChain) {
      for (const Head& h : closure(tail, guard)) join(out, h.state, h.tail);
      return;
    }
  }
  const std::vector<StackId> reached = chain_;  // joining lists uses the scratch
  for (StackId s : reached) {
    if (is_frame(s)) join(out, machine_.under(guard, frame(s)), below(s));
  }
}

// The same for a long chain, remembered for every stack on the way.
const Heads& Stack::closure(StackId tail, ExprId guard) {
  std::vector<StackId> todo{tail};
  const auto known = [&](StackId s) { return closures_.find(TailMemo<Heads>::key(s, guard)); };
  while (true) {
    const StackId s = todo.back();
    if (const Heads* done = known(s)) {
      todo.pop_back();
      if (todo.empty()) return *done;
      continue;
    }
    StackId parts[2] = {kNone, kNone};
    if (is_list(s)) {
      parts[0] = rest(s);
      parts[1] = first(s);
    } else if (is_frame(s) && machine_.nullable(frame(s))) {
      parts[0] = below(s);
    }
    bool ready = true;
    for (StackId p : parts) {
      if (p != kNone && !known(p)) {
        todo.push_back(p);
        ready = false;
      }
    }
    if (!ready) continue;
    Heads found;
    if (is_frame(s)) found.push_back({machine_.under(guard, frame(s)), below(s)});
    for (StackId p : parts) {
      if (p == kNone) continue;
      for (const Head& h : *known(p)) join(found, h.state, h.tail);
    }
    retain(s);
    for (const Head& h : found) retain(h.tail);
    closures_.young.emplace(TailMemo<Heads>::key(s, guard), std::move(found));
  }
}

void Stack::close(const Heads& in, Heads& out) {
  out = in;
  for (const Head& h : in) {
    if (h.tail == kBottom) continue;
    machine_.for_each_exit(h.state, [&](ExprId guard) { close_tail(h.tail, guard, out); });
  }
}

void Stack::step(const Heads& in, std::uint8_t byte, Heads& out) {
  out.clear();
  if (in.size() == 1 && (in[0].tail == kBottom || !machine_.nullable(in[0].state))) {
    return run(machine_.successor(in[0].state, byte), in[0].tail, out);
  }
  close(in, closed_);
  for (const Head& h : closed_) run(machine_.successor(h.state, byte), h.tail, out);
}

void Stack::token_step(const Heads& in, std::int32_t token, bool text_token, Heads& out) {
  out.clear();
  close(in, closed_);
  for (const Head& h : closed_) run(machine_.token_successor(h.state, token, text_token), h.tail, out);
}

}  // namespace glr
