// TokenSet: an immutable set of token ids, kept in the smallest of three forms.
//
//   list        ascending ids                       4 bytes a member
//   complement  ascending ids that are NOT members  4 bytes a non-member, of the vocabulary's text tokens
//   bitmap      one bit a token                     size/8 bytes
//
// contains() is O(log n) for lists, O(1) for bitmaps; write() is O(size/32 + list length).
// Sets are interned by the mask automaton's cache and never change afterwards: any number of
// threads may read one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "glrsampler/vocabulary.hpp"

namespace glr {

class TokenSet {
 public:
  enum class Form : std::uint8_t { List, Complement, Bitmap };

  TokenSet() = default;  // empty

  // `universe`: bitmap of the vocabulary's text tokens, the base of the complement form; it must
  // outlive the set.
  TokenSet(Form form, std::vector<std::uint32_t> data, std::span<const std::uint32_t> universe, std::uint32_t count)
      : form_(form), count_(count), data_(std::move(data)), universe_(universe) {}

  Form form() const { return form_; }
  std::uint32_t count() const { return count_; }                 // members
  std::span<const std::uint32_t> data() const { return data_; }  // ids, or words of the bitmap

  bool contains(TokenId id) const;
  // Bit id%32 of word id/32, for ceil(vocabulary/32) words.
  void write(std::span<std::uint32_t> words) const;
  template <typename F>
  void for_each(F&& visit) const;  // members in ascending order

  std::size_t bytes() const { return sizeof(*this) + data_.capacity() * sizeof(std::uint32_t); }

 private:
  Form form_ = Form::List;
  std::uint32_t count_ = 0;
  std::vector<std::uint32_t> data_;
  std::span<const std::uint32_t> universe_;
};

template <typename F>
void TokenSet::for_each(F&& visit) const {
  if (form_ == Form::List) {
    for (std::uint32_t id : data_) visit(static_cast<TokenId>(id));
    return;
  }
  const bool whole = form_ == Form::Bitmap;
  const std::uint32_t* words = whole ? data_.data() : universe_.data();
  const std::size_t n = whole ? data_.size() : universe_.size();
  std::size_t skip = 0;
  for (std::size_t w = 0; w < n; ++w) {
    std::uint32_t bits = words[w];
    if (!whole) {
      for (; skip < data_.size() && data_[skip] / 32 == w; ++skip) bits &= ~(1u << (data_[skip] % 32));
    }
    for (; bits != 0; bits &= bits - 1)
      visit(static_cast<TokenId>(w * 32 + static_cast<unsigned>(__builtin_ctz(bits))));
  }
}

}  // namespace glr
