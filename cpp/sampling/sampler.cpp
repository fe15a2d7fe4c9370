#include "glrsampler/sampler.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

#include "sampling/draw.hpp"
#include "sampling/penalties.hpp"
#include "sampling/pipeline.hpp"

namespace glr {
namespace {

template <typename T>
void require(bool valid, const char* name, T value, const char* range) {
  if (valid) return;
  std::ostringstream what;
  what << name << ": " << value << " is not " << range;
  throw std::invalid_argument(what.str());
}

// NaN fails every comparison, so each range is written as what is valid.
SamplerParams validated(SamplerParams params, std::size_t vocabulary) {
  const auto finite = [](float value) { return std::isfinite(value); };
  require(params.temperature >= 0 && finite(params.temperature), "temperature", params.temperature,
          "a finite number of at least 0");
  require(params.top_p > 0 && params.top_p <= 1, "top_p", params.top_p, "above 0 and at most 1");
  require(params.min_p >= 0 && params.min_p <= 1, "min_p", params.min_p, "between 0 and 1");
  require(params.repeat_penalty > 0 && finite(params.repeat_penalty), "repeat_penalty", params.repeat_penalty,
          "a finite number above 0");
  require(finite(params.frequency_penalty), "frequency_penalty", params.frequency_penalty, "finite");
  require(finite(params.presence_penalty), "presence_penalty", params.presence_penalty, "finite");
  require(params.penalty_last_n >= -1, "penalty_last_n", params.penalty_last_n, "at least -1");
  for (TokenId id : params.forbidden_tokens)
    require(id >= 0 && static_cast<std::size_t>(id) < vocabulary, "forbidden_tokens", id, "a token of the vocabulary");
  return params;
}

std::uint64_t seed_from_system() {
  std::random_device device;
  const std::uint64_t high = device();
  return high << 32 | device();
}

// Adds the time until its end to `total`.
class Stopwatch {
 public:
  explicit Stopwatch(std::uint64_t& total) : total_(total) {}
  ~Stopwatch() {
    const auto elapsed = std::chrono::steady_clock::now() - start_;
    total_ += static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count());
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  std::uint64_t& total_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

struct Sampler::Impl {
  Impl(std::shared_ptr<const Constraint> constraint, SamplerParams given)
      : params(validated(std::move(given), constraint->vocabulary().size())),
        seed(params.seed ? *params.seed : seed_from_system()),
        matcher(std::move(constraint)),
        pipeline(params, matcher.constraint().vocabulary().size()),
        recent(params.penalty_last_n) {}

  Impl(const Impl& other)
      : params(other.params),
        seed(other.seed),
        matcher(other.matcher.fork()),
        pipeline(other.pipeline),
        recent(other.recent),
        evidence(other.evidence),
        step(other.step),
        dead_end(other.dead_end) {}
  Impl& operator=(const Impl&) = delete;

  const TokenSet& allowed() {
    const Stopwatch watch(evidence.mask_ns);
    const TokenSet& set = matcher.allowed();
    step.allowed = set.count();
    return set;
  }

  template <typename T>
  TokenId sample(std::span<const T> input) {
    const TokenSet& set = allowed();
    const Stopwatch watch(evidence.sample_ns);
    const sampling::Choice choice = pipeline.choose(input, set, recent, {seed, recent.size()});
    evidence.nan_logits += choice.nan_logits;
    step.sampled = choice.token != kDeadEnd;
    dead_end = matcher.finished() ? DeadEnd::Finished : choice.dead_end;
    return choice.token;
  }

  SamplerParams params;
  std::uint64_t seed;
  Matcher matcher;
  sampling::Pipeline pipeline;
  sampling::RecentTokens recent;
  Evidence evidence;
  Evidence::Step step{0, false};  // the one under way
  DeadEnd dead_end = DeadEnd::None;
};

Sampler::Sampler(std::shared_ptr<const Constraint> constraint, SamplerParams params)
    : impl_(std::make_unique<Impl>(std::move(constraint), std::move(params))) {}
Sampler::Sampler(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Sampler::~Sampler() = default;
Sampler::Sampler(Sampler&&) noexcept = default;
Sampler& Sampler::operator=(Sampler&&) noexcept = default;

TokenId Sampler::sample(std::span<const float> logits) {
  const std::size_t size = impl_->matcher.constraint().vocabulary().size();
  if (logits.size() < size)
    throw std::invalid_argument("logits: " + std::to_string(logits.size()) + " values for a vocabulary of " +
                                std::to_string(size) + " tokens");
  return impl_->sample(logits);
}

TokenId Sampler::sample(std::span<const Candidate> candidates) { return impl_->sample(candidates); }

const TokenSet& Sampler::allowed() { return impl_->allowed(); }

std::vector<TokenId> Sampler::forced_tokens(const Tokenizer& tokenize, std::string_view before,
                                            std::string_view given) {
  if (!impl_->params.forced_tokens) return {};
  const Stopwatch watch(impl_->evidence.mask_ns);
  std::vector<TokenId> tokens = impl_->matcher.forced_tokens(tokenize, before, given);
  const std::vector<TokenId>& forbidden = impl_->params.forbidden_tokens;
  tokens.erase(std::find_first_of(tokens.begin(), tokens.end(), forbidden.begin(), forbidden.end()), tokens.end());
  return tokens;
}

bool Sampler::accept(TokenId token) {
  {
    const Stopwatch watch(impl_->evidence.commit_ns);
    if (!impl_->matcher.try_commit(token)) return false;
  }
  impl_->recent.push(token);
  impl_->evidence.steps.push_back(std::exchange(impl_->step, {0, false}));
  return true;
}

void Sampler::rollback(std::size_t tokens) {
  if (tokens > impl_->recent.size())
    throw std::out_of_range("rollback: " + std::to_string(tokens) + " tokens of " +
                            std::to_string(impl_->recent.size()) + " accepted");
  impl_->matcher.rollback(tokens);
  for (std::size_t i = 0; i < tokens; ++i) {
    impl_->recent.pop();
    impl_->evidence.steps.pop_back();
  }
  impl_->step = {0, false};
}

void Sampler::reset() {
  impl_->matcher.reset();
  impl_->recent.clear();
  impl_->evidence = {};
  impl_->step = {0, false};
  impl_->dead_end = DeadEnd::None;
}

Sampler Sampler::clone() const { return Sampler(std::make_unique<Impl>(*impl_)); }

std::uint64_t Sampler::seed() const { return impl_->seed; }
std::uint64_t Sampler::nan_count() const { return impl_->evidence.nan_logits; }
DeadEnd Sampler::dead_end() const { return impl_->dead_end; }
const Evidence& Sampler::evidence() const { return impl_->evidence; }
Matcher& Sampler::matcher() { return impl_->matcher; }
const SamplerParams& Sampler::params() const { return impl_->params; }

}  // namespace glr
