#include "sampling/weight.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "sampling/dispatch.hpp"

#ifdef __FAST_MATH__
#error "weights must be the same on every machine: compile without -ffast-math"
#endif

namespace glr::sampling {
namespace {

// Added to a double of magnitude below 2^51, it leaves the nearest integer in the low bits.
constexpr double kRound = 0x1.8p52;
constexpr double kLog2E = 0x1.71547652b82fep+0;
// ln 2 in two parts; the product of the first with any exponent here is exact.
constexpr double kLn2High = 0x1.62e42feep-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;

// exp(x) = 2^n exp(r), |r| <= ln 2 / 2; the Taylor series to r^13 / 13! is off by less than 2^-57.
GLR_ALWAYS_INLINE double exp_body(double x) {
  x = x < -708.0 ? -708.0 : x;
  const double shifted = x * kLog2E + kRound;
  const double n = shifted - kRound;
  const double r = (x - n * kLn2High) - n * kLn2Low;
  double p = 1.0 / 6227020800.0;
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  // The low bits of `shifted` hold n in two's complement; the shift drops all else.
  return p * std::bit_cast<double>((std::bit_cast<std::uint64_t>(shifted) + 1023) << 52);
}

// Round to nearest: adding 2^52 leaves the integer in the fraction bits.
GLR_ALWAYS_INLINE Weight fixed_point(double relative) {
  const double scaled = relative * static_cast<double>(std::uint64_t{1} << kWeightFractionBits) + 0x1p52;
  return std::bit_cast<std::uint64_t>(scaled) & ((std::uint64_t{1} << 52) - 1);
}

GLR_ALWAYS_INLINE Weight sum_finite_body(const CandidateKey* keys, std::size_t n, double best, double scale) {
  Weight total = 0;
  for (std::size_t i = 0; i < n; ++i)
    total += fixed_point(exp_body((static_cast<double>(logit_of(keys[i])) - best) * scale));
  return total;
}

GLR_MULTIVERSION(Weight, sum_finite, (const CandidateKey* keys, std::size_t n, double best, double scale),
                 (keys, n, best, scale))

}  // namespace

double exp_nonpositive(double x) { return exp_body(x); }

Weigher::Weigher(float best, float temperature)
    : best_(static_cast<double>(best)),
      scale_(1.0 / static_cast<double>(temperature)),
      finite_(std::abs(best) <= std::numeric_limits<float>::max()) {}

double Weigher::exponent(CandidateKey key) const {
  const auto logit = static_cast<double>(logit_of(key));
  if (finite_) return (logit - best_) * scale_;
  return logit == best_ ? 0.0 : -std::numeric_limits<double>::infinity();
}

Weight Weigher::weight(CandidateKey key) const { return fixed_point(relative(key)); }

Weight Weigher::sum(std::span<const CandidateKey> keys) const {
  if (finite_) return sum_finite(keys.data(), keys.size(), best_, scale_);
  Weight total = 0;
  for (CandidateKey key : keys) total += weight(key);
  return total;
}

}  // namespace glr::sampling
