// Regular expressions, and what they rest on: intersection and complement of regular languages. Tables of patterns with
// texts they match and do not, refusals with their places, other spellings of code points, and hostile sizes.
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "check.hpp"
#include "glrsampler/constraint.hpp"
#include "glrsampler/grammar.hpp"
#include "glrsampler/matcher.hpp"
#include "glrsampler/vocabulary.hpp"
#include "grammar/dump.hpp"
#include "grammar/regex.hpp"
#include "grammar/unicode.hpp"
#include "support/utf8.hpp"

using glr::Grammar;
using glr::GrammarBuilder;
using glr::NodeId;
using namespace std::string_literals;
using namespace std::string_view_literals;

namespace {

using Texts = std::vector<std::string_view>;

std::string repeated(std::string_view piece, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += piece;
  return text;
}

struct Case {
  std::string_view pattern;
  std::string_view flags;
  Texts yes;
  Texts no;
};

void expect(const Grammar& grammar, std::string_view name, const Texts& yes, const Texts& no) {
  for (const std::string_view text : yes) {
    if (!glr::matches(grammar, text))
      check::fail(__FILE__, __LINE__, std::string(name) + " refuses " + std::string(text));
  }
  for (const std::string_view text : no) {
    if (glr::matches(grammar, text))
      check::fail(__FILE__, __LINE__, std::string(name) + " accepts " + std::string(text));
  }
}

const Case kPatterns[] = {
    // Characters, escapes, classes.
    {"abc", "", {"abc"}, {"", "ab", "abcd", "ABC"}},
    {"", "", {""}, {"a"}},
    {R"(\x41\u0042\u{43}\U00000044\n\t\0\cJ\/\-\.)", "", {"ABCD\n\t\0\n/-."sv}, {"ABCD"}},
    {R"(\uD83D\uDE00)", "", {"\U0001F600"}, {"\uFFFD"}},
    {"[a-c_]", "", {"a", "b", "c", "_"}, {"d", "-", "", "ab"}},
    {"[^a-c]", "", {"d", "\n", "\u00E9", "\U0001F600"}, {"a", "\xC3", "\xFF", ""}},
    {R"([\d\-x\]\b])", "", {"0", "-", "x", "]", "\b"}, {"d", "\\"}},
    {"[a-]", "", {"a", "-"}, {"b"}},
    {R"([\w-.])", "", {"a", "-", "."}, {","}},
    {"[^]", "", {"a", "\n"}, {""}},
    {R"([^\uD800-\uDFFF])", "", {"a", "\uFFFF"}, {"\xED\xA0\x80"}},
    {"[\u00E0-\u00FF]", "", {"\u00E9"}, {"e", "\xC3"}},
    {R"(\d\D\w\W\s\S)", "", {"1a_-\u00A0x", "0-9 \uFEFFx"}, {"1a_-xx", "\u0661a_- x"}},
    {".", "", {"a", "\u00E9", "\U0001F600"}, {"\n", "\r", "\u2028", "", "aa"}},
    {".", "s", {"a", "\n"}, {"", "aa"}},
    {"a{,2}{b}", "", {"{b}", "a{b}", "aa{b}"}, {"aaa{b}"}},
    {"]{", "", {"]{"}, {"]"}},
    // Quantifiers, groups, alternatives.
    {"(?:ab|c)+?d*", "", {"ab", "cab", "cd", "abddd"}, {"", "d", "a"}},
    {"(?<y>a)(?P<m_1>b)(c)", "", {"abc"}, {"ab"}},
    {"a{2}b{2,}c{1,2}", "", {"aabbc", "aabbbbcc"}, {"abbc", "aabc", "aabbccc"}},
    {"a{0}b{0,0}", "", {""}, {"a", "b"}},
    {"(a|)(|b)", "", {"", "a", "b", "ab"}, {"ba"}},
    {"a(?#no (text)b", "", {"ab"}, {"a"}},
    {"(a|b)*a(a|b){16}", "", {"baaaaaaaaaaaaaaaaa"}, {"abbbbbbbbbbbbbbb", "bbbbbbbbbbbbbbbbb"}},
    // Case.
    {"straSSe", "i", {"STRASSE", "stra\u017FSe"}, {"stra\u00DFe"}},
    {"k[^a-z]", "i", {"\u212A1", "K1"}, {"kA", "k\u017F"}},
    {"\u00C9(?-i:x)(?i:y)", "i", {"\u00E9xY"}, {"\u00E9Xy"}},
    {"(?i)a", "", {"A", "a"}, {"b"}},
    // Anchors.
    {"^a$", "", {"a"}, {"", "a\n"}},
    {R"(\Aa\Z)", "", {"a"}, {"ab"}},
    {"(^a|b$|c)*", "", {"", "a", "b", "acb", "ccb"}, {"ca", "bb", "ba"}},
    {"(?m:a$\n^b)", "", {"a\nb"}, {"ab"}},
    {R"(\w+\b.*)", "", {"ab", "ab c", "ab-"}, {"-a", ""}},
    {R"((?:\bab\b|-)*)", "", {"", "ab", "-ab--", "ab-ab"}, {"abab", "a"}},
    {R"(a\Bb)", "", {"ab"}, {"a"}},
    {R"(\B)", "", {""}, {"a"}},
    // Look-ahead, look-behind.
    {R"((?=.*\d)(?=.*[a-z]).{3,5})", "", {"1a-", "--a1-"}, {"1-1", "abc", "1a", "1a----"}},
    {"(?!ab)[ab]*", "", {"", "a", "ba", "aab"}, {"ab", "aba"}},
    {"(?:(?!-->)[^])*-->", "", {"-->", "a->-->", "--->"}, {"-->-->", "--"}},
    {"[a-z](?:[a-z]|-(?=[a-z])){0,4}", "", {"a", "a-b-c", "abcde"}, {"a-", "a--b", "abcdef", "-a"}},
    {"a(?=b(?!c))[bc]*", "", {"ab", "abb"}, {"abc", "a", "ac"}},
    {"(?:(?=a)|b)*a", "", {"a", "bba"}, {"ab"}},
    {".*(?<![-.])", "", {"", "a", "a-b"}, {"a-", "."}},
    {"(?:(?<=^|,)[a-c]|,)*", "", {"a,b,,c", ",a", ""}, {"ab"}},
};

struct Refusal {
  std::string_view pattern;
  std::size_t column;
  std::string_view text;
};

const Refusal kRefused[] = {
    {"a(b", 2, "unmatched '('"},
    {"a)", 2, "unmatched ')'"},
    {"a[b", 2, "unterminated class"},
    {"[]", 1, "empty class"},
    {"*a", 1, "nothing to repeat"},
    {"a**", 3, "nothing to repeat"},
    {"^*", 2, "nothing to repeat"},
    {"(|+)", 3, "nothing to repeat"},
    {"x[z-a]", 3, "inverted range 'z-a'"},
    {"a{3,1}", 2, "inverted bounds"},
    {"a{99999999999}", 3, "number too large"},
    {R"((a)\1)", 4, "unsupported back-reference '\\1'"},
    {R"((?<x>a)\k<x>)", 8, "unsupported back-reference"},
    {"(?P<x>a)(?P=x)", 9, "unsupported back-reference"},
    {"a(?<=ab)", 2, "unsupported look-behind of more than one code point"},
    {"(?>a)", 1, "unsupported atomic group"},
    {"a++", 2, "unsupported possessive quantifier"},
    {"(a)(?(1)b)", 4, "unsupported conditional group"},
    {"(?x)a", 1, "unsupported group"},
    {"a(?i)b", 2, "unexpected '(?i)'"},
    {R"(a\)", 2, "bad escape"},
    {R"(\q)", 1, "bad escape '\\q'"},
    {R"(\01)", 1, "bad escape"},
    {R"(\u12)", 1, "bad escape"},
    {R"(\u{110000})", 1, "not a code point"},
    {R"(\p{Foo})", 1, "unsupported Unicode property '\\p{Foo}'"},
    {"a\xFF", 2, "invalid UTF-8"},
    {"[^\\s\\S]", 1, "no sentence"},
    {"a\n^b", 1, "no sentence"},
    {"\u00E9(", 2, "unmatched '('"},
};

std::shared_ptr<const Grammar> built(const std::function<NodeId(GrammarBuilder&)>& body) {
  GrammarBuilder builder("source", "grammar", "test");
  const glr::RuleId root = builder.declare("root");
  builder.define(root, body(builder), {});
  return std::move(builder).build(root);
}

NodeId intersection(GrammarBuilder& builder, std::vector<NodeId> nodes) { return builder.intersection(nodes, {}); }
NodeId sequence(GrammarBuilder& builder, std::vector<NodeId> nodes) { return builder.sequence(nodes, {}); }
NodeId choice(GrammarBuilder& builder, std::vector<NodeId> nodes) { return builder.choice(nodes, {}); }

// A vocabulary of single bytes; token 256 ends the text.
std::shared_ptr<const glr::Vocabulary> byte_vocabulary() {
  std::vector<glr::Token> tokens(257);
  for (std::size_t b = 0; b < 256; ++b) tokens[b].bytes = std::string(1, static_cast<char>(b));
  tokens[256] = {.bytes = "", .name = "</s>", .control = true, .end_of_generation = true};
  return std::make_shared<const glr::Vocabulary>(std::move(tokens));
}

}  // namespace

