// Machine: the pushdown automaton whose states are expressions.
//
// The derivative of a language by a byte b is { w : b w in it } (Brzozowski 1964). For terms without
// calls it is again a term. Where a derivative enters a call of rule R inside `call(R) rest`, the machine
// goes on in R's body and `rest` is pushed as a frame; where a body may end, a frame is popped and its
// expression becomes the state (matcher/stack.hpp). A call in tail position pushes nothing.
//
// A transition therefore is a small program: vertices, each standing for a stack, and targets, each a
// state on top of a vertex. Vertex 0 is the stack as it was; a push makes vertex v out of its parent by
// one frame; several pushes into one vertex join their stacks. A rule that is entered on several left-corner
// paths is one vertex, so a program has at most as many pushes as the left-corner graph has edges, never as
// many as it has paths. Left recursion was turned into loops before (lower.hpp), so that graph has no
// cycle and rules can be taken in the order of their left-corner depth, callers first.
//
// Guards. Where a lexeme (ExprKind::Longest) may end, its longer readings stay behind as a guard: the state goes on as
// Guarded(g, e), each byte advances g, and the state is gone once a text of g is complete. A guard passes on to what a
// byte leads to, on whichever vertex, and to the frame that is popped where a guarded state ends; it is dropped as soon
// as nothing that can follow has a text of g at its beginning. Frames below carry none. A whole token taken by a token
// literal is no text, and ends every guard.
//
// States are determinised on demand: a row of successors by byte class, an entry of which is computed
// once. Most transitions have one target and no push, and are kept as the target's id alone.
//
// Threads: rows are read without a lock; everything else, and filling an entry, happens under mutex().
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "expression/ends.hpp"
#include "expression/expression.hpp"
#include "support/concurrent.hpp"

namespace glr {

// One frame pushed, or none (kEmpty: a call in tail position).
struct Push {
  std::uint32_t vertex;
  std::uint32_t parent;  // complete before `vertex` is used: programs are in topological order
  ExprId frame;
};

struct Target {
  ExprId state;
  std::uint32_t vertex;
};

struct Program {
  std::uint32_t vertices = 1;
  std::vector<Push> pushes;
  std::vector<Target> targets;
};

// What a row entry says: kDead, the id of the only target (no push), or a program.
using Transition = std::uint32_t;
inline constexpr Transition kDead = kNothing;
inline constexpr Transition kProgram = 0x80000000;  // flag; the rest is an index

class Machine {
 public:
  // `careful`: guards may leave states with nothing to go on with, so whoever makes states asks for their ends, and
  // counters are not relaxed, since what is far away matters as well.
  explicit Machine(bool careful = false);
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // Guards everything that grows. Recursive, since filling calls filling.
  std::recursive_mutex& mutex() const { return mutex_; }

  ExpressionStore& store() { return store_; }
  const ExpressionStore& store() const { return store_; }

  bool nullable(ExprId q) const { return store_[q].nullable; }
  bool guarded(ExprId q) const { return store_[q].guarded; }

  // The guards under which a state may end: kNothing, and no other, when it may end without one. Lock-free.
  template <typename F>
  void for_each_exit(ExprId q, F&& visit) const {
    const Expr& e = store_[q];
    if (!e.nullable) return;
    if (!e.guarded) return visit(kNothing);
    const auto members = e.kind == ExprKind::Guarded ? std::span<const ExprId>(&q, 1) : store_.operands(e);
    const auto may_end = [&](ExprId m, bool guard) { return nullable(m) && guarded(m) == guard; };
    for (ExprId m : members) {
      if (may_end(m, false)) return visit(kNothing);
    }
    for (ExprId m : members) {
      if (may_end(m, true)) visit(ExprId{store_[m].a});
    }
  }
  // A state under a guard (kNothing: none), in the form that states have. Lock-free when it is known.
  ExprId under(ExprId guard, ExprId q) {
    if (guard == kNothing) return q;
    const std::uint64_t known = under_.find(std::uint64_t{guard} << 32 | q);
    return known != ConcurrentMap::kMissing ? static_cast<ExprId>(known) : add_guard(guard, q);
  }

  // The successor of a state by a byte. Lock-free when it is known.
  Transition successor(ExprId q, std::uint8_t byte) {
    const State& s = states_[q];
    const Row* row = s.row.load(std::memory_order_acquire);
    if (row != nullptr) {
      const Transition t = row->entries[row->classes[byte]].load(std::memory_order_acquire);
      if (t != kUnknown) return t;
    }
    return fill(q, byte);
  }
  const Program& program(Transition t) const { return programs_[t & ~kProgram]; }

