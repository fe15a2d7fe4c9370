// A candidate's share of the probability, as an integer, so that no sum depends on its order.
//
// The weight of a candidate is exp((logit - greatest logit) / temperature) in fixed point with 42
// fraction bits. Sums are exact; the chosen token is therefore the same whatever the order of
// summation, the vector width or the compiler. What weighs less than 2^-43 of the best candidate
// (29 temperatures below it) has weight 0 and is never drawn; a sum of 2^21 candidates fits 64 bits.
//
// Logits that equal the greatest one weigh 1 even when it is infinite: one or more +inf take all, and
// when every candidate is -inf all are equal, as in the limit.
//
// The exponential is our own, since std::exp differs in the last bit between C libraries. It uses
// additions and multiplications of doubles only; the sampling files must be compiled with
// -ffp-contract=off, so that no compiler fuses them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sampling/candidate_key.hpp"

namespace glr::sampling {

using Weight = std::uint64_t;

inline constexpr int kWeightFractionBits = 42;
inline constexpr std::size_t kMaxCandidates = std::size_t{1} << (63 - kWeightFractionBits);

// exp(x) for x <= 0, within one part in 2^50; below -708 the value there, which is as good as 0.
double exp_nonpositive(double x);

class Weigher {
 public:
  // `best`: the greatest logit of the candidates. `temperature` > 0.
  Weigher(float best, float temperature);

  double exponent(CandidateKey key) const;  // (logit - best) / temperature: at most 0
  double relative(CandidateKey key) const { return exp_nonpositive(exponent(key)); }
  Weight weight(CandidateKey key) const;
  Weight sum(std::span<const CandidateKey> keys) const;  // vectorised

 private:
  double best_;
  double scale_;  // 1 / temperature
  bool finite_;   // of the best logit
};

}  // namespace glr::sampling
