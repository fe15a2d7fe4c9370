// The numeric pipeline against a slow and obvious one: sort everything, sum in double precision.
// Then the edges one by one, the published answers of the generator, and recorded runs.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <vector>

#include "check.hpp"
#include "sampling/cut_offs.hpp"
#include "sampling/draw.hpp"
#include "sampling/pipeline.hpp"
#include "sampling/scan.hpp"
#include "sampling/weight.hpp"

namespace {

using namespace glr;
using namespace glr::sampling;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kSubnormal = std::numeric_limits<float>::denorm_min();

std::vector<std::uint32_t> words_of(const std::vector<bool>& members) {
  std::vector<std::uint32_t> words((members.size() + 31) / 32);
  for (std::size_t i = 0; i < members.size(); ++i) words[i / 32] |= (members[i] ? 1u : 0u) << (i % 32);
  return words;
}

// A set in a form of choice, with the universe it needs.
struct Allowed {
  Allowed(const std::vector<bool>& members, TokenSet::Form form)
      : universe(words_of(std::vector<bool>(members.size(), true))),
        set(form, data(members, form), universe, count(members)) {}
  Allowed(const Allowed&) = delete;
  Allowed& operator=(const Allowed&) = delete;

  static std::uint32_t count(const std::vector<bool>& members) {
    return static_cast<std::uint32_t>(std::count(members.begin(), members.end(), true));
  }
  static std::vector<std::uint32_t> data(const std::vector<bool>& members, TokenSet::Form form) {
    if (form == TokenSet::Form::Bitmap) return words_of(members);
    std::vector<std::uint32_t> ids;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (members[i] == (form == TokenSet::Form::List)) ids.push_back(static_cast<std::uint32_t>(i));
    }
    return ids;
  }

  std::vector<std::uint32_t> universe;
  TokenSet set;
};

constexpr std::array kForms{TokenSet::Form::List, TokenSet::Form::Complement, TokenSet::Form::Bitmap};

// Every parameter off but the temperature.
SamplerParams plain(float temperature = 1.0f) {
  SamplerParams params;
  params.temperature = temperature;
  params.top_k = 0;
  params.top_p = 1.0f;
  params.min_p = 0.0f;
  return params;
}

struct Reference {
  TokenId token = kDeadEnd;
  bool close = false;  // the random number lies so near to a boundary that rounding may decide
};

Reference reference(const std::vector<float>& logits, const std::vector<bool>& allowed, const SamplerParams& params,
                    const std::vector<TokenId>& recent, const Draw& draw) {
  struct Entry {
    TokenId id;
    float logit;
    double share;
  };
  std::map<TokenId, int> counts;
  const std::size_t window =
      params.penalty_last_n < 0 ? recent.size() : static_cast<std::size_t>(params.penalty_last_n);
  for (std::size_t i = recent.size() - std::min(window, recent.size()); i < recent.size(); ++i) ++counts[recent[i]];
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const auto& forbidden = params.forbidden_tokens;
    if (!allowed[i] || std::find(forbidden.begin(), forbidden.end(), id) != forbidden.end()) continue;
    double logit = std::isnan(logits[i]) ? 0.0 : static_cast<double>(logits[i]);
    if (const auto count = counts.find(id); count != counts.end() && std::isfinite(logit)) {
      const auto repeat = static_cast<double>(params.repeat_penalty);
      logit = logit > 0 ? logit / repeat : logit * repeat;
      logit -=
          count->second * static_cast<double>(params.frequency_penalty) + static_cast<double>(params.presence_penalty);
      const auto greatest = static_cast<double>(std::numeric_limits<float>::max());
      logit = std::min(std::max(logit, -greatest), greatest);
    }
    entries.push_back({id, static_cast<float>(logit), 0});
  }
  if (entries.empty()) return {};
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.logit != b.logit ? a.logit > b.logit : a.id < b.id; });
  if (params.temperature == 0.0f) return {entries.front().id};
  if (params.top_k > 0 && static_cast<std::size_t>(params.top_k) < entries.size())
    entries.resize(static_cast<std::size_t>(params.top_k));
  const auto best = static_cast<double>(entries.front().logit);
  double total = 0;
  for (Entry& e : entries) {
    const auto logit = static_cast<double>(e.logit);
    e.share = logit == best ? 1.0 : std::exp((logit - best) / static_cast<double>(params.temperature));
    total += e.share;
  }
  if (params.top_p < 1.0f) {
    double sum = 0;
    std::size_t keep = 0;
    while (keep < entries.size()) {
      sum += entries[keep++].share;
      if (static_cast<float>(sum / total) >= params.top_p) break;
    }
    entries.resize(keep);
  }
  std::erase_if(entries, [&](const Entry& e) { return static_cast<float>(e.share) < params.min_p; });
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.id < b.id; });
  total = 0;
  for (const Entry& e : entries) total += e.share;
  const double u = std::ldexp(static_cast<double>(draw.bits()), -64) * total;
  Reference result;
  double sum = 0;
  for (const Entry& e : entries) {
    if (result.token == kDeadEnd && sum + e.share > u) result.token = e.id;
    sum += e.share;
    result.close = result.close || (e.share > 0 && std::abs(sum - u) < 1e-8 * total);
  }
  return result;
}

