// History: the configurations a matcher can be rolled back to.
//
// Chunks of 256 steps, shared between forks and copied when a fork writes to one, so that a fork copies a
// few hundred pointers at most however long the sequence is. The oldest chunk is dropped beyond kMaxSteps,
// so that memory does not grow with the length of a sequence.
//
// Each step in a chunk holds a reference to its configuration, given back by the chunk's last owner; all
// users of one stack hold its mutex, so the count of owners is exact.
#pragma once

#include <array>
#include <deque>
#include <memory>

#include "automaton/stack.hpp"

namespace glr {

struct Step {
  StackId configuration;  // before the commit
  std::int32_t token;     // committed then; kText: bytes that were not sampled
};
inline constexpr std::int32_t kText = -1;

class History {
 public:
  static constexpr std::size_t kChunk = 256;
  static constexpr std::size_t kMaxSteps = 65'536;

  std::size_t size() const { return size_; }
  bool complete() const { return dropped_ == 0; }  // the first commit is still here
  const Step& operator[](std::size_t i) const { return chunks_[i / kChunk]->steps[i % kChunk]; }

  // Takes over the caller's reference to the configuration.
  void push(Stack& stack, Step step) {
    if (size_ == chunks_.size() * kChunk) {
      chunks_.push_back(std::make_shared<Chunk>());
    } else if (chunks_.back().use_count() > 1) {
      auto own = std::make_shared<Chunk>(*chunks_.back());
      own->filled = size_ % kChunk;
      for (std::size_t i = 0; i < own->filled; ++i) stack.retain(own->steps[i].configuration);
      chunks_.back() = std::move(own);
    }
    Chunk& last = *chunks_.back();
    last.steps[last.filled++] = step;
    ++size_;
    if (size_ > kMaxSteps) {
      drop(stack, chunks_.front());
      chunks_.pop_front();
      dropped_ += kChunk;
      size_ -= kChunk;
    }
  }

  // Back to `size` steps. Configurations of the steps taken off are given back.
  void truncate(Stack& stack, std::size_t size) {
    while (!chunks_.empty() && chunks_.size() * kChunk >= size + kChunk) {
      drop(stack, chunks_.back());
      chunks_.pop_back();
    }
    size_ = size;
    if (chunks_.empty()) return;
    Chunk& last = *chunks_.back();
    const std::size_t keep = size - (chunks_.size() - 1) * kChunk;
    if (chunks_.back().use_count() > 1) return;  // the others still need it; push() copies
    for (; last.filled > keep; --last.filled) stack.release(last.steps[last.filled - 1].configuration);
  }

  void clear(Stack& stack) {
    for (auto& chunk : chunks_) drop(stack, chunk);
    chunks_.clear();
    size_ = dropped_ = 0;
  }

 private:
  struct Chunk {
    std::array<Step, kChunk> steps{};
    std::size_t filled = 0;
  };
  static void drop(Stack& stack, std::shared_ptr<Chunk>& chunk) {
    if (chunk.use_count() == 1) {
      for (std::size_t i = 0; i < chunk->filled; ++i) stack.release(chunk->steps[i].configuration);
    }
    chunk.reset();
  }

  std::deque<std::shared_ptr<Chunk>> chunks_;
  std::size_t size_ = 0;
  std::size_t dropped_ = 0;
};

}  // namespace glr
