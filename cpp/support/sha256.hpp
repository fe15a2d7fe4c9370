// SHA-256 (FIPS 180-4), for fingerprints of grammars, vocabularies and saved constraints.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace glr {

// Feed with update(), then take digest() or hex() once; the object is spent after that.
class Sha256 {
 public:
  using Digest = std::array<std::uint8_t, 32>;

  void update(std::string_view bytes);
  // The length first (8 bytes, big endian), so that ("ab", "c") and ("a", "bc") differ.
  void update_sized(std::string_view bytes);
  void update_u64(std::uint64_t value);  // 8 bytes, big endian

  Digest digest();
  std::string hex();  // of digest(), 64 lower-case digits

 private:
  void block(const std::uint8_t* bytes);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> pending_{};  // its first length_ % 64 bytes wait for a full block
  std::uint64_t length_ = 0;                // bytes fed so far
};

std::string sha256_hex(std::string_view bytes);

}  // namespace glr
