// MaskAutomaton: which tokens a state allows, for all tokens at once and without knowing the stack.
//
// Fix a state q and a token v. The stacks from which v can be consumed in q form a regular language over
// frames, because v is finite: it pops a bounded number of frames, and what it pushes on top is its own
// business. This automaton recognises these languages for all tokens at once, reading the stack from the top:
//
//     visit(q, N) = (T, N')
//
// starts at every trie node of N in state q above an unknown old stack. T is the set of tokens consumed
// without touching the old stack further. N', the residual, is the set of trie nodes at which an old frame
// would be popped; the next frame r read from the stack goes on with visit(r, N'). A mask is the union of
// the T along the stack until the residual is empty (MaskReader in matcher/mask.hpp).
//
//   "inside a JSON string", token `",` : not in T; N' holds the node of `"`, and the frame below it decides
//   about `,`. Token `abc`: in T. Token `"` itself: in T, since it ends exactly where the frame is popped.
//
// The walk's own position, a set of (state, local stack), is a configuration of a Stack whose bottom is the
// old stack; positions are interned and their transitions memoised, so a walk is a table-driven pass over
// the trie. A subtree of the trie all of whose bytes keep the position unchanged is taken as one range
// without visiting it; likewise when it is well-formed UTF-8 and the position returns to itself after every
// code point it has. That is what makes "inside a string" cost thousands of nodes instead of 267,450.
//
// A counter that is near its bound for the longest token is far from it for most: below a node of which no token is
// more than h bytes longer, a position is taken in its form for h bytes (Machine::relax). So "at most 20 more letters"
// is a loop in all subtrees but the few that hold longer words.
//
// Where the walk would pop under a guard, the item of the residual says which: visit(r, N) starts there in r under it.
//
// On a careful machine (expression/ends.hpp) a position may be one that can be completed only under guards. Whether the
// tokens that end there are taken then depends on the old stack, so they are left in the residual as ends: at the next
// frame r they are taken when r can be completed under the guard without one, left under the guards that it ends with,
// or dropped. At the bottom of the stack, kNothing in place of a frame, they are taken.
//
// Residuals hold single nodes and whole subtrees ("every node below here", optionally "at code point
// boundaries only"), so they stay small where a loop may end anywhere.
//
// Everything here depends on expressions and the vocabulary alone and is shared by all grammars of the
// vocabulary. visit() and unite() are lock-free when the answer is known, else they fill it under the
// machine's mutex.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "automaton/stack.hpp"
#include "expression/machine.hpp"
#include "glrsampler/token_set.hpp"
#include "support/bytes.hpp"
#include "support/concurrent.hpp"
#include "vocabulary/trie.hpp"

namespace glr {

using SetId = std::uint32_t;
using ResidualId = std::uint32_t;
inline constexpr SetId kEmptySet = 0;
inline constexpr SetId kEndSet = 1;  // the end-of-generation tokens
inline constexpr ResidualId kNoResidual = 0;
inline constexpr ResidualId kRootResidual = 1;  // the root of the trie: a token begins

struct Visit {
  SetId set;
  ResidualId residual;
};

class MaskAutomaton {
 public:
  MaskAutomaton(Machine& machine, const Vocabulary& vocabulary, std::size_t max_bytes, std::uint32_t generation);

  // q is kNothing where a residual is left at the bottom of the stack, which matters on a careful machine only.
  Visit visit(ExprId q, ResidualId residual);
  // The entry when it is there; never computes.
  bool known(ExprId q, ResidualId residual, Visit& out) const;

  // The same for a background thread: gives up, with nothing kept, when somebody waits for the machine.
  bool fill(ExprId q, ResidualId residual, Visit& out);

  // The saved form (saved_masks.cpp); the caller holds the machine's mutex. The entries of these states that are
  // there; what says them, terms by their numbers; and the way back, where terms are by number and Malformed is thrown
  // for what no automaton of this vocabulary writes.
  struct Entry {
    ExprId state;
    ResidualId residual;
    Visit visit;
  };
  std::vector<Entry> entries_of(const std::unordered_set<ExprId>& states) const;
  void add_guards(ResidualId residual, std::vector<ExprId>& out) const;
  void write(std::span<const Entry> entries, const std::unordered_map<ExprId, std::uint32_t>& terms,
             ByteWriter& out) const;
  void read(std::span<const ExprId> terms, ByteReader& in);

  SetId unite(SetId x, SetId y);
  // The tokens that token literals admit.
  SetId literals(std::span<const TokenRef> refs);
  const TokenSet& set(SetId id) const { return sets_[id]; }

  std::size_t entries() const { return visits_.size(); }
  std::size_t bytes() const;
  bool full() const { return full_.load(std::memory_order_relaxed); }
  // Different for each automaton of an engine: what was noted of one says nothing about another. Never 0.
  std::uint32_t generation() const { return generation_; }