TEST(patterns) {
  for (const Case& c : kPatterns) expect(*Grammar::from_regex(c.pattern, c.flags), c.pattern, c.yes, c.no);
}

TEST(refusals) {
  for (const Refusal& r : kRefused)
    CHECK_THROWS_GRAMMAR(Grammar::from_regex(r.pattern), 1, r.column, std::string(r.text));
  CHECK_THROWS_GRAMMAR(Grammar::from_regex("a", "ix"), 1, 2, "flags are i");
}

TEST(search) {
  const auto search = [](std::string_view pattern) {
    return built([&](GrammarBuilder& builder) { return glr::regex_search(builder, pattern); });
  };
  expect(*search("b+"), "b+", {"b", "abc", "\u00E9bb\n"},
         {"", "ac",
          "\xFF"
          "b"});
  expect(*search("^a|b$"), "^a|b$", {"a", "ax", "b", "xb"}, {"xa", "bx", ""});
  expect(*search("^$"), "^$", {""}, {"a"});
  expect(*search(""), "empty", {"", "a"}, {"\xFF"});
  expect(*search(R"(\bfoo\b)"), "foo", {"foo", "a foo b", "-foo-"}, {"afoo", "foob"});
  expect(*search("^(?!.*secret)"), "secret", {"", "public"}, {"a secret"});
}

