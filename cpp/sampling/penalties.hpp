// What was generated lately, and what it costs to say it again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "glrsampler/sampler.hpp"

namespace glr::sampling {

// The tokens of a run and how often each occurs among the last `last_n` of them (-1: all).
// push() and pop() cost O(distinct tokens counted).
class RecentTokens {
 public:
  struct Entry {
    TokenId id;
    std::uint32_t count;  // > 0
  };

  explicit RecentTokens(std::int32_t last_n) : last_n_(last_n) {}

  void push(TokenId id) {
    history_.push_back(id);
    if (last_n_ == 0) return;
    add(id);
    if (leaves_window()) remove(history_[history_.size() - 1 - window()]);
  }
  void pop() {  // undoes the last push()
    if (last_n_ != 0) {
      if (leaves_window()) add(history_[history_.size() - 1 - window()]);
      remove(history_.back());
    }
    history_.pop_back();
  }
  void clear() {
    history_.clear();
    entries_.clear();
  }

  std::size_t size() const { return history_.size(); }         // of the whole run
  std::span<const Entry> entries() const { return entries_; }  // ascending ids

 private:
  std::size_t window() const {
    return last_n_ < 0 ? std::numeric_limits<std::size_t>::max() : static_cast<std::size_t>(last_n_);
  }
  bool leaves_window() const { return history_.size() > window(); }
  std::vector<Entry>::iterator find(TokenId id) {
    return std::lower_bound(entries_.begin(), entries_.end(), id, [](const Entry& e, TokenId i) { return e.id < i; });
  }
  void add(TokenId id) {
    const auto entry = find(id);
    if (entry != entries_.end() && entry->id == id)
      ++entry->count;
    else
      entries_.insert(entry, {id, 1});
  }
  void remove(TokenId id) {
    const auto entry = find(id);
    if (--entry->count == 0) entries_.erase(entry);
  }

  std::int32_t last_n_;
  std::vector<TokenId> history_;
  std::vector<Entry> entries_;
};

inline bool has_penalties(const SamplerParams& params) {
  return params.penalty_last_n != 0 &&
         (params.repeat_penalty != 1.0f || params.frequency_penalty != 0.0f || params.presence_penalty != 0.0f);
}

// As llama.cpp's penalties sampler (src/llama-sampling.cpp, llama_sampler_penalties_apply): the repetition
// penalty divides positive logits and multiplies the others (Keskar et al., "CTRL", 2019, with the usual
// mend for negative logits); then count * frequency + presence is taken off. `count` > 0.
inline float penalised(float logit, std::uint32_t count, const SamplerParams& params) {
  const auto value = static_cast<double>(logit);
  const auto repeat = static_cast<double>(params.repeat_penalty);
  const double off = static_cast<double>(count) * static_cast<double>(params.frequency_penalty) +
                     static_cast<double>(params.presence_penalty);
  const double result = (logit > 0.0f ? value / repeat : value * repeat) - off;
  // Finite in, finite out: an overflow must not look like a certainty or an impossibility.
  const auto greatest = static_cast<double>(std::numeric_limits<float>::max());
  if (value < -greatest || value > greatest) return logit;
  return static_cast<float>(std::clamp(result, -greatest, greatest));
}

}  // namespace glr::sampling
