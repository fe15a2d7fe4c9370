#include "matcher/mask.hpp"

#include <algorithm>
#include <limits>

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
  if (careful_) result = masks_.unite(result, literals(heads));
  stack_.mark(configuration) = {result, masks_.generation()};
  return result;
}

// On a careful machine: the tokens by token literals after which there is a way to go on.
SetId MaskReader::literals(const Heads& heads) {
  constexpr std::int32_t kAnyOther = std::numeric_limits<std::int32_t>::max();  // a text token that no literal names
  Heads closed;
  Heads after;
  stack_.close(heads, closed);
  std::vector<TokenRef> refs;
  for (const Head& h : closed) stack_.first_tokens(h.state, refs);
  std::erase_if(refs, [&](const TokenRef& t) {
    stack_.token_step(heads, t.negated ? kAnyOther : t.id, t.negated, after);
    return after.empty();
  });
  return masks_.literals(refs);
}

// What a careful machine's walks left undecided down to the bottom is taken there.
SetId MaskReader::at_bottom(ResidualId residual) {
  return careful_ && residual != kNoResidual ? masks_.visit(kNothing, residual).set : kEmptySet;
}

SetId MaskReader::tails(StackId tail, ResidualId residual) {
  struct Pair {
    StackId tail;
    ResidualId residual;
  };
  std::vector<Pair> todo{{tail, residual}};
  SetId result = tail == kBottom ? at_bottom(residual) : kEmptySet;
  for (std::size_t i = 0; i < todo.size(); ++i) {
    const auto reach = [&](StackId s, ResidualId n) {
      if (s == kBottom) result = masks_.unite(result, at_bottom(n));
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
    const SetId bottom = s == kBottom ? at_bottom(n) : kEmptySet;
    const std::uint32_t* done = s == kBottom || n == kNoResidual ? &bottom : memo.find(key);
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
      if (part >> 32 == kBottom) {
        own = masks_.unite(own, at_bottom(static_cast<ResidualId>(part)));
        continue;
      }
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
