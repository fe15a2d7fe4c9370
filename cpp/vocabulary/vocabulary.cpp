#include "glrsampler/vocabulary.hpp"

#include <algorithm>
#include <stdexcept>

#include "support/sha256.hpp"
#include "vocabulary/trie.hpp"

namespace glr {

namespace {

constexpr std::size_t kLongestToken = 0xFFFF;  // bytes; a depth in the trie is 16 bits

// The node that `text` leads to: 0, the root, for an empty one.
std::optional<std::uint32_t> node_of(const TokenTrie& trie, std::string_view text) {
  std::uint32_t node = 0;
  for (const char c : text) {
    std::uint32_t child = node + 1;
    while (child < trie[node].end && trie[child].byte != static_cast<std::uint8_t>(c)) child = trie[child].end;
    if (child >= trie[node].end) return std::nullopt;
    node = child;
  }
  return node;
}

}  // namespace

Vocabulary::Vocabulary(std::vector<Token> tokens, Tokenizer tokenizer)
    : tokens_(std::move(tokens)), tokenizer_(std::move(tokenizer)) {
  Sha256 sha;
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const Token& t = tokens_[i];
    if (t.bytes.size() > kLongestToken) {
      throw std::invalid_argument("token " + std::to_string(i) + " has " + std::to_string(t.bytes.size()) +
                                  " bytes; at most " + std::to_string(kLongestToken) + " are possible");
    }
    if (t.end_of_generation) end_tokens_.push_back(static_cast<TokenId>(i));
    for (const char c : t.bytes) bytes_.set(static_cast<std::uint8_t>(c));
    longest_token_ = std::max(longest_token_, t.bytes.size());
    sha.update_sized(t.bytes);
    sha.update_sized(t.name);
    sha.update_u64(static_cast<std::uint64_t>(t.control) * 2 + t.end_of_generation);
    if (!t.name.empty()) by_name_.emplace(t.name, static_cast<TokenId>(i));
  }
  fingerprint_ = sha.hex();
  trie_ = std::make_unique<TokenTrie>(tokens_);
}

Vocabulary::~Vocabulary() = default;

std::optional<TokenId> Vocabulary::find(std::string_view text) const {
  if (const auto it = by_name_.find(text); it != by_name_.end()) return it->second;
  const std::optional<std::uint32_t> node = node_of(*trie_, text);
  if (!node || *node == 0 || (*trie_)[*node].ordinal == (*trie_)[*node + 1].ordinal) return std::nullopt;
  return trie_->id((*trie_)[*node].ordinal);
}

std::vector<TokenId> Vocabulary::beginning_with(std::string_view text) const {
  std::vector<TokenId> out;
  if (const std::optional<std::uint32_t> node = node_of(*trie_, text)) {
    for (std::uint32_t i = (*trie_)[*node].ordinal; i < (*trie_)[*node].ordinal_end; ++i) out.push_back(trie_->id(i));
  }
  return out;
}

}  // namespace glr
