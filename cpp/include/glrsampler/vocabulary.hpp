// Vocabulary: the bytes and kinds of a model's tokens.
#pragma once

#include <bitset>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace glr {

using TokenId = std::int32_t;

struct Token {
  std::string bytes;               // what the token adds to the text; empty for control and unused tokens
  std::string name;                // the text a token literal names it by (`<think>`), empty when it has none
  bool control = false;            // never reachable through bytes, only through a token literal
  bool end_of_generation = false;  // allowed exactly when the text is a whole sentence
};

// A model's own tokenizer: the tokens of a UTF-8 text and nothing else, no token that begins or ends a sequence.
using Tokenizer = std::function<std::vector<TokenId>(std::string_view)>;

class Engine;
class TokenTrie;

// Immutable to its users and shared between threads. Owns the trie of its tokens and the cache of
// everything that depends on expressions and tokens alone, so that a second grammar on the same
// vocabulary finds what the first one computed.
class Vocabulary {
 public:
  // Throws std::invalid_argument for a token of more than 65,535 bytes. `tokenizer` may be empty.
  explicit Vocabulary(std::vector<Token> tokens, Tokenizer tokenizer = {});
  ~Vocabulary();
  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;

  std::size_t size() const { return tokens_.size(); }
  const Token& token(TokenId id) const { return tokens_[static_cast<std::size_t>(id)]; }
  std::span<const TokenId> end_tokens() const { return end_tokens_; }
  std::size_t longest_token() const { return longest_token_; }  // bytes

  // The token a literal such as `<think>` names: a named token, else a text token with these bytes.
  std::optional<TokenId> find(std::string_view text) const;

  // The text tokens whose bytes begin with `text`, in the order of their bytes.
  std::vector<TokenId> beginning_with(std::string_view text) const;

  // Whether any text token holds this byte: a text with another one cannot be written.
  bool has_byte(std::uint8_t byte) const { return bytes_[byte]; }

  // SHA-256 over every token's bytes, name and kind, in hex.
  const std::string& fingerprint() const { return fingerprint_; }

  // Of the model that these tokens are of; empty when nobody gave one. Called by forced_tokens alone.
  const Tokenizer& tokenizer() const { return tokenizer_; }

  const TokenTrie& trie() const { return *trie_; }

  // What the constraints of this vocabulary share (automaton/engine.hpp): made by the first of them and
  // replaced when it has grown over its budget. `make` is called under a lock.
  template <typename Make>
  std::shared_ptr<Engine> engine(Make&& make) const {
    const std::scoped_lock lock(mutex_);
    engine_ = make(engine_);
    return engine_;
  }

 private:
  std::vector<Token> tokens_;
  Tokenizer tokenizer_;
  std::vector<TokenId> end_tokens_;
  std::size_t longest_token_ = 0;
  std::bitset<256> bytes_;
  std::map<std::string, TokenId, std::less<>> by_name_;
  std::string fingerprint_;
  std::unique_ptr<const TokenTrie> trie_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<Engine> engine_;
};

}  // namespace glr
