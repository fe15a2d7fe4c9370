// Sampler: parameters, replay, ends and evidence. What it chooses is sampling_test.cpp's matter.
#include "glrsampler/sampler.hpp"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "check.hpp"

namespace {

using namespace glr;

constexpr TokenId kEnd = 4;

// Tokens a, b, c, ab and the end; any text of a and b.
std::shared_ptr<const Constraint> constraint(std::string_view grammar = "root ::= [ab]*") {
  std::vector<Token> tokens(5);
  tokens[0].bytes = "a";
  tokens[1].bytes = "b";
  tokens[2].bytes = "c";
  tokens[3].bytes = "ab";
  tokens[4].control = true;
  tokens[4].end_of_generation = true;
  return Constraint::compile(Grammar::from_gbnf(grammar), std::make_shared<const Vocabulary>(std::move(tokens)));
}

SamplerParams seeded(std::uint64_t seed) {
  SamplerParams params;
  params.temperature = 2;
  params.seed = seed;
  return params;
}

const std::vector<float> kLogits{1, 1.5f, 9, 2, -std::numeric_limits<float>::infinity()};

std::vector<TokenId> run(Sampler& sampler, int steps) {
  std::vector<TokenId> tokens;
  for (int i = 0; i < steps; ++i) {
    tokens.push_back(sampler.sample(kLogits));
    CHECK(sampler.accept(tokens.back()));
  }
  return tokens;
}

template <typename F>
std::string message_of(F&& call) {
  try {
    call();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

TEST(parameters_out_of_range_are_named) {
  const auto message = [](auto member, auto value) {
    SamplerParams params;
    params.*member = value;
    return message_of([&] { Sampler(constraint(), params); });
  };
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float inf = std::numeric_limits<float>::infinity();
  CHECK_EQ(message(&SamplerParams::temperature, -1.0f), "temperature: -1 is not a finite number of at least 0");
  for (float bad : {nan, inf, -inf}) CHECK(message(&SamplerParams::temperature, bad).starts_with("temperature: "));
  for (float bad : {0.0f, -0.5f, 1.5f, nan, inf}) CHECK(message(&SamplerParams::top_p, bad).starts_with("top_p: "));
  for (float bad : {-0.1f, 1.1f, nan}) CHECK(message(&SamplerParams::min_p, bad).starts_with("min_p: "));
  for (float bad : {0.0f, -1.0f, nan, inf})
    CHECK(message(&SamplerParams::repeat_penalty, bad).starts_with("repeat_penalty: "));
  CHECK(message(&SamplerParams::frequency_penalty, nan).starts_with("frequency_penalty: "));
  CHECK(message(&SamplerParams::presence_penalty, inf).starts_with("presence_penalty: "));
  CHECK(message(&SamplerParams::penalty_last_n, -2).starts_with("penalty_last_n: -2"));
  for (TokenId bad : {-1, 5})
    CHECK(message(&SamplerParams::forbidden_tokens, std::vector<TokenId>{bad}).starts_with("forbidden_tokens: "));
  CHECK_EQ(message(&SamplerParams::temperature, 0.0f), "");
}

TEST(a_row_of_logits_may_be_longer_but_not_shorter_than_the_vocabulary) {
  Sampler sampler(constraint(), seeded(1));
  CHECK(message_of([&] { sampler.sample(std::vector<float>(4)); }).starts_with("logits: 4 values"));
  CHECK(sampler.sample(std::vector<float>(9, 1.0f)) < 5);
}

TEST(asking_again_gives_the_same_token) {
  Sampler sampler(constraint(), seeded(3));
  for (int i = 0; i < 20; ++i) {
    const TokenId token = sampler.sample(kLogits);
    CHECK_EQ(sampler.sample(kLogits), token);
    std::vector<Candidate> candidates;
    for (TokenId id : {3, 0, 4, 2, 1}) candidates.push_back({id, kLogits[static_cast<std::size_t>(id)], 0});
    CHECK_EQ(sampler.sample(std::span<const Candidate>(candidates)), token);
    CHECK(sampler.accept(token));
  }
}

TEST(a_run_is_replayed_by_its_seed) {
  Sampler first(constraint(), seeded(5));
  const auto tokens = run(first, 30);
  first.reset();
  CHECK(run(first, 30) == tokens);
  Sampler second(constraint(), seeded(5));
  CHECK(run(second, 30) == tokens);
  Sampler other(constraint(), seeded(6));
  CHECK(run(other, 30) != tokens);
}

TEST(a_seed_from_the_system_is_reported) {
  SamplerParams params = seeded(0);
  params.seed.reset();
  Sampler drawn(constraint(), params);
  Sampler another(constraint(), params);
  CHECK(drawn.seed() != another.seed());
  const auto tokens = run(drawn, 30);
  params.seed = drawn.seed();
  Sampler replayed(constraint(), params);
  CHECK(run(replayed, 30) == tokens);
}

TEST(a_clone_goes_on_alike_and_by_itself) {
  SamplerParams params = seeded(7);
  params.repeat_penalty = 1.5f;
  Sampler sampler(constraint(), params);
  run(sampler, 5);
  Sampler clone = sampler.clone();
  CHECK_EQ(clone.evidence().steps.size(), 5u);
  const auto tokens = run(clone, 20);
  CHECK(run(sampler, 20) == tokens);
  clone.reset();
  CHECK_EQ(sampler.evidence().steps.size(), 25u);
}

TEST(rolled_back_tokens_are_chosen_again) {
  SamplerParams params = seeded(8);
  params.frequency_penalty = 0.5f;
  params.penalty_last_n = 4;
  Sampler sampler(constraint(), params);
  run(sampler, 10);
  const auto tokens = run(sampler, 6);
  sampler.rollback(6);
  CHECK_EQ(sampler.evidence().steps.size(), 10u);
  CHECK(run(sampler, 6) == tokens);
  CHECK(message_of([&] { sampler.rollback(17); }).starts_with("rollback: 17 tokens of 16"));
}

TEST(tokens_accepted_without_sampling_do_not_shift_later_draws) {
  Sampler sampled(constraint(), seeded(9));
  const auto tokens = run(sampled, 12);
  Sampler forced(constraint(), seeded(9));
  for (std::size_t i = 0; i < 4; ++i) CHECK(forced.accept(tokens[i]));
  CHECK(run(forced, 8) == std::vector<TokenId>(tokens.begin() + 4, tokens.end()));
  CHECK_EQ(forced.evidence().forced(), 4u);
  CHECK_EQ(sampled.evidence().forced(), 0u);
}

TEST(a_refused_token_changes_nothing) {
  Sampler sampler(constraint(), seeded(10));
  run(sampler, 3);
  const TokenId next = sampler.sample(kLogits);
  for (TokenId bad : {2, -1, 5, 1'000'000}) CHECK(!sampler.accept(bad));
  CHECK_EQ(sampler.sample(kLogits), next);
  CHECK_EQ(sampler.evidence().steps.size(), 3u);
}

TEST(dead_ends_have_a_reason) {
  Sampler sampler(constraint(), seeded(11));
  CHECK(sampler.accept(kEnd));
  CHECK_EQ(sampler.sample(kLogits), kDeadEnd);
  CHECK(sampler.dead_end() == DeadEnd::Finished);
  SamplerParams params = seeded(11);
  params.forbidden_tokens = {0, 1, 3, 4};
  Sampler forbidden(constraint(), params);
  CHECK_EQ(forbidden.sample(kLogits), kDeadEnd);
  CHECK(forbidden.dead_end() == DeadEnd::AllForbidden);
  sampler.reset();
  CHECK(sampler.dead_end() == DeadEnd::None);
  CHECK(sampler.sample(kLogits) != kDeadEnd);
}

TEST(evidence_counts_the_run) {
  Sampler sampler(constraint(), seeded(12));
  std::vector<float> logits = kLogits;
  logits[0] = logits[2] = std::numeric_limits<float>::quiet_NaN();
  sampler.accept(sampler.sample(logits));
  sampler.accept(3);
  CHECK_EQ(sampler.nan_count(), 2u);
  const Evidence& evidence = sampler.evidence();
  CHECK_EQ(evidence.steps.size(), 2u);
  CHECK_EQ(evidence.steps[0].allowed, 4u);
  CHECK(evidence.steps[0].sampled);
  CHECK(!evidence.steps[1].sampled);
  CHECK(evidence.sample_ns > 0);
  sampler.reset();
  CHECK_EQ(sampler.nan_count(), 0u);
  CHECK(sampler.evidence().steps.empty());
}

}  // namespace
