#include "matcher/mask.hpp"

#include <algorithm>

namespace glr {

bool MaskReader::known(StackId configuration, SetId& out) const {
  const Stack::Mark& mark = stack_.mark(configuration);
  out = mark.value;
  return mark.epoch == masks_.generation();
}

SetId MaskReader::mask(StackId configuration) {
  SetId result;
  if (known(configuration, result)) return result;
  result = stack_.accepts(configuration) ? kEndSet : kEmptySet;
  Heads heads;
  stack_.heads(configuration, heads);
  for (const Head& h : heads) {
    const Visit visit = masks_.visit(h.state, kRootResidual);
    result = masks_.unite(result, visit.set);
    if (visit.residual != kNoResidual) result = masks_.unite(result, tails(h.tail, visit.residual));
  }
  stack_.mark(configuration) = {result, masks_.generation()};
  return result;
}

SetId MaskReader::tails(StackId tail, ResidualId residual) {
  struct Pair {
    StackId tail;
    ResidualId residual;
  };
  std::vector<Pair> todo{{tail, residual}};
  SetId result = kEmptySet;
  for (std::size_t i = 0; i < todo.size(); ++i) {
    const auto reach = [&](StackId s, ResidualId n) {
      const bool seen = s == kBottom || std::any_of(todo.begin(), todo.end(),
                                                    [&](const Pair& p) { return p.tail == s && p.residual == n; });
      if (!seen) todo.push_back({s, n});
    };
    const auto [s, n] = todo[i];
    if (s == kBottom) continue;
    if (stack_.is_list(s)) {
      reach(stack_.first(s), n);
      reach(stack_.rest(s), n);
    } else {
      const Visit visit = masks_.visit(stack_.frame(s), n);
      result = masks_.unite(result, visit.set);
      if (visit.residual != kNoResidual) reach(stack_.below(s), visit.residual);
    }
    if (todo.size() > kShortChain) return tails_memo(tail, residual);
  }
  return result;
}

SetId MaskReader::tails_memo(StackId tail, ResidualId residual) {
  auto& memo = stack_.tail_masks();
  using Memo = TailMemo<std::uint32_t>;
  std::vector<std::uint64_t> todo{Memo::key(tail, residual)};
  while (true) {
    const std::uint64_t key = todo.back();
    const auto s = static_cast<StackId>(key >> 32);
    const auto n = static_cast<ResidualId>(key);
    const std::uint32_t* done = s == kBottom || n == kNoResidual ? &kEmptySet : memo.find(key);
    if (done != nullptr) {
      todo.pop_back();
      if (todo.empty()) return *done;
      continue;
    }
    std::uint64_t parts[2] = {0, 0};
    SetId own = kEmptySet;
    if (stack_.is_list(s)) {
      parts[0] = Memo::key(stack_.rest(s), n);
      parts[1] = Memo::key(stack_.first(s), n);
    } else {
      const Visit visit = masks_.visit(stack_.frame(s), n);
      own = visit.set;
      if (visit.residual != kNoResidual) parts[0] = Memo::key(stack_.below(s), visit.residual);
    }
    bool ready = true;
    for (std::uint64_t part : parts) {
      if (part >> 32 == kBottom) continue;
      const std::uint32_t* set = memo.find(part);
      if (set == nullptr) {
        todo.push_back(part);
        ready = false;
      } else {
        own = masks_.unite(own, *set);
      }
    }
    if (ready) stack_.remember(memo, key, own);
  }
}

}  // namespace glr