  bool careful() const { return careful_; }
  // The guards under which a state can be completed (ends.hpp). Throws BudgetError.
  std::vector<ExprId> ends(ExprId q) {
    const std::scoped_lock lock(mutex_);
    return ends_.of(q);
  }
  // All transitions of a state by bytes, one for each class; dead ones left out.
  std::vector<Transition> transitions_of(ExprId q);
  // These and those by token literals: for a negated one, some text token other than it stands for all.
  std::vector<Transition> all_transitions_of(ExprId q);

  // Takes the mutex for somebody who is waited for. A background thread that holds it for long looks at
  // waited_for() and gives way.
  std::unique_lock<std::recursive_mutex> lock_now() const {
    waiting_.fetch_add(1, std::memory_order_relaxed);
    std::unique_lock lock(mutex_);
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    return lock;
  }
  bool waited_for() const { return waiting_.load(std::memory_order_relaxed) > 0; }

  // The bytes after which a guard has a text, so that what is under it is gone. The caller holds the mutex.
  ByteSet ending(ExprId guard);

  // By a whole token at a token boundary (token literals). Takes the mutex.
  Transition token_successor(ExprId q, std::int32_t token, bool text_token);
  // Whether a token literal can come next; the literals it can be. Frames below are not looked at.
  bool starts_with_token(ExprId q);
  void first_tokens(ExprId q, std::vector<TokenRef>& out);

  // Bytes that can come next, frames below not looked at.
  ByteSet first(ExprId q);

  // The canonical form of a state for tokens of at most `length` bytes: a counter that is farther from its bound than
  // that is as good as unbounded (counters.cpp). Exact for what `length` bytes can do.
  ExprId relax(ExprId q, std::uint32_t length);
  // States on the way from q to where its counters come near their bounds, without the states between: each
  // counter farther than `length` from its least or its greatest number is put right there.
  std::vector<ExprId> near_bounds(ExprId q, std::uint32_t length);

  // Whether no text is in the language of a term: intersections and complements may be empty without showing it. Looks
  // for a nullable derivative; what is found out is remembered for every term on the way. Only for terms whose calls
  // are regular (operands, and what is made of them). Throws BudgetError.
  bool empty(ExprId e);

  // Rules. A rule is declared, then all bodies of a group of rules are defined together.
  std::uint32_t declare_rule();
  void define_rules(const std::vector<std::pair<std::uint32_t, ExprId>>& bodies);
  ExprId body(std::uint32_t rule) const { return rules_[rule].body; }
  std::size_t rules() const { return rules_.size(); }

  // Counters for stats and budgets.
  std::size_t states() const { return rows_; }
  std::size_t transitions() const { return transitions_; }
  std::size_t frames() const { return frames_.size(); }
  std::size_t bytes() const;
  // The same as it was when a transition was last made; lock-free.
  std::size_t noted_bytes() const { return noted_bytes_.load(std::memory_order_relaxed); }

 private:
  // never_stuck.cpp and overlaps.cpp: look at derivatives without making states of them.
  friend class StuckSearch;
  friend class OverlapSearch;
  static constexpr Transition kUnknown = 0xFFFFFFFF;

  // Bytes that every derivative of a term treats alike share a class.
  struct Partition {
    std::array<std::uint8_t, 256> classes{};
    std::uint32_t count = 1;
    friend bool operator==(const Partition&, const Partition&) = default;
  };
  struct Row {
    const std::uint8_t* classes;
    std::unique_ptr<std::atomic<Transition>[]> entries;
  };
  struct State {
    std::atomic<Row*> row{nullptr};
  };
  struct Rule {
    ExprId body = kNothing;
    std::uint32_t depth = 0;  // longest path in the left-corner graph
    std::uint32_t partition = 0;
    ByteSet first;
    bool token_first = false;
  };
  struct Symbol {
    std::int32_t token = -1;  // a byte when negative
    std::uint8_t byte = 0;
    bool text_token = false;
  };
  // The derivative of one term: what is left inside it, and the calls entered with what follows each.
  struct Call {
    std::uint32_t rule;
    ExprId follow;
    ExprId guard;  // under which the body goes on
  };
  struct Local {
    std::vector<ExprId> plain;
    std::vector<Call> calls;
  };

