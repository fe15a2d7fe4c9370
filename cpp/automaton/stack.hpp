// Stack: the graph-structured stack, persistent and hash-consed (Tomita 1985, without a parse forest).
//
// A stack is what is left to do below a state: a frame (an expression) on top of another stack. Parses that
// differ only below share what is above. A node is one of
//
//   bottom            nothing is left: the end of the text for a matcher, the unknown old stack for a walk
//   frame (f, t)      the expression f on top of t
//   list  (x, rest)   any one of several stacks: x is a frame or the bottom, rest a list or one stack
//
// Lists are canonical, members descending by (depth, id), so equal sets of stacks are equal ids, and sets
// that grow at their deep end share their tails. A configuration of a parse is also such a set: its members
// are frames whose expression is a state ("heads"), no state twice.
//
// Frames that say nothing new are not stacked: x* on top of x* y is x* on top of y, so `s ::= s s | "a"` runs
// in a bounded stack. Members that say nothing new are not listed: a stack (f, t) with nullable f includes all that t
// does, so {(f, t), t} is (f, t); a chain of open ifs, each with its optional else, is one stack, not one a level.
//
// A step first closes the heads under pops: where a state may end, the frames below take the byte as well.
// Heads of one state are joined into one before they step, so a step adds at most one stack per state and frame of the
// grammar, however ambiguous it is (without that, their number can double with every byte).
//
// Guards (expression/machine.hpp) belong to states: a frame has none, and where a state ends under one, the frame below
// becomes a state under it, as do the frames below that one while they may be empty. At the bottom nothing follows, so
// an end is an end whatever the guard. A guarded state does not include what is below it, which may be taken freely.
//
// A careful machine (expression/ends.hpp) has states that cannot be completed on the stack they are on. No such head or
// frame is made: every stack can be completed, from above without a guard.
//
// Cost: push and unite of a new top are O(1) expected; unite is linear in the part by which two lists differ;
// step is linear in the closed heads. The closure of a long chain of nullable frames is memoised node by node,
// so that only what is new on top is read.
// Memory: nodes are counted references; what is released is freed a bounded number of nodes at a time
// (collect), so neither a step nor a destructor ever recurses or stops for a deep stack.
// The hash table grows by one bucket at a time (linear hashing, Litwin 1980): no pause when it doubles.
//
// Threads: one user at a time; forks of a matcher share a stack and its mutex (matcher.cpp).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "expression/machine.hpp"
#include "support/concurrent.hpp"

namespace glr {

using StackId = std::uint32_t;
inline constexpr StackId kBottom = 0;

struct Head {
  ExprId state;
  StackId tail;
};
using Heads = std::vector<Head>;

// A memo keyed by a node and 32 more bits, in two generations: when the young one is full the old one is
// dropped (gradually, see Stack::collect). It holds a reference to the key's node.
template <typename V>
struct TailMemo {
  static constexpr std::size_t kFull = 1 << 14;
  static std::uint64_t key(StackId node, std::uint32_t more) { return std::uint64_t{node} << 32 | more; }
  const V* find(std::uint64_t key) const {
    if (const auto it = young.find(key); it != young.end()) return &it->second;
    if (const auto it = old.find(key); it != old.end()) return &it->second;
    return nullptr;
  }
  std::unordered_map<std::uint64_t, V> young;
  std::unordered_map<std::uint64_t, V> old;
  std::vector<std::unordered_map<std::uint64_t, V>> garbage;
};

class Stack {
 public:
  explicit Stack(Machine& machine);

  StackId push(ExprId frame, StackId tail);
  StackId unite(StackId x, StackId y);

  // A set of heads as one node, and back.
  StackId configuration(const Heads& heads);
  void heads(StackId configuration, Heads& out) const;

  // All (state, stack) that can take the next symbol: the heads and whatever pops reach from them, no state
  // twice. `out` is replaced.
  void close(const Heads& in, Heads& out);
  // The heads after one byte; after one token by a token literal. `out` is replaced.
  void step(const Heads& in, std::uint8_t byte, Heads& out);
  void token_step(const Heads& in, std::int32_t token, bool text_token, Heads& out);
  // The token literals that can come next in a state; frames below are not looked at.
  void first_tokens(ExprId state, std::vector<TokenRef>& out) { machine_.first_tokens(state, out); }
  // The heads with nothing left to do in their state taken off: state and stack of each are canonical.
  void add(Heads& heads, ExprId state, StackId tail);

