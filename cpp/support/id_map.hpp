// Hash tables for ids, in one piece of memory: terms are looked up by the million when a grammar is compiled, and a
// node allocated for each entry was a quarter of that time.
//
// Open addressing with linear probes, at most half full; nothing is erased. Not for several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace glr {

// Finds things kept elsewhere, by number, from the hash of what they are. 8 bytes a slot.
class IdIndex {
 public:
  static constexpr std::uint32_t kMissing = 0xFFFFFFFF;

  // The id that was inserted under the hash and of which `same(id)` is true. O(1) expected.
  template <typename Same>
  std::uint32_t find(std::uint64_t hash, Same&& same) const {
    if (slots_.empty()) return kMissing;
    const auto tag = static_cast<std::uint32_t>(hash >> 32);
    for (std::size_t i = tag & mask(); slots_[i].id != kMissing; i = (i + 1) & mask()) {
      if (slots_[i].tag == tag && same(slots_[i].id)) return slots_[i].id;
    }
    return kMissing;
  }

  // The id must not be in under this hash.
  void insert(std::uint64_t hash, std::uint32_t id) {
    if ((size_ + 1) * 2 > slots_.size()) grow();
    put({static_cast<std::uint32_t>(hash >> 32), id});
    ++size_;
  }

  std::size_t bytes() const { return slots_.capacity() * sizeof(Slot); }

 private:
  struct Slot {
    std::uint32_t tag = 0;
    std::uint32_t id = kMissing;
  };
  std::size_t mask() const { return slots_.size() - 1; }
  void put(Slot slot) {
    std::size_t i = slot.tag & mask();
    while (slots_[i].id != kMissing) i = (i + 1) & mask();
    slots_[i] = slot;
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.id != kMissing) put(slot);
    }
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

// From ids to small values. No id is 0xFFFFFFFF.
template <typename Value>
class IdMap {
 public:
  const Value* find(std::uint32_t id) const {
    if (slots_.empty()) return nullptr;
    const std::size_t i = slot_of(id);
    return slots_[i].id == id ? &slots_[i].value : nullptr;
  }
  bool contains(std::uint32_t id) const { return find(id) != nullptr; }
  // The id is in.
  const Value& at(std::uint32_t id) const { return *find(id); }

  // Whether the id was not in; then it is now.
  bool insert(std::uint32_t id, Value value) {
    if ((size_ + 1) * 2 > slots_.size()) grow();
    const std::size_t i = slot_of(id);
    if (slots_[i].id == id) return false;
    slots_[i] = {id, std::move(value)};
    ++size_;
    return true;
  }

  void clear() {
    slots_.clear();
    size_ = 0;
  }

 private:
  static constexpr std::uint32_t kFree = 0xFFFFFFFF;
  struct Slot {
    std::uint32_t id = kFree;
    Value value{};
  };
  std::size_t slot_of(std::uint32_t id) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = (id * 0x9E3779B1U >> 7) & mask;
    while (slots_[i].id != id && slots_[i].id != kFree) i = (i + 1) & mask;
    return i;
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 32 : slots_.size() * 2);
    old.swap(slots_);
    for (Slot& slot : old) {
      if (slot.id != kFree) slots_[slot_of(slot.id)] = std::move(slot);
    }
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace glr