// Texts in which every code point is its number in hexadecimal and a full stop: a prefix code.
TEST(other_spellings) {
  GrammarBuilder builder("", "grammar", "test");
  glr::RegexSettings settings;
  const auto spelled = [](char32_t c) {
    std::string digits;
    do digits.insert(digits.begin(), "0123456789abcdef"[c % 16]);
    while ((c /= 16) != 0);
    return digits + '.';
  };
  settings.code_points = [&](const std::vector<glr::CodePointRange>& ranges) {
    std::vector<NodeId> nodes;
    for (const auto& [first, last] : ranges) {
      for (char32_t c = first; c <= std::min<char32_t>(last, 0x7F); ++c)
        nodes.push_back(builder.literal(spelled(c), {}));
    }
    return builder.choice(nodes, {});
  };
  const glr::RuleId root = builder.declare("root");
  builder.define(root, glr::regex_search(builder, R"(^(?!ab)\w+\b-?$)", settings), {});
  const auto grammar = std::move(builder).build(root);
  const auto text = [&](std::string_view plain) {
    std::string all;
    for (const char c : plain) all += spelled(static_cast<char32_t>(c));
    return all;
  };
  CHECK(glr::matches(*grammar, text("ba")));
  CHECK(glr::matches(*grammar, text("a-")));
  CHECK(!glr::matches(*grammar, text("abc")));
  CHECK(!glr::matches(*grammar, text("a--")));
  CHECK(!glr::matches(*grammar, "ba"));
}

