// Masks against brute force on random grammars, in every configuration; long and deep inputs; counters.
#include "glrsampler/matcher.hpp"

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <thread>

#include "check.hpp"
#include "expression/expression.hpp"

namespace {

using namespace glr;
using Random = std::mt19937;

std::size_t pick(Random& random, std::size_t n) { return random() % n; }

std::shared_ptr<const Vocabulary> vocabulary_of(const std::vector<std::string>& texts) {
  std::vector<Token> tokens;
  for (const std::string& t : texts) tokens.push_back({t, "", false, false});
  tokens.push_back({"", "<tool>", true, false});
  tokens.push_back({"", "</s>", true, true});
  return std::make_shared<const Vocabulary>(std::move(tokens));
}

// Every byte of the alphabet and random strings over it, some of them twice, some cut inside a code point.
std::shared_ptr<const Vocabulary> random_vocabulary(Random& random) {
  const std::vector<std::string> alphabet = {"a", "b", "c", "(", ")", "\xC3\xA9", "\xE2\x82\xAC"};
  std::vector<std::string> texts = {"a", "b", "c", "(", ")", "\xC3", "\xA9", "\xE2", "\x82", "\xAC", ""};
  for (int i = 0; i < 30; ++i) {
    std::string text;
    for (std::size_t n = 1 + pick(random, 6); n > 0; --n) text += alphabet[pick(random, alphabet.size())];
    texts.push_back(pick(random, 4) == 0 ? text.substr(0, text.size() - 1) : text);
  }
  return vocabulary_of(texts);
}

std::string random_expression(Random& random, unsigned depth) {
  const auto sub = [&] { return random_expression(random, depth - 1); };
  switch (depth == 0 ? pick(random, 6) : pick(random, 13)) {
    case 0:
      return "\"a\"";
    case 1:
      return "\"b\"";
    case 2:
      return "[a-c]";
    case 3:
      return "\"(\"";
    case 4:
      return pick(random, 3) == 0 ? "[^ab]" : "\"c\"";
    case 5:
      return "r" + std::to_string(pick(random, 3));
    case 6:
      return "(" + sub() + " | " + sub() + ")";
    case 7:
      return sub() + " " + sub();
    case 8:
      return "(" + sub() + ")*";
    case 9:
      return "(" + sub() + ")?";
    case 10:
      return "(" + sub() + "){" + std::to_string(pick(random, 3)) + "," + std::to_string(3 + pick(random, 30)) + "}";
    case 11:
      return pick(random, 4) == 0 ? "<tool>" : "\"\\u00e9\"";
    default:
      return sub() + " | " + sub();
  }
}

std::string random_grammar(Random& random) {
  std::string text = "root ::= r0 \".\"? | r1\n";
  for (int r = 0; r < 3; ++r) {
    text += "r" + std::to_string(r) + " ::= " + random_expression(random, 3);
    if (pick(random, 2) == 0) text += " | r" + std::to_string(pick(random, 3)) + " " + random_expression(random, 1);
    text += " | \"b\"\n";
  }
  return text;
}

std::set<TokenId> allowed(Matcher& matcher) {
  std::set<TokenId> found;
  matcher.allowed().for_each([&](TokenId t) { found.insert(t); });
  return found;
}

std::set<TokenId> brute_force(const Matcher& matcher, std::size_t size) {
  std::set<TokenId> found;
  for (TokenId t = 0; t < static_cast<TokenId>(size); ++t) {
    if (matcher.fork().try_commit(t)) found.insert(t);
  }
  return found;
}

std::string shown(const std::set<TokenId>& set) {
  std::string text;
  for (TokenId t : set) text += std::to_string(t) + " ";
  return text;
}

// One walk in three configurations side by side; the budget of the last drops the automaton all the time.
void compare(Random& random, const std::string& grammar_text) {
  const auto grammar = Grammar::from_gbnf(grammar_text);
  const auto vocabulary = random_vocabulary(random);
  Limits tiny;
  tiny.max_bytes = 1;
  std::vector<Matcher> matchers;
  matchers.emplace_back(Constraint::compile(grammar, vocabulary));
  matchers.emplace_back(Constraint::compile(grammar, vocabulary, Mode::Eager));
  matchers.emplace_back(Constraint::compile(grammar, vocabulary, Mode::Background));
  matchers.emplace_back(Constraint::compile(grammar, vocabulary, Mode::Lazy, tiny));
  for (int step = 0; step < 8; ++step) {
    const std::set<TokenId> truth = brute_force(matchers[0], vocabulary->size());
    for (Matcher& m : matchers) {
      if (allowed(m) == truth) continue;
      check::fail(__FILE__, __LINE__,
                  grammar_text + "step " + std::to_string(step) + ": " + shown(allowed(m)) + "is not " + shown(truth));
      return;
    }
    if (truth.empty()) return;
    auto chosen = truth.begin();
    std::advance(chosen, static_cast<std::ptrdiff_t>(pick(random, truth.size())));
    for (Matcher& m : matchers) CHECK(m.try_commit(*chosen));
  }
  for (Matcher& m : matchers) {
    const std::size_t n = m.commits();
    m.rollback(n);
    CHECK_EQ(m.commits(), std::size_t{0});
  }
  CHECK(allowed(matchers[0]) == allowed(matchers[1]));
}

std::shared_ptr<const Constraint> compiled(const std::string& grammar, const std::vector<std::string>& tokens,
                                           Mode mode = Mode::Lazy) {
  return Constraint::compile(Grammar::from_gbnf(grammar), vocabulary_of(tokens), mode);
}

}  // namespace