// Results are unsigned, not unsigned long as those of std::mt19937.
using Random = std::mersenne_twister_engine<std::uint32_t, 32, 624, 397, 31, 0x9908B0DF, 11, 0xFFFFFFFF, 7, 0x9D2C5680,
                                            15, 0xEFC60000, 18, 1812433253>;

template <typename T>
T any_of(Random& random, std::initializer_list<T> values) {
  return values.begin()[random() % values.size()];
}

std::vector<float> random_logits(Random& random, std::size_t n) {
  std::normal_distribution<float> normal(0.0f, any_of(random, {0.01f, 1.0f, 4.0f, 30.0f}));
  const unsigned kind = random() % 8;
  std::vector<float> logits(n);
  for (float& logit : logits) {
    logit = normal(random);
    if (kind == 1) logit = std::round(logit);  // many ties
    if (kind == 2) logit = 1.5f;               // nothing but ties
    if (kind == 3) logit = any_of(random, {kNaN, logit, logit, 0.0f, -0.0f});
    if (kind == 4) logit = any_of(random, {-kInf, logit});
    if (kind == 5) logit = any_of(random, {kInf, -kInf, kNaN, logit, 3.4e38f, -3.4e38f});
    if (kind == 6) logit = static_cast<float>(random() % 5) * kSubnormal - 2 * kSubnormal;
    if (kind == 7 && random() % 50 != 0) logit = -kInf;
  }
  if (random() % 10 == 0) std::sort(logits.begin(), logits.end());  // each beats all before it
  return logits;
}

SamplerParams random_params(Random& random, std::size_t n) {
  SamplerParams params;
  params.temperature = any_of(random, {0.0f, 0.1f, 0.8f, 1.0f, 2.5f, 1e-30f, 1e30f});
  params.top_k = any_of(random, {-1, 0, 1, 2, 7, 40, 200, 100000});
  params.top_p = any_of(random, {1.0f, 0.95f, 0.5f, 0.3f, 0.01f});
  params.min_p = any_of(random, {0.0f, 0.05f, 0.5f, 1.0f});
  params.penalty_last_n = any_of(random, {-1, 0, 3, 64});
  if (random() % 2 == 0) {
    params.repeat_penalty = any_of(random, {1.0f, 1.3f, 0.7f});
    params.frequency_penalty = any_of(random, {0.0f, 0.5f, -0.5f});
    params.presence_penalty = any_of(random, {0.0f, 0.25f, 1000.0f});
  }
  for (unsigned i = random() % 3 == 0 ? random() % 20 : 0; i > 0; --i)
    params.forbidden_tokens.push_back(static_cast<TokenId>(random() % n));
  return params;
}

struct Case {
  std::vector<float> logits;
  std::vector<bool> allowed;
  SamplerParams params;
  std::vector<TokenId> recent;
};

Case random_case(Random& random, std::size_t n) {
  Case c{random_logits(random, n), std::vector<bool>(n), random_params(random, n), {}};
  const unsigned density = any_of(random, {1u, 10u, 50u, 90u, 100u});
  for (std::size_t i = 0; i < n; ++i) c.allowed[i] = random() % 100 < density;
  for (unsigned i = random() % 100; i > 0; --i) c.recent.push_back(static_cast<TokenId>(random() % n));
  return c;
}

