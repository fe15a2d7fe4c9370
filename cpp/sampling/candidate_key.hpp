// A candidate (token and logit) as one 64-bit key, so that the order every cut-off uses is one comparison.
//
//   bits 63..32  the logit, mapped so that unsigned order is numeric order
//   bits 31..0   the complement of the token id
//
// A greater key is a better candidate: (logit descending, id ascending). All NaN-free floats keep
// their order, infinities and subnormal numbers included; -0 and +0 are the same logit.
#pragma once

#include <bit>
#include <cstdint>

#include "glrsampler/vocabulary.hpp"

namespace glr::sampling {

using CandidateKey = std::uint64_t;

// NaN logits count as 0. Compared in this way because std::isnan is lost under -ffast-math of a caller.
inline float without_nan(float logit) { return logit != logit ? 0.0f : logit; }

inline CandidateKey candidate_key(float logit, TokenId id) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(logit + 0.0f);  // -0 becomes +0
  const std::uint32_t sign = 0u - (bits >> 31);
  const std::uint32_t ordered = bits ^ (sign | 0x80000000u);
  return std::uint64_t{ordered} << 32 | static_cast<std::uint32_t>(~id);
}

inline TokenId id_of(CandidateKey key) { return static_cast<TokenId>(~static_cast<std::uint32_t>(key)); }

inline float logit_of(CandidateKey key) {
  const auto ordered = static_cast<std::uint32_t>(key >> 32);
  const std::uint32_t negative = (ordered >> 31) - 1u;  // all ones for a negative logit
  return std::bit_cast<float>(ordered ^ (negative | 0x80000000u));
}

}  // namespace glr::sampling
