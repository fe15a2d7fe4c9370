// Rules -> machine, sharing what is equal.
//
// A term without calls is shared because terms are hash-consed. A rule is shared when an equal one is
// known, equal meaning bisimilar: the same body up to equal rules. Each strongly connected component of the call
// graph is hashed by refinement (Weisfeiler and Leman): all its rules start equal, and each round hashes the
// bodies with the calls replaced by the hashes of the round before, until no more rules are told apart. The number
// of rounds depends on the component alone, so a rule gets the same 128-bit hash in whatever grammar it occurs.
#include <algorithm>
#include <set>

#include "expression/rules.hpp"
#include "support/hash.hpp"

namespace glr {

namespace {

using Hash = std::pair<std::uint64_t, std::uint64_t>;

Hash mix(Hash h, Hash v) { return {glr::mix(h.first, v.first), glr::mix(h.second ^ 0x5851F42D4C957F2D, v.second)}; }
Hash mix(Hash h, std::uint64_t v) { return mix(h, Hash{v, v * 0xD6E8FEB86659FD93}); }

// Of terms without a call once for good, of the others once a round.
class TermHasher {
 public:
  TermHasher(const ExpressionStore& t, const std::vector<Hash>& rules) : t_(t), rules_(rules) {}

  // The rules have other hashes now.
  void next_round() { of_round_.clear(); }

  Hash operator()(ExprId root) {
    std::vector<ExprId> path{root};
    while (!path.empty()) {
      t_.step();
      const ExprId id = path.back();
      bool ready = true;
      if (known(id) == nullptr) {
        for (ExprId operand : t_.operands(t_[id])) {
          if (known(operand) != nullptr) continue;
          path.push_back(operand);
          ready = false;
        }
      }
      if (!ready) continue;
      if (known(id) == nullptr) (t_[id].calls ? of_round_ : for_good_).insert(id, hash(id));
      path.pop_back();
    }
    return *known(root);
  }

 private:
  const Hash* known(ExprId id) const { return (t_[id].calls ? of_round_ : for_good_).find(id); }

  Hash hash(ExprId id) const {
    const Expr& e = t_[id];
    Hash h{static_cast<std::uint64_t>(e.kind) + 1, 99};
    switch (e.kind) {
      case ExprKind::Bytes:
        for (std::uint64_t w : t_.byte_set(e).words) h = mix(h, w);
        return h;
      case ExprKind::Token:
        return mix(h, static_cast<std::uint64_t>(t_.token(e).id) * 2 + t_.token(e).negated);
      case ExprKind::Call:
        return mix(h, rules_[e.a]);
      case ExprKind::And:
      case ExprKind::Alternation: {  // the order of members is an accident
        std::vector<Hash> members;
        for (ExprId m : t_.operands(e)) members.push_back(*known(m));
        std::sort(members.begin(), members.end());
        for (const Hash& m : members) h = mix(h, m);
        return h;
      }
      case ExprKind::Mark:
        return mix(h, e.a);
      case ExprKind::Members: {
        const MemberTable& table = t_.member_table(e);
        for (const MemberTable::Way& way : table.ways) h = mix(h, std::uint64_t{way.member} << 32 | way.witnesses);
        for (const std::uint64_t word : table.required) h = mix(h, word);
        h = mix(h, std::uint64_t{table.named} << 1 | (table.ordered ? 1 : 0));
        h = mix(mix(h, std::uint64_t{table.min} << 32 | table.max), table.all_witnesses);
        for (ExprId operand : table.operands) h = mix(h, *known(operand));
        return h;
      }
      default:
        h = mix(h, std::uint64_t{e.min} << 32 | e.max);
        for (ExprId operand : t_.operands(e)) h = mix(h, *known(operand));
        return h;
    }
  }