 private:
  // Where an old frame is popped: at a trie node, or at every node of a subtree; or what ends there (see above).
  enum class ItemKind : std::uint32_t { Pop, PopBetweenCodePoints, End };
  struct Item {
    Item(std::uint32_t node, std::uint32_t subtree_end, ItemKind kind, ExprId guard)
        : begin(node), end(subtree_end), how(guard << 2 | static_cast<std::uint32_t>(kind)) {}

    ItemKind kind() const { return static_cast<ItemKind>(how & 3); }
    ExprId guard() const { return how >> 2; }  // the old frame is popped under; kNothing: none

    std::uint32_t begin;
    std::uint32_t end;  // 0: the node `begin` alone; else the subtree [begin, end)
    std::uint32_t how;
    friend bool operator==(const Item&, const Item&) = default;
    friend auto operator<=>(const Item&, const Item&) = default;
  };
  using Residual = std::vector<Item>;

  using PositionId = std::uint32_t;
  static constexpr PositionId kDeadPosition = 0;
  struct Position {
    StackId configuration = kBottom;
    bool pops = false;             // may need an old frame here, under no guard
    std::vector<ExprId> guards;    // under which it may, when it may not without one
    std::vector<ExprId> ends;      // guards under which alone what is here can be completed; empty: under none
    std::vector<PositionId> next;  // by byte; kUnknownPosition when not computed, empty until first used
    // Groups of bytes (byte_group): those asked about so far, and of them those all of whose bytes lead
    // back here. The same for multi-byte code points.
    std::uint64_t asked_groups = 0;
    std::uint64_t self_groups = 0;
    bool asked_code_points = false;
    bool self_code_points = false;
    bool counted = false;  // a head has counters
    std::vector<PositionId>
        relaxed{};  // by step of kHeights; kUnknownPosition when not computed, empty until first used
  };
  static constexpr PositionId kUnknownPosition = 0xFFFFFFFF;

  // What a walk collects.
  struct Found {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ordinals;  // ranges [first, second)
    Residual residual;
  };

  void settle_ends(ExprId q, const Residual& items, Found& found);
  bool compute(ExprId q, ResidualId residual, bool give_way, Visit& out);
  void keep(ExprId q, ResidualId residual, Visit visit);
  // The bytes after which what is under a guard is gone, and the groups of bytes (byte_group) that are all such.
  struct Ending {
    ByteSet bytes{};
    std::uint64_t groups = 0;
  };
  const Ending& ending_by(ExprId guard);
  void add_pop(const Item& item, Found& found);
  bool walk(std::uint32_t node, PositionId at, bool give_way, Found& found);
  PositionId position(const Heads& heads);
  PositionId next(PositionId p, std::uint8_t byte);
  PositionId relaxed(PositionId p, std::uint32_t node);
  bool loops_on_groups(PositionId p, std::uint64_t groups);
  bool loops_on_code_points(PositionId p);
  SetId intern(std::span<const std::uint32_t> bitmap);
  SetId intern(std::span<const std::uint32_t> bitmap, std::uint32_t count);
  void admit(const TokenRef& literal);  // into bitmap_
  SetId intern(TokenSet::Form form, std::vector<std::uint32_t> data, std::uint32_t count);
  SetId set_of(Found& found, ExprId q, bool at_root);
  ResidualId intern(Residual residual);
  template <typename F>
  void for_each_exit(PositionId p, F&& visit) const;
  SetId read_set(ByteReader& in);
  ResidualId read_residual(std::span<const ExprId> terms, ByteReader& in);

  Machine& machine_;
  const TokenTrie& trie_;
  std::uint32_t tokens_;        // of the vocabulary
  std::uint32_t words_;         // of a bitmap of them
  std::uint32_t longest_list_;  // members of a set kept as a list
  std::uint32_t longest_token_;
  std::size_t max_bytes_;
  std::uint32_t generation_;
  std::atomic<bool> full_{false};

  ConcurrentMap visits_;  // residual << 32 | state -> set << 32 | residual
  ConcurrentMap unions_;
  ChunkedVector<TokenSet> sets_;
  std::unordered_multimap<std::uint64_t, SetId> set_index_;
  ChunkedVector<Residual> residuals_;
  std::unordered_multimap<std::uint64_t, ResidualId> residual_index_;

  Stack local_;  // the walks' local stacks; its bottom is the unknown old stack
  std::vector<Position> positions_;
  std::unordered_map<StackId, PositionId> position_of_;
  std::unordered_map<ExprId, Ending> endings_;
  std::size_t data_bytes_ = 0;  // of sets, residuals and rows of positions

  // Scratch.
  std::vector<std::uint32_t> bitmap_;
  std::vector<PositionId> path_;
  Heads heads_;
  Heads stepped_;
};

}  // namespace glr
