// Mixing of integers and ranges of words, for hash tables (not for fingerprints: see sha256.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace glr {

inline std::uint64_t mix(std::uint64_t h, std::uint64_t v) {
  h = (h ^ v) * 0x9E3779B97F4A7C15u;
  return h ^ (h >> 32);
}

inline std::uint64_t hash_words(std::span<const std::uint32_t> words, std::uint64_t seed) {
  // Four lanes, so that a 16 KB bitmap costs about a microsecond.
  std::uint64_t lanes[4] = {seed, seed + 1, seed + 2, seed + 3};
  std::size_t i = 0;
  for (; i + 4 <= words.size(); i += 4) {
    for (std::size_t k = 0; k < 4; ++k) lanes[k] = mix(lanes[k], words[i + k]);
  }
  for (; i < words.size(); ++i) lanes[0] = mix(lanes[0], words[i]);
  return mix(mix(mix(lanes[0], lanes[1]), lanes[2]), lanes[3]);
}

}  // namespace glr
