// Containers that grow under one writer while any number of threads read them without a lock.
//
// Both rest on the same contract: the writer holds the owner's mutex; a reader only follows an index
// or a key that it got from a place published after the element was complete (a release store of the
// map below, of a table row, or the mutex itself). Nothing is ever moved or erased; memory goes when
// the container goes.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace glr {

// An append-only vector with stable addresses: segments of 1024, 2048, 4096... elements, so an index
// costs a bit scan and two loads, and growth never copies (no latency spike at a doubling).
template <typename T>
class ChunkedVector {
 public:
  ChunkedVector() = default;
  ChunkedVector(const ChunkedVector&) = delete;
  ChunkedVector& operator=(const ChunkedVector&) = delete;
  ~ChunkedVector() {
    for (std::size_t s = 0; s < kSegments; ++s) delete[] segments_[s].load(std::memory_order_relaxed);
  }

  T& operator[](std::size_t i) { return *at(i); }
  const T& operator[](std::size_t i) const { return *at(i); }
  T& back() { return *at(size_ - 1); }

  // Writer only.
  std::size_t size() const { return size_; }
  std::size_t push_back(T value) {
    reserve(size_ + 1);
    *at(size_) = std::move(value);
    return size_++;
  }
  void resize(std::size_t n) {
    reserve(n);
    if (n > size_) size_ = n;
  }
  std::size_t bytes() const {
    std::size_t n = 0;
    for (std::size_t s = 0; s < kSegments && segments_[s].load(std::memory_order_relaxed); ++s)
      n += (kFirst << s) * sizeof(T);
    return n;
  }

 private:
  static constexpr std::size_t kFirst = 256;
  static constexpr std::size_t kSegments = 26;
  static std::size_t segment(std::size_t i) { return std::bit_width((i + kFirst) / kFirst) - 1; }
  T* at(std::size_t i) const {
    const std::size_t s = segment(i);
    return segments_[s].load(std::memory_order_acquire) + (i + kFirst - (kFirst << s));
  }
  void reserve(std::size_t n) {
    if (n == 0) return;
    for (std::size_t s = 0; s <= segment(n - 1); ++s) {
      if (!segments_[s].load(std::memory_order_relaxed)) {
        segments_[s].store(new T[kFirst << s](), std::memory_order_release);
      }
    }
  }

  std::array<std::atomic<T*>, kSegments> segments_{};
  std::size_t size_ = 0;
};

// An insert-only hash map from non-zero 64-bit keys to 64-bit values: open addressing, linear probes,
// at most half full. find() is lock-free; insert() is for the writer. A table that was outgrown is kept
// until the map goes, since a reader may still be in it (all of them together are smaller than the last).
class ConcurrentMap {
 public:
  static constexpr std::uint64_t kMissing = ~std::uint64_t{0};

  explicit ConcurrentMap(std::size_t capacity = 64) { grow(capacity); }
  ConcurrentMap(const ConcurrentMap&) = delete;
  ConcurrentMap& operator=(const ConcurrentMap&) = delete;

  std::uint64_t find(std::uint64_t key) const {
    const Table& t = *table_.load(std::memory_order_acquire);
    for (std::size_t i = slot(key) & t.mask;; i = (i + 1) & t.mask) {
      const std::uint64_t k = t.slots[i].key.load(std::memory_order_acquire);
      if (k == key) return t.slots[i].value.load(std::memory_order_relaxed);
      if (k == 0) return kMissing;
    }
  }

  // The key must be new.
  void insert(std::uint64_t key, std::uint64_t value) {
    if ((size_ + 1) * 2 > table_.load(std::memory_order_relaxed)->mask + 1) grow((size_ + 1) * 4);
    put(*table_.load(std::memory_order_relaxed), key, value);
    ++size_;
  }

  // For the writer: every key and its value, in no order.
  template <typename F>
  void for_each(F&& visit) const {
    const Table& t = *table_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i <= t.mask; ++i) {
      const std::uint64_t key = t.slots[i].key.load(std::memory_order_relaxed);
      if (key != 0) visit(key, t.slots[i].value.load(std::memory_order_relaxed));
    }
  }

  std::size_t size() const { return size_; }
  std::size_t bytes() const {
    std::size_t n = 0;
    for (const auto& t : tables_) n += (t->mask + 1) * sizeof(Slot);
    return n;
  }

 private:
  struct Slot {
    std::atomic<std::uint64_t> key{0};
    std::atomic<std::uint64_t> value{0};
  };
  struct Table {
    explicit Table(std::size_t n) : mask(n - 1), slots(std::make_unique<Slot[]>(n)) {}
    std::size_t mask;
    std::unique_ptr<Slot[]> slots;
  };

  static std::size_t slot(std::uint64_t key) {
    key ^= key >> 32;
    key *= 0x9E3779B97F4A7C15u;
    return static_cast<std::size_t>(key ^ (key >> 29));
  }
  static void put(Table& t, std::uint64_t key, std::uint64_t value) {
    std::size_t i = slot(key) & t.mask;
    while (t.slots[i].key.load(std::memory_order_relaxed) != 0) i = (i + 1) & t.mask;
    t.slots[i].value.store(value, std::memory_order_relaxed);
    t.slots[i].key.store(key, std::memory_order_release);
  }
  void grow(std::size_t n) {
    auto next = std::make_unique<Table>(std::bit_ceil(n));
    if (const Table* old = table_.load(std::memory_order_relaxed)) {
      for (std::size_t i = 0; i <= old->mask; ++i) {
        const std::uint64_t key = old->slots[i].key.load(std::memory_order_relaxed);
        if (key != 0) put(*next, key, old->slots[i].value.load(std::memory_order_relaxed));
      }
    }
    table_.store(next.get(), std::memory_order_release);
    tables_.push_back(std::move(next));
  }

  std::atomic<Table*> table_{nullptr};
  std::vector<std::unique_ptr<Table>> tables_;
  std::size_t size_ = 0;
};

}  // namespace glr
