#include "expression/members.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace glr {

namespace {

constexpr std::uint32_t kNoBound = 0xFFFFFFFF;
constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max() / 2;

bool additional(const MemberTable& table) { return !table.ways.empty() && table.ways.back().member == table.named; }

// Of the members left: those that still are when `taken` (or an additional one) was written. In order, those after it.
bool stays(const MemberTable& table, const MemberState& state, std::uint32_t member, std::uint32_t taken) {
  return state.has(member) && (table.ordered ? member > taken : member != taken);
}

// The least number of members that meet the witnesses that are open and hold all that are required, of those that stay
// after `taken`. A member is counted once however many witnesses it is.
template <typename Stays>
std::uint32_t fewest(const MemberTable& table, std::uint32_t met, Stays&& may_come) {
  const std::uint32_t all = table.all_witnesses;
  std::vector<std::uint32_t> least(std::size_t{all} + 1, kNever);  // by witnesses met
  least[met] = 0;
  const auto step = [&](std::size_t from, std::size_t to, bool may_leave_out) {
    std::vector<std::uint32_t> next(least.size(), kNever);
    if (may_leave_out) next = least;
    for (std::size_t way = from; way < to; ++way) {
      const std::uint32_t with = table.ways[way].witnesses;
      for (std::uint32_t set = 0; set <= all; ++set) next[set | with] = std::min(next[set | with], least[set] + 1);
    }
    least = std::move(next);
  };
  for (std::uint32_t member = 0; member < table.named; ++member) {
    if (!may_come(member)) continue;
    const auto [from, to] = ways_of(table, member);
    step(from, to, !table.requires_member(member));
  }
  const auto [from, to] = ways_of(table, table.named);
  for (int witness = 0; witness < std::popcount(all); ++witness) step(from, to, true);
  return least[all];
}

// Whether some text ends when `count` members were written, at least `needed` more must come and `left` have a name.
bool ends(const MemberTable& table, std::uint32_t needed, std::uint32_t count, std::uint32_t left) {
  if (needed >= kNever) return false;
  if (table.max != kNoBound && std::uint64_t{count} + needed > table.max) return false;
  return count >= table.min || additional(table) || std::uint64_t{count} + left >= table.min;
}

std::uint32_t count_after(const std::vector<std::uint64_t>& bits, std::uint32_t member) {
  std::uint32_t n = 0;
  for (std::size_t word = member / 64; word < bits.size(); ++word) {
    std::uint64_t b = bits[word];
    if (word == member / 64) b = member % 64 == 63 ? 0 : b >> (member % 64 + 1);
    n += static_cast<std::uint32_t>(std::popcount(b));
  }
  return n;
}

}  // namespace

std::pair<std::size_t, std::size_t> ways_of(const MemberTable& table, std::uint32_t member) {
  const auto [first, last] = std::ranges::equal_range(table.ways, member, {}, &MemberTable::Way::member);
  return {static_cast<std::size_t>(first - table.ways.begin()), static_cast<std::size_t>(last - table.ways.begin())};
}

MemberState with_left(const MemberTable& table, std::vector<std::uint64_t> left, std::uint32_t count,
                      std::uint32_t met) {
  MemberState state;
  state.next_required = table.named;
  for (std::size_t word = 0; word < left.size(); ++word) {
    const std::uint64_t required = left[word] & table.required[word];
    state.left_count += static_cast<std::uint32_t>(std::popcount(left[word]));
    state.left_required += static_cast<std::uint32_t>(std::popcount(required));
    if (required != 0 && state.next_required == table.named)
      state.next_required =
          static_cast<std::uint32_t>(word * 64) + static_cast<std::uint32_t>(std::countr_zero(required));
  }
  state.left = std::move(left);
  state.count = count;
  state.met = met;
  return state;
}

MemberState all_left(const MemberTable& table) {
  std::vector<std::uint64_t> left(table.required.size());
  // One that cannot be written is not left.
  for (const MemberTable::Way& way : table.ways) {
    if (way.member < table.named) left[way.member / 64] |= std::uint64_t{1} << (way.member % 64);
  }
  return with_left(table, std::move(left), 0, 0);
}

bool complete(const MemberTable& table, const MemberState& state) {
  return state.left_required == 0 && state.met == table.all_witnesses && state.count >= table.min;
}

bool has_end(const MemberTable& table, const MemberState& state) {
  std::uint32_t needed = state.left_required;
  if (state.met != table.all_witnesses)
    needed = fewest(table, state.met, [&](std::uint32_t member) { return state.has(member); });
  return ends(table, needed, state.count, state.left_count);
}

bool may_take(const MemberTable& table, const MemberState& state, std::size_t way) {
  const MemberTable::Way& w = table.ways[way];
  const bool known = w.member < table.named;
  // The way that is no witness admits every value of the ways that are.
  if ((w.witnesses & state.met) != 0 || (known && !state.has(w.member))) return false;
  if (state.count >= table.max || (table.ordered && state.next_required < w.member)) return false;
  const std::uint32_t met = state.met | w.witnesses;
  std::uint32_t left = known ? state.left_count - 1 : state.left_count;
  if (table.ordered) left = known ? count_after(state.left, w.member) : 0;
  std::uint32_t needed = state.left_required;
  if (known && table.requires_member(w.member)) --needed;
  if (met != table.all_witnesses)
    needed = fewest(table, met, [&](std::uint32_t member) { return stays(table, state, member, w.member); });
  return ends(table, needed, state.count + 1, left);
}

MemberState taken(const MemberTable& table, const MemberState& state, std::size_t way) {
  const MemberTable::Way& w = table.ways[way];
  std::vector<std::uint64_t> left = state.left;
  if (table.ordered) {
    for (std::uint32_t word = 0; word < left.size(); ++word) {
      if (word < w.member / 64)
        left[word] = 0;
      else if (word == w.member / 64)
        left[word] = w.member % 64 == 63 ? 0 : left[word] >> (w.member % 64 + 1) << (w.member % 64 + 1);
    }
  } else if (w.member < table.named) {
    left[w.member / 64] &= ~(std::uint64_t{1} << (w.member % 64));
  }
  const bool counts = table.max != kNoBound || state.count < table.min;
  return with_left(table, std::move(left), counts ? state.count + 1 : state.count, state.met | w.witnesses);
}

}  // namespace glr
