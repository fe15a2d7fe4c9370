// Expressions: hash-consed terms for languages over bytes, whole tokens and calls of rules.
//
// Equal terms have equal ids, so comparing languages up to the laws below is comparing integers. The
// smart constructors keep terms small and make the set of derivatives of any term finite (Brzozowski 1964;
// Owens, Reppy and Turon 2009): they drop neutral elements, nest concatenations to the right, flatten
// and sort alternations, and factor alternatives that begin with the same factor, so that a long
// enumeration becomes a prefix tree.
//
// Invariants
//   - an operand's id is smaller than the id of the term it stands in;
//   - a called rule never derives the empty text (lowering sees to that), so a call is never nullable;
//   - the body of a repetition is never nullable: x* and x{m,n} are rewritten with x without the empty text;
//   - the operands of an intersection or a complement are regular: a call in one of them is of a rule that is not
//     recursive or right-linear, so its derivatives are found by going on in the body, with no frame;
//   - an intersection or a complement may stand for no text at all; Machine keeps such terms out of states and frames;
//   - Longest(t) is one lexeme: t is regular and not nullable. Whether a lexeme may end where it does depends on the
//     text after it. So for everything that rewrites rules it is opaque, a symbol that is never empty, and it does not
//     occur in the operands of an intersection or a complement;
//   - Guarded(g, e) is what such a lexeme leaves behind: g is regular and not nullable, "no beginning" means of the
//     text of e and of all that comes after e. It stands at the top of a state or as a member of its topmost
//     alternation, never in a rule or a frame; e has no guard itself;
//   - the first factor of a concatenation is neither a concatenation nor empty;
//   - head_depth is at most about kMaxHeadDepth for lowered terms, so the functions that follow the first
//     factors of a term may recurse.
//
// Writers hold the owner's mutex; readers may look at any term whose id was published to them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "expression/deadline.hpp"
#include "expression/members.hpp"
#include "support/concurrent.hpp"
#include "support/id_map.hpp"

namespace glr {

inline constexpr ExprId kNothing = 0;   // no text at all
inline constexpr ExprId kEmpty = 1;     // the empty text
inline constexpr ExprId kAnything = 3;  // any text: a star of all bytes

inline constexpr std::uint32_t kNoMax = 0xFFFFFFFF;
inline constexpr std::uint16_t kMaxHeadDepth = 256;

enum class ExprKind : std::uint8_t {
  Nothing,
  Empty,
  Bytes,        // one byte of byte set a
  Concat,       // a, then b
  Alternation,  // any of the list [a, a + b)
  Star,         // a, any number of times
  Repeat,       // a, min to max times; max may be kNoMax
  Endless,      // a for ever: what a{m,n} is while m is farther away than any token is long
  Call,         // the text of rule a
  Token,        // one whole model token: token literal a
  And,          // what all of the list [a, a + b) have in common
  Not,          // every text that a is not
  Members,      // those of member table min (members.hpp)
  Remaining,    // of the members a those that state min leaves; b: what is left of a name, or kNothing after a member
  Mark,         // in the names of members: that of member a ends here
  Longest,      // what is left of one lexeme: a text of a that cannot be made longer by what follows it (see below)
  Guarded,      // the texts of b, provided that no beginning of the text from here on is a text of guard a
};

struct ByteSet {
  std::array<std::uint64_t, 4> words{};

  bool contains(std::uint8_t b) const { return (words[b >> 6] >> (b & 63) & 1) != 0; }
  void insert(std::uint8_t b) { words[b >> 6] |= std::uint64_t{1} << (b & 63); }
  void insert(std::uint8_t lo, std::uint8_t hi) {
    for (unsigned b = lo; b <= hi; ++b) insert(static_cast<std::uint8_t>(b));
  }
  void insert(const ByteSet& o) {
    for (std::size_t i = 0; i < 4; ++i) words[i] |= o.words[i];
  }
  void keep(const ByteSet& o) {
    for (std::size_t i = 0; i < 4; ++i) words[i] &= o.words[i];
  }
  bool intersects(const ByteSet& o) const;
  bool empty() const { return (words[0] | words[1] | words[2] | words[3]) == 0; }
  unsigned count() const;
  friend bool operator==(const ByteSet&, const ByteSet&) = default;
};

struct Expr {
  ExprKind kind = ExprKind::Nothing;
  bool nullable = false;
  bool counted = false;           // contains a repetition with a bound above kSmallBound
  bool calls = false;             // contains a call
  bool boolean = false;           // contains an intersection or a complement
  bool counted_operands = false;  // contains an intersection, in no other one, of which an operand is counted
  bool guarded = false;           // a guarded term, or an alternation with one
  bool lexemes = false;           // contains a lexeme or a guard
  std::uint16_t head_depth = 0;
  std::uint32_t size = 1;  // factors in the tree the term stands for, saturating
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t min = 0;
  std::uint32_t max = 0;
  ExprId trailing_star = kNothing;  // the last factor when it is a star
};

// Below it a bound is not worth a canonical form (see relax in derivative.hpp).
inline constexpr std::uint32_t kSmallBound = 8;

// A token literal resolved against a vocabulary.
struct TokenRef {
  std::int32_t id = 0;
  bool negated = false;
  friend bool operator==(const TokenRef&, const TokenRef&) = default;
};

class ExpressionStore {
 public:
  ExpressionStore();

  // For whoever has the store to himself: nothing else may be looked up meanwhile.
  void set_deadline(const Deadline& deadline) { deadline_ = deadline; }
  const Deadline& deadline() const { return deadline_; }
  // One step of a loop over terms. Throws BudgetError when the time is up.
  void step() const { deadline_.step(); }

