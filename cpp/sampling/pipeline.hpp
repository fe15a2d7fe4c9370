// From a row of logits and a set of allowed tokens to one token. The order is the contract:
//
//   1 grammar mask   2 forbidden tokens   3 repetition, frequency, presence penalties
//   4 temperature    5 top-k   6 top-p   7 min-p   8 normalise and draw
//
// What the code does is arranged differently, with the same result:
//  - Temperature divides all logits by one positive number, which keeps their order; so top-k
//    works on the logits themselves and the division happens in the exponent (weight.hpp), in double
//    precision, where no two logits that differ become equal.
//  - A mask with few tokens is a list: their logits are gathered. Otherwise the row is scanned against the
//    bitmap with the k-th best logit so far as the bar, and only what passes is kept (scan.hpp).
//  - Penalised tokens are few: they are left out of the scan and added with their own logits after it.
//
// A step reads each logit once (for the NaN count) and otherwise costs O(allowed) for lists,
// O(k log(vocabulary / k)) expected beyond the reading for bitmaps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "glrsampler/sampler.hpp"
#include "glrsampler/token_set.hpp"
#include "sampling/candidate_key.hpp"
#include "sampling/draw.hpp"
#include "sampling/penalties.hpp"

namespace glr::sampling {

struct Choice {
  TokenId token = kDeadEnd;
  DeadEnd dead_end = DeadEnd::None;
  std::uint64_t nan_logits = 0;  // found in the input, allowed or not
};

// The best candidates seen so far, at most `limit` when it is asked for them.
class BestCandidates {
 public:
  void start(std::size_t limit, std::size_t vocabulary);
  void push(CandidateKey key);
  std::span<CandidateKey> room() { return std::span(keys_).subspan(size_); }
  void added(std::size_t n) { size_ += n; }
  bool full() const { return size_ >= limit_; }
  void prune();       // drops all but the best `limit`
  float bar() const;  // the least logit kept; only after prune() when full()
  void take(std::vector<CandidateKey>& out);

 private:
  std::vector<CandidateKey> keys_;  // the first size_ are in use
  std::size_t size_ = 0;
  std::size_t limit_ = 0;
};

// Not for two threads at once: it owns the scratch memory of its steps. A copy is independent.
class Pipeline {
 public:
  // `params` are valid (sampler.cpp); forbidden tokens lie within the vocabulary.
  Pipeline(const SamplerParams& params, std::size_t vocabulary);

  // `logits` holds at least one value a token; what is beyond the vocabulary is not read.
  Choice choose(std::span<const float> logits, const TokenSet& allowed, const RecentTokens& recent, const Draw& draw);
  // The same from any subset of the tokens in any order; each at most once. Ids outside the vocabulary are not allowed.
  Choice choose(std::span<const Candidate> candidates, const TokenSet& allowed, const RecentTokens& recent,
                const Draw& draw);

 private:
  bool forbidden(TokenId id) const { return !forbidden_.empty() && test(forbidden_, id); }
  static bool test(const std::vector<std::uint32_t>& bits, TokenId id) {
    return (bits[static_cast<std::size_t>(id) / 32] >> (static_cast<std::size_t>(id) % 32) & 1) != 0;
  }
  std::size_t limit() const;
  std::span<const RecentTokens::Entry> penalised_tokens(const RecentTokens& recent) const;
  std::uint64_t gather(std::span<const float> logits, const TokenSet& allowed,
                       std::span<const RecentTokens::Entry> apart);
  std::uint64_t scan(std::span<const float> logits, std::span<const std::uint32_t> words);
  std::span<const std::uint32_t> scanned_words(const TokenSet& allowed, std::span<const RecentTokens::Entry> apart);
  TokenId pick(const Draw& draw);

  SamplerParams params_;
  std::size_t vocabulary_;
  std::vector<std::uint32_t> forbidden_;  // bitmap; empty when no token is forbidden
  std::vector<std::uint32_t> words_;      // scratch: the tokens to scan
  BestCandidates best_;
  std::vector<CandidateKey> kept_;
};

}  // namespace glr::sampling
