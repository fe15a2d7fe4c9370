// Forced tokens against the definition: with a longest-match tokenizer, the tokens that every sentence of the grammar
// is cut into as far as they agree, held back where they do not.
#include <algorithm>
#include <random>
#include <string>

#include "check.hpp"
#include "glrsampler/matcher.hpp"
#include "glrsampler/sampler.hpp"

namespace {

using namespace glr;

const std::vector<std::string> kTexts = {"a",  "b",    "c",    "ab",       "bc",       "abc",
                                         "ca", "\xC3", "\xA9", "\xC3\xA9", "a\xC3\xA9"};

std::shared_ptr<const Vocabulary> vocabulary_of(const std::vector<std::string>& texts, Tokenizer tokenizer = {}) {
  std::vector<Token> tokens;
  for (const std::string& t : texts) tokens.push_back({t, "", false, false});
  tokens.push_back({"", "</s>", true, true});
  return std::make_shared<const Vocabulary>(std::move(tokens), std::move(tokenizer));
}

// The longest token at each place, as a tokenizer of the simplest kind does.
std::vector<TokenId> longest_match(std::string_view text) {
  std::vector<TokenId> out;
  while (!text.empty()) {
    TokenId best = 0;
    std::size_t size = 0;
    for (std::size_t i = 0; i < kTexts.size(); ++i) {
      if (kTexts[i].size() <= size || text.substr(0, kTexts[i].size()) != kTexts[i]) continue;
      best = static_cast<TokenId>(i);
      size = kTexts[i].size();
    }
    if (size == 0) return {};
    out.push_back(best);
    text.remove_prefix(size);
  }
  return out;
}

std::string spelled(const std::vector<TokenId>& tokens) {
  std::string out;
  for (const TokenId token : tokens) out += kTexts[static_cast<std::size_t>(token)];
  return out;
}

Matcher matcher_of(const std::string& gbnf, std::shared_ptr<const Vocabulary> vocabulary) {
  return Matcher(Constraint::compile(Grammar::from_gbnf(gbnf), std::move(vocabulary)));
}

TEST(all_of_a_text_without_choices) {
  const auto vocabulary = vocabulary_of(kTexts);
  for (const std::string text : {"a", "ab", "abcab", "ca\xC3\xA9", "\xC3\xA9\xC3\xA9", "bbcabc"}) {
    Matcher m = matcher_of("root ::= \"" + text + "\"", vocabulary);
    CHECK(m.forced_tokens(longest_match) == longest_match(text));
    CHECK_EQ(m.commits(), 0u);
  }
}

TEST(the_tokens_of_every_sentence_begin_with_them) {
  std::mt19937 random(7);
  const auto vocabulary = vocabulary_of(kTexts);
  const std::vector<std::string> pieces = {"a", "b", "c", "\xC3\xA9"};
  const auto text_of = [&](std::size_t most) {
    std::string text;
    for (std::size_t n = random() % (most + 1); n > 0; --n) text += pieces[random() % pieces.size()];
    return text;
  };
  std::size_t forced_bytes = 0;
  for (int round = 0; round < 2000; ++round) {
    const std::string before = text_of(2);
    const std::string common = text_of(6);
    std::vector<std::string> ends;
    std::string choice;
    for (std::size_t n = 1 + random() % 3; n > 0; --n) {
      ends.push_back(text_of(3));
      choice += (choice.empty() ? "\"" : "\" | \"") + ends.back();
    }
    Matcher m = matcher_of("root ::= \"" + before + common + "\" (" + choice + "\")", vocabulary);
    m.commit_bytes(before);
    const std::vector<TokenId> forced = m.forced_tokens(longest_match, before);
    forced_bytes += spelled(forced).size();
    for (const std::string& end : ends) {
      // After what is committed the tokenizer cuts there, or else is asked without it.
      const std::vector<TokenId> whole = longest_match(before + common + end);
      const std::vector<TokenId> seam = longest_match(before);
      const bool cuts = whole.size() >= seam.size() && std::equal(seam.begin(), seam.end(), whole.begin());
      const std::vector<TokenId> tokens =
          cuts ? std::vector<TokenId>(whole.begin() + static_cast<std::ptrdiff_t>(seam.size()), whole.end())
               : longest_match(common + end);
      const std::string text = spelled(tokens);
      CHECK(forced.size() <= tokens.size() && std::equal(forced.begin(), forced.end(), tokens.begin()));
      CHECK_EQ(text, common + end);
    }
    for (const TokenId token : forced) CHECK(m.try_commit(token));
  }
  CHECK(forced_bytes > 4000);
}

TEST(given_text_is_part_of_them) {
  const auto vocabulary = vocabulary_of(kTexts);
  Matcher m = matcher_of("root ::= \"abca\"", vocabulary);
  CHECK(m.forced_tokens(longest_match, "", "ab") == longest_match("abca"));
  bool refused = false;
  try {
    m.forced_tokens(longest_match, "", "ac");
  } catch (const RejectedToken& error) {
    refused = error.offset == 1;
  }
  CHECK(refused);
}

TEST(without_a_tokenizer_the_single_choices) {
  Matcher m = matcher_of("root ::= \"bab\"", vocabulary_of({"a", "b", "ab"}));
  CHECK(m.forced_tokens() == std::vector<TokenId>{1});
  Matcher own = matcher_of("root ::= \"bab\"", vocabulary_of(kTexts, longest_match));
  CHECK(own.forced_tokens() == longest_match("bab"));
  own.commit_bytes("bab");
  CHECK(own.forced_tokens().empty());
  own.commit(static_cast<TokenId>(kTexts.size()));
  CHECK(own.forced_tokens().empty());
}

TEST(tokenizers_that_answer_nonsense) {
  Matcher m = matcher_of("root ::= \"ab\" (\"a\" | \"b\")", vocabulary_of(kTexts));
  const std::vector<std::vector<TokenId>> answers = {{},  {-5},   {1 << 20},
                                                     {0}, {1, 0}, {static_cast<TokenId>(kTexts.size())}};
  for (const auto& answer : answers) {
    const std::vector<TokenId> forced = m.forced_tokens([&](std::string_view) { return answer; });
    CHECK(forced.empty());
  }
}

TEST(a_code_point_in_the_making) {
  Matcher m = matcher_of("root ::= \"b\xC3\xA9\" [a-c]", vocabulary_of(kTexts));
  m.commit_bytes("b\xC3");
  CHECK(m.forced_tokens(longest_match, "b\xC3") == std::vector<TokenId>{8});  // the second byte alone is a token
}

TEST(samplers_stop_before_forbidden_tokens) {
  SamplerParams params;
  params.forbidden_tokens = {2};
  const auto constraint =
      Constraint::compile(Grammar::from_gbnf("root ::= \"bcab\""), vocabulary_of({"a", "b", "c", "ab", "bc"}));
  const auto tokenize = [](std::string_view text) {
    std::vector<TokenId> out;
    for (const char c : text) out.push_back(c - 'a');
    return out;
  };
  CHECK(Sampler(constraint, params).forced_tokens(tokenize) == std::vector<TokenId>{1});
  params.forbidden_tokens = {};
  CHECK(Sampler(constraint, params).forced_tokens(tokenize) == std::vector<TokenId>({1, 2, 0, 1}));
  params.forced_tokens = false;
  CHECK(Sampler(constraint, params).forced_tokens(tokenize).empty());
}

}  // namespace
