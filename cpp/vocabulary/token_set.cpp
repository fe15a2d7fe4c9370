#include "glrsampler/token_set.hpp"

#include <algorithm>
#include <cstring>

namespace glr {

bool TokenSet::contains(TokenId id) const {
  const auto i = static_cast<std::uint32_t>(id);
  if (form_ == Form::Bitmap) return i / 32 < data_.size() && (data_[i / 32] >> (i % 32) & 1) != 0;
  const bool listed = std::binary_search(data_.begin(), data_.end(), i);
  if (form_ == Form::List) return listed;
  return !listed && i / 32 < universe_.size() && (universe_[i / 32] >> (i % 32) & 1) != 0;
}

void TokenSet::write(std::span<std::uint32_t> words) const {
  if (form_ == Form::List) {
    std::memset(words.data(), 0, words.size_bytes());
    for (std::uint32_t id : data_) words[id / 32] |= 1u << (id % 32);
    return;
  }
  const std::vector<std::uint32_t>& list = data_;
  const std::uint32_t* from = form_ == Form::Bitmap ? data_.data() : universe_.data();
  std::memcpy(words.data(), from, std::min(words.size(), universe_.size()) * sizeof(std::uint32_t));
  if (form_ == Form::Complement) {
    for (std::uint32_t id : list) words[id / 32] &= ~(1u << (id % 32));
  }
}

}  // namespace glr