  const ExpressionStore& t_;
  const std::vector<Hash>& rules_;
  IdMap<Hash> for_good_;
  IdMap<Hash> of_round_;
};

std::vector<Hash> rule_hashes(const Rules& rules, const std::vector<std::vector<std::uint32_t>>& groups) {
  std::vector<Hash> hashes(rules.bodies.size(), Hash{1, 1});
  TermHasher hash(rules.terms, hashes);
  for (const auto& group : groups) {
    for (std::size_t apart = 0;;) {
      hash.next_round();
      std::vector<Hash> next;
      for (std::uint32_t r : group) next.push_back(hash(rules.bodies[r]));
      for (std::size_t i = 0; i < group.size(); ++i) hashes[group[i]] = next[i];
      const std::size_t now = std::set<Hash>(next.begin(), next.end()).size();
      if (now == apart) break;
      apart = now;
    }
  }
  return hashes;
}

}  // namespace

ExprId TermCopier::operator()(ExprId root) {
  std::vector<ExprId> path{root};
  while (!path.empty()) {
    from_.step();
    const ExprId id = path.back();
    bool ready = true;
    if (!done_.contains(id)) {
      for (ExprId operand : from_.operands(from_[id])) {
        if (done_.contains(operand)) continue;
        path.push_back(operand);
        ready = false;
      }
    }
    if (!ready) continue;
    path.pop_back();
    if (!done_.contains(id)) done_.insert(id, copy(id));
  }
  return done_.at(root);
}

ExprId TermCopier::copy(ExprId id) {
  const Expr& e = from_[id];
  const auto copied = [&] {
    std::vector<ExprId> list;
    for (ExprId m : from_.operands(e)) list.push_back(done_.at(m));
    return list;
  };
  switch (e.kind) {
    case ExprKind::Nothing:
    case ExprKind::Empty:
      return id;  // the same in every store
    case ExprKind::Bytes:
      return to_.bytes(from_.byte_set(e));
    case ExprKind::Token:
      return to_.token(from_.token(e));
    case ExprKind::Call:
      return to_.call(rules_[e.a]);
    case ExprKind::Concat:
      return to_.concat(done_.at(e.a), done_.at(e.b));
    case ExprKind::Star:
      return to_.star(done_.at(e.a));
    case ExprKind::Repeat:
      return to_.repeat(done_.at(e.a), e.min, e.max);
    case ExprKind::Endless:
      return to_.endless(done_.at(e.a));
    case ExprKind::Alternation:
      return to_.alternation(copied());
    case ExprKind::And:
      return to_.intersection(copied());
    case ExprKind::Not:
      return to_.complement(done_.at(e.a));
    case ExprKind::Mark:
      return to_.mark(e.a);
    case ExprKind::Members: {
      MemberTable table = from_.member_table(e);
      for (ExprId& operand : table.operands) operand = done_.at(operand);
      return to_.members(std::move(table));
    }
    case ExprKind::Remaining:
      break;  // made on the way, in machines alone
    case ExprKind::Longest:
      return to_.longest(done_.at(e.a), e.b == kNothing ? kNothing : done_.at(e.b), e.min != 0);
    case ExprKind::Guarded:
      return to_.guarded(done_.at(e.a), done_.at(e.b));
  }
  return kNothing;
}

ExprId link(const Rules& rules, Machine& machine, RuleIndex& index) {
  // Only what the root reaches.
  std::vector<std::vector<std::uint32_t>> edges(rules.bodies.size());
  std::vector<bool> reached(rules.bodies.size());
  std::vector<std::uint32_t> todo;
  const auto visit = [&](ExprId id, std::vector<std::uint32_t>* out) {
    for (const auto& [rule, count] : calls_in(rules.terms, id)) {
      if (out != nullptr) out->push_back(rule);
      if (!reached[rule]) {
        reached[rule] = true;
        todo.push_back(rule);
      }
    }
  };
  visit(rules.root, nullptr);
  while (!todo.empty()) {
    const std::uint32_t r = todo.back();
    todo.pop_back();
    visit(rules.bodies[r], &edges[r]);
  }
  std::vector<std::vector<std::uint32_t>> groups;
  for (auto& group : components(edges)) {
    if (reached[group[0]]) groups.push_back(std::move(group));
  }

  const std::vector<Hash> hashes = rule_hashes(rules, groups);
  std::vector<std::uint32_t> linked(rules.bodies.size());
  std::vector<std::uint32_t> fresh;
  for (std::uint32_t r = 0; r < reached.size(); ++r) {
    if (!reached[r]) continue;
    const auto [it, is_new] = index.emplace(hashes[r], 0);
    if (is_new) {
      it->second = machine.declare_rule();
      fresh.push_back(r);
    }
    linked[r] = it->second;
  }

  try {
    TermCopier copy(rules.terms, machine.store(), linked);
    std::vector<std::pair<std::uint32_t, ExprId>> bodies;
    for (std::uint32_t r : fresh) bodies.emplace_back(linked[r], copy(rules.bodies[r]));
    const ExprId root = copy(rules.root);
    machine.define_rules(bodies);
    return root;
  } catch (...) {  // no grammar may find a rule that has no body
    for (std::uint32_t r : fresh) index.erase(hashes[r]);
    throw;
  }
}

}  // namespace glr
