// The passes over a whole row of logits: the only work of a sampling step that grows with the vocabulary.
//
// Each is compiled for AVX-512, AVX2 and the plain target from the same source and chosen by what
// the processor has; the results are the same bits (comparisons and integers only).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sampling/candidate_key.hpp"

namespace glr::sampling {

std::uint64_t count_nan(std::span<const float> logits);

// One pass, in pieces: scan_row() goes on at `word` until the row is read or the room for keys is used up.
struct RowScan {
  std::span<const float> logits;           // one per token
  std::span<const std::uint32_t> allowed;  // bit id%32 of word id/32; no bit beyond the logits
  std::size_t word = 0;                    // next word of `allowed`
  std::uint64_t nans = 0;                  // among all logits read so far, allowed or not

  bool done() const { return word == allowed.size(); }
};

enum class Admit { All, AboveBar };

// Writes the keys of allowed candidates in ascending id order to `out`, with AboveBar only those
// whose logit exceeds `bar`. Returns how many. Stops as soon as fewer than 32 places are left.
std::size_t scan_row(RowScan& scan, Admit admit, float bar, std::span<CandidateKey> out);

}  // namespace glr::sampling
