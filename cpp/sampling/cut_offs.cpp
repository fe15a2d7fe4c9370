#include "sampling/cut_offs.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace glr::sampling {
namespace {

bool by_id(CandidateKey a, CandidateKey b) { return id_of(a) < id_of(b); }

// The index, in the order `before`, of the first key at which `reached(sum of weights up to and
// with it)` holds; `reached` holds for the sum of all. Afterwards everything before that index
// precedes it in `before`. Bisection: each round halves what is left, with a partial sort where needed.
template <typename Before, typename Reached>
std::size_t first_reaching(std::vector<CandidateKey>& keys, const Weigher& weigher, Before before, Reached reached) {
  constexpr std::size_t kSortAtOnce = 128;  // a sort of 128 keys costs about what one more round does
  const auto at = [&](std::size_t i) { return keys.begin() + static_cast<std::ptrdiff_t>(i); };
  const bool sorted = std::is_sorted(keys.begin(), keys.end(), before);
  std::size_t begin = 0;
  std::size_t end = keys.size();
  Weight sum = 0;
  while (end - begin > kSortAtOnce) {
    const std::size_t middle = begin + (end - begin) / 2;
    if (!sorted) std::nth_element(at(begin), at(middle), at(end), before);
    const Weight with_half = sum + weigher.sum({at(begin), at(middle)});
    if (reached(with_half)) {
      end = middle;
    } else {
      sum = with_half;
      begin = middle;
    }
  }
  if (!sorted) std::sort(at(begin), at(end), before);
  for (std::size_t i = begin; i + 1 < end; ++i) {
    sum += weigher.weight(keys[i]);
    if (reached(sum)) return i;
  }
  return end - 1;
}

}  // namespace

void keep_top_p(std::vector<CandidateKey>& keys, const Weigher& weigher, float p) {
  if (p >= 1.0f) return;
  const auto total = static_cast<double>(weigher.sum(keys));
  const auto reached = [&](Weight sum) { return static_cast<float>(static_cast<double>(sum) / total) >= p; };
  keys.resize(first_reaching(keys, weigher, std::greater<>{}, reached) + 1);
}

void keep_min_p(std::vector<CandidateKey>& keys, const Weigher& weigher, float p) {
  if (p <= 0.0f) return;
  // Most candidates are so far below that no exponential is needed to see it; the margin covers the
  // differences between logarithms of C libraries.
  const double surely_below = std::log(static_cast<double>(p)) - 1e-3;
  std::erase_if(keys, [&](CandidateKey key) {
    const double exponent = weigher.exponent(key);
    return exponent < surely_below || static_cast<float>(exp_nonpositive(exponent)) < p;
  });
}

TokenId draw_token(std::vector<CandidateKey>& keys, const Weigher& weigher, const Draw& draw) {
  if (keys.size() == 1) return id_of(keys.front());
  const Weight drawn = draw.below(weigher.sum(keys));
  const auto reached = [&](Weight sum) { return sum > drawn; };
  return id_of(keys[first_reaching(keys, weigher, by_id, reached)]);
}

}  // namespace glr::sampling
