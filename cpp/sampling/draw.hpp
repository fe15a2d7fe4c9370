// The random source: one 64-bit number for each position of a run, and nothing else.
//
// Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel random
// numbers: as easy as 1, 2, 3" (SC 2011), checked against the known answers published with it. The key is the
// seed, the counter the number of tokens accepted before. There is no state to advance: asking
// twice at one position gives the same number, a clone, a rollback or a replay needs only the
// position, and tokens accepted without sampling (forced ones) leave later draws where they are.
#pragma once

#include <array>
#include <cstdint>

namespace glr::sampling {

constexpr std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> counter,
                                                     std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key = {key[0] + 0x9E3779B9u, key[1] + 0xBB67AE85u};
  }
  return counter;
}

struct Draw {
  std::uint64_t seed = 0;
  std::uint64_t position = 0;  // tokens accepted since the start of the run

  // Uniform over all 64-bit numbers.
  constexpr std::uint64_t bits() const {
    const auto words =
        philox4x32_10({static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(position >> 32), 0, 0},
                      {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
    return std::uint64_t{words[1]} << 32 | words[0];
  }

  // Uniform over 0 .. total - 1; no single outcome's chance is off by more than 2^-64.
  constexpr std::uint64_t below(std::uint64_t total) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(Wide{bits()} * total >> 64);
  }
};

}  // namespace glr::sampling
