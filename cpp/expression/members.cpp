#include "expression/members.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace glr {

namespace {

constexpr std::uint32_t kNoBound = 0xFFFFFFFF;
constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max() / 2;

bool additional(const MemberTable& table) { return !table.ways.empty() && table.ways.back().member == table.members(); }

// The least number of members that meet the witnesses that are open and hold all that are required, of those left but
// `without`. A member is counted once however many witnesses it is.
std::uint32_t fewest(const MemberTable& table, const MemberState& state, std::uint32_t without, std::uint32_t met) {
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
  for (std::uint32_t member = 0; member < table.members(); ++member) {
    if (member == without || !state.has(member)) continue;
    const auto [from, to] = ways_of(table, member);
    step(from, to, !table.required[member]);
  }
  const auto [from, to] = ways_of(table, table.members());
  for (int witness = 0; witness < std::popcount(all); ++witness) step(from, to, true);
  return least[all];
}

// Whether some text ends when `count` members were written, at least `needed` more must come and `left` have a name.
bool ends(const MemberTable& table, std::uint32_t needed, std::uint32_t count, std::uint32_t left) {
  if (needed >= kNever) return false;
  if (table.max != kNoBound && std::uint64_t{count} + needed > table.max) return false;
  return count >= table.min || additional(table) || std::uint64_t{count} + left >= table.min;
}

}  // namespace

std::pair<std::size_t, std::size_t> ways_of(const MemberTable& table, std::uint32_t member) {
  const auto [first, last] = std::ranges::equal_range(table.ways, member, {}, &MemberTable::Way::member);
  return {static_cast<std::size_t>(first - table.ways.begin()), static_cast<std::size_t>(last - table.ways.begin())};
}

MemberState with_left(const MemberTable& table, std::vector<std::uint64_t> left, std::uint32_t count,
                      std::uint32_t met) {
  MemberState state;
  state.left = std::move(left);
  state.count = count;
  state.met = met;
  for (std::uint32_t member = 0; member < table.members(); ++member) {
    if (!state.has(member)) continue;
    ++state.left_count;
    if (table.required[member]) ++state.left_required;
  }
  return state;
}

MemberState all_left(const MemberTable& table) {
  std::vector<std::uint64_t> left((table.required.size() + 63) / 64);
  // One that cannot be written is not left, unless it must come: then nothing has an end.
  for (std::uint32_t member = 0; member < table.members(); ++member) {
    const auto [from, to] = ways_of(table, member);
    if (from != to || table.required[member]) left[member / 64] |= std::uint64_t{1} << (member % 64);
  }
  return with_left(table, std::move(left), 0, 0);
}

bool complete(const MemberTable& table, const MemberState& state) {
  return state.left_required == 0 && state.met == table.all_witnesses && state.count >= table.min;
}

bool has_end(const MemberTable& table, const MemberState& state) {
  const bool witnesses = state.met != table.all_witnesses;
  const std::uint32_t needed = witnesses ? fewest(table, state, table.members(), state.met) : state.left_required;
  return ends(table, needed, state.count, state.left_count);
}

bool may_take(const MemberTable& table, const MemberState& state, std::size_t way) {
  const MemberTable::Way& w = table.ways[way];
  const bool known = w.member < table.members();
  // The way that is no witness admits every value of the ways that are.
  if ((w.witnesses & state.met) != 0 || (known && !state.has(w.member))) return false;
  if (state.count >= table.max) return false;
  const std::uint32_t met = state.met | w.witnesses;
  std::uint32_t needed = state.left_required;
  if (known && table.required[w.member]) --needed;
  if (met != table.all_witnesses) needed = fewest(table, state, w.member, met);
  return ends(table, needed, state.count + 1, known ? state.left_count - 1 : state.left_count);
}

MemberState taken(const MemberTable& table, const MemberState& state, std::size_t way) {
  const MemberTable::Way& w = table.ways[way];
  MemberState next = state;
  next.met |= w.witnesses;
  if (table.max != kNoBound || next.count < table.min) ++next.count;
  if (w.member < table.members()) {
    next.left[w.member / 64] &= ~(std::uint64_t{1} << (w.member % 64));
    --next.left_count;
    if (table.required[w.member]) --next.left_required;
  }
  return next;
}

}  // namespace glr