TEST(intersection_and_complement) {
  const auto words = built([](GrammarBuilder& b) {
    const NodeId even = b.repeat(b.code_points({{'a', 'z'}, {'a', 'z'}}, {}), 2, 4, {});
    const NodeId other = b.complement(sequence(b, {b.anything({}), b.literal("x", {}), b.anything({})}), {});
    return intersection(b, {even, other});
  });
  expect(*words, "no x", {"ab", "abc"}, {"a", "ax", "abcde"});
  // In a larger grammar, under a loop, between texts.
  const auto inside = built([](GrammarBuilder& b) {
    const NodeId word = intersection(
        b, {b.repeat(b.code_points({{'a', 'c'}}, {}), 1, glr::kUnbounded, {}), b.complement(b.literal("b", {}), {})});
    return b.repeat(sequence(b, {word, b.literal(",", {})}), 1, glr::kUnbounded, {});
  });
  expect(*inside, "list", {"a,", "bb,a,"}, {"b,", "a,b,", "a", ","});
  CHECK_EQ(glr::dump(*built([](GrammarBuilder& b) {
             return intersection(b,
                                 {b.literal("a", {}), choice(b, {b.literal("a", {}), b.complement(b.empty({}), {})})});
           })),
           "root ::= \"a\" & (\"a\" | ~\"\")\n"s);
}

TEST(rules_in_operands) {
  const auto grammar = [](bool tail, bool negated) {
    GrammarBuilder b("source", "grammar", "test");
    const glr::RuleId root = b.declare("root");
    const glr::RuleId loop = b.declare("loop");
    const NodeId a = b.literal("a", {});
    const NodeId self = b.rule_ref(loop, {3, 1});
    const NodeId step = tail ? sequence(b, {a, self}) : sequence(b, {a, self, b.literal("b", {})});
    b.define(loop, choice(b, {b.literal("c", {}), step}), {});
    const NodeId use = b.rule_ref(loop, {});
    const NodeId other = b.complement(b.literal("ac", {}), {});
    b.define(root,
             negated ? intersection(b, {b.complement(use, {}), b.repeat(b.code_points({{'a', 'c'}}, {}), 0, 3, {})})
                     : intersection(b, {use, other}),
             {});
    return std::move(b).build(root);
  };
  expect(*grammar(true, false), "right-linear", {"c", "aac"}, {"ac", "a"});
  expect(*grammar(true, true), "not right-linear", {"", "ca", "a"}, {"c", "ac", "aac"});
  CHECK_THROWS_GRAMMAR(glr::matches(*grammar(false, false), "c"), 1, 4, "unsupported the recursive rule 'loop'");
}

TEST(terminals) {
  const auto grammar = [](auto&& operand) {
    return built([&](GrammarBuilder& b) {
      const NodeId use = b.terminal(operand(b), {2, 3});
      return sequence(b, {use, b.literal(";", {})});
    });
  };
  const auto letters = [](GrammarBuilder& b) {
    return b.repeat(b.code_points({{'a', 'c'}}, {}), 1, glr::kUnbounded, {});
  };
  expect(*grammar(letters), "letters", {"a;", "abc;"}, {";", "a", "a;;"});
  CHECK_EQ(glr::dump(*grammar(letters)), "root ::= @([a-c]+) \";\"\n"s);
  const auto either = [](GrammarBuilder& b) { return choice(b, {b.literal("a", {}), b.literal("", {})}); };
  expect(*grammar(either), "maybe nothing", {"a;", ";"}, {"aa;"});
  const auto inside = [&](GrammarBuilder& b) {
    return sequence(b, {b.literal("-", {}), b.terminal(letters(b), {1, 4})});
  };
  CHECK_THROWS_GRAMMAR(glr::matches(*grammar(inside), "-a;"), 1, 2, "unsupported a terminal in a terminal");
  const auto complement = [&](GrammarBuilder& b) { return b.complement(b.terminal(letters(b), {1, 4}), {}); };
  CHECK_THROWS_GRAMMAR(glr::matches(*built(complement), "-"), 1, 2, "unsupported a terminal in a terminal");
  const auto token = [](GrammarBuilder& b) { return b.token({.text = "<a>"}, {3, 1}); };
  CHECK_THROWS_GRAMMAR(glr::matches(*grammar(token), "-"), 1, 4, "unsupported a token literal in a terminal");
  const auto recursive = [](GrammarBuilder& b) {
    const glr::RuleId nested = b.declare("nested");
    b.define(nested,
             choice(b, {b.literal("a", {}),
                        sequence(b, {b.literal("(", {}), b.rule_ref(nested, {4, 1}), b.literal(")", {})})}),
             {});
    return b.rule_ref(nested, {});
  };
  CHECK_THROWS_GRAMMAR(glr::matches(*grammar(recursive), "a;"), 1, 5, "unsupported the recursive rule 'nested'");
}