RecentTokens recent_of(const Case& c) {
  RecentTokens recent(c.params.penalty_last_n);
  for (TokenId id : c.recent) recent.push(id);
  return recent;
}

std::uint64_t nans(const std::vector<float>& logits) {
  return static_cast<std::uint64_t>(std::count_if(logits.begin(), logits.end(), [](float x) { return std::isnan(x); }));
}

Choice choose(const std::vector<float>& logits, const std::vector<bool>& allowed, const SamplerParams& params,
              TokenSet::Form form = TokenSet::Form::Bitmap, std::uint64_t position = 0) {
  const Allowed set(allowed, form);
  return Pipeline(params, allowed.size()).choose(logits, set.set, RecentTokens(-1), {7, position});
}

// The tokens that 400 draws choose.
std::vector<TokenId> drawn(const std::vector<float>& logits, const SamplerParams& params) {
  std::map<TokenId, int> seen;
  for (std::uint64_t position = 0; position < 400; ++position)
    ++seen[choose(logits, std::vector<bool>(logits.size(), true), params, TokenSet::Form::Bitmap, position).token];
  std::vector<TokenId> ids;
  for (const auto& [id, times] : seen) ids.push_back(id);
  return ids;
}

using Ids = std::vector<TokenId>;

TEST(random_cases_agree_with_the_reference_in_every_form) {
  Random random(1);
  int close = 0;
  for (int round = 0; round < 6000; ++round) {
    const std::size_t n = round % 50 == 0 ? 5000 + random() % 3000 : 1 + random() % 400;
    const Case c = random_case(random, n);
    const Draw draw{random(), static_cast<std::uint64_t>(round)};
    const Reference expected = reference(c.logits, c.allowed, c.params, c.recent, draw);
    if (expected.close) {
      ++close;
      continue;
    }
    const RecentTokens recent = recent_of(c);
    Pipeline pipeline(c.params, n);
    std::vector<Candidate> candidates;
    for (std::size_t i = 0; i < n; ++i) candidates.push_back({static_cast<TokenId>(i), c.logits[i], 0.0f});
    std::shuffle(candidates.begin(), candidates.end(), random);
    for (TokenSet::Form form : kForms) {
      const Allowed allowed(c.allowed, form);
      const Choice choice = pipeline.choose(c.logits, allowed.set, recent, draw);
      CHECK_EQ(choice.token, expected.token);
      CHECK_EQ(choice.nan_logits, nans(c.logits));
      CHECK_EQ(choice.dead_end == DeadEnd::None, choice.token != kDeadEnd);
      CHECK_EQ(pipeline.choose(std::span<const Candidate>(candidates), allowed.set, recent, draw).token,
               expected.token);
    }
    if (check::failures > 20) return;
  }
  CHECK(close < 60);
}

TEST(candidates_may_be_any_subset) {
  Random random(2);
  for (int round = 0; round < 500; ++round) {
    const std::size_t n = 2 + random() % 200;
    Case c = random_case(random, n);
    std::vector<Candidate> candidates;
    std::vector<bool> rest = c.allowed;
    for (std::size_t i = 0; i < n; ++i) {
      if (random() % 3 == 0)
        rest[i] = false;
      else
        candidates.push_back({static_cast<TokenId>(i), c.logits[i], 0.25f});
    }
    candidates.push_back({-1, kInf, 0});
    candidates.push_back({static_cast<TokenId>(n), kInf, 0});
    std::shuffle(candidates.begin(), candidates.end(), random);
    const Draw draw{random(), 3};
    const Allowed allowed(c.allowed, TokenSet::Form::List);
    const Allowed fewer(rest, TokenSet::Form::List);
    Pipeline pipeline(c.params, n);
    const RecentTokens recent = recent_of(c);
    CHECK_EQ(pipeline.choose(std::span<const Candidate>(candidates), allowed.set, recent, draw).token,
             pipeline.choose(c.logits, fewer.set, recent, draw).token);
  }
}

