// TokenTrie: the tokens of a vocabulary, sorted by bytes, as a flat preorder array.
//
// A token's position in the sorted order is its ordinal; the tokens under a node are one contiguous
// range of ordinals, and the nodes under a node one contiguous range of indices. Tokens with equal bytes
// share a node. Control tokens, end-of-generation tokens and tokens without bytes are not in the trie.
//
// Built once: O(total bytes) after an O(n log n) sort; 24 bytes a node, 4 for by_byte() and 1 for height().
// Immutable, so any thread may read it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "glrsampler/vocabulary.hpp"

namespace glr {

// Bytes are put into 64 groups, so that "which bytes occur below this node" is one word. Bytes that
// grammars tell apart have groups of their own: every ASCII punctuation mark and white space; letters and
// digits are in a few groups; bytes above 0x7F stand in groups 60-63.
std::uint8_t byte_group(std::uint8_t byte);
std::span<const std::uint8_t> bytes_of_group(unsigned group);

class TokenTrie {
 public:
  // Laid out so that a walk touches one place a node: memory latency is what a walk costs.
  struct Node {
    std::uint64_t groups_below;  // groups of the bytes on the edges strictly below
    std::uint32_t end;           // index after the subtree
    std::uint32_t ordinal;       // of the first token at or below this node; the own ones come first
    std::uint32_t ordinal_end;   // after the last token at or below
    std::uint16_t depth;         // 0: the root
    std::uint8_t byte;           // on the edge from the parent
    // Bit s: everything below is well-formed UTF-8 (possibly cut short at a token's end) when the
    // decoder is in state s here; see utf8.hpp.
    std::uint8_t utf8;
  };

  explicit TokenTrie(std::span<const Token> tokens);

  std::uint32_t size() const { return static_cast<std::uint32_t>(nodes_.size() - 1); }  // nodes, without the sentinel
  const Node& operator[](std::uint32_t i) const { return nodes_[i]; }  // i == size(): a sentinel with the last ordinal
  std::uint32_t ordinals() const { return static_cast<std::uint32_t>(ids_.size()); }
  TokenId id(std::uint32_t ordinal) const { return ids_[ordinal]; }

  // Bytes on the longest way down from the node, at most 255.
  std::uint8_t height(std::uint32_t i) const { return heights_[i]; }
  // Nodes whose edge carries the byte, ascending.
  std::span<const std::uint32_t> by_byte(std::uint8_t byte) const {
    return std::span(by_byte_).subspan(first_of_byte_[byte], first_of_byte_[byte + 1u] - first_of_byte_[byte]);
  }
  // One bit for every token in the trie: the base of TokenSet's complement form.
  std::span<const std::uint32_t> universe() const { return universe_; }
  std::size_t bytes() const;

 private:
  std::vector<Node> nodes_;
  std::vector<std::uint8_t> heights_;  // apart from the nodes: few walks ask
  std::vector<TokenId> ids_;
  std::vector<std::uint32_t> by_byte_;
  std::array<std::uint32_t, 257> first_of_byte_{};
  std::vector<std::uint32_t> universe_;
};

}  // namespace glr
