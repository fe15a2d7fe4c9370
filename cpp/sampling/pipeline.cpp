#include "sampling/pipeline.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>

#include "sampling/cut_offs.hpp"
#include "sampling/scan.hpp"
#include "sampling/weight.hpp"

namespace glr::sampling {
namespace {

constexpr std::size_t kBitsPerWord = 32;

// Candidates gathered beyond the limit before the worst are dropped. Fewer keep the bar tight, more
// save partial sorts: a step over 128,256 tokens with k = 40 takes 13.1 us with 32 or 64, 15.2 with
// 128, 21.2 with 512 (Zen 4).
std::size_t slack(std::size_t limit) { return std::max<std::size_t>(limit, 64); }

}  // namespace

void BestCandidates::start(std::size_t limit, std::size_t vocabulary) {
  limit_ = std::min(limit, vocabulary);
  size_ = 0;
  // One word of the allowed set more than ever fits, as scan_row() asks.
  const std::size_t room = std::min(limit_ + slack(limit_), vocabulary) + kBitsPerWord;
  if (keys_.size() < room) keys_.resize(room);
}

void BestCandidates::push(CandidateKey key) {
  if (size_ == keys_.size()) prune();
  keys_[size_++] = key;
}

void BestCandidates::prune() {
  if (size_ <= limit_) return;
  const auto begin = keys_.begin();
  const auto nth = begin + static_cast<std::ptrdiff_t>(limit_ - 1);
  std::nth_element(begin, nth, begin + static_cast<std::ptrdiff_t>(size_), std::greater<>{});
  size_ = limit_;
}

float BestCandidates::bar() const {
  return logit_of(*std::min_element(keys_.begin(), keys_.begin() + static_cast<std::ptrdiff_t>(size_)));
}

void BestCandidates::take(std::vector<CandidateKey>& out) {
  prune();
  out.assign(keys_.begin(), keys_.begin() + static_cast<std::ptrdiff_t>(size_));
}

Pipeline::Pipeline(const SamplerParams& params, std::size_t vocabulary)
    : params_(params), vocabulary_(vocabulary), words_((vocabulary + kBitsPerWord - 1) / kBitsPerWord) {
  if (vocabulary > kMaxCandidates) throw std::invalid_argument("vocabulary: more tokens than sums of weights can hold");
  if (params_.forbidden_tokens.empty()) return;
  forbidden_.resize(words_.size());
  for (TokenId id : params_.forbidden_tokens) {
    const auto i = static_cast<std::size_t>(id);
    forbidden_[i / kBitsPerWord] |= 1u << (i % kBitsPerWord);
  }
}

Choice Pipeline::choose(std::span<const float> logits, const TokenSet& allowed, const RecentTokens& recent,
                        const Draw& draw) {
  logits = logits.first(vocabulary_);
  best_.start(limit(), vocabulary_);
  Choice choice;
  const auto apart = penalised_tokens(recent);
  choice.nan_logits = allowed.form() == TokenSet::Form::List ? gather(logits, allowed, apart)
                                                             : scan(logits, scanned_words(allowed, apart));
  for (const auto& [id, count] : apart) {
    if (!allowed.contains(id) || forbidden(id)) continue;
    best_.push(candidate_key(penalised(without_nan(logits[static_cast<std::size_t>(id)]), count, params_), id));
  }
  choice.token = pick(draw);
  if (choice.token == kDeadEnd)
    choice.dead_end = allowed.count() == 0 ? DeadEnd::NothingAllowed : DeadEnd::AllForbidden;
  return choice;
}

Choice Pipeline::choose(std::span<const Candidate> candidates, const TokenSet& allowed, const RecentTokens& recent,
                        const Draw& draw) {
  best_.start(limit(), vocabulary_);
  allowed.write(words_);
  Choice choice;
  bool any_allowed = false;
  const auto apart = penalised_tokens(recent);
  for (const Candidate& candidate : candidates) {
    if (candidate.logit != candidate.logit) ++choice.nan_logits;
    const TokenId id = candidate.id;
    if (id < 0 || static_cast<std::size_t>(id) >= vocabulary_ || !test(words_, id)) continue;
    any_allowed = true;
    if (forbidden(id)) continue;
    float logit = without_nan(candidate.logit);
    const auto entry = std::lower_bound(apart.begin(), apart.end(), id,
                                        [](const RecentTokens::Entry& e, TokenId i) { return e.id < i; });
    if (entry != apart.end() && entry->id == id) logit = penalised(logit, entry->count, params_);
    best_.push(candidate_key(logit, id));
  }
  choice.token = pick(draw);
  if (choice.token != kDeadEnd) return choice;
  choice.dead_end = any_allowed            ? DeadEnd::AllForbidden
                    : allowed.count() == 0 ? DeadEnd::NothingAllowed
                                           : DeadEnd::NoCandidateAllowed;
  return choice;
}

std::size_t Pipeline::limit() const {
  if (params_.temperature <= 0.0f) return 1;
  return params_.top_k <= 0 ? vocabulary_ : static_cast<std::size_t>(params_.top_k);
}

std::span<const RecentTokens::Entry> Pipeline::penalised_tokens(const RecentTokens& recent) const {
  return has_penalties(params_) ? recent.entries() : std::span<const RecentTokens::Entry>{};
}

// A list. Returns how many logits of the row are NaN.
std::uint64_t Pipeline::gather(std::span<const float> logits, const TokenSet& allowed,
                               std::span<const RecentTokens::Entry> apart) {
  auto next_apart = apart.begin();  // both ascend
  for (std::uint32_t i : allowed.data()) {
    const auto id = static_cast<TokenId>(i);
    while (next_apart != apart.end() && next_apart->id < id) ++next_apart;
    if (forbidden(id) || (next_apart != apart.end() && next_apart->id == id)) continue;
    best_.push(candidate_key(without_nan(logits[i]), id));
  }
  return count_nan(logits);
}

// The tokens to scan as a bitmap: in place when the set is one and nothing is taken out of it.
std::span<const std::uint32_t> Pipeline::scanned_words(const TokenSet& allowed,
                                                       std::span<const RecentTokens::Entry> apart) {
  if (allowed.form() == TokenSet::Form::Bitmap && forbidden_.empty() && apart.empty())
    return allowed.data().first(words_.size());
  allowed.write(words_);
  for (std::size_t w = 0; w < forbidden_.size(); ++w) words_[w] &= ~forbidden_[w];
  for (const auto& [id, count] : apart) {
    const auto i = static_cast<std::size_t>(id);
    words_[i / kBitsPerWord] &= ~(1u << (i % kBitsPerWord));
  }
  return words_;
}

std::uint64_t Pipeline::scan(std::span<const float> logits, std::span<const std::uint32_t> words) {
  RowScan row{logits, words};
  // Everything is admitted until `limit` candidates are there. After that a logit equal to the bar
  // loses: ids ascend, and whatever set the bar has a lower one.
  while (!row.done()) {
    const bool filling = !best_.full();
    if (!filling) best_.prune();
    best_.added(scan_row(row, filling ? Admit::All : Admit::AboveBar, filling ? 0.0f : best_.bar(), best_.room()));
  }
  return row.nans;
}

TokenId Pipeline::pick(const Draw& draw) {
  best_.take(kept_);
  if (kept_.empty()) return kDeadEnd;
  if (kept_.size() == 1) return id_of(kept_.front());
  const Weigher weigher(logit_of(*std::max_element(kept_.begin(), kept_.end())), params_.temperature);
  keep_top_p(kept_, weigher, params_.top_p);
  keep_min_p(kept_, weigher, params_.min_p);
  return draw_token(kept_, weigher, draw);
}

}  // namespace glr::sampling