TEST(the_padding_of_a_row_is_neither_chosen_nor_read) {
  for (std::size_t n : {1u, 31u, 32u, 33u, 127u, 129u, 300u}) {
    std::vector<float> logits(n + 40, kNaN);
    std::fill(logits.begin(), logits.begin() + static_cast<std::ptrdiff_t>(n), -1.0f);
    for (TokenSet::Form form : kForms) {
      const Choice choice = choose(logits, std::vector<bool>(n, true), plain(0), form);
      CHECK_EQ(choice.token, 0);
      CHECK_EQ(choice.nan_logits, 0u);
    }
  }
}

TEST(greedy_takes_the_lowest_id_of_equal_logits) {
  for (TokenSet::Form form : kForms) {
    CHECK_EQ(choose({1, 3, 2, 3}, {true, true, true, true}, plain(0), form).token, 1);
    CHECK_EQ(choose({1, 3, 2, 3}, {true, false, true, true}, plain(0), form).token, 3);
    CHECK_EQ(choose({-0.0f, 0.0f}, {true, true}, plain(0), form).token, 0);
    CHECK_EQ(choose({-kInf, -kInf}, {false, true}, plain(0), form).token, 1);
    CHECK_EQ(choose({kSubnormal, 2 * kSubnormal}, {true, true}, plain(0), form).token, 1);
  }
}

TEST(nan_counts_as_zero_also_where_it_is_not_allowed) {
  const Choice choice = choose({kNaN, -1, kNaN, -2}, {false, true, true, true}, plain(0));
  CHECK_EQ(choice.token, 2);
  CHECK_EQ(choice.nan_logits, 2u);
  CHECK_EQ(choose({kNaN, 1, kNaN}, {true, true, true}, plain(0)).token, 1);
}

TEST(one_allowed_token_is_chosen_whatever_its_logit) {
  SamplerParams params = plain();
  params.repeat_penalty = 2;
  params.presence_penalty = 1e30f;
  RecentTokens recent(-1);
  recent.push(1);
  for (float logit : {-kInf, kInf, kNaN, 0.0f, -3e38f}) {
    const std::vector<float> logits{5, logit, 7};
    for (TokenSet::Form form : kForms) {
      const Allowed allowed({false, true, false}, form);
      CHECK_EQ(Pipeline(params, 3).choose(logits, allowed.set, recent, {1, 1}).token, 1);
    }
  }
}

TEST(dead_ends_say_why) {
  CHECK(choose({1, 2}, {false, false}, plain()).dead_end == DeadEnd::NothingAllowed);
  SamplerParams params = plain();
  params.forbidden_tokens = {1};
  for (TokenSet::Form form : kForms) {
    const Choice choice = choose({1, 2}, {false, true}, params, form);
    CHECK_EQ(choice.token, kDeadEnd);
    CHECK(choice.dead_end == DeadEnd::AllForbidden);
  }
  const Allowed allowed({false, true}, TokenSet::Form::List);
  const std::vector<Candidate> candidates{{0, 1.0f, 0.0f}};
  Pipeline pipeline(plain(), 2);
  CHECK(pipeline.choose(candidates, allowed.set, RecentTokens(0), {}).dead_end == DeadEnd::NoCandidateAllowed);
}

TEST(infinite_logits_share_as_in_the_limit) {
  CHECK(drawn({1, kInf, 2, kInf}, plain()) == (Ids{1, 3}));
  CHECK(drawn({1, -kInf, 1, -kInf}, plain()) == (Ids{0, 2}));
  CHECK(drawn({-kInf, -kInf, -kInf}, plain()) == (Ids{0, 1, 2}));
  CHECK(drawn({3, 3, 3}, plain()) == (Ids{0, 1, 2}));
}

TEST(cut_offs_break_ties_by_lowest_id) {
  SamplerParams params = plain();
  params.top_k = 2;
  CHECK(drawn({1, 1, 1, 1}, params) == (Ids{0, 1}));
  CHECK(drawn({0, 1, 2, 1}, params) == (Ids{1, 2}));
  params = plain();
  params.top_p = 0.5f;
  CHECK(drawn({1, 1, 1, 1}, params) == (Ids{0, 1}));
  params.top_p = 0.3f;
  CHECK(drawn(std::vector<float>(10, 2.0f), params) == (Ids{0, 1, 2}));
  params = plain();
  params.min_p = 1.0f;
  CHECK(drawn({1, 2, 2, 1.9f}, params) == (Ids{1, 2}));
}

