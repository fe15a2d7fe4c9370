// Little-endian bytes: a writer, and a reader that never goes beyond its end.
//
// The reader is for bytes of unknown origin. Whatever it is asked for that is not there is Malformed, and a count is
// believed only if the bytes that are left can hold so many elements, so nobody reserves memory for what a damaged
// length promises.
#pragma once

#include <bit>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace glr {

class ByteWriter {
 public:
  void u8(std::uint8_t value) { out_.push_back(static_cast<char>(value)); }
  void u32(std::uint32_t value) { integer(value, 4); }
  void u64(std::uint64_t value) { integer(value, 8); }
  void f64(double value) { u64(std::bit_cast<std::uint64_t>(value)); }
  void count(std::size_t value) {
    if (value > 0xFFFFFFFF) throw std::length_error("more than 2^32 elements");
    u32(static_cast<std::uint32_t>(value));
  }
  void raw(std::string_view bytes) { out_ += bytes; }
  void text(std::string_view bytes) {
    count(bytes.size());
    raw(bytes);
  }

  const std::string& bytes() const { return out_; }
  std::string take() && { return std::move(out_); }

 private:
  void integer(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out_.push_back(static_cast<char>(value >> (8 * i) & 0xFF));
  }
  std::string out_;
};

// What was read is not what its writer would have written. what() says in a few words what is wrong.
class Malformed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class ByteReader {
 public:
  // `seconds`: what has not been read by then is Malformed. Hash tables have bad cases, and who knows the hash can
  // write a file for them.
  ByteReader(std::string_view bytes, double seconds)
      : bytes_(bytes),
        deadline_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}

  std::uint8_t u8() { return static_cast<std::uint8_t>(raw(1)[0]); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(integer(4)); }
  std::uint64_t u64() { return integer(8); }
  double f64() { return std::bit_cast<double>(u64()); }
  // A number of elements of at least `each` bytes.
  std::uint32_t count(std::size_t each) {
    const std::uint32_t n = u32();
    require(n <= bytes_.size() / each, "a length goes beyond the end");
    return n;
  }
  // A number below `bound`.
  std::uint32_t index(std::size_t bound, const char* otherwise) {
    const std::uint32_t i = u32();
    require(i < bound, otherwise);
    return i;
  }
  std::string_view raw(std::size_t n) {
    require(n <= bytes_.size(), "it ends too early");
    const std::string_view taken = bytes_.substr(0, n);
    bytes_.remove_prefix(n);
    return taken;
  }
  std::string_view text() { return raw(count(1)); }

  std::size_t left() const { return bytes_.size(); }

  void require(bool condition, const char* otherwise) {
    if (!condition) throw Malformed(otherwise);
    if (++checks_ % 1024 == 0 && Clock::now() > deadline_) throw Malformed("reading it takes too long");
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::uint64_t integer(std::size_t n) {
    const std::string_view taken = raw(n);
    std::uint64_t value = 0;
    for (std::size_t i = n; i-- > 0;) value = value << 8 | static_cast<std::uint8_t>(taken[i]);
    return value;
  }

  std::string_view bytes_;
  Clock::time_point deadline_;
  std::uint64_t checks_ = 0;
};

}  // namespace glr
