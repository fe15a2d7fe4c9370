// The entries of a MaskAutomaton as bytes: the token sets and residuals they refer to, then the entries.
//
// Sets and residuals are numbered as in the automaton: the empty one and the end tokens, nothing and the root have
// their constants, those written follow. Of a residual's item only the trie node, whether it is a
// subtree or an end, and the guard are written; the rest follows from the vocabulary's trie.
#include <algorithm>
#include <bit>
#include <unordered_map>

#include "automaton/mask_automaton.hpp"

namespace glr {

namespace {

constexpr std::uint64_t kHighGroups = std::uint64_t{0xF} << 60;  // bytes above 0x7F
// Derivatives of terms as lowering makes them stay below; a file has no other way to make the machine recurse deeper.
constexpr std::uint16_t kDeepestGuard = 4 * kMaxHeadDepth;

}  // namespace

void MaskAutomaton::add_guards(ResidualId residual, std::vector<ExprId>& out) const {
  for (const Item& item : residuals_[residual]) {
    if (item.guard() != kNothing) out.push_back(item.guard());
  }
}

std::vector<MaskAutomaton::Entry> MaskAutomaton::entries_of(const std::unordered_set<ExprId>& states) const {
  std::vector<Entry> found;
  visits_.for_each([&](std::uint64_t key, std::uint64_t value) {
    const auto state = static_cast<ExprId>(key);
    if (states.contains(state)) {
      found.push_back({state,
                       static_cast<ResidualId>(key >> 32),
                       {static_cast<SetId>(value >> 32), static_cast<ResidualId>(value)}});
    }
  });
  std::ranges::sort(found, {}, [](const Entry& e) { return std::pair(e.state, e.residual); });
  return found;
}

void MaskAutomaton::write(std::span<const Entry> entries, const std::unordered_map<ExprId, std::uint32_t>& terms,
                          ByteWriter& out) const {
  std::unordered_map<SetId, std::uint32_t> set_number{{kEmptySet, kEmptySet}, {kEndSet, kEndSet}};
  std::unordered_map<ResidualId, std::uint32_t> residual_number{{kNoResidual, kNoResidual},
                                                                {kRootResidual, kRootResidual}};
  std::vector<SetId> sets;
  std::vector<ResidualId> residuals;
  const auto number = [](auto& numbers, std::uint32_t id, auto& list) {
    if (numbers.emplace(id, static_cast<std::uint32_t>(numbers.size())).second) list.push_back(id);
  };
  for (const Entry& e : entries) {
    number(set_number, e.visit.set, sets);
    number(residual_number, e.residual, residuals);
    number(residual_number, e.visit.residual, residuals);
  }
  out.count(sets.size());
  for (SetId id : sets) {
    const TokenSet& set = sets_[id];
    out.u8(static_cast<std::uint8_t>(set.form()));
    out.count(set.data().size());
    for (std::uint32_t word : set.data()) out.u32(word);
  }
  out.count(residuals.size());
  for (ResidualId id : residuals) {
    out.count(residuals_[id].size());
    for (const Item& item : residuals_[id]) {
      out.u32(item.begin << 2 | (item.kind() == ItemKind::End ? 2 : 0) | (item.end != 0 ? 1 : 0));
      out.u32(terms.at(item.guard()));
    }
  }
  out.count(entries.size());
  for (const Entry& e : entries) {
    out.u32(terms.at(e.state));
    out.u32(residual_number.at(e.residual));
    out.u32(set_number.at(e.visit.set));
    out.u32(residual_number.at(e.visit.residual));
  }
}

SetId MaskAutomaton::read_set(ByteReader& in) {
  const std::uint8_t form = in.u8();
  in.require(form <= static_cast<std::uint8_t>(TokenSet::Form::Bitmap), "a token set is of no known form");
  std::vector<std::uint32_t> data(in.count(4));
  for (std::uint32_t& word : data) word = in.u32();
  const auto universe = trie_.universe();
  if (static_cast<TokenSet::Form>(form) == TokenSet::Form::Bitmap) {
    in.require(data.size() == words_, "a token set is not as long as the vocabulary");
    in.require(words_ == 0 || tokens_ % 32 == 0 || data.back() >> (tokens_ % 32) == 0, "a token set holds no tokens");
    const SetId id = intern(data);
    in.require(sets_[id].form() == TokenSet::Form::Bitmap, "a token set is not in its smallest form");
    return id;
  }
  const bool list = static_cast<TokenSet::Form>(form) == TokenSet::Form::List;
  const auto misplaced = [&](std::uint32_t id) {
    return id >= tokens_ || (!list && (universe[id / 32] >> (id % 32) & 1) == 0);
  };
  in.require(std::ranges::adjacent_find(data, std::greater_equal()) == data.end() &&
                 std::ranges::none_of(data, misplaced) && data.size() <= longest_list_,
             "a token set is not in its smallest form");
  std::uint32_t count = static_cast<std::uint32_t>(data.size());
  if (!list) {
    count = trie_.ordinals() - count;
    in.require(count > longest_list_, "a token set is not in its smallest form");
  }
  return intern(static_cast<TokenSet::Form>(form), std::move(data), count);
}

ResidualId MaskAutomaton::read_residual(std::span<const ExprId> terms, ByteReader& in) {
  Residual residual;
  for (std::uint32_t n = in.count(8); n > 0; --n) {
    const std::uint32_t value = in.u32();
    const std::uint32_t node = value >> 2;
    in.require(node < trie_.size(), "a residual is beyond the vocabulary's trie");
    const ExprId guard = terms[in.index(terms.size(), "a residual has no guard")];
    const Expr& g = machine_.store()[guard];
    in.require(!g.nullable && !g.lexemes && g.head_depth <= kDeepestGuard, "a guard is none");
    const bool subtree = (value & 1) != 0;
    ItemKind kind = ItemKind::Pop;
    if ((value & 2) != 0)
      kind = ItemKind::End;
    else if (subtree && (trie_[node].groups_below & kHighGroups) != 0)
      kind = ItemKind::PopBetweenCodePoints;
    const Item item(node, subtree ? trie_[node].end : 0, kind, guard);
    // Guards have other numbers here, so items that differ in them alone come in any order.
    in.require(residual.empty() || std::pair(residual.back().begin, residual.back().end) <= std::pair(node, item.end),
               "a residual is not sorted");
    residual.push_back(item);
  }
  return intern(std::move(residual));
}

void MaskAutomaton::read(std::span<const ExprId> terms, ByteReader& in) {
  std::vector<SetId> sets{kEmptySet, kEndSet};
  for (std::uint32_t n = in.count(5); n > 0; --n) sets.push_back(read_set(in));
  std::vector<ResidualId> residuals{kNoResidual, kRootResidual};
  for (std::uint32_t n = in.count(4); n > 0; --n) residuals.push_back(read_residual(terms, in));
  for (std::uint32_t n = in.count(16); n > 0; --n) {
    const ExprId state = terms[in.index(terms.size(), "an entry is of no state")];
    const ResidualId residual = residuals[in.index(residuals.size(), "an entry is of no residual")];
    const SetId set = sets[in.index(sets.size(), "an entry has no token set")];
    const ResidualId left = residuals[in.index(residuals.size(), "an entry leaves no residual")];
    Visit known_before;
    in.require(residual != kNoResidual && !known(state, residual, known_before), "an entry is there twice");
    keep(state, residual, {set, left});
  }
}

}  // namespace glr
