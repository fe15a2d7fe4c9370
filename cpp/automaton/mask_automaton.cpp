#include "automaton/mask_automaton.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "support/hash.hpp"
#include "vocabulary/utf8.hpp"

namespace glr {

namespace {

// A set is a list up to 1/8 of the bitmap's size: writing a mask from a list costs 1 ns a member beside
// the 0.3 us that copying the 16 KB bitmap of 128,256 tokens takes, so longer lists would save memory at the
// expense of every mask (measured: 1.8 us with lists up to the bitmap's size, 1.0 us with these).
constexpr std::uint32_t kBitmapOverList = 8;

// For which heights of subtrees positions with counters have forms of their own. Half of the subtrees that are not
// leaves have height 4 or less, in a vocabulary of 128,256 tokens.
constexpr std::array<std::uint8_t, 13> kHeights{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96};

// Trie nodes a background walk visits between two looks at who waits: a few microseconds.
constexpr std::uint32_t kStepsBetweenLooks = 512;

// Sums in place, which compilers turn into vectors: std::popcount is a library call a word where the processor may
// lack the instruction.
std::uint32_t count_bits(std::span<const std::uint32_t> words) {
  std::uint32_t n = 0;
  for (std::uint32_t w : words) {
    w -= w >> 1 & 0x55555555;
    w = (w & 0x33333333) + (w >> 2 & 0x33333333);
    w = (w + (w >> 4)) & 0x0F0F0F0F;
    w += w >> 8;
    n += (w + (w >> 16)) & 0x3F;
  }
  return n;
}

}  // namespace

MaskAutomaton::MaskAutomaton(Machine& machine, const Vocabulary& vocabulary, std::size_t max_bytes,
                             std::uint32_t generation)
    : machine_(machine),
      trie_(vocabulary.trie()),
      tokens_(static_cast<std::uint32_t>(vocabulary.size())),
      words_((tokens_ + 31) / 32),
      longest_list_(words_ / kBitmapOverList),
      longest_token_(static_cast<std::uint32_t>(vocabulary.longest_token())),
      max_bytes_(max_bytes),
      generation_(generation),
      local_(machine),
      bitmap_(words_) {
  intern(TokenSet::Form::List, {}, 0);
  std::vector<std::uint32_t> ends;
  for (TokenId id : vocabulary.end_tokens()) ends.push_back(static_cast<std::uint32_t>(id));
  std::sort(ends.begin(), ends.end());
  const auto count = static_cast<std::uint32_t>(ends.size());
  // Under its own id even when there are no end tokens at all.
  sets_.push_back(TokenSet(TokenSet::Form::List, ends, trie_.universe(), count));
  if (count > 0) set_index_.emplace(hash_words(ends, static_cast<std::uint64_t>(TokenSet::Form::List)), kEndSet);
  intern(Residual{});
  intern(Residual{{0, 0, ItemKind::Pop, kNothing}});
  positions_.emplace_back();  // kDeadPosition
}

std::size_t MaskAutomaton::bytes() const {
  return visits_.bytes() + unions_.bytes() + sets_.bytes() + residuals_.bytes() + data_bytes_ + local_.bytes() +
         positions_.capacity() * sizeof(Position);
}

// --- token sets ----------------------------------------------------------------------------------------

SetId MaskAutomaton::intern(TokenSet::Form form, std::vector<std::uint32_t> data, std::uint32_t count) {
  const std::uint64_t h = hash_words(data, static_cast<std::uint64_t>(form));
  const auto [first, last] = set_index_.equal_range(h);
  for (auto it = first; it != last; ++it) {
    const TokenSet& s = sets_[it->second];
    if (s.form() == form && std::ranges::equal(s.data(), data)) return it->second;
  }
  data.shrink_to_fit();
  data_bytes_ += data.size() * sizeof(std::uint32_t);
  const auto id = static_cast<SetId>(sets_.push_back(TokenSet(form, std::move(data), trie_.universe(), count)));
  set_index_.emplace(h, id);
  return id;
}

// The smallest form; the same set always gets the same form.
SetId MaskAutomaton::intern(std::span<const std::uint32_t> bitmap, std::uint32_t count) {
  const std::span<const std::uint32_t> universe = trie_.universe();
  std::uint32_t outside = 0;  // tokens that are not in the universe
  for (std::size_t w = 0; w < bitmap.size(); ++w) outside |= bitmap[w] & ~universe[w];
  const std::uint32_t missing = trie_.ordinals() - count;  // of the universe, where nothing is outside
  const bool list = count <= longest_list_;
  if (!list && (outside != 0 || missing > longest_list_)) {
    return intern(TokenSet::Form::Bitmap, std::vector<std::uint32_t>(bitmap.begin(), bitmap.end()), count);
  }
  std::vector<std::uint32_t> ids;
  ids.reserve(list ? count : missing);
  for (std::uint32_t w = 0; w < bitmap.size(); ++w) {
    for (std::uint32_t bits = list ? bitmap[w] : universe[w] & ~bitmap[w]; bits != 0; bits &= bits - 1) {
      ids.push_back(w * 32 + static_cast<std::uint32_t>(std::countr_zero(bits)));
    }
  }
  return intern(list ? TokenSet::Form::List : TokenSet::Form::Complement, std::move(ids), count);
}

SetId MaskAutomaton::intern(std::span<const std::uint32_t> bitmap) { return intern(bitmap, count_bits(bitmap)); }

SetId MaskAutomaton::unite(SetId x, SetId y) {
  if (x == y || y == kEmptySet) return x;
  if (x == kEmptySet) return y;
  if (x > y) std::swap(x, y);
  const std::uint64_t key = std::uint64_t{x} << 32 | y;
  if (const std::uint64_t known = unions_.find(key); known != ConcurrentMap::kMissing) return static_cast<SetId>(known);
  const auto lock = machine_.lock_now();
  if (const std::uint64_t known = unions_.find(key); known != ConcurrentMap::kMissing) return static_cast<SetId>(known);
  const TokenSet& a = sets_[x];
  const TokenSet& b = sets_[y];
  SetId result;
  if (a.form() == TokenSet::Form::List && b.form() == TokenSet::Form::List && a.count() + b.count() <= longest_list_) {
    std::vector<std::uint32_t> ids;
    ids.reserve(a.count() + b.count());
    std::ranges::set_union(a.data(), b.data(), std::back_inserter(ids));
    const auto count = static_cast<std::uint32_t>(ids.size());
    result = intern(TokenSet::Form::List, std::move(ids), count);
  } else {
    std::vector<std::uint32_t> other(words_);
    a.write(bitmap_);
    b.write(other);
    for (std::size_t w = 0; w < words_; ++w) bitmap_[w] |= other[w];
    result = intern(bitmap_);
  }
  unions_.insert(key, result);
  if (bytes() > max_bytes_) full_ = true;
  return result;
}

SetId MaskAutomaton::set_of(Found& found, ExprId q, bool at_root) {
  auto& ranges = found.ordinals;
  std::sort(ranges.begin(), ranges.end());
  std::uint64_t total = 0;
  std::size_t kept = 0;
  for (const auto& r : ranges) {  // merged in place
    if (kept > 0 && r.first <= ranges[kept - 1].second)
      ranges[kept - 1].second = std::max(ranges[kept - 1].second, r.second);
    else
      ranges[kept++] = r;
  }
  ranges.resize(kept);
  for (const auto& [from, to] : ranges) total += to - from;
  std::vector<TokenRef> literals;
  if (at_root && !machine_.careful()) machine_.first_tokens(q, literals);  // a token begins here: token literals
  if (literals.empty() && total <= longest_list_) {                        // the common case: no bitmap is built
    std::vector<std::uint32_t> ids;
    ids.reserve(total);
    for (const auto& [from, to] : ranges) {
      for (std::uint32_t o = from; o < to; ++o) ids.push_back(static_cast<std::uint32_t>(trie_.id(o)));
    }
    std::sort(ids.begin(), ids.end());
    const auto count = static_cast<std::uint32_t>(ids.size());
    return intern(TokenSet::Form::List, std::move(ids), count);
  }
  const auto flip = [&](std::uint32_t from, std::uint32_t to) {
    for (std::uint32_t o = from; o < to; ++o) {
      const auto id = static_cast<std::uint32_t>(trie_.id(o));
      bitmap_[id / 32] ^= 1u << (id % 32);
    }
  };
  // Whichever is shorter: setting the members in an empty bitmap, or clearing the others in the full one.
  if (total * 2 <= trie_.ordinals()) {
    std::fill(bitmap_.begin(), bitmap_.end(), 0);
    for (const auto& [from, to] : ranges) flip(from, to);
  } else {
    std::ranges::copy(trie_.universe(), bitmap_.begin());
    std::uint32_t at = 0;
    for (const auto& [from, to] : ranges) {
      flip(at, from);
      at = to;
    }
    flip(at, trie_.ordinals());
  }
  if (literals.empty()) return intern(bitmap_, static_cast<std::uint32_t>(total));
  for (const TokenRef& t : literals) admit(t);
  return intern(bitmap_);
}

void MaskAutomaton::admit(const TokenRef& literal) {
  const auto id = static_cast<std::uint32_t>(literal.id);
  if (!literal.negated) {
    bitmap_[id / 32] |= 1u << (id % 32);
    return;
  }
  const std::uint32_t before = bitmap_[id / 32];
  for (std::size_t w = 0; w < words_; ++w) bitmap_[w] |= trie_.universe()[w];
  if (!(before >> (id % 32) & 1)) bitmap_[id / 32] &= ~(1u << (id % 32));
}

SetId MaskAutomaton::literals(std::span<const TokenRef> refs) {
  if (refs.empty()) return kEmptySet;
  const auto lock = machine_.lock_now();
  std::fill(bitmap_.begin(), bitmap_.end(), 0);
  for (const TokenRef& t : refs) admit(t);
  return intern(bitmap_);
}

ResidualId MaskAutomaton::intern(Residual residual) {
  if (!std::ranges::is_sorted(residual)) std::sort(residual.begin(), residual.end());
  residual.erase(std::unique(residual.begin(), residual.end()), residual.end());
  std::uint64_t h = residual.size();
  for (const Item& i : residual) h = mix(mix(mix(h, i.begin), i.end), i.how);
  const auto [first, last] = residual_index_.equal_range(h);
  for (auto it = first; it != last; ++it) {
    if (residuals_[it->second] == residual) return it->second;
  }
  residual.shrink_to_fit();
  data_bytes_ += residual.size() * sizeof(Item);
  const auto id = static_cast<ResidualId>(residuals_.push_back(std::move(residual)));
  residual_index_.emplace(h, id);
  return id;
}

// --- positions -----------------------------------------------------------------------------------------

MaskAutomaton::PositionId MaskAutomaton::position(const Heads& heads) {
  if (heads.empty()) return kDeadPosition;
  const StackId configuration = local_.configuration(heads);
  if (const auto it = position_of_.find(configuration); it != position_of_.end()) return it->second;
  Position p;
  p.configuration = configuration;
  for (const Head& h : heads) {
    if (!local_.accepts(h.tail)) continue;
    machine_.for_each_exit(h.state, [&](ExprId guard) {
      if (guard == kNothing)
        p.pops = true;
      else
        p.guards.push_back(guard);
    });
  }
  for (const Head& h : heads) {
    const Expr& state = machine_.store()[h.state];
    p.counted = p.counted || state.counted || state.counted_operands;
  }
  if (p.pops) p.guards.clear();
  std::sort(p.guards.begin(), p.guards.end());
  p.guards.erase(std::unique(p.guards.begin(), p.guards.end()), p.guards.end());
  if (machine_.careful()) {  // may throw: nothing is noted before
    for (const Head& h : heads) {
      const std::vector<ExprId> ends = local_.ends(h.state, h.tail);
      p.ends.insert(p.ends.end(), ends.begin(), ends.end());
    }
    std::sort(p.ends.begin(), p.ends.end());
    p.ends.erase(std::unique(p.ends.begin(), p.ends.end()), p.ends.end());
    if (!p.ends.empty() && p.ends[0] == kNothing) p.ends.clear();
  }
  local_.retain(configuration);
  positions_.push_back(std::move(p));
  return position_of_.emplace(configuration, static_cast<PositionId>(positions_.size() - 1)).first->second;
}

template <typename F>
void MaskAutomaton::for_each_exit(PositionId p, F&& visit) const {
  if (positions_[p].pops) visit(kNothing);
  for (ExprId guard : positions_[p].guards) visit(guard);
}

MaskAutomaton::PositionId MaskAutomaton::next(PositionId p, std::uint8_t byte) {
  std::vector<PositionId>& row = positions_[p].next;
  if (row.empty()) {
    row.assign(256, kUnknownPosition);
    data_bytes_ += 256 * sizeof(PositionId);
  }
  if (row[byte] != kUnknownPosition) return row[byte];
  local_.heads(positions_[p].configuration, heads_);
  local_.step(heads_, byte, stepped_);
  const PositionId n = position(stepped_);
  positions_[p].next[byte] = n;  // positions_ may have grown: not through `row`
  return n;
}

// The position as it is for what is below the node.
MaskAutomaton::PositionId MaskAutomaton::relaxed(PositionId p, std::uint32_t node) {
  const std::uint8_t height = trie_.height(node);
  const auto step = static_cast<std::size_t>(std::ranges::lower_bound(kHeights, height) - kHeights.begin());
  if (step == kHeights.size()) return p;
  if (positions_[p].relaxed.empty()) positions_[p].relaxed.assign(kHeights.size(), kUnknownPosition);
  if (positions_[p].relaxed[step] != kUnknownPosition) return positions_[p].relaxed[step];
  local_.heads(positions_[p].configuration, heads_);
  stepped_.clear();
  for (const Head& h : heads_) local_.add(stepped_, machine_.relax(h.state, kHeights[step]), h.tail);
  const PositionId r = position(stepped_);
  positions_[p].relaxed[step] = r;
  return r;
}

// Whether every byte of the groups leads from the position back to it. Most questions end at the first group.
bool MaskAutomaton::loops_on_groups(PositionId p, std::uint64_t groups) {
  while (true) {
    const Position& position = positions_[p];
    if ((groups & position.asked_groups & ~position.self_groups) != 0) return false;
    const std::uint64_t open = groups & ~position.asked_groups;
    if (open == 0) return true;
    const auto group = static_cast<unsigned>(std::countr_zero(open));
    bool loops = true;
    for (std::uint8_t byte : bytes_of_group(group)) loops = loops && next(p, byte) == p;
    positions_[p].asked_groups |= std::uint64_t{1} << group;
    if (loops) positions_[p].self_groups |= std::uint64_t{1} << group;
  }
}

// Whether every multi-byte code point leads back: the decoder's states are walked beside the positions, and
// each must stand for exactly one position.
bool MaskAutomaton::loops_on_code_points(PositionId p) {
  if (positions_[p].asked_code_points) return positions_[p].self_code_points;
  bool whole = true;
  PositionId at[utf8::Invalid] = {p};
  bool seen[utf8::Invalid] = {true};
  for (utf8::State s : {utf8::Boundary, utf8::AfterF0, utf8::AfterF4, utf8::Three, utf8::AfterE0, utf8::AfterED,
                        utf8::Two, utf8::One}) {
    for (unsigned b = 0x80; b < 0x100 && whole && seen[s]; ++b) {
      const utf8::State t = utf8::next(s, static_cast<std::uint8_t>(b));
      if (t == utf8::Invalid) continue;
      const PositionId n = next(at[s], static_cast<std::uint8_t>(b));
      if (!seen[t]) {
        seen[t] = true;
        at[t] = n;
      }
      whole = n != kDeadPosition && at[t] == n &&
              (t == utf8::Boundary || (!positions_[n].pops && positions_[n].guards.empty()));
    }
  }
  positions_[p].asked_code_points = true;
  positions_[p].self_code_points = whole;
  return whole;
}

// --- the walk --------------------------------------------------------------------------------------------

const MaskAutomaton::Ending& MaskAutomaton::ending_by(ExprId guard) {
  const auto [it, fresh] = endings_.try_emplace(guard);
  if (!fresh) return it->second;
  Ending& ending = it->second;
  ending.bytes = machine_.ending(guard);
  for (unsigned group = 0; group < 64; ++group) {
    bool all = true;
    for (std::uint8_t byte : bytes_of_group(group)) all = all && ending.bytes.contains(byte);
    if (all) ending.groups |= std::uint64_t{1} << group;
  }
  return ending;
}

// An old frame under a guard that every next byte fulfils has nothing to read: names end nowhere but where they end.
void MaskAutomaton::add_pop(const Item& item, Found& found) {
  if (item.guard() != kNothing) {
    const Ending& ending = ending_by(item.guard());
    bool all = (trie_[item.begin].groups_below & ~ending.groups) == 0;
    if (!all && item.end == 0) {
      all = true;
      for (std::uint32_t child = item.begin + 1; child < trie_[item.begin].end && all; child = trie_[child].end)
        all = ending.bytes.contains(trie_[child].byte);
    }
    if (all) return;
  }
  found.residual.push_back(item);
}

bool MaskAutomaton::walk(std::uint32_t root, PositionId at, bool give_way, Found& found) {
  constexpr std::uint64_t kHighGroups = std::uint64_t{0xF} << 60;
  const auto take = [&](std::uint32_t from, std::uint32_t to) {
    if (from == to) return;
    auto& ranges = found.ordinals;
    if (!ranges.empty() && ranges.back().second == from)
      ranges.back().second = to;
    else
      ranges.emplace_back(from, to);
  };
  const std::uint32_t base = trie_[root].depth;
  const std::uint32_t end = trie_[root].end;
  std::uint32_t steps = 0;
  for (std::uint32_t i = root; i < end;) {
    if (give_way && ++steps % kStepsBetweenLooks == 0 && machine_.waited_for()) return false;
    const TokenTrie::Node& node = trie_[i];
    const std::uint32_t level = node.depth - base;
    PositionId p = level == 0 ? at : next(path_[level - 1], node.byte);
    if (p == kDeadPosition) {
      i = node.end;
      continue;
    }
    if (positions_[p].counted && node.end != i + 1) p = relaxed(p, i);
    // The tokens of the node or of its whole subtree, and where old frames are needed.
    const auto take_here = [&](std::uint32_t subtree_end, std::uint32_t last, ItemKind pop) {
      if (positions_[p].ends.empty()) {
        take(node.ordinal, last);
      } else if (node.ordinal != last) {
        for (ExprId guard : positions_[p].ends) found.residual.emplace_back(i, subtree_end, ItemKind::End, guard);
      }
      if (node.end != i + 1)  // below a leaf is nothing to take
        for_each_exit(p, [&](ExprId guard) { add_pop({i, subtree_end, pop, guard}, found); });
    };
    if (node.end != i + 1) {
      const std::uint64_t below = node.groups_below;
      const bool high = (below & kHighGroups) != 0;
      if (loops_on_groups(p, below & ~kHighGroups) &&
          (!high || (positions_[p].ends.empty() && (node.utf8 >> utf8::Boundary & 1) && loops_on_code_points(p)))) {
        take_here(node.end, node.ordinal_end, high ? ItemKind::PopBetweenCodePoints : ItemKind::Pop);
        i = node.end;
        continue;
      }
    }
    take_here(0, trie_[i + 1].ordinal, ItemKind::Pop);
    if (path_.size() <= level) path_.resize(level + 1);
    path_[level] = p;
    ++i;
  }
  return true;
}

// What ended above the old stack: taken, left for the next frame, or dropped.
void MaskAutomaton::settle_ends(ExprId q, const Residual& items, Found& found) {
  for (const Item& item : items) {
    if (item.kind() != ItemKind::End) continue;
    const bool bottom = q == kNothing;
    for (ExprId end : bottom ? std::vector<ExprId>{kNothing} : machine_.ends(machine_.under(item.guard(), q))) {
      if (end != kNothing) {
        found.residual.emplace_back(item.begin, item.end, ItemKind::End, end);
        continue;
      }
      const TokenTrie::Node& node = trie_[item.begin];
      found.ordinals.emplace_back(node.ordinal, item.end == 0 ? trie_[item.begin + 1].ordinal : node.ordinal_end);
    }
  }
}

bool MaskAutomaton::compute(ExprId q, ResidualId residual, bool give_way, Visit& out) {
  const ExprId state = machine_.relax(q, longest_token_);
  if (state != q && known(state, residual, out)) return true;
  const Residual& items = residuals_[residual];
  Found found;
  // By guard, in the order in which items ask for them.
  struct Start {
    ExprId guard;
    PositionId position;
  };
  std::vector<Start> starts;
  const auto start_under = [&](ExprId guard) {
    for (const Start& s : starts) {
      if (s.guard == guard) return s.position;
    }
    starts.push_back({guard, position({{machine_.under(guard, state), kBottom}})});
    return starts.back().position;
  };
  if (machine_.careful()) settle_ends(state, items, found);
  if (machine_.nullable(state)) {
    for (const Item& item : items) {
      if (item.kind() == ItemKind::End) continue;
      for_each_exit(start_under(item.guard()),
                    [&](ExprId guard) { add_pop({item.begin, item.end, item.kind(), guard}, found); });
    }
  }
  const ByteSet first = machine_.first(state);
  std::uint64_t first_groups = 0;
  for (unsigned b = 0; b < 256; ++b) {
    if (first.contains(static_cast<std::uint8_t>(b)))
      first_groups |= std::uint64_t{1} << byte_group(static_cast<std::uint8_t>(b));
  }
  const bool at_root = !items.empty() && items[0] == Item(0, 0, ItemKind::Pop, kNothing);
  for (const Item& item : items) {
    if (give_way && machine_.waited_for()) return false;
    if (item.kind() == ItemKind::End || (trie_[item.begin].groups_below & first_groups) == 0) continue;
    const PositionId start = start_under(item.guard());
    if (item.end == 0) {
      const std::uint32_t stop = trie_[item.begin].end;
      for (std::uint32_t c = item.begin + 1; c < stop; c = trie_[c].end) {
        if (first.contains(trie_[c].byte) && !walk(c, next(start, trie_[c].byte), give_way, found)) return false;
      }
      continue;
    }
    for (unsigned b = 0; b < 256; ++b) {
      if (!first.contains(static_cast<std::uint8_t>(b))) continue;
      if (item.kind() == ItemKind::PopBetweenCodePoints && b >= 0x80 && b < 0xC0) continue;  // inside a code point
      const auto nodes = trie_.by_byte(static_cast<std::uint8_t>(b));
      const PositionId p = next(start, static_cast<std::uint8_t>(b));
      for (auto it = std::upper_bound(nodes.begin(), nodes.end(), item.begin); it != nodes.end() && *it < item.end;
           ++it) {
        if (!walk(*it, p, give_way, found)) return false;
      }
    }
  }
  const SetId set = set_of(found, state, at_root);
  out = {set, intern(std::move(found.residual))};
  if (state != q) visits_.insert(std::uint64_t{residual} << 32 | state, std::uint64_t{out.set} << 32 | out.residual);
  return true;
}

bool MaskAutomaton::known(ExprId q, ResidualId residual, Visit& out) const {
  const std::uint64_t value = visits_.find(std::uint64_t{residual} << 32 | q);
  if (value == ConcurrentMap::kMissing) return false;
  out = {static_cast<SetId>(value >> 32), static_cast<ResidualId>(value)};
  return true;
}

Visit MaskAutomaton::visit(ExprId q, ResidualId residual) {
  Visit result;
  if (known(q, residual, result)) return result;
  const auto lock = machine_.lock_now();
  if (known(q, residual, result)) return result;
  compute(q, residual, false, result);
  keep(q, residual, result);
  return result;
}

bool MaskAutomaton::fill(ExprId q, ResidualId residual, Visit& out) {
  if (known(q, residual, out)) return true;
  const std::scoped_lock lock(machine_.mutex());
  if (known(q, residual, out)) return true;
  if (!compute(q, residual, true, out)) return false;
  keep(q, residual, out);
  return true;
}

void MaskAutomaton::keep(ExprId q, ResidualId residual, Visit visit) {
  visits_.insert(std::uint64_t{residual} << 32 | q, std::uint64_t{visit.set} << 32 | visit.residual);
  if (bytes() > max_bytes_) full_ = true;
}

}  // namespace glr
