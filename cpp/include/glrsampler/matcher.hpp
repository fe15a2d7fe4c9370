// Matcher: one sequence of tokens against a constraint.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glrsampler/constraint.hpp"
#include "glrsampler/token_set.hpp"

namespace glr {

// One sequence. Not for use by two threads at once; forks are independent and may go to other
// threads. After an end-of-generation token is committed the matcher is finished: nothing is
// allowed any more.
class Matcher {
 public:
  explicit Matcher(std::shared_ptr<const Constraint> constraint);
  ~Matcher();
  Matcher(Matcher&&) noexcept;
  Matcher& operator=(Matcher&&) noexcept;
  Matcher fork() const;  // O(1): shares the stack

  const Constraint& constraint() const;

  // The tokens that keep the text a prefix of a sentence, and the end-of-generation tokens when it is
  // one already. Valid until the next call of a non-const member.
  const TokenSet& allowed();
  // The set when it needs no computation, else null. Never blocks, never allocates.
  const TokenSet* allowed_if_ready();
  void mask(std::span<std::uint32_t> words) { allowed().write(words); }
  bool allows(TokenId token);  // an id outside the vocabulary is not allowed

  bool try_commit(TokenId token);            // false: not allowed, nothing changed
  void commit(TokenId token);                // RejectedToken instead of false
  void commit_bytes(std::string_view text);  // text that was not sampled; RejectedToken names the offset
  bool accepting() const;                    // the text so far is a whole sentence
  bool finished() const;                     // an end-of-generation token was committed

  std::string forced_bytes();  // the only possible continuation, up to the first choice or the end
  // The tokens of the only possible continuation that no later text can change: what `tokenize` makes of it after
  // `before`, the last bytes of the text so far (any number of them). The rest of the continuation is for the model
  // to choose: a token that it would like better may cover it and what follows. Nothing is committed.
  // `given` is the beginning of the continuation where it is known from elsewhere; RejectedToken when it is not
  // allowed. An empty `tokenize`: the tokens of the steps at which a single token is allowed.
  std::vector<TokenId> forced_tokens(const Tokenizer& tokenize, std::string_view before = {},
                                     std::string_view given = {});
  std::vector<TokenId> forced_tokens() { return forced_tokens(constraint().vocabulary().tokenizer()); }
  void rollback(std::size_t commits);  // undo the last `commits` commits; std::out_of_range beyond them
  void reset();
  std::size_t commits() const;  // that can be rolled back

  // Why `token` is or is not allowed, for a person to read.
  struct Explanation {
    bool allowed = false;
    std::string reason;                 // one sentence
    std::size_t failed_at = 0;          // byte of the token at which no sentence is left
    std::string expected_bytes;         // classes of the bytes that could come there instead
    std::vector<std::string> expected;  // terminals with the rule and line they stand in
  };
  Explanation explain(TokenId token);

 private:
  struct Impl;
  explicit Matcher(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace glr