TEST(cut_offs_work_on_tempered_probabilities) {
  // Probabilities 0.5, 0.25, 0.25 at temperature 1; 2/3, 1/6, 1/6 at 1/2.
  const std::vector<float> logits{std::log(2.0f), 0, 0};
  SamplerParams params = plain(0.5f);
  params.top_p = 0.6f;
  CHECK(drawn(logits, params) == (Ids{0}));
  params.temperature = 1.0f;
  CHECK(drawn(logits, params) == (Ids{0, 1}));
  params = plain(0.5f);
  params.min_p = 0.3f;
  CHECK(drawn(logits, params) == (Ids{0}));
  params.temperature = 1.0f;
  CHECK(drawn(logits, params) == (Ids{0, 1, 2}));
}

TEST(penalties_follow_the_formula) {
  SamplerParams params;
  params.repeat_penalty = 2;
  params.frequency_penalty = 0.5f;
  params.presence_penalty = 0.25f;
  CHECK_EQ(penalised(4, 3, params), 4.0f / 2 - 3 * 0.5f - 0.25f);
  CHECK_EQ(penalised(-4, 1, params), -4.0f * 2 - 0.5f - 0.25f);
  CHECK_EQ(penalised(0, 1, params), -0.75f);
  CHECK_EQ(penalised(kInf, 1, params), kInf);
  CHECK_EQ(penalised(-kInf, 1, params), -kInf);
  params.presence_penalty = 3e38f;
  CHECK_EQ(penalised(-3e38f, 1, params), -std::numeric_limits<float>::max());
}

TEST(recent_tokens_count_within_their_window) {
  Random random(3);
  for (std::int32_t last_n : {-1, 0, 1, 4, 64}) {
    RecentTokens recent(last_n);
    std::vector<TokenId> history;
    for (int round = 0; round < 600; ++round) {
      if (random() % 4 == 0 && !history.empty()) {
        recent.pop();
        history.pop_back();
      } else {
        history.push_back(static_cast<TokenId>(random() % 6));
        recent.push(history.back());
      }
      std::map<TokenId, std::uint32_t> counts;
      const std::size_t window = last_n < 0 ? history.size() : static_cast<std::size_t>(last_n);
      for (std::size_t i = history.size() - std::min(window, history.size()); i < history.size(); ++i)
        ++counts[history[i]];
      CHECK_EQ(recent.size(), history.size());
      CHECK_EQ(recent.entries().size(), counts.size());
      for (const auto& [id, count] : recent.entries()) CHECK_EQ(count, counts[id]);
    }
  }
}

TEST(draws_follow_the_probabilities) {
  const std::vector<float> logits{0, std::log(2.0f), std::log(3.0f), -kInf};
  std::array<int, 4> times{};
  constexpr int kDraws = 6000;
  for (int i = 0; i < kDraws; ++i)
    ++times[static_cast<std::size_t>(
        choose(logits, {true, true, true, true}, plain(), TokenSet::Form::List, static_cast<std::uint64_t>(i)).token)];
  // Five standard deviations of a count are 193 at most.
  CHECK(std::abs(times[0] - kDraws / 6) < 200);
  CHECK(std::abs(times[1] - kDraws / 3) < 200);
  CHECK(std::abs(times[2] - kDraws / 2) < 200);
  CHECK_EQ(times[3], 0);
}

TEST(philox_gives_its_published_answers) {
  using Words = std::array<std::uint32_t, 4>;
  constexpr std::uint32_t f = 0xFFFFFFFFu;
  CHECK((philox4x32_10({0, 0, 0, 0}, {0, 0}) == Words{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}));
  CHECK((philox4x32_10({f, f, f, f}, {f, f}) == Words{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD}));
  CHECK((philox4x32_10({0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}, {0xA4093822, 0x299F31D0}) ==
         Words{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1}));
}

