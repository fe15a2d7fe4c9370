// Sampler: from logits to a token, under a constraint. The order is the contract:
//
//   1 grammar mask   2 forbidden tokens   3 repetition, frequency, presence penalties
//   4 temperature    5 top-k   6 top-p   7 min-p   8 normalise and draw
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "glrsampler/matcher.hpp"

namespace glr {

// All finite. Out of range is std::invalid_argument: temperature < 0, top_p outside (0, 1], min_p outside [0, 1],
// repeat_penalty <= 0, penalty_last_n < -1, a forbidden token outside the vocabulary.
struct SamplerParams {
  float temperature = 0.8f;  // 0: greedy
  std::int32_t top_k = 40;   // 0 or less: off
  float top_p = 0.95f;       // 1: off
  float min_p = 0.05f;       // 0: off
  float repeat_penalty = 1.0f;
  float frequency_penalty = 0.0f;
  float presence_penalty = 0.0f;
  std::int32_t penalty_last_n = 64;  // tokens looked back at; 0: none, -1: all
  std::vector<TokenId> forbidden_tokens;
  std::optional<std::uint64_t> seed;  // none: drawn from the operating system
  bool forced_tokens = true;
};

// The element of llama.cpp's candidate array (llama_token_data).
struct Candidate {
  TokenId id;
  float logit;
  float p;
};

inline constexpr TokenId kDeadEnd = -1;  // no token is allowed

// Why sample() found no token.
enum class DeadEnd : std::uint8_t {
  None,                // it found one
  Finished,            // an end-of-generation token was accepted before
  NothingAllowed,      // the grammar allows no token of this vocabulary here
  AllForbidden,        // every token that the grammar allows is in forbidden_tokens
  NoCandidateAllowed,  // the grammar allows tokens, but none of the given candidates
};

// What a run did, in numbers; never prompts, text or paths. Timings are of this process and differ from run
// to run, all else is a function of (model, prompt, grammar, settings, seed).
struct Evidence {
  struct Step {
    std::uint32_t allowed;  // tokens the grammar allowed; 0: accepted without asking for the set
    bool sampled;           // false: accepted without sample() (a forced token)
  };
  std::vector<Step> steps;       // one an accepted token
  std::uint64_t nan_logits = 0;  // found by sample(), in allowed tokens or not
  std::uint64_t mask_ns = 0;
  std::uint64_t sample_ns = 0;  // after the mask
  std::uint64_t commit_ns = 0;

  std::size_t forced() const {  // accepted without sampling
    return static_cast<std::size_t>(
        std::count_if(steps.begin(), steps.end(), [](const Step& s) { return !s.sampled; }));
  }
};

class Sampler {
 public:
  // Throws std::invalid_argument naming the parameter that is out of its range.
  Sampler(std::shared_ptr<const Constraint> constraint, SamplerParams params);
  ~Sampler();
  Sampler(Sampler&&) noexcept;
  Sampler& operator=(Sampler&&) noexcept;

  // Chooses a token; does not accept it. `logits` may be longer than the vocabulary (padded
  // models): the padding is never chosen; shorter is std::invalid_argument. Returns kDeadEnd when
  // nothing is allowed; dead_end() says why. NaN logits count as 0.
  //
  // The choice is a function of the logits, the parameters, the seed and the tokens accepted so far: asking again
  // gives the same token. The random number belongs to the position, so that accepting forced tokens
  // does not shift later draws. A single candidate is chosen without a draw. Equal logits are
  // equally likely, also when all are infinite: +inf shares everything, all -inf is a uniform
  // choice, -inf beside anything greater is never drawn.
  TokenId sample(std::span<const float> logits);
  // The same over any subset of the tokens in any order.
  TokenId sample(std::span<const Candidate> candidates);

  // The tokens the grammar allows here: what a chain of other samplers works on. Before forbidden_tokens.
  const TokenSet& allowed();

  // Matcher::forced_tokens up to the first of forbidden_tokens; none when the parameter of this name is false.
  std::vector<TokenId> forced_tokens(const Tokenizer& tokenize, std::string_view before = {},
                                     std::string_view given = {});

  bool accept(TokenId token);         // commits and records for the penalties; false: not allowed, nothing changed
  void rollback(std::size_t tokens);  // undoes the last accepted tokens; std::out_of_range beyond them
  void reset();                       // to the start of a new sequence, with the same seed
  Sampler clone() const;              // goes on by itself from here, with the same seed

  std::uint64_t seed() const;
  std::uint64_t nan_count() const;  // NaN logits found since the start of the run
  DeadEnd dead_end() const;         // of the last sample()
  const Evidence& evidence() const;
  Matcher& matcher();
  const SamplerParams& params() const;

 private:
  struct Impl;
  explicit Sampler(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace glr