TEST(masks_equal_brute_force_in_every_configuration) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    Random random(seed);
    compare(random, random_grammar(random));
  }
}

// Exact to the last token on both sides of a bound that is far longer than a token.
TEST(counters_are_exact_at_their_bounds) {
  for (const Mode mode : {Mode::Lazy, Mode::Eager}) {
    Matcher m(compiled("root ::= \"a\"{300,700} \".\"", {"a", "aaaaa", "aaaa.", "."}, mode));
    std::size_t count = 0;
    const auto expect = [&] {
      const std::set<TokenId> now = allowed(m);
      CHECK_EQ(now.contains(0), count < 700);
      CHECK_EQ(now.contains(1), count + 5 <= 700);
      CHECK_EQ(now.contains(2), count + 4 <= 700 && count + 4 >= 300);
      CHECK_EQ(now.contains(3), count >= 300);
    };
    while (count < 700) {
      expect();
      const TokenId token = count % 7 == 3 && count + 5 <= 700 ? 1 : 0;
      CHECK(m.try_commit(token));
      count += token == 1 ? 5 : 1;
    }
    expect();
  }
}

TEST(a_huge_bound_costs_nothing_while_it_is_far) {
  const auto constraint =
      compiled("root ::= ([a-c]{1000000} | \"x\"{2,4000000000})", {"a", "ab", "x", "xxx"}, Mode::Eager);
  CHECK(constraint->stats().states < 2000);
  Matcher m(constraint);
  for (int i = 0; i < 1000; ++i) CHECK(m.try_commit(1));
  CHECK(!m.accepting());
}

TEST(counters_that_differ_in_their_numbers_alone_are_one) {
  // After n letters any of n/2 to n iterations may have been made.
  const auto constraint = compiled("root ::= (\"a\" | \"aa\"){10,2000} \".\"", {"a", "aaa", "."});
  Matcher m(constraint);
  for (std::size_t n = 0; n <= 4000; ++n) {
    if (n < 30 || n > 3980) {
      const std::set<TokenId> now = allowed(m);
      CHECK_EQ(now.contains(0), n < 4000);
      CHECK_EQ(now.contains(1), n + 3 <= 4000);
      CHECK_EQ(now.contains(2), n >= 10);
    }
    if (n < 4000) CHECK(m.try_commit(0));
  }
  CHECK(constraint->stats().bytes < (std::uint64_t{8} << 20));  // 23 MB with each of them apart
}