TEST(our_exponential_is_accurate) {
  for (double x = 0; x > -700; x -= 0.0137) {
    const double exact = std::exp(x);
    CHECK(std::abs(exp_nonpositive(x) - exact) <= 0x1p-50 * exact);
  }
  CHECK_EQ(exp_nonpositive(0), 1.0);
  CHECK(exp_nonpositive(-1e300) < 1e-300);
  CHECK(exp_nonpositive(-std::numeric_limits<double>::infinity()) < 1e-300);
}

TEST(sums_of_weights_are_those_of_the_single_ones) {
  Random random(4);
  std::normal_distribution<float> normal(0, 5);
  std::vector<CandidateKey> keys;
  for (TokenId id = 0; id < 1003; ++id) keys.push_back(candidate_key(normal(random), id));
  const Weigher weigher(logit_of(*std::max_element(keys.begin(), keys.end())), 0.7f);
  Weight sum = 0;
  for (CandidateKey key : keys) sum += weigher.weight(key);
  CHECK_EQ(weigher.sum(keys), sum);
}

TEST(keys_order_by_logit_then_lowest_id) {
  const std::vector<float> ascending{-kInf, -3e38f, -1, -kSubnormal, 0, kSubnormal, 1, 3e38f, kInf};
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    const CandidateKey key = candidate_key(ascending[i], 5);
    CHECK_EQ(logit_of(key), ascending[i]);
    CHECK_EQ(id_of(key), 5);
    CHECK(candidate_key(ascending[i], 4) > key);
    if (i > 0) CHECK(candidate_key(ascending[i - 1], 0) < key);
  }
  CHECK_EQ(candidate_key(-0.0f, 1), candidate_key(0.0f, 1));
}

TEST(nan_logits_are_counted_at_every_length) {
  std::vector<float> row(9000, 1.0f);
  for (std::size_t i : {0u, 1u, 31u, 32u, 4095u, 4096u, 8999u}) row[i] = kNaN;
  for (std::size_t n : {0u, 1u, 2u, 33u, 4096u, 4097u, 9000u}) {
    const std::vector<float> part(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(n));
    CHECK_EQ(count_nan(part), nans(part));
  }
}

// Recorded runs: a change of any of these tokens breaks the replay of runs made before it.
struct Golden {
  float temperature;
  std::int32_t top_k;
  float top_p, min_p, repeat_penalty, frequency_penalty, presence_penalty;
  std::uint32_t vocabulary, allowed_step;  // ids that are multiples of the step
  std::uint64_t logits_seed, seed;
  std::array<TokenId, 8> tokens;
};

constexpr Golden kGolden[] = {
#include "sampling_golden.inc"
};

// Multiples of 1/128 in [-16, 16): exact, with ties.
std::vector<float> golden_logits(std::uint64_t seed, std::size_t n) {
  std::vector<float> logits(n);
  for (std::size_t i = 0; i < n; ++i)
    logits[i] = static_cast<float>(static_cast<int>(Draw{seed, i}.bits() % 4096) - 2048) / 128.0f;
  return logits;
}

TEST(recorded_runs_are_replayed) {
  for (const Golden& golden : kGolden) {
    SamplerParams params;
    params.temperature = golden.temperature;
    params.top_k = golden.top_k;
    params.top_p = golden.top_p;
    params.min_p = golden.min_p;
    params.repeat_penalty = golden.repeat_penalty;
    params.frequency_penalty = golden.frequency_penalty;
    params.presence_penalty = golden.presence_penalty;
    std::vector<bool> members(golden.vocabulary);
    for (std::size_t i = 0; i < members.size(); i += golden.allowed_step) members[i] = true;
    for (TokenSet::Form form : kForms) {
      const Allowed allowed(members, form);
      Pipeline pipeline(params, members.size());
      RecentTokens recent(params.penalty_last_n);
      std::ostringstream tokens, recorded;
      for (std::size_t step = 0; step < golden.tokens.size(); ++step) {
        const auto logits = golden_logits(golden.logits_seed + step / 2, members.size());
        const TokenId token = pipeline.choose(logits, allowed.set, recent, {golden.seed, step}).token;
        recent.push(token);
        tokens << token << ", ";
        recorded << golden.tokens[step] << ", ";
      }
      CHECK_EQ(tokens.str(), recorded.str());
    }
  }
}

}  // namespace