  const Expr& operator[](ExprId id) const { return terms_[id]; }
  std::size_t size() const { return terms_.size(); }
  std::size_t bytes() const;

  const ByteSet& byte_set(const Expr& e) const { return sets_[e.a]; }
  const TokenRef& token(const Expr& e) const { return tokens_[e.a]; }
  // Members of an alternation, ascending ids; a term that is none counts as the only member.
  std::vector<ExprId> alternatives(ExprId id) const;

  ExprId bytes(const ByteSet& set);
  ExprId byte(std::uint8_t b);
  ExprId literal(std::string_view text);
  ExprId concat(ExprId head, ExprId rest);
  ExprId alternation(std::vector<ExprId> members);
  ExprId alternation(ExprId x, ExprId y) { return alternation(std::vector<ExprId>{x, y}); }
  ExprId optional(ExprId x) { return alternation(kEmpty, x); }
  ExprId star(ExprId x);
  ExprId repeat(ExprId x, std::uint32_t min, std::uint32_t max);  // max kNoMax: unbounded
  ExprId endless(ExprId x);
  ExprId call(std::uint32_t rule);
  ExprId token(TokenRef ref);
  ExprId nonempty(ExprId x);  // x without the empty text
  // Flattened, sorted, without neutral elements. Distributed over alternations of which a member calls a rule: that
  // keeps the derivatives of recursive operands finite (they become alternations of intersections, Antimirov 1996).
  ExprId intersection(std::vector<ExprId> members);
  ExprId complement(ExprId x);
  // x: not nullable. `scope`: what competes, x included, not nullable either; kNothing: x itself. `answered`: see
  // NodeKind::Terminal.
  ExprId longest(ExprId x, ExprId scope = kNothing, bool answered = false);
  // The condition is added to what e has of its own.
  ExprId guarded(ExprId guard, ExprId e);

  // Members of an object (members.hpp). Ways without a text are dropped; kNothing when no text is left.
  ExprId members(MemberTable table);
  ExprId find_members(const MemberTable& table) const;  // kNothing when it is not there
  ExprId mark(std::uint32_t member);
  const MemberTable& member_table(const Expr& e) const {
    return member_tables_[(e.kind == ExprKind::Remaining ? terms_[e.a] : e).min];
  }
  const MemberState& member_state(const Expr& e) const { return member_states_[e.min].state; }
  // What a term of Members or Remaining says about the next byte: the separator and the members that may come next. Not
  // for those inside a name.
  ExprId next_members(ExprId id);
  // Inside a name, of which `names` is left.
  ExprId within_name(ExprId whole, std::uint32_t state, ExprId names);
  // What the text of a term of Members or Remaining may begin with.
  std::vector<ExprId> member_heads(const Expr& e) const;
  // Remaining of a saved constraint; kNothing for one that the functions above do not make.
  ExprId restore_remaining(ExprId whole, ExprId names, MemberState state);

  // A composite term of a saved constraint, as it is written there: nothing is rewritten, so it costs no more than the
  // list is long. kNothing for one that no constructor above returns. Not every one that is let through is one that
  // they return; that does no harm, since terms come into use only by being equal to what a constructor makes.
  ExprId restore(ExprKind kind, std::vector<ExprId> operands, std::uint32_t min, std::uint32_t max);

  // The first factor when it is a star, else kNothing.
  ExprId leading_star(ExprId id) const;

  // Every term reachable from the roots, ascending: operands before the terms they stand in.
  std::vector<ExprId> reachable(std::span<const ExprId> roots) const;
  // The operands of a term.
  std::span<const ExprId> operands(const Expr& e) const;

 private:
  ExprId intern(Expr e);
  // Sets what follows from the kind, the operands and the bounds.
  void describe(Expr& e) const;
  ExprId intern_alternation(std::vector<ExprId> members);
  // A term of the kind over a list that is sorted and has no duplicates.
  ExprId intern_list(ExprKind kind, std::vector<ExprId> list);
  ExprId factored(std::vector<ExprId> members, unsigned depth, std::map<std::vector<ExprId>, ExprId>& done);
  void join_counters(std::vector<ExprId>& members, std::size_t first, ExprId rest);
  // Few members of which no two have a first factor in common, or byte sets or counters before the same rest.
  bool nothing_to_factor(std::span<const ExprId> members) const;
  void gather(ExprId id, std::vector<ExprId>& members) const;
  std::uint32_t intern(MemberState state);
  ExprId remaining(ExprId whole, ExprId names, std::uint32_t state);
  // The members that may come next.
  ExprId first_members(ExprId whole, std::uint32_t state);
  const std::vector<std::uint32_t>& marks_in(ExprId names);

  mutable Deadline deadline_;
  ChunkedVector<Expr> terms_;
  ChunkedVector<ByteSet> sets_;
  ChunkedVector<TokenRef> tokens_;
  ChunkedVector<std::vector<ExprId>> lists_;
  std::size_t list_bytes_ = 0;  // of what lists and member states hold elsewhere
  struct KnownState {
    MemberState state;
    std::unordered_map<ExprId, ExprId> first;  // members that may come next, by table
  };
  ChunkedVector<MemberTable> member_tables_;
  ChunkedVector<KnownState> member_states_;
  IdIndex member_state_index_;
  std::unordered_map<ExprId, std::vector<std::uint32_t>> marks_;  // by what is left of names
  IdIndex term_index_;
  IdIndex set_index_;
  std::array<ExprId, 256> single_{};  // the terms of one byte; kNothing: not made yet
};

}  // namespace glr
