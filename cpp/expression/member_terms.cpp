// The terms for the members of an object: see members.hpp.
#include <algorithm>
#include <string_view>

#include "expression/expression.hpp"
#include "support/hash.hpp"

namespace glr {

namespace {

std::uint64_t hash_of(const MemberTable& t) {
  std::uint64_t h = mix(hash_words(t.operands, 13), std::uint64_t{t.min} << 32 | t.max);
  h = mix(h, t.all_witnesses);
  for (const MemberTable::Way& way : t.ways) h = mix(h, std::uint64_t{way.member} << 32 | way.witnesses);
  for (const std::uint64_t word : t.required) h = mix(h, word);
  return mix(h, std::uint64_t{t.named} << 1 | (t.ordered ? 1 : 0));
}

bool equal(const MemberTable& x, const MemberTable& y) {
  const auto same_way = [](const MemberTable::Way& v, const MemberTable::Way& w) {
    return v.member == w.member && v.witnesses == w.witnesses;
  };
  return x.operands == y.operands && x.named == y.named && x.required == y.required && x.ordered == y.ordered &&
         x.min == y.min && x.max == y.max && x.all_witnesses == y.all_witnesses &&
         std::ranges::equal(x.ways, y.ways, same_way);
}

}  // namespace

ExprId ExpressionStore::mark(std::uint32_t member) { return intern(Expr{.kind = ExprKind::Mark, .a = member}); }

ExprId ExpressionStore::members(MemberTable table) {
  MemberTable kept = table;
  kept.operands.resize(2);
  kept.ways.clear();
  for (std::size_t way = 0; way < table.ways.size(); ++way) {
    if (table.value(way) == kNothing) continue;
    kept.operands.push_back(table.value(way));
    kept.ways.push_back(table.ways[way]);
  }
  for (std::uint32_t member = 0; member < kept.named; ++member) {
    const auto [from, to] = ways_of(kept, member);
    if (kept.requires_member(member) && from == to) return kNothing;
  }
  if (kept.ways.empty() || kept.max == 0 || !has_end(kept, all_left(kept))) return kNothing;

  if (const ExprId known = find_members(kept); known != kNothing) return known;
  const auto id = static_cast<ExprId>(terms_.size());
  const std::uint64_t h = hash_of(kept);
  Expr e{.kind = ExprKind::Members};
  e.min = static_cast<std::uint32_t>(member_tables_.push_back(std::move(kept)));
  describe(e);
  terms_.push_back(e);
  term_index_.insert(h, id);
  return id;
}

ExprId ExpressionStore::find_members(const MemberTable& table) const {
  const ExprId known = term_index_.find(hash_of(table), [&](ExprId other) {
    const Expr& o = terms_[other];
    return o.kind == ExprKind::Members && equal(member_tables_[o.min], table);
  });
  return known == IdIndex::kMissing ? kNothing : known;
}

std::uint32_t ExpressionStore::intern(MemberState state) {
  std::uint64_t h = mix(state.count, state.met);
  for (const std::uint64_t word : state.left) h = mix(h, word);
  const std::uint32_t known =
      member_state_index_.find(h, [&](std::uint32_t other) { return member_states_[other].state == state; });
  if (known != IdIndex::kMissing) return known;
  list_bytes_ += state.left.capacity() * 8 + 64;
  const auto id = static_cast<std::uint32_t>(member_states_.push_back({std::move(state), {}}));
  member_state_index_.insert(h, id);
  return id;
}

std::vector<ExprId> ExpressionStore::member_heads(const Expr& e) const {
  const MemberTable& table = member_table(e);
  if (e.kind == ExprKind::Remaining) return {e.b == kNothing ? table.separator() : e.b};
  std::vector<ExprId> heads{table.names()};
  const auto [from, to] = ways_of(table, table.named);
  for (std::size_t way = from; way < to; ++way) heads.push_back(table.value(way));
  return heads;
}

ExprId ExpressionStore::remaining(ExprId whole, ExprId names, std::uint32_t state) {
  if (names == kNothing) {
    const MemberTable& table = member_tables_[terms_[whole].min];
    const MemberState& s = member_states_[state].state;
    bool more = false;
    for (std::size_t way = 0; way < table.ways.size() && !more; ++way) more = may_take(table, s, way);
    if (!more) return kEmpty;
  }
  return intern(Expr{.kind = ExprKind::Remaining, .a = whole, .b = names, .min = state});
}

const std::vector<std::uint32_t>& ExpressionStore::marks_in(ExprId names) {
  const auto [it, fresh] = marks_.emplace(names, std::vector<std::uint32_t>());
  if (fresh) {
    const ExprId roots[1] = {names};
    std::unordered_map<ExprId, bool> seen;
    std::vector<ExprId> todo(roots, roots + 1);
    while (!todo.empty()) {
      const ExprId at = todo.back();
      todo.pop_back();
      if (std::exchange(seen[at], true)) continue;
      const Expr& e = terms_[at];
      if (e.kind == ExprKind::Mark) it->second.push_back(e.a);
      for (ExprId operand : operands(e)) todo.push_back(operand);
    }
    std::sort(it->second.begin(), it->second.end());
  }
  return it->second;
}

ExprId ExpressionStore::within_name(ExprId whole, std::uint32_t state, ExprId names) {
  const MemberTable& table = member_tables_[terms_[whole].min];
  const MemberState& s = member_states_[state].state;
  const auto may_come = [&](std::uint32_t member) {
    const auto [from, to] = ways_of(table, member);
    for (std::size_t way = from; way < to; ++way) {
      if (may_take(table, s, way)) return true;
    }
    return false;
  };
  std::vector<ExprId> ways;
  std::vector<ExprId> longer;  // names that go on
  std::vector<ExprId> todo = alternatives(names);
  for (ExprId m : todo) {
    if (terms_[m].kind != ExprKind::Mark) longer.push_back(m);
  }
  while (!todo.empty()) {  // the marks at which a name may end here
    const ExprId m = todo.back();
    const Expr& at = terms_[m];
    todo.pop_back();
    if (at.kind == ExprKind::Alternation) {
      for (ExprId inner : alternatives(m)) todo.push_back(inner);
    } else if (at.kind == ExprKind::Concat && terms_[at.a].nullable) {
      todo.push_back(at.b);
    }
    if (at.kind != ExprKind::Mark || at.a >= table.named) continue;
    const auto [from, to] = ways_of(table, at.a);
    for (std::size_t way = from; way < to; ++way) {
      if (may_take(table, s, way))
        ways.push_back(concat(table.value(way), remaining(whole, kNothing, intern(taken(table, s, way)))));
    }
  }
  const ExprId rest = alternation(std::move(longer));
  if (rest != kNothing) {
    const auto& marks = marks_in(rest);
    const bool alive = std::ranges::any_of(marks, [&](std::uint32_t m) { return m < table.named && may_come(m); });
    if (alive) ways.push_back(remaining(whole, rest, state));
  }
  return alternation(std::move(ways));
}

ExprId ExpressionStore::first_members(ExprId whole, std::uint32_t state) {
  if (const auto it = member_states_[state].first.find(whole); it != member_states_[state].first.end())
    return it->second;
  const MemberTable& table = member_tables_[terms_[whole].min];
  const MemberState& s = member_states_[state].state;
  std::vector<ExprId> ways{within_name(whole, state, table.names())};
  const auto [from, to] = ways_of(table, table.named);
  for (std::size_t way = from; way < to; ++way) {
    if (may_take(table, s, way))
      ways.push_back(concat(table.value(way), remaining(whole, kNothing, intern(taken(table, s, way)))));
  }
  const ExprId first = alternation(std::move(ways));
  member_states_[state].first.emplace(whole, first);
  return first;
}

ExprId ExpressionStore::next_members(ExprId id) {
  const Expr e = terms_[id];
  if (e.kind == ExprKind::Members) return first_members(id, intern(all_left(member_table(e))));
  return concat(member_table(e).separator(), first_members(e.a, e.min));
}

ExprId ExpressionStore::restore_remaining(ExprId whole, ExprId names, MemberState state) {
  if (terms_[whole].kind != ExprKind::Members) return kNothing;
  const MemberTable& table = member_tables_[terms_[whole].min];
  if (state.left.size() != table.required.size() || (state.met & ~table.all_witnesses) != 0) return kNothing;
  if (table.named % 64 != 0 && state.left.back() >> (table.named % 64) != 0) return kNothing;
  if (state.count > (table.max != kNoMax ? table.max : table.min)) return kNothing;
  state = with_left(table, std::move(state.left), state.count, state.met);
  if (!has_end(table, state)) return kNothing;
  const std::uint32_t known = intern(std::move(state));
  if (names == kNothing) {
    const ExprId after = remaining(whole, kNothing, known);
    return after == kEmpty ? kNothing : after;
  }
  const ExprId inside = within_name(whole, known, names);
  return terms_[inside].kind == ExprKind::Remaining && terms_[inside].b == names ? inside : kNothing;
}

}  // namespace glr