  Transition fill(ExprId q, std::uint8_t byte);
  Transition derive(ExprId q, const Symbol& symbol);
  // `operand`: inside an intersection or a complement, where terms without a text are let through.
  void local(ExprId e, const Symbol& symbol, Local& out, bool operand = false);
  // The derivative of an operand as one term: calls go on in the body.
  ExprId derivative(ExprId e, const Symbol& symbol);
  void append(const Local& inner, ExprId rest, Local& out);
  ExprId add_guard(ExprId guard, ExprId q);
  // The state whose alternatives these are: one guarded term a guard, of those alternatives that it matters to.
  ExprId state_of(std::vector<ExprId> alternatives);
  // The alternatives of a term's derivatives, as operands have them, one byte a class.
  template <typename F>
  void for_each_derivative(ExprId e, F&& visit) {
    const Partition& p = partitions_[partition(e)];
    std::uint32_t seen = 0;  // classes are numbered by their first byte
    for (unsigned b = 0; b < 256 && seen < p.count; ++b) {
      if (p.classes[b] != seen) continue;
      ++seen;
      for (ExprId next : store_.alternatives(derivative(e, Symbol{.byte = static_cast<std::uint8_t>(b)}))) visit(next);
    }
  }
  // empty(), looking at no more than `most` terms; nothing when that does not decide.
  std::optional<bool> search(ExprId e, std::size_t most);
  // Of relax(), for intersections.
  ExprId relax_intersection(ExprId e, std::uint32_t length);
  std::uint32_t horizon(ExprId e);
  bool goes_on(ExprId e);
  bool holds_endless(ExprId e) const;
  struct Closure;
  class Iterations;
  bool close(ExprId root, Closure& out);
  // The texts without the empty one; kNothing when there are none.
  ExprId proper(ExprId operand);
  void head_rules(ExprId e, std::vector<std::uint32_t>& out) const;
  Row* row(ExprId q);
  static Partition partition(const ByteSet& set);
  std::uint32_t partition(ExprId e);
  std::uint32_t meet(std::uint32_t x, std::uint32_t y);
  std::uint32_t intern(const Partition& p);

  mutable std::recursive_mutex mutex_;
  mutable std::atomic<int> waiting_{0};
  bool careful_;
  Ends ends_;
  ExpressionStore store_;
  ChunkedVector<State> states_;  // by expression id; grown together with the store
  std::vector<std::unique_ptr<Row>> row_storage_;
  ChunkedVector<Program> programs_;
  std::vector<Rule> rules_;
  ChunkedVector<Partition> partitions_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> partition_index_;
  std::unordered_map<std::uint64_t, std::uint32_t> meets_;
  std::unordered_map<ExprId, std::uint32_t> partition_of_;
  std::unordered_map<ExprId, ByteSet> first_of_;
  std::unordered_map<std::uint64_t, ExprId> relaxed_;
  std::unordered_map<std::uint64_t, ExprId> derivatives_;  // of operands, by term and byte class
  std::unordered_map<ExprId, bool> empty_;
  std::unordered_map<ExprId, std::uint32_t> horizons_;
  std::unordered_map<ExprId, bool> goes_on_;
  ConcurrentMap under_;  // guard << 32 | state -> state
  unsigned depth_ = 0;   // of local()
  std::map<std::pair<ExprId, std::int32_t>, Transition> token_transitions_;
  std::map<std::vector<std::uint32_t>, Transition> program_index_;
  std::size_t rows_ = 0;
  std::size_t transitions_ = 0;
  std::unordered_set<ExprId> frames_;  // pushed by some program
  std::size_t row_bytes_ = 0;
  std::atomic<std::size_t> noted_bytes_{0};
};

// Holds a machine, with a deadline for whatever is made meanwhile.
class TimedLock {
 public:
  TimedLock(Machine& machine, const Deadline& deadline)
      : lock_(machine.lock_now()), store_(machine.store()), before_(store_.deadline()) {
    store_.set_deadline(deadline);
  }
  ~TimedLock() { store_.set_deadline(before_); }
  TimedLock(const TimedLock&) = delete;
  TimedLock& operator=(const TimedLock&) = delete;

 private:
  std::unique_lock<std::recursive_mutex> lock_;
  ExpressionStore& store_;
  Deadline before_;
};

}  // namespace glr
