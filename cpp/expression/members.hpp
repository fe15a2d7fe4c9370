// Members: the members of an object, each at most once, a separator between them, in order or in any order.
//
// Written out, n of them in any order are n! sequences, and in order still n states that each choose among all that
// follow. Here one term stands for all that may still come: its derivative is made from a table of the members and from
// which of them are left, so only the sets that some text reaches ever exist.
//
//   Members(t)              at least one member of table t, nothing written yet
//   Remaining(t, none, s)   after a member: the end, or the separator and one that may come next, by state s
//   Remaining(t, k, s)      inside the name of a member: k is what is left of the names
//   Mark(i)                 in names only: here the name of member i ends
//
// The names are one term, the alternation of name(i) Mark(i), so they are a prefix tree like any enumeration and their
// derivatives know nothing of what was written. Only where a mark is reached the state counts: Mark(i) becomes the
// value of member i and then Remaining(t, none, s after i), or nothing when i may not come any more. Names of which no
// mark may be reached are dropped, so a mask never runs into a dead end.
//
// In order, a member leaves only those after it. Additional members (those without a name in the table) come any number
// of times; in order they come last. A way to write a member may be a witness: each of the bits `all_witnesses` must be
// met by some member before the end.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace glr {

using ExprId = std::uint32_t;

struct MemberTable {
  struct Way {
    std::uint32_t member;  // `named`: an additional one
    std::uint32_t witnesses = 0;
  };

  // The separator, the names, and for each of `ways` the value, with what stands between it and the name; an
  // additional member's has its name too. Neither the separator nor a name nor an additional member is ever empty.
  std::vector<ExprId> operands;
  std::vector<Way> ways;                // ascending by member
  std::uint32_t named = 0;              // members with a name
  std::vector<std::uint64_t> required;  // bits
  bool ordered = false;
  std::uint32_t min = 0;  // members in all
  std::uint32_t max = 0xFFFFFFFF;
  std::uint32_t all_witnesses = 0;

  ExprId separator() const { return operands[0]; }
  ExprId names() const { return operands[1]; }
  ExprId value(std::size_t way) const { return operands[2 + way]; }
  bool requires_member(std::uint32_t member) const { return (required[member / 64] >> (member % 64) & 1) != 0; }
};

struct MemberState {
  std::vector<std::uint64_t> left;  // members that may come, by bits
  std::uint32_t left_count = 0;
  std::uint32_t left_required = 0;
  std::uint32_t next_required = 0;  // the first that is left, or `named`
  std::uint32_t count = 0;          // of those written, as far as the bounds ask; additional ones too
  std::uint32_t met = 0;            // witnesses

  bool has(std::uint32_t member) const { return (left[member / 64] >> (member % 64) & 1) != 0; }
  friend bool operator==(const MemberState&, const MemberState&) = default;
};

// Nothing written.
MemberState all_left(const MemberTable& table);
// The state with exactly these members left. O(members / 64).
MemberState with_left(const MemberTable& table, std::vector<std::uint64_t> left, std::uint32_t count,
                      std::uint32_t met);
// Whether the text may end.
bool complete(const MemberTable& table, const MemberState& state);
// Whether some text ends from here. Exact: a witness may need a member of its own, and `max` may leave too few.
// O(1) without witnesses, else O(members x ways x sets of witnesses).
bool has_end(const MemberTable& table, const MemberState& state);
// Whether the member may come next in this way and some text ends after it. In order O(members / 64) more.
bool may_take(const MemberTable& table, const MemberState& state, std::size_t way);
// The state after it.
MemberState taken(const MemberTable& table, const MemberState& state, std::size_t way);
// The ways of a member: [first, second).
std::pair<std::size_t, std::size_t> ways_of(const MemberTable& table, std::uint32_t member);

}  // namespace glr
