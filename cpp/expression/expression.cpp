#include "expression/expression.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <string_view>

#include "support/hash.hpp"

namespace glr {

namespace {

// Deeper than this, alternatives with a common prefix are left unfactored: still exact, only larger.
constexpr unsigned kMaxFactoring = 400;

std::uint32_t add_sizes(std::uint32_t x, std::uint32_t y) {
  const std::uint32_t sum = x + y;
  return sum < x || sum > 0x7FFFFFFF ? 0x7FFFFFFF : sum;
}

std::uint16_t deeper(unsigned depth) { return static_cast<std::uint16_t>(std::min(depth + 1, 0xFFFFu)); }

std::uint64_t hash_of(const Expr& e) {
  std::uint64_t h = mix(static_cast<std::uint64_t>(e.kind) + 1, e.a);
  h = mix(h, e.b);
  return mix(h, std::uint64_t{e.min} << 32 | e.max);
}

}  // namespace

bool ByteSet::intersects(const ByteSet& o) const {
  return ((words[0] & o.words[0]) | (words[1] & o.words[1]) | (words[2] & o.words[2]) | (words[3] & o.words[3])) != 0;
}

unsigned ByteSet::count() const {
  unsigned n = 0;
  for (std::uint64_t w : words) n += static_cast<unsigned>(std::popcount(w));
  return n;
}

ExpressionStore::ExpressionStore() {
  terms_.push_back(Expr{.kind = ExprKind::Nothing});
  terms_.push_back(Expr{.kind = ExprKind::Empty, .nullable = true});
  ByteSet all;
  all.insert(0, 255);
  star(bytes(all));  // kAnything
}

std::size_t ExpressionStore::bytes() const {
  return terms_.bytes() + sets_.bytes() + tokens_.bytes() + lists_.bytes() + list_bytes_ + member_tables_.bytes() +
         member_states_.bytes() + term_index_.bytes() + set_index_.bytes() + member_state_index_.bytes();
}

std::span<const ExprId> ExpressionStore::operands(const Expr& e) const {
  switch (e.kind) {
    case ExprKind::Concat:
    case ExprKind::Guarded:
      return {&e.a, 2};
    case ExprKind::Alternation:
    case ExprKind::And:
      return lists_[e.a];
    case ExprKind::Star:
    case ExprKind::Repeat:
    case ExprKind::Endless:
    case ExprKind::Not:
      return {&e.a, 1};
    case ExprKind::Longest:
      return {&e.a, e.b == kNothing ? 1U : 2U};
    case ExprKind::Members:
      return member_tables_[e.min].operands;
    case ExprKind::Remaining:
      return {&e.a, e.b == kNothing ? 1U : 2U};
    default:
      return {};
  }
}

std::vector<ExprId> ExpressionStore::alternatives(ExprId id) const {
  const Expr& e = terms_[id];
  if (e.kind == ExprKind::Alternation) return lists_[e.a];
  return id == kNothing ? std::vector<ExprId>{} : std::vector<ExprId>{id};
}

std::vector<ExprId> ExpressionStore::reachable(std::span<const ExprId> roots) const {
  IdMap<bool> seen;  // a bit for every term would make a call as dear as the store is large
  std::vector<ExprId> todo;
  const auto visit = [&](ExprId id) {
    if (seen.insert(id, true)) todo.push_back(id);
  };
  for (ExprId r : roots) visit(r);
  for (std::size_t i = 0; i < todo.size(); ++i) {
    step();
    for (ExprId operand : operands(terms_[todo[i]])) visit(operand);
  }
  std::sort(todo.begin(), todo.end());
  return todo;
}

ExprId ExpressionStore::intern(Expr e) {
  const std::uint64_t h = hash_of(e);
  const ExprId known = term_index_.find(h, [&](ExprId other) {
    const Expr& o = terms_[other];
    return o.kind == e.kind && o.a == e.a && o.b == e.b && o.min == e.min && o.max == e.max;
  });
  if (known != IdIndex::kMissing) return known;
  step();
  describe(e);
  const auto id = static_cast<ExprId>(terms_.size());
  const bool rest = e.kind == ExprKind::Concat || e.kind == ExprKind::Guarded;
  e.trailing_star = e.kind == ExprKind::Star ? id : rest ? terms_[e.b].trailing_star : kNothing;
  terms_.push_back(e);
  term_index_.insert(h, id);
  return id;
}

void ExpressionStore::describe(Expr& e) const {
  // What a counter under an intersection or a complement allows is no matter of its bound alone.
  const bool boolean = e.kind == ExprKind::And || e.kind == ExprKind::Not;
  // The counters of members are relaxed when their turn comes.
  const bool members = e.kind == ExprKind::Members || e.kind == ExprKind::Remaining;
  e.boolean = boolean;
  e.guarded = e.kind == ExprKind::Guarded;
  e.lexemes = e.guarded || e.kind == ExprKind::Longest;
  for (ExprId operand : operands(e)) {
    const Expr& x = terms_[operand];
    e.counted = e.counted || (x.counted && !boolean && !members);
    e.counted_operands =
        e.counted_operands || (e.kind == ExprKind::And ? x.counted : x.counted_operands && !boolean && !members);
    e.calls = e.calls || x.calls;
    e.boolean = e.boolean || x.boolean;
    e.guarded = e.guarded || (x.guarded && e.kind == ExprKind::Alternation);
    e.lexemes = e.lexemes || x.lexemes;
  }
  switch (e.kind) {
    case ExprKind::Nothing:
      break;
    case ExprKind::Empty:
      e.nullable = true;
      break;
    case ExprKind::Call:
      e.calls = true;
      [[fallthrough]];
    case ExprKind::Bytes:
    case ExprKind::Token:
      e.head_depth = 1;
      break;
    case ExprKind::Concat: {
      const Expr& x = terms_[e.a];
      const Expr& y = terms_[e.b];
      e.nullable = x.nullable && y.nullable;
      e.head_depth = deeper(x.nullable ? std::max(x.head_depth, y.head_depth) : x.head_depth);
      e.size = add_sizes(x.size, y.size);
      break;
    }
    case ExprKind::Guarded: {
      const Expr& x = terms_[e.a];
      const Expr& y = terms_[e.b];
      e.nullable = y.nullable;
      e.head_depth = deeper(std::max(x.head_depth, y.head_depth));
      e.size = add_sizes(x.size, y.size);
      break;
    }
    case ExprKind::Alternation:
    case ExprKind::And:
      e.nullable = e.kind == ExprKind::And;
      e.size = 0;
      for (ExprId member : operands(e)) {
        const Expr& x = terms_[member];
        e.nullable = e.kind == ExprKind::And ? e.nullable && x.nullable : e.nullable || x.nullable;
        e.size = add_sizes(e.size, x.size);
        e.head_depth = std::max(e.head_depth, deeper(x.head_depth));
      }
      break;
    case ExprKind::Star:
    case ExprKind::Repeat:
    case ExprKind::Endless:
    case ExprKind::Not:
    case ExprKind::Longest: {
      const Expr& x = terms_[e.a];
      const bool repeat = e.kind == ExprKind::Repeat;
      e.nullable = e.kind == ExprKind::Star || (repeat && e.min == 0) || (e.kind == ExprKind::Not && !x.nullable);
      e.counted = e.counted || (repeat && (e.max == kNoMax ? e.min : e.max) > kSmallBound);
      e.head_depth = deeper(x.head_depth);
      e.size = add_sizes(x.size, 1);
      if (e.kind == ExprKind::Longest && e.b != kNothing) {
        e.head_depth = std::max(e.head_depth, deeper(terms_[e.b].head_depth));
        e.size = add_sizes(e.size, terms_[e.b].size);
      }
      break;
    }
    case ExprKind::Mark:
      break;
    case ExprKind::Members:
    case ExprKind::Remaining:
      e.nullable = e.kind == ExprKind::Remaining && e.b == kNothing && complete(member_table(e), member_state(e));
      e.size = 0;
      for (ExprId operand : operands(e)) {
        e.size = add_sizes(e.size, terms_[operand].size);
        e.head_depth = std::max(e.head_depth, deeper(terms_[operand].head_depth));
      }
      break;
  }
}

ExprId ExpressionStore::bytes(const ByteSet& set) {
  if (set.empty()) return kNothing;
  std::uint64_t h = 0;
  for (std::uint64_t w : set.words) h = mix(h, w);
  std::uint32_t index = set_index_.find(h, [&](std::uint32_t other) { return sets_[other] == set; });
  if (index == IdIndex::kMissing) {
    index = static_cast<std::uint32_t>(sets_.push_back(set));
    set_index_.insert(h, index);
  }
  return intern({.kind = ExprKind::Bytes, .a = index});
}

ExprId ExpressionStore::byte(std::uint8_t b) {
  if (single_[b] == kNothing) {
    ByteSet set;
    set.insert(b);
    single_[b] = bytes(set);
  }
  return single_[b];
}

ExprId ExpressionStore::literal(std::string_view text) {
  ExprId e = kEmpty;
  for (std::size_t i = text.size(); i-- > 0;) e = concat(byte(static_cast<std::uint8_t>(text[i])), e);
  return e;
}

ExprId ExpressionStore::concat(ExprId head, ExprId rest) {
  if (head == kNothing || rest == kNothing) return kNothing;
  if (head == kEmpty) return rest;
  if (rest == kEmpty) return head;
  if (terms_[head].kind == ExprKind::Guarded) return guarded(terms_[head].a, concat(terms_[head].b, rest));
  if (terms_[head].guarded) {
    std::vector<ExprId> members = alternatives(head);
    for (ExprId& m : members) m = concat(m, rest);
    return alternation(std::move(members));
  }
  const auto put_before = [&](ExprId h) {
    if (rest == kAnything && terms_[h].nullable) return rest;
    if (h == rest && terms_[h].kind == ExprKind::Star) return rest;  // x* x* = x*
    if (terms_[h].kind == ExprKind::Star && leading_star(rest) == h) return rest;
    return intern({.kind = ExprKind::Concat, .a = h, .b = rest});
  };
  if (terms_[head].kind != ExprKind::Concat) return put_before(head);
  // (h1 h2 ... hn) rest = h1 (h2 (... (hn rest))): the spine is rebuilt from its end.
  std::vector<ExprId> spine;
  ExprId last = head;
  while (terms_[last].kind == ExprKind::Concat) {
    spine.push_back(terms_[last].a);
    last = terms_[last].b;
  }
  spine.push_back(last);
  for (std::size_t i = spine.size(); i-- > 0;) rest = put_before(spine[i]);
  return rest;
}

void ExpressionStore::gather(ExprId id, std::vector<ExprId>& members) const {
  if (id == kNothing) return;
  const Expr& e = terms_[id];
  if (e.kind == ExprKind::Alternation) {
    const auto& list = lists_[e.a];
    members.insert(members.end(), list.begin(), list.end());
  } else {
    members.push_back(id);
  }
}

ExprId ExpressionStore::alternation(std::vector<ExprId> members) {
  std::vector<ExprId> flat;
  flat.reserve(members.size());
  for (ExprId m : members) gather(m, flat);
  std::sort(flat.begin(), flat.end());
  flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  std::map<std::vector<ExprId>, ExprId> done;
  return factored(std::move(flat), 0, done);
}

bool ExpressionStore::nothing_to_factor(std::span<const ExprId> members) const {
  constexpr std::size_t kFew = 12;  // pairs are compared
  if (members.size() > kFew) return false;
  std::array<std::pair<ExprId, ExprId>, kFew> parts;  // first factor, rest
  const auto counter = [&](ExprId id) {
    return terms_[id].kind == ExprKind::Repeat || terms_[id].kind == ExprKind::Star;
  };
  std::size_t n = 0;
  for (const ExprId m : members) {
    if (m == kEmpty) continue;
    const Expr& e = terms_[m];
    const bool concat = e.kind == ExprKind::Concat;
    const std::pair part(concat ? e.a : m, concat ? e.b : kEmpty);
    const bool set = terms_[part.first].kind == ExprKind::Bytes;
    for (std::size_t i = 0; i < n; ++i) {
      if (parts[i].first == part.first) return false;
      if (parts[i].second != part.second) continue;
      if (set && terms_[parts[i].first].kind == ExprKind::Bytes) return false;
      if (counter(part.first) && counter(parts[i].first)) return false;
    }
    parts[n++] = part;
  }
  return true;
}

// x{m,n} r | x{k,l} r = x{m,l} r where k is at most n + 1 and l at least n. `members` from `first` on end with `rest`.
void ExpressionStore::join_counters(std::vector<ExprId>& members, std::size_t first, ExprId rest) {
  struct Counter {
    ExprId body;
    std::uint32_t min;
    std::uint32_t max;
    ExprId member;
  };
  std::vector<Counter> counters;
  for (std::size_t k = first; k < members.size(); ++k) {
    const ExprId m = members[k];
    const Expr& head = terms_[terms_[m].kind == ExprKind::Concat ? terms_[m].a : m];
    if (head.kind == ExprKind::Star) counters.push_back({head.a, 0, kNoMax, m});
    if (head.kind == ExprKind::Repeat) counters.push_back({head.a, head.min, head.max, m});
  }
  if (counters.size() < 2) return;
  std::sort(counters.begin(), counters.end(),
            [](const Counter& x, const Counter& y) { return x.body != y.body ? x.body < y.body : x.min < y.min; });
  for (std::size_t i = 0, j; i < counters.size(); i = j) {
    Counter joined = counters[i];
    for (j = i + 1; j < counters.size() && counters[j].body == joined.body; ++j) {
      if (joined.max != kNoMax && counters[j].min > joined.max + 1) break;
      joined.max = std::max(joined.max, counters[j].max);
    }
    if (j == i + 1) continue;
    for (std::size_t k = i; k < j; ++k) std::erase(members, counters[k].member);
    members.push_back(concat(repeat(joined.body, joined.min, joined.max), rest));
  }
}

// `members`: flat, ascending, distinct. h x | h y = h (x | y) for equal first factors h, then
// [ab] x | [cd] x = [abcd] x for byte sets.
ExprId ExpressionStore::factored(std::vector<ExprId> members, unsigned depth,
                                 std::map<std::vector<ExprId>, ExprId>& done) {
  if (members.empty()) return kNothing;
  if (members.size() == 1) return members[0];
  if (nothing_to_factor(members)) return intern_alternation(std::move(members));
  struct Part {
    ExprId head;
    ExprId rest;
    ExprId whole;
  };
  std::vector<Part> parts;
  std::vector<ExprId> out;
  for (ExprId m : members) {
    const Expr& e = terms_[m];
    if (m == kEmpty)
      out.push_back(m);
    else if (e.kind == ExprKind::Concat)
      parts.push_back({e.a, e.b, m});
    else
      parts.push_back({m, kEmpty, m});
  }
  std::sort(parts.begin(), parts.end(),
            [](const Part& x, const Part& y) { return x.head != y.head ? x.head < y.head : x.rest < y.rest; });
  std::vector<Part> grouped;
  for (std::size_t i = 0, j; i < parts.size(); i = j) {
    for (j = i + 1; j < parts.size() && parts[j].head == parts[i].head;) ++j;
    if (j == i + 1 || depth >= kMaxFactoring) {
      grouped.insert(grouped.end(), parts.begin() + static_cast<std::ptrdiff_t>(i),
                     parts.begin() + static_cast<std::ptrdiff_t>(j));
      continue;
    }
    // The common prefix of the whole group is taken off in a loop; recursion is left for real branches.
    std::vector<ExprId> prefix{parts[i].head};
    std::vector<ExprId> rests;
    for (std::size_t k = i; k < j; ++k) rests.push_back(parts[k].rest);
    for (;;) {
      const Expr& first = terms_[rests[0]];
      const bool common = first.kind == ExprKind::Concat && std::all_of(rests.begin(), rests.end(), [&](ExprId r) {
                            return terms_[r].kind == ExprKind::Concat && terms_[r].a == first.a;
                          });
      if (!common) break;
      prefix.push_back(first.a);
      for (ExprId& r : rests) r = terms_[r].b;
    }
    std::vector<ExprId> flat;
    for (ExprId r : rests) gather(r, flat);
    std::sort(flat.begin(), flat.end());
    flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
    // Branches of a shared term meet again: each set of rests is factored once, else their number can double a level.
    auto known = done.find(flat);
    if (known == done.end()) {
      const ExprId factored_rest = factored(flat, depth + 1, done);
      known = done.emplace(std::move(flat), factored_rest).first;
    }
    ExprId rest = known->second;
    for (std::size_t k = prefix.size(); k-- > 1;) rest = concat(prefix[k], rest);
    grouped.push_back({prefix[0], rest, concat(prefix[0], rest)});
  }
  std::stable_sort(grouped.begin(), grouped.end(), [](const Part& x, const Part& y) { return x.rest < y.rest; });
  for (std::size_t i = 0, j; i < grouped.size(); i = j) {
    ByteSet set;
    unsigned sets = 0;
    for (j = i; j < grouped.size() && grouped[j].rest == grouped[i].rest; ++j) {
      const Expr& head = terms_[grouped[j].head];
      if (head.kind == ExprKind::Bytes) {
        set.insert(byte_set(head));
        ++sets;
      }
    }
    const ExprId rest = grouped[i].rest;
    const std::size_t first = out.size();
    for (std::size_t k = i; k < j; ++k) {
      if (sets < 2 || terms_[grouped[k].head].kind != ExprKind::Bytes) out.push_back(grouped[k].whole);
    }
    if (sets >= 2) out.push_back(concat(bytes(set), rest));
    if (j - i >= 2) join_counters(out, first, rest);
  }
  return intern_alternation(std::move(out));
}

ExprId ExpressionStore::intern_alternation(std::vector<ExprId> members) {
  std::vector<ExprId> flat;
  for (ExprId m : members) gather(m, flat);
  std::sort(flat.begin(), flat.end());
  flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  if (!flat.empty() && flat[0] == kEmpty) {
    for (ExprId& m : flat) {  // empty | x x* = x*
      const Expr& e = terms_[m];
      if (e.kind == ExprKind::Concat && terms_[e.b].kind == ExprKind::Star && terms_[e.b].a == e.a) m = e.b;
    }
    const bool spare =
        std::any_of(flat.begin() + 1, flat.end(), [&](ExprId m) { return terms_[m].nullable && !terms_[m].guarded; });
    if (spare) flat.erase(flat.begin());
    std::sort(flat.begin(), flat.end());
    flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  }
  if (flat.empty()) return kNothing;
  if (flat.size() == 1) return flat[0];
  if (std::ranges::binary_search(flat, kAnything)) return kAnything;
  return intern_list(ExprKind::Alternation, std::move(flat));
}

ExprId ExpressionStore::intern_list(ExprKind kind, std::vector<ExprId> list) {
  const bool all = kind == ExprKind::And;
  const std::uint64_t h = hash_words(list, all ? 11 : 7);
  const ExprId known = term_index_.find(h, [&](ExprId other) {
    const Expr& o = terms_[other];
    return o.kind == kind && lists_[o.a] == list;
  });
  if (known != IdIndex::kMissing) return known;
  step();
  Expr e{.kind = kind};
  e.b = static_cast<std::uint32_t>(list.size());
  list_bytes_ += list.capacity() * sizeof(ExprId);
  e.a = static_cast<std::uint32_t>(lists_.push_back(std::move(list)));
  describe(e);
  const auto id = static_cast<ExprId>(terms_.push_back(e));
  term_index_.insert(h, id);
  return id;
}

ExprId ExpressionStore::star(ExprId x) {
  // (x* | y y* | z)* = (x | y | z)*
  std::vector<ExprId> members;
  bool simpler = false;
  for (ExprId m : alternatives(x)) {
    const Expr& e = terms_[m];
    const bool loop = e.kind == ExprKind::Star || (e.kind == ExprKind::Repeat && e.min <= 1);
    const bool plus = e.kind == ExprKind::Concat && terms_[e.b].kind == ExprKind::Star && terms_[e.b].a == e.a;
    simpler = simpler || loop || plus || m == kEmpty;
    if (m != kEmpty) members.push_back(loop || plus ? e.a : m);
  }
  if (simpler) x = alternation(std::move(members));
  if (terms_[x].nullable) x = nonempty(x);
  if (x == kNothing) return kEmpty;
  return intern({.kind = ExprKind::Star, .a = x});
}

ExprId ExpressionStore::repeat(ExprId x, std::uint32_t min, std::uint32_t max) {
  if (max == 0 || x == kEmpty) return kEmpty;
  if (terms_[x].nullable) {
    x = nonempty(x);
    min = 0;
  }
  if (x == kNothing) return min == 0 ? kEmpty : kNothing;
  if (max == kNoMax && min == 0) return star(x);
  if (max == kNoMax && min == 1) return concat(x, star(x));
  if (max == 1) return min == 1 ? x : optional(x);
  return intern({.kind = ExprKind::Repeat, .a = x, .min = min, .max = max});
}

ExprId ExpressionStore::endless(ExprId x) { return intern({.kind = ExprKind::Endless, .a = x}); }

ExprId ExpressionStore::call(std::uint32_t rule) { return intern({.kind = ExprKind::Call, .a = rule}); }

ExprId ExpressionStore::token(TokenRef ref) {
  std::uint32_t index = 0;
  while (index < tokens_.size() && !(tokens_[index] == ref)) ++index;
  if (index == tokens_.size()) tokens_.push_back(ref);
  return intern({.kind = ExprKind::Token, .a = index});
}

ExprId ExpressionStore::nonempty(ExprId id) {
  const Expr e = terms_[id];
  if (!e.nullable) return id;
  switch (e.kind) {
    case ExprKind::Alternation: {
      std::vector<ExprId> members;
      for (ExprId m : alternatives(id)) members.push_back(nonempty(m));
      return alternation(std::move(members));
    }
    case ExprKind::Concat:
      return alternation(concat(nonempty(e.a), e.b), nonempty(e.b));
    case ExprKind::Star:
      return concat(e.a, id);
    case ExprKind::Repeat:
      return concat(e.a, repeat(e.a, 0, e.max == kNoMax ? kNoMax : e.max - 1));
    case ExprKind::And: {
      const auto list = operands(terms_[id]);
      std::vector<ExprId> members(list.begin(), list.end());
      members[0] = nonempty(members[0]);
      return intersection(std::move(members));
    }
    case ExprKind::Not:
      return complement(optional(e.a));
    default:
      return kNothing;
  }
}

ExprId ExpressionStore::intersection(std::vector<ExprId> members) {
  std::vector<ExprId> flat;
  bool texts = true;  // some byte set that all byte sets allow
  bool sets = false;
  ByteSet common;
  common.insert(0, 255);
  for (ExprId m : members) {
    const Expr& e = terms_[m];
    if (m == kNothing) return kNothing;
    if (m == kAnything) continue;
    if (e.kind == ExprKind::And) {
      const auto list = operands(e);
      flat.insert(flat.end(), list.begin(), list.end());
    } else {
      flat.push_back(m);
    }
  }
  std::erase_if(flat, [&](ExprId m) {
    if (terms_[m].kind != ExprKind::Bytes) return false;
    const ByteSet& set = byte_set(terms_[m]);
    for (std::size_t i = 0; i < 4; ++i) common.words[i] &= set.words[i];
    sets = true;
    texts = !common.empty();
    return true;
  });
  if (!texts) return kNothing;
  if (sets) flat.push_back(bytes(common));
  std::sort(flat.begin(), flat.end());
  flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  if (flat.empty()) return kAnything;
  if (flat.size() == 1) return flat[0];
  if (flat[0] == kEmpty) {
    return std::ranges::all_of(flat, [&](ExprId m) { return terms_[m].nullable; }) ? kEmpty : kNothing;
  }
  for (ExprId m : flat) {
    if (terms_[m].kind == ExprKind::Not && std::ranges::binary_search(flat, terms_[m].a)) return kNothing;
  }
  const auto choice =
      std::ranges::find_if(flat, [&](ExprId m) { return terms_[m].kind == ExprKind::Alternation && terms_[m].calls; });
  if (choice == flat.end()) return intern_list(ExprKind::And, std::move(flat));

  // (x | call y | ...) & z = (x & z) | (call y & z) | ...; what calls nothing stays together.
  std::vector<ExprId> alternatives;
  std::vector<ExprId> plain;
  for (ExprId m : this->alternatives(*choice)) (terms_[m].calls ? alternatives : plain).push_back(m);
  if (!plain.empty()) alternatives.push_back(alternation(std::move(plain)));
  flat.erase(choice);
  for (ExprId& alternative : alternatives) {
    std::vector<ExprId> with = flat;
    with.push_back(alternative);
    alternative = intersection(std::move(with));
  }
  return alternation(std::move(alternatives));
}

ExprId ExpressionStore::complement(ExprId x) {
  if (x == kNothing) return kAnything;
  if (x == kAnything) return kNothing;
  const Expr& e = terms_[x];
  if (e.kind == ExprKind::Not) return e.a;
  return intern({.kind = ExprKind::Not, .a = x});
}

ExprId ExpressionStore::longest(ExprId x, ExprId scope, bool answered) {
  if (scope == x) scope = kNothing;
  // A single byte has no longer reading of its own.
  if (x == kNothing || (scope == kNothing && terms_[x].kind == ExprKind::Bytes)) return x;
  return intern({.kind = ExprKind::Longest, .a = x, .b = scope, .min = answered && scope != kNothing ? 1U : 0U});
}

ExprId ExpressionStore::guarded(ExprId guard, ExprId e) {
  if (guard == kNothing || e == kNothing) return e;
  const Expr& x = terms_[e];
  if (x.kind == ExprKind::Guarded) return guarded(alternation(guard, x.a), x.b);
  if (!x.guarded) return intern({.kind = ExprKind::Guarded, .a = guard, .b = e});
  std::vector<ExprId> members = alternatives(e);
  for (ExprId& m : members) m = guarded(guard, m);
  return alternation(std::move(members));
}

ExprId ExpressionStore::restore(ExprKind kind, std::vector<ExprId> list, std::uint32_t min, std::uint32_t max) {
  const auto is = [&](ExprId id, ExprKind k) { return terms_[id].kind == k; };
  const auto loops = [&] { return list.size() == 1 && list[0] > kEmpty && !terms_[list[0]].nullable; };
  switch (kind) {
    case ExprKind::Concat:
      if (list.size() != 2 || list[0] <= kEmpty || list[1] <= kEmpty || is(list[0], ExprKind::Concat)) return kNothing;
      return intern({.kind = kind, .a = list[0], .b = list[1]});
    case ExprKind::Star:
    case ExprKind::Endless:
      return loops() ? intern({.kind = kind, .a = list[0]}) : kNothing;
    case ExprKind::Repeat:
      if (!loops() || min > max || max < 2 || (max == kNoMax && min < 2) || min == kNoMax) return kNothing;
      return intern({.kind = kind, .a = list[0], .min = min, .max = max});
    case ExprKind::Longest: {
      if (list.empty() || list.size() > 2 || (list.size() == 2 && list[0] == list[1])) return kNothing;
      if (std::ranges::any_of(list, [&](ExprId id) { return id <= kEmpty || terms_[id].nullable; })) return kNothing;
      if ((list.size() == 1 && is(list[0], ExprKind::Bytes)) || min >= list.size()) return kNothing;
      return intern({.kind = kind, .a = list[0], .b = list.size() == 2 ? list[1] : kNothing, .min = min});
    }
    case ExprKind::Guarded:
      if (list.size() != 2 || list[0] <= kEmpty || terms_[list[0]].nullable || list[1] == kNothing ||
          terms_[list[1]].guarded)
        return kNothing;
      return intern({.kind = kind, .a = list[0], .b = list[1]});
    case ExprKind::Not:
      if (list.size() != 1 || list[0] == kNothing || list[0] == kAnything || is(list[0], kind)) return kNothing;
      return intern({.kind = kind, .a = list[0]});
    case ExprKind::Alternation:
    case ExprKind::And: {
      std::sort(list.begin(), list.end());
      const auto misplaced = [&](ExprId m) { return m == kNothing || m == kAnything || is(m, kind); };
      if (list.size() < 2 || std::ranges::adjacent_find(list) != list.end() || std::ranges::any_of(list, misplaced))
        return kNothing;
      return intern_list(kind, std::move(list));
    }
    default:
      return kNothing;
  }
}

ExprId ExpressionStore::leading_star(ExprId id) const {
  if (terms_[id].kind == ExprKind::Concat) id = terms_[id].a;
  return terms_[id].kind == ExprKind::Star ? id : kNothing;
}

}  // namespace glr