TEST(deep_stacks_are_taken_back_without_recursion) {
  Matcher m(compiled("root ::= v\nv ::= \"[\" (v (\",\" v)*)? \"]\"", {"[", "]", "[[[[", "],["}));
  for (int i = 0; i < 100'000; ++i) CHECK(m.try_commit(0));
  Matcher fork = m.fork();
  for (int i = 0; i < 50'000; ++i) CHECK(m.try_commit(1));
  CHECK(allowed(fork) == (std::set<TokenId>{0, 1, 2, 3}));
  m.rollback(50'000);
  CHECK(allowed(m) == allowed(fork));
}

TEST(chains_of_nullable_frames_stay_short) {
  Matcher m(compiled("root ::= stmt\nstmt ::= \"i\" stmt (\"e\" stmt)? | \"x\"", {"i", "x", "e", "ix", "exex"}));
  for (int i = 0; i < 10'000; ++i) CHECK(m.try_commit(0));
  CHECK(m.try_commit(1));
  for (int i = 0; i < 10'000; ++i) CHECK(m.try_commit(2) && m.try_commit(1));
  CHECK(m.accepting());
  CHECK(!m.try_commit(2));
}

TEST(rollback_is_bounded_and_says_so) {
  Matcher m(compiled("root ::= \"a\"*", {"a"}));
  for (int i = 0; i < 70'000; ++i) CHECK(m.try_commit(0));
  CHECK(m.commits() >= 65'000);
  CHECK(m.commits() < 70'000);
  m.rollback(m.commits());
  bool refused = false;
  try {
    m.rollback(1);
  } catch (const std::out_of_range&) {
    refused = true;
  }
  CHECK(refused);
}

TEST(sequences_that_begin_get_a_new_engine_when_the_terms_outgrow_the_budget) {
  // Each count is a state of its own near the bound, and leaves terms behind far from it.
  const auto text = "root ::= ([a-c] [d-f]?){0,2000000} \".\"";
  std::vector<std::string> letters{"."};
  for (char c = 'a'; c <= 'f'; ++c) letters.emplace_back(1, c);
  const auto vocabulary = vocabulary_of(letters);
  const auto grammar = Grammar::from_gbnf(text);
  Limits limits;
  limits.max_bytes = std::size_t{1} << 20;
  const auto constraint = Constraint::compile(grammar, vocabulary, Mode::Lazy, limits);
  const auto grow = [](Matcher& m) {
    for (int i = 0; i < 4000; ++i) CHECK(m.try_commit(1));
  };
  const auto bytes = [&] { return constraint->stats().bytes; };
  Matcher first(constraint);
  grow(first);
  CHECK(bytes() > limits.max_bytes);
  Matcher held(constraint);  // the first stays where it is, and goes on
  CHECK(bytes() < limits.max_bytes);
  CHECK(first.try_commit(4));
  CHECK(allowed(first) == (std::set<TokenId>{0, 1, 2, 3}));
  CHECK(allowed(held) == (std::set<TokenId>{0, 1, 2, 3}));
  // A matcher begins anew at reset(), unless forks are left.
  grow(held);
  CHECK(bytes() > limits.max_bytes);
  {
    const Matcher fork = held.fork();
    held.reset();
    CHECK(bytes() > limits.max_bytes);
  }
  held.reset();
  CHECK(bytes() < limits.max_bytes);
  CHECK_EQ(held.commits(), std::size_t{0});
  CHECK(held.try_commit(1) && held.try_commit(4) && held.try_commit(0) && held.accepting());
  // One that is filled ahead keeps what was filled.
  const auto eager = Constraint::compile(grammar, vocabulary_of(letters), Mode::Eager);
  Matcher filled(eager);
  grow(filled);
  const std::uint64_t before = eager->stats().bytes;
  CHECK(Matcher(eager).try_commit(1));
  CHECK(eager->stats().bytes >= before);
}

TEST(budgets_of_an_eager_compile) {
  const auto grammar = Grammar::from_gbnf("root ::= \"abcdefghijklmnop\"+ [a-z]{5,9}");
  std::vector<std::string> letters;
  for (char c = 'a'; c <= 'z'; ++c) letters.emplace_back(1, c);
  const auto vocabulary = vocabulary_of(letters);
  const auto expect = [&](Limits limits, const std::string& budget) {
    try {
      (void)Constraint::compile(grammar, vocabulary, Mode::Eager, limits);
      check::fail(__FILE__, __LINE__, "no BudgetError for " + budget);
    } catch (const BudgetError& e) {
      CHECK_EQ(e.budget, budget);
      CHECK(e.value > e.limit);
      CHECK_EQ(e.rule, std::string("root"));
    }
  };
  Limits limits;
  limits.max_states = 3;
  expect(limits, "max_states");
  limits = {};
  limits.max_transitions = 3;
  expect(limits, "max_transitions");
  limits = {};
  limits.max_bytes = 1;
  expect(limits, "max_bytes");
}

TEST(threads_share_a_constraint) {
  const auto constraint = compiled("root ::= e\ne ::= e \"+\" e | \"(\" e \")\" | [a-c]+",
                                   {"a", "+", "(", ")", "a+", "((", "))", "c+b"}, Mode::Background);
  std::vector<std::string> masks(8);
  std::vector<std::thread> threads;
  for (std::string& own : masks) {
    threads.emplace_back([&own, &constraint] {
      Random random(7);
      Matcher m(constraint);
      for (int i = 0; i < 300; ++i) {
        const std::set<TokenId> now = allowed(m);
        own += shown(now) + "\n";
        auto chosen = now.begin();
        std::advance(chosen, static_cast<std::ptrdiff_t>(pick(random, now.size())));
        if (!m.try_commit(*chosen)) own += "refused";
        if (m.finished()) m.reset();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  for (const std::string& own : masks) CHECK(own == masks[0]);
}

// Two terms of forty levels, on each of which two ways lead to the same next level: 2^40 paths, but forty different
// sets of rests.
TEST(alternatives_that_meet_again_are_factored_once) {
  ExpressionStore terms;
  ExprId x = terms.literal("x");
  ExprId y = terms.literal("y");
  for (int i = 0; i < 40; ++i) {
    for (ExprId* e : {&x, &y})
      *e = terms.alternation(terms.concat(terms.literal("a"), *e), terms.concat(terms.literal("ba"), *e));
  }
  const std::size_t before = terms.size();
  CHECK(terms.alternation(x, y) != kNothing);
  CHECK(terms.size() - before < 400);
}