TEST(what_is_empty_is_found_out) {
  const auto vocabulary = byte_vocabulary();
  for (const std::string_view pattern : {"a(?!a)(?=a)b*", R"(a\Bb\b\B)", "(?:^)+a(?!a)(?=a)"}) {
    CHECK(!glr::matches(*Grammar::from_regex(pattern), "a"));
    CHECK_THROWS_GRAMMAR(glr::Constraint::compile(Grammar::from_regex(pattern), vocabulary), 1, 1, "no sentence");
  }
  // An empty alternative is no alternative: after "a" only "b" may come.
  const auto constraint = glr::Constraint::compile(Grammar::from_regex("ab|a(?=c)d.*"), vocabulary);
  glr::Matcher matcher(constraint);
  CHECK(matcher.try_commit('a'));
  CHECK_EQ(matcher.allowed().count(), 1u);
  CHECK(matcher.allows('b'));
}

TEST(budget) {
  const std::string hard = "(?=.*(a|b)*a(a|b){20})(?!.*(b|a)*b(a|b){20}).*";
  bool over = false;
  try {
    (void)glr::matches(*Grammar::from_regex(hard), "a");
  } catch (const glr::BudgetError& e) {
    over = e.budget == "max_states" && e.value > e.limit;
  }
  CHECK(over);
}

TEST(choices) {
  const std::vector<std::string> texts{"yes", "no", "\xFF"};
  expect(*Grammar::from_choices(texts), "choices", {"yes", "no", "\xFF"}, {"", "y", "yesno"});
  const std::vector<std::string> other{"ye", "sno", "\xFF"};
  CHECK(Grammar::from_choices(texts)->fingerprint() != Grammar::from_choices(other)->fingerprint());
  CHECK_THROWS_GRAMMAR(Grammar::from_choices({}), 0, 0, "no text to choose from");
}

TEST(properties) {
  expect(*Grammar::from_regex(R"(\p{Lu}\p{Letter}\pN\P{L}\p{gc=Sc})"), "categories", {"A\u00E95-\u20AC"},
         {"a\u00E95-\u20AC", "Aa5a\u20AC"});
  expect(*Grammar::from_regex(R"([\p{ID_Start}$_][\p{ID_Continue}]*)"), "names", {"$x1", "\u00E9\u0301", "\u2118"},
         {"1x", "-"});
  expect(*Grammar::from_regex(R"(\p{White_Space}\p{uppercase}\p{Any}\p{ASCII})"), "binary", {"\u3000A\nz"},
         {"\x1C"
          "A\nz"});
  CHECK(!glr::unicode_property("Lx"));
  CHECK(!glr::unicode_property("Script=Nowhere"));
  CHECK(glr::unicode_version().size() >= 5);
}

TEST(hostile_sizes) {
  const auto begin = std::chrono::steady_clock::now();
  const std::size_t n = 20'000;
  expect(*Grammar::from_regex(repeated("(", n) + "a" + repeated(")", n)), "groups", {"a"}, {"b"});
  expect(*Grammar::from_regex(repeated("(?:a", n) + repeated(")*", n)), "loops", {"", "aa"}, {"b"});
  expect(*Grammar::from_regex(repeated("(?=", n) + "a" + repeated(")", n) + "a"), "look-aheads", {"a"}, {"b"});
  expect(*Grammar::from_regex(repeated("(?!b)", n) + "a"), "look-aheads in a row", {"a"}, {"b"});
  expect(*Grammar::from_regex("(?:a|b(?=a)){1,2000}"), "bounds", {"a", "aba"}, {"bb", "ab"});
  CHECK_THROWS_GRAMMAR(Grammar::from_regex(repeated("(?:(?!b)", n) + "a" + repeated(")*", n)), 1, 8 * 1000 + 1,
                       "limit exceeded");
  CHECK_THROWS_GRAMMAR(Grammar::from_regex("(?:a(?!b)){1000000}"), 1, 4, "limit exceeded");
  // No pattern cut short crashes the reader.
  const std::string all = R"((?<n>a(?=b|[^\p{Lu}-z\x41\u{41}])\b{2,3}?(?i:\cA)(?#c)|\uD83D\uDE00))";
  for (std::size_t i = 0; i < all.size(); ++i) {
    try {
      (void)Grammar::from_regex(all.substr(0, i));
    } catch (const glr::GrammarError& e) {
      CHECK(e.line == 1);
    }
  }
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(60));
}