  // Of a careful machine: the guards under which the state, and then what is below it, can be completed down to the
  // bottom. Of these, sorted, at most kNothing when that is one of them.
  std::vector<ExprId> ends(ExprId state, StackId tail);

  // Whether all that is left may be empty.
  bool accepts(StackId id) const { return nodes_[id].accepts; }
  std::uint32_t depth(StackId id) const { return nodes_[id].depth; }

  bool is_frame(StackId id) const { return nodes_[id].kind == Kind::Frame; }
  bool is_list(StackId id) const { return nodes_[id].kind == Kind::List; }
  ExprId frame(StackId id) const { return nodes_[id].a; }   // of a frame
  StackId below(StackId id) const { return nodes_[id].b; }  // of a frame
  StackId first(StackId id) const { return nodes_[id].a; }  // of a list
  StackId rest(StackId id) const { return nodes_[id].b; }   // of a list

  void retain(StackId id) { ++nodes_[id].references; }
  void release(StackId id);
  // Frees nodes that nobody refers to; called between operations, a bounded amount at a time.
  void collect();

  // The mask of a node, kept by whoever computes masks: valid while its epoch is the caller's.
  struct Mark {
    std::uint32_t value = 0;
    std::uint32_t epoch = 0;
  };
  Mark& mark(StackId id) { return nodes_[id].mark; }
  TailMemo<std::uint32_t>& tail_masks() { return tail_masks_; }
  void forget_masks();  // another automaton: what tail_masks() holds means nothing any more
  void remember(TailMemo<std::uint32_t>& memo, std::uint64_t key, std::uint32_t value);

  std::size_t live() const { return live_; }
  std::size_t bytes() const { return nodes_.bytes() + buckets_.bytes(); }

 private:
  enum class Kind : std::uint8_t { Free, Bottom, Frame, List };
  struct Node {
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    std::uint32_t references = 0;
    std::uint32_t next = kNone;  // in the bucket, or in the free list
    std::uint32_t depth = 0;
    Kind kind = Kind::Free;
    bool accepts = false;
    bool queued = false;  // for collect()
    Mark mark = {};
  };
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  // A chain of nullable frames up to this long is read afresh each time; longer ones through the memo,
  // whose entry costs about as much as reading thirty frames.
  static constexpr std::size_t kShortChain = 32;
  // Members of a list that are asked which others they include.
  static constexpr std::size_t kIncluding = 4;
  static constexpr std::size_t kIncluded = 24;  // stacks below it looked at

  StackId intern(Kind kind, std::uint32_t a, std::uint32_t b);
  std::size_t bucket(std::uint64_t hash) const;
  void split_bucket();
  void unlink(StackId id);
  bool before(StackId x, StackId y) const;  // in the order of lists
  StackId list(std::vector<StackId>& members, StackId rest);
  StackId merged(StackId x, StackId y);
  void drop_included(std::vector<StackId>& members, StackId& rest);

  StackId without_leading(ExprId star, StackId tail);
  bool alive(ExprId state, StackId tail);
  template <typename Bottom>
  void descend(ExprId state, StackId tail, bool freely, Bottom&& at_bottom);
  void join(Heads& heads, ExprId state, StackId tail);
  void run(Transition t, StackId tail, Heads& out);
  void close_tail(StackId tail, ExprId guard, Heads& out);
  const Heads& closure(StackId tail, ExprId guard);
  template <typename V>
  static void rotate(TailMemo<V>& memo);

  Machine& machine_;
  ChunkedVector<Node> nodes_;
  ChunkedVector<std::uint32_t> buckets_;
  std::size_t bucket_count_ = 0;
  std::uint32_t free_ = kNone;
  std::size_t live_ = 0;
  std::vector<StackId> queue_;
  TailMemo<Heads> closures_;
  TailMemo<std::uint32_t> tail_masks_;
  // Unions of this operation (direct-mapped: a later one may replace an earlier). Ambiguous grammars ask for the
  // same ones again and again while heads are closed.
  struct Union {
    StackId x = 0;
    StackId y = 0;
    StackId result = 0;
    std::uint32_t operation = 0;
  };
  std::vector<Union> unions_;
  std::uint32_t operation_ = 1;
  // Scratch, to allocate nothing in the common case.
  std::vector<StackId> tails_;
  std::vector<StackId> chain_;
  std::vector<StackId> members_;
  Heads closed_;
};

}  // namespace glr
