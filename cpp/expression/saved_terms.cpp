#include "expression/saved_terms.hpp"

#include <map>
#include <utility>

namespace glr {

namespace {

void write_table(const MemberTable& table, const std::unordered_map<ExprId, std::uint32_t>& number, ByteWriter& out) {
  out.u32(table.named);
  out.u8(table.ordered ? 1 : 0);
  out.count(table.required.size());
  for (const std::uint64_t word : table.required) out.u64(word);
  out.u32(table.min);
  out.u32(table.max);
  out.u32(number.at(table.separator()));
  out.u32(number.at(table.names()));
  out.count(table.ways.size());
  for (std::size_t way = 0; way < table.ways.size(); ++way) {
    out.u32(table.ways[way].member);
    out.u8(static_cast<std::uint8_t>(table.ways[way].witnesses));
    out.u32(number.at(table.value(way)));
  }
}

// Of the grammar that is read, so it is known already: what a file says of its own is refused.
ExprId read_table(ExpressionStore& store, const std::vector<ExprId>& terms, ByteReader& in) {
  MemberTable table;
  table.named = in.u32();
  table.ordered = in.u8() != 0;
  for (std::uint32_t n = in.count(8); n > 0; --n) table.required.push_back(in.u64());
  table.min = in.u32();
  table.max = in.u32();
  const auto operand = [&] {
    table.operands.push_back(terms[in.index(terms.size(), "a term's operand does not come before it")]);
  };
  operand();
  operand();
  for (std::uint32_t n = in.count(9); n > 0; --n) {
    const std::uint32_t member = in.u32();
    table.ways.push_back({member, in.u8()});
    table.all_witnesses |= table.ways.back().witnesses;
    operand();
  }
  return store.find_members(table);
}

}  // namespace

std::unordered_map<ExprId, std::uint32_t> write_terms(const ExpressionStore& store, std::span<const ExprId> terms,
                                                      const RuleIndex& rules, ByteWriter& out) {
  std::map<std::uint32_t, RuleIndex::key_type> hash_of;
  for (const auto& [hash, rule] : rules) hash_of.emplace(rule, hash);
  std::unordered_map<ExprId, std::uint32_t> number{{kNothing, 0}, {kEmpty, 1}};
  std::vector<ExprId> written;
  for (ExprId id : store.reachable(terms)) {
    if (id > kEmpty) written.push_back(id);
  }
  out.count(written.size());
  for (ExprId id : written) {
    const Expr& e = store[id];
    out.u8(static_cast<std::uint8_t>(e.kind));
    switch (e.kind) {
      case ExprKind::Nothing:
      case ExprKind::Empty:
        break;
      case ExprKind::Bytes:
        for (std::uint64_t word : store.byte_set(e).words) out.u64(word);
        break;
      case ExprKind::Call: {
        const auto& [high, low] = hash_of.at(e.a);
        out.u64(high);
        out.u64(low);
        break;
      }
      case ExprKind::Token:
        out.u32(static_cast<std::uint32_t>(store.token(e).id));
        out.u8(store.token(e).negated ? 1 : 0);
        break;
      case ExprKind::Mark:
        out.u32(e.a);
        break;
      case ExprKind::Members:
        write_table(store.member_table(e), number, out);
        break;
      case ExprKind::Remaining: {
        const MemberState& state = store.member_state(e);
        out.u32(number.at(e.a));
        out.u32(number.at(e.b));
        out.u32(state.count);
        out.u8(static_cast<std::uint8_t>(state.met));
        out.count(state.left.size());
        for (std::uint64_t word : state.left) out.u64(word);
        break;
      }
      default: {
        const auto operands = store.operands(e);
        out.count(operands.size());
        for (ExprId operand : operands) out.u32(number.at(operand));
        if (e.kind == ExprKind::Longest) out.u8(static_cast<std::uint8_t>(e.min));
        if (e.kind == ExprKind::Repeat) {
          out.u32(e.min);
          out.u32(e.max);
        }
      }
    }
    number.emplace(id, static_cast<std::uint32_t>(number.size()));
  }
  return number;
}

std::vector<ExprId> read_terms(ExpressionStore& store, const RuleIndex& rules, ByteReader& in) {
  std::map<std::pair<std::uint32_t, std::uint8_t>, ExprId> tokens;  // those of the grammar
  for (ExprId id = 0; id < store.size(); ++id) {
    if (store[id].kind != ExprKind::Token) continue;
    const TokenRef& ref = store.token(store[id]);
    tokens.emplace(std::pair(static_cast<std::uint32_t>(ref.id), std::uint8_t{ref.negated}), id);
  }
  std::vector<ExprId> terms{kNothing, kEmpty};
  for (std::uint32_t n = in.count(6); n > 0; --n) {
    const std::uint8_t kind = in.u8();
    in.require(kind <= static_cast<std::uint8_t>(ExprKind::Guarded), "a term is of no known kind");
    ExprId id = kNothing;
    switch (static_cast<ExprKind>(kind)) {
      case ExprKind::Bytes: {
        ByteSet set;
        for (std::uint64_t& word : set.words) word = in.u64();
        id = store.bytes(set);
        break;
      }
      case ExprKind::Call: {
        const std::uint64_t high = in.u64();
        const auto rule = rules.find({high, in.u64()});
        in.require(rule != rules.end(), "a term calls a rule that its grammar does not have");
        id = store.call(rule->second);
        break;
      }
      case ExprKind::Token: {
        const std::uint32_t token = in.u32();
        const auto known = tokens.find({token, in.u8()});
        in.require(known != tokens.end(), "a term holds a token literal that its grammar does not have");
        id = known->second;
        break;
      }
      case ExprKind::Mark:
        id = store.mark(in.u32());
        break;
      case ExprKind::Members:
        id = read_table(store, terms, in);
        break;
      case ExprKind::Remaining: {
        const ExprId whole = terms[in.index(terms.size(), "a term's operand does not come before it")];
        const ExprId names = terms[in.index(terms.size(), "a term's operand does not come before it")];
        MemberState state;
        state.count = in.u32();
        state.met = in.u8();
        for (std::uint32_t k = in.count(8); k > 0; --k) state.left.push_back(in.u64());
        id = store.restore_remaining(whole, names, std::move(state));
        break;
      }
      default: {
        std::vector<ExprId> operands;
        for (std::uint32_t k = in.count(4); k > 0; --k)
          operands.push_back(terms[in.index(terms.size(), "a term's operand does not come before it")]);
        const bool repeat = static_cast<ExprKind>(kind) == ExprKind::Repeat;
        const bool longest = static_cast<ExprKind>(kind) == ExprKind::Longest;
        const std::uint32_t min = repeat ? in.u32() : longest ? in.u8() : 0;
        const std::uint32_t max = repeat ? in.u32() : 0;
        id = store.restore(static_cast<ExprKind>(kind), std::move(operands), min, max);
      }
    }
    in.require(id != kNothing, "a term is not in its simplest form");
    terms.push_back(id);
  }
  return terms;
}

}  // namespace glr
