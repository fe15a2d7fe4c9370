// The GBNF reader: tables of grammars with what they become or how they are refused, hostile sizes,
// and mutations; and the parts below it (SHA-256, classes, diagnostics, dump, productivity).
#include <chrono>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <string_view>

#include "check.hpp"
#include "glrsampler/grammar.hpp"
#include "grammar/diagnostic.hpp"
#include "grammar/dump.hpp"
#include "grammar/productive.hpp"
#include "support/sha256.hpp"
#include "support/utf8.hpp"

using glr::Grammar;
using namespace std::string_literals;

namespace {

std::string repeated(std::string_view piece, std::size_t times) {
  std::string text;
  text.reserve(piece.size() * times);
  for (std::size_t i = 0; i < times; ++i) text += piece;
  return text;
}

// Grammars and the dump of what they become.
struct Good {
  std::string_view text;
  std::string_view dumped;
};

constexpr Good kGood[] = {
    // Rules and alternatives.
    {"root ::= \"a\"", "root ::= \"a\"\n"},
    {"root ::= \"a\" | \"b\" \"c\" |", "root ::= \"a\" | \"b\" \"c\" | \"\"\n"},
    {"root ::=", "root ::= \"\"\n"},
    {"root ::= | \"a\"", "root ::= \"\" | \"a\"\n"},
    {"root ::= \"a\" |\n\n  # the other\n  \"b\"\n", "root ::= \"a\" | \"b\"\n"},
    {"root ::= \"a\"\n  | \"b\"\n\n# why not\n| \"c\"\nx ::= root", "root ::= \"a\" | \"b\" | \"c\"\nx ::= root\n"},
    {"root ::=\n\n  \"a\"\n", "root ::= \"a\"\n"},
    {"\n\n   \nroot ::=   ws   item   \n\n# comment\nws ::= [ \\n]*\n\n item ::= \"x\" ws\n   ",
     "root ::= ws item\nws ::= [\\n ]*\nitem ::= \"x\" ws\n"},
    {"# head\r\nroot ::= a_1 | # first\r\n  B-2\r\n\r\na_1 ::= \"#\" # says \"#\"\r\nB-2 ::= (\r\n  \"y\" # in\r\n  "
     "\"#\"\r\n)",
     "root ::= a_1 | B-2\na_1 ::= \"#\"\nB-2 ::= \"y\" \"#\"\n"},
    {"root ::= 1\r1 ::= \"x\"\r", "root ::= 1\n1 ::= \"x\"\n"},
    {"\xEF\xBB\xBFroot ::= \"a\"", "root ::= \"a\"\n"},
    {"root ::= root \"a\" | \"b\" | root", "root ::= root \"a\" | \"b\" | root\n"},
    {"root::=\"a\"\"b\"x\nx::=[c].", "root ::= \"a\" \"b\" x\nx ::= [c] .\n"},
    // Groups.
    {"root ::= (\n \"a\"\n | \"b\"\n) \"c\"", "root ::= (\"a\" | \"b\") \"c\"\n"},
    {"root ::= ((\"a\")) ((\"b\" \"c\"))*", "root ::= \"a\" (\"b\" \"c\")*\n"},
    {"root ::= () | (|)", "root ::= \"\" | (\"\" | \"\")\n"},
    {"root ::= (\"a\" (\"b\" \"c\")) | (\"d\" | \"e\")", "root ::= \"a\" (\"b\" \"c\") | (\"d\" | \"e\")\n"},
    // Literals.
    {R"(root ::= "\n\r\t\\\"\[\]\-\x41\u00e9\U0001F600")", "root ::= \"\\n\\r\\t\\\\\\\"[]-A\xC3\xA9\\U0001F600\"\n"},
    {"root ::= \"\\xE9\\x00\"", "root ::= \"\xC3\xA9\\x00\"\n"},
    {"root ::= \"one\ntwo\"", "root ::= \"one\\ntwo\"\n"},
    {"root ::= \"\" \"it's # no (comment)\"", "root ::= \"\" \"it's # no (comment)\"\n"},
    {"root ::= \"日本語\"", "root ::= \"日本語\"\n"},
    // Classes.
    {"root ::= [a-z0-9_]", "root ::= [0-9_a-z]\n"},
    {"root ::= [-a] [a-] [a\\-z] [a-b-c]", "root ::= [\\-a] [\\-a] [\\-az] [\\-a-c]\n"},
    {"root ::= [-a-c\\]^]+ [^\\x00-\\x7F]", "root ::= [\\-\\]\\x5Ea-c]+ [^\\x00-\\x7F]\n"},
    {"root ::= [a^] [^^] [\"'] [(|)]", "root ::= [\\x5Ea] [^\\x5E] [\"'] [()|]\n"},
    {"root ::= [^\"\\\\\\x7F\\x00-\\x1F]", "root ::= [^\\x00-\\x1F\"\\\\\\x7F]\n"},
    {"root ::= [ぁ-ん] [\\uD7FF-\\uE000]", "root ::= [\\u3041-\\u3093] [\\uD7FF\\uE000]\n"},
    {"root ::= . [\\x00-\\U0010FFFF]", "root ::= . .\n"},
    {"root ::= [\n]", "root ::= [\\n]\n"},
    {"root ::= [--0]", "root ::= [\\--0]\n"},
    // Quantifiers.
    {"root ::= \"a\"* \"b\"+ \"c\"?", "root ::= \"a\"* \"b\"+ \"c\"?\n"},
    {"root ::= \"a\"{2} \"b\"{2,} \"c\"{2,3} \"d\"{,3}", "root ::= \"a\"{2} \"b\"{2,} \"c\"{2,3} \"d\"{0,3}\n"},
    {"root ::= \"a\" { 2 } \"b\" *\t?", "root ::= \"a\"{2} \"b\"*?\n"},
    {"root ::= \"a\"{ 1 ,\n 2 }", "root ::= \"a\"{1,2}\n"},
    {"root ::= \"abc\"{1} \"d\"{0} \"e\"{0,0}*", "root ::= \"abc\" \"\" \"\"*\n"},
    {"root ::= (\"a\"\n*)", "root ::= \"a\"*\n"},
    {"root ::= \"a\"{2000} [a-z]{0,4294967294}", "root ::= \"a\"{2000} [a-z]{0,4294967294}\n"},
    {"root ::= \"\"* (\"a\"* )*", "root ::= \"\"* \"a\"**\n"},
    {"root ::= \"a\"{0,1} \"b\"{0,} \"c\"{1,}", "root ::= \"a\"? \"b\"* \"c\"+\n"},
    // Token literals.
    {"root ::= <think> !<think>* <[1000]> !<[0]>", "root ::= <think> !<think>* <[1000]> !<[0]>\n"},
    {"root ::= <|im_end|> <a b> <[2147483647]>?", "root ::= <|im_end|> <a b> <[2147483647]>?\n"},
    // What cannot end is fine while the root can.
    {"root ::= \"a\" | loop\nloop ::= \"b\" loop", "root ::= \"a\" | loop\nloop ::= \"b\" loop\n"},
};

// Grammars that are refused: where, and what the message says.
struct Bad {
  std::string_view text;
  std::size_t line;
  std::size_t column;
  std::string_view message;
  std::string_view hint;
};

constexpr Bad kBad[] = {
    // Names.
    {"root ::= greeting \", \" nam\ngreeting ::= \"hi\"\nname ::= [a-z]+\n", 1, 24, "undefined rule 'nam'",
     "did you mean 'name'?"},
    {"root ::= objekt \"x\"\nobject ::= \"o\"", 1, 10, "undefined rule 'objekt'", "'object'"},
    {"root ::= \"a\"\nspare ::= ws\nwhite-space ::= \" \"", 2, 11, "undefined rule 'ws'",
     "the rules are 'root', 'spare', 'white-space'"},
    {"root ::= White_Space\nwhite-space ::= \" \"", 1, 10, "undefined rule", "'white-space'"},
    {"root ::= naem\nname ::= \"x\"", 1, 10, "undefined rule", "'name'"},
    {"root ::= \"a\"\nroot ::= \"b\"", 2, 1, "duplicate rule 'root'", "line 1, column 1"},
    {"main ::= \"a\"\n", 1, 1, "missing root rule 'root'", "root=\"main\""},
    {"a ::= \"a\"\nroots ::= a", 2, 1, "missing root rule 'root'", "did you mean 'roots'"},
    {"alpha ::= \"a\"\nbeta ::= \"b\"", 1, 1, "missing root rule 'root'", "the rules are 'alpha', 'beta'"},
    {"<root> ::= \"a\"", 1, 1, "expected the name of a rule, found '<'", "without angle brackets"},
    {"größe ::= \"a\"", 1, 3, "expected '::=' after 'gr', found 'ö' (U+00F6)", ""},
    {"root ::= größe", 1, 12, "unexpected 'ö' (U+00F6)", "A-Z a-z 0-9"},
    // The sign of a definition.
    {"root :== \"yes\" | \"no\"\n", 1, 6, "expected '::=' after 'root', found ':=='", "root ::= ..."},
    {"root = \"a\"", 1, 6, "expected '::=' after 'root', found '='", "::="},
    {"root : \"a\"", 1, 6, "expected '::=' after 'root', found ':'", "from_lark"},
    {"root -> \"a\"", 1, 6, "expected '::=' after 'root', found '->'", "::="},
    {"root", 1, 5, "expected '::=' after 'root', found the end of the text", ""},
    {"root\n ::= \"a\"", 1, 5, "found the end of the line", ""},
    {"root ::= \"a\"\n  b\n", 2, 4, "expected '::=' after 'b'", "inside parentheses"},
    {"root ::= \"a\"\n\"b\"", 2, 1, "expected the name of a rule, found '\"'", "inside parentheses"},
    {"root ::= a a ::= \"b\"", 1, 12, "expected a new line before the rule 'a'", ""},
    {"root ::= \"a\" |\na ::= \"b\"", 2, 1, "expected an alternative before the rule 'a'", "\"\""},
    {"root ::=\na ::= \"b\"", 2, 1, "expected an alternative before the rule 'a'", "\"\""},
    {"root ::== \"a\"", 1, 9, "unexpected '='", "::="},
    // Groups.
    {"root ::= (\"a\"", 1, 14, "expected ')' at the end of the text", "line 1, column 10"},
    {"root ::= ((\"a\" \n\n # end\n", 1, 15, "expected ')' at the end of the text",
     "2 groups are open, the first '(' is at line 1, column 10"},
    {"root ::= (\"a\"\nb ::= \"c\"", 2, 1, "expected ')' before the rule 'b'",
     "the '(' at line 1, column 10 is not closed"},
    {"root ::= \"a\")", 1, 13, "unmatched ')'", ""},
    {"root ::= \"a\"]", 1, 13, "unmatched ']'", "\"]\""},
    {"root ::= \"a\" }", 1, 14, "unmatched '}'", ""},
    // Literals.
    {"root ::= \"abc\nx ::= [a]", 1, 10, "unterminated literal", "close it with \""},
    {"root ::= x \"abc\nx ::= \"a\"", 2, 9, "unterminated literal", "the literal at line 1, column 12"},
    {"root ::= \"abc\\", 1, 10, "unterminated literal", ""},
    {"root ::= 'yes' | 'no'\n", 1, 10, "single quote '''", "double quotes: \"yes\""},
    {"answer ::= 'yes' | 'no'\n", 1, 12, "single quote", "double quotes"},
    {"root ::= “yes”", 1, 10, "curly quote '“' (U+201C)", "double quotes"},
    {"root ::= `yes`", 1, 10, "back quote", "\"yes\""},
    // Escapes.
    {R"(root ::= "hello \! there")", 1, 17, "bad escape '\\!'", "write ! without the backslash"},
    {R"(root ::= "\d")", 1, 11, "bad escape '\\d'", "[0-9]"},
    {R"(root ::= [\d])", 1, 11, "bad escape '\\d'", "[0-9]"},
    {R"(root ::= "\0")", 1, 11, "bad escape '\\0'", "\\x00"},
    {R"(root ::= "\x4")", 1, 11, "bad escape '\\x4'", "2 hexadecimal digits"},
    {R"(root ::= "\u{41}")", 1, 11, "bad escape '\\u'", "4 hexadecimal digits"},
    {R"(root ::= "\U0010FFF)", 1, 11, "bad escape", "8 hexadecimal digits"},
    {R"(root ::= "\U00110000")", 1, 11, "not a code point: '\\U00110000'", "U+10FFFF"},
    {R"(root ::= "\UFFFFFFFF")", 1, 11, "not a code point:", "U+10FFFF"},
    {R"(root ::= "é\uD83D\uDE03")", 1, 12, "'\\uD83D', a surrogate", "one escape, \\U0001F603"},
    {R"(root ::= "\uD83Dx")", 1, 11, "'\\uD83D', a surrogate", "as in \\U0001F600"},
    {R"(root ::= [\uDFFF])", 1, 11, "a surrogate", ""},
    // Classes.
    {"root ::= []", 1, 10, "empty class '[]'", "\\]"},
    {"root ::= [^]", 1, 10, "empty class '[^]'", ""},
    {"root ::= [^\\x00-\\U0010FFFF]", 1, 10, "empty class", "every code point"},
    {"root ::= [z-a]", 1, 11, "inverted range 'z-a'", "lower"},
    {"root ::= [a-z", 1, 10, "unterminated class", "]"},
    {"root ::= [a-", 1, 10, "unterminated class", "]"},
    {"root ::= [a\\]", 1, 10, "unterminated class", ""},
    {"root ::= [^", 1, 10, "unterminated class", ""},
    {"root ::= [", 1, 10, "unterminated class", ""},
    {"root ::= [\\", 1, 10, "unterminated class", ""},
    // Quantifiers.
    {"root ::= * \"a\"\n", 1, 10, "nothing to repeat before '*'", "\"*\""},
    {"root ::= \"a\" | +", 1, 16, "nothing to repeat before '+'", ""},
    {"root ::= (?)", 1, 11, "nothing to repeat before '?'", ""},
    {"root ::= {3}", 1, 10, "nothing to repeat before '{'", ""},
    {"root ::= \"a\"{5,0}", 1, 13, "inverted bounds {5,0}", "{0,5}"},
    {"root ::= \"a\"{ 3 , 1 }", 1, 13, "inverted bounds {3,1}", "{1,3}"},
    {"root ::= \"a\"{4294967295}", 1, 14, "number too large: '4294967295'", "4294967294"},
    {"root ::= \"a\"{1,99999999999999999999999999}", 1, 16, "number too large", "4294967294"},
    {"root ::= \"a\"{}", 1, 14, "expected a number after '{', found '}'", "{3,5}"},
    {"root ::= \"a\"{,}", 1, 13, "expected a number in '{,}'", "'*'"},
    {"root ::= \"a\"{-1}", 1, 14, "expected a number after '{'", ""},
    {"root ::= \"a\"{1", 1, 15, "expected '}'", ""},
    {"root ::= \"a\"{1,2,3}", 1, 17, "expected '}' after the bounds of a repetition, found ','", ""},
    // Token literals.
    {"root ::= <think\n\"a\" \">\"", 1, 10, "unterminated token literal", ">"},
    {"root ::= <", 1, 10, "unterminated token literal", ""},
    {"root ::= !<[12", 1, 10, "unterminated token literal", "]>"},
    {"root ::= <[12]", 1, 10, "unterminated token literal", "]>"},
    {"root ::= <[x]>", 1, 12, "the number of a token", "<[1000]>"},
    {"root ::= <[2147483648]>", 1, 12, "number too large: '2147483648'", "token id"},
    {"root ::= !\"a\"", 1, 10, "unexpected '!'", "!<think>"},
    // Other texts.
    {"", 1, 1, "empty grammar", "root ::="},
    {" \n # only this\n", 3, 1, "empty grammar", ""},
    {"\xEF\xBB\xBF", 1, 1, "empty grammar", ""},
    {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}}}", 1, 1, "JSON", "from_json_schema"},
    {"\n [ {} ]", 2, 2, "JSON", "from_json_schema"},
    {"true\n", 1, 1, "JSON", "from_json_schema"},
    {"./grammars/json.gbnf", 1, 1, "path of a file", "from_file"},
    {"C:\\my grammars\\x.gbnf\n", 1, 1, "path of a file", "from_file"},
    {"^[a-z]+$", 1, 1, "expected the name of a rule", "from_regex"},
    {"%import common.WS", 1, 1, "expected the name of a rule", "from_lark"},
    {"// x\nroot ::= \"a\"", 1, 1, "expected the name of a rule, found '/'", "'#'"},
    {"root ::= \"a\";", 1, 13, "unexpected ';'", "without ';'"},
    {"root ::= \"a\", \"b\"", 1, 13, "unexpected ','", "without commas"},
    {"root ::= /a/", 1, 10, "unexpected '/'", "from_regex"},
    {"root ::= \\n", 1, 10, "unexpected '\\'", "inside literals"},
    {"root ::= \"a\xFF\"", 1, 12, "invalid UTF-8: byte '\\xFF'", "UTF-8"},
    {"root ::= \"\xED\xA0\x80\"", 1, 11, "invalid UTF-8", ""},
    {"# \xC3", 1, 3, "invalid UTF-8", ""},
    // No sentence.
    {"root ::= \"a\" root", 1, 1, "no sentence: no finite text is a sentence of the rule 'root'",
     "every alternative of 'root'"},
    {"x ::= \"(\" x \")\" | x\nroot ::= \"a\"? x", 2, 1, "the rule 'root'", "'x' (line 1, column 1)"},
    {"root ::= (\"a\" | root){2} root", 1, 1, "no sentence", ""},
    // Places.
    {"\xEF\xBB\xBFroot ::= x", 1, 10, "undefined rule 'x'", ""},
    {"\r\n\r\nroot ::= \"é日😀\" x", 3, 16, "undefined rule 'x'", ""},
    {"# a\r# b\rroot ::= x", 3, 10, "undefined rule 'x'", ""},
};

}  // namespace

TEST(good_grammars) {
  for (const Good& good : kGood) {
    try {
      const auto grammar = Grammar::from_gbnf(good.text);
      CHECK_EQ(glr::dump(*grammar), good.dumped);
      const auto again = Grammar::from_gbnf(glr::dump(*grammar));
      CHECK_EQ(glr::dump(*again), good.dumped);
      CHECK_EQ(again->rules().size(), grammar->rules().size());
      // An element repeated {0} times leaves its node behind, and the dump does not show it.
      CHECK(again->nodes().size() <= grammar->nodes().size());
    } catch (const glr::GrammarError& e) {
      check::fail(__FILE__, __LINE__, std::string(good.text) + "\n" + e.what());
    }
  }
}

TEST(bad_grammars) {
  for (const Bad& bad : kBad) {
    try {
      Grammar::from_gbnf(bad.text);
      check::fail(__FILE__, __LINE__, "no error: " + std::string(bad.text));
    } catch (const glr::GrammarError& e) {
      const std::string what = e.what();
      if (e.line != bad.line || e.column != bad.column || what.find(bad.message) == std::string::npos ||
          e.hint.find(bad.hint) == std::string::npos)
        check::fail(__FILE__, __LINE__,
                    "due: " + glr::place_text({bad.line, bad.column}) + ", " + std::string(bad.message) + " / " +
                        std::string(bad.hint) + "\n" + what);
    }
  }
}

TEST(nul_byte) { CHECK_THROWS_GRAMMAR(Grammar::from_gbnf("root ::= \"a\0\""s), 1, 12, "NUL byte in the text"); }

TEST(another_root) {
  const auto grammar = Grammar::from_gbnf("a ::= \"x\"\nb ::= a a", "b");
  CHECK_EQ(grammar->rule(grammar->root()).name, "b");
  CHECK_THROWS_GRAMMAR(Grammar::from_gbnf("root ::= \"a\"", "rot"), 1, 1, "missing root rule 'rot'");
}

TEST(nodes) {
  const auto grammar = Grammar::from_gbnf("root ::= \"ab\"{2,3} [b-ca] x | <[7]>\nx ::= !<t>");
  for (std::size_t i = 0; i < grammar->nodes().size(); ++i) {
    const glr::Node& node = grammar->nodes()[i];
    using enum glr::NodeKind;
    if (node.kind != Sequence && node.kind != Choice && node.kind != Repeat) continue;
    for (const glr::NodeId child : grammar->children(node)) CHECK(static_cast<std::size_t>(child) < i);
  }
  const auto spelled = [&](const glr::Node& n) { return grammar->source().substr(n.span.offset, n.span.length); };
  const glr::Node& root = grammar->node(grammar->rule(grammar->root()).body);
  CHECK_EQ(root.kind, glr::NodeKind::Choice);
  CHECK_EQ(spelled(root), "\"ab\"{2,3} [b-ca] x | <[7]>");
  const glr::Node& sequence = grammar->node(grammar->children(root)[0]);
  CHECK_EQ(sequence.count, 3u);
  CHECK_EQ(spelled(sequence), "\"ab\"{2,3} [b-ca] x");
  const glr::Node& repeat = grammar->node(grammar->children(sequence)[0]);
  CHECK_EQ(repeat.min, 2u);
  CHECK_EQ(repeat.max, 3u);
  CHECK_EQ(spelled(repeat), "\"ab\"{2,3}");
  CHECK_EQ(grammar->literal(grammar->node(grammar->children(repeat)[0])), "ab");
  const glr::Node& set = grammar->node(grammar->children(sequence)[1]);
  CHECK_EQ(set.count, 1u);
  CHECK((grammar->ranges(set)[0] == glr::CodePointRange{'a', 'c'}));
  const glr::Node& reference = grammar->node(grammar->children(sequence)[2]);
  CHECK_EQ(grammar->rule(glr::RuleId{reference.first}).name, "x");
  const glr::TokenLiteral& by_id = grammar->token_literal(grammar->node(grammar->children(root)[1]));
  CHECK(by_id.text.empty() && by_id.id == 7 && !by_id.negated);
  const glr::TokenLiteral& by_text = grammar->token_literal(grammar->node(grammar->rules()[1].body));
  CHECK(by_text.text == "<t>" && by_text.negated);
}

TEST(message) {
  try {
    Grammar::from_gbnf("a ::= \"x\"\nname ::= a\nroot ::=\ta \", \" nam a\n", "root", "x.gbnf");
    CHECK(false);
  } catch (const glr::GrammarError& e) {
    CHECK_EQ(std::string(e.what()),
             "x.gbnf:3:17: undefined rule 'nam'\n"
             "  root ::= a \", \" nam a\n"
             "                  ^~~\n"
             "hint: did you mean 'name'?");
    CHECK_EQ(e.hint, "did you mean 'name'?");
  }
}

TEST(message_is_cut_escaped_and_aligned) {
  const std::string wide = "root ::= \"日本\x07\" x";
  try {
    Grammar::from_gbnf(wide, "root", "bad\nname");
    CHECK(false);
  } catch (const glr::GrammarError& e) {
    CHECK_EQ(std::string(e.what()),
             "bad\\nname:1:16: undefined rule 'x'\n"
             "  root ::= \"日本\\x07\" x\n"
             "                      ^\n"
             "hint: the rules are 'root'");
  }
  const std::string name(1'000'000, 'n');
  for (const std::string& text : {"root ::= \"" + name + "\" " + name + " \"" + name + "\"", name + " ::= \"a\"",
                                  "root ::= \"a\"\n" + name + " ::= \"b\"\n" + name + " ::= \"c\"",
                                  "root ::= [" + name + "-a]", "root ::= \"a\"{" + std::string(1'000'000, '9') + "}"}) {
    try {
      Grammar::from_gbnf(text);
      CHECK(false);
    } catch (const glr::GrammarError& e) {
      CHECK(std::string_view(e.what()).size() < 500);
      CHECK(std::string_view(e.what()).find("...") != std::string_view::npos);
    }
  }
}

TEST(places) {
  const std::string_view text = "ab\r\né\x80z\rq\n";
  const auto at = [&](std::size_t offset) { return glr::place_text(glr::place_of(text, offset)); };
  CHECK_EQ(at(0), "line 1, column 1");
  CHECK_EQ(at(2), "line 1, column 3");
  CHECK_EQ(at(3), "line 1, column 4");
  CHECK_EQ(at(4), "line 2, column 1");
  CHECK_EQ(at(7), "line 2, column 3");
  CHECK_EQ(at(9), "line 3, column 1");
  CHECK_EQ(at(11), "line 4, column 1");
  CHECK_EQ(at(99), "line 4, column 1");
  CHECK_EQ(glr::quoted("a\tb\xC2\x9B\xE2\x80\xAE"), "'a\\tb\\u{9B}\\u{202E}'");
}

TEST(nearest_names) {
  const std::string_view names[] = {"value", "object", "string", "white-space", "b"};
  CHECK_EQ(glr::nearest_name("objekt", names), "object");
  CHECK_EQ(glr::nearest_name("WHITE_SPACE", names), "white-space");
  CHECK_EQ(glr::nearest_name("whitespace", names), "white-space");
  CHECK_EQ(glr::nearest_name("vlaue", names), "value");
  CHECK_EQ(glr::nearest_name("number", names), "");
  CHECK_EQ(glr::nearest_name("a", names), "");
  CHECK_EQ(glr::nearest_name("", names), "");
  CHECK_EQ(glr::nearest_name("x", {}), "");
}

TEST(classes) {
  const std::vector<glr::CodePointRange> mixed = {{'c', 'd'}, {'a', 'b'}, {0xD000, 0xE000}, {'x', 'x'}, {'d', 'e'}};
  const std::vector<glr::CodePointRange> due = {{'a', 'e'}, {'x', 'x'}, {0xD000, 0xD7FF}, {0xE000, 0xE000}};
  CHECK(glr::normalised(mixed) == due);
  CHECK(glr::normalised({{0xD800, 0xDFFF}}).empty());
  CHECK(glr::complement(glr::complement(due)) == due);
  const std::vector<glr::CodePointRange> all = {{0, 0xD7FF}, {0xE000, 0x10FFFF}};
  CHECK(glr::complement({}) == all);
  CHECK(glr::complement(all).empty());
}

TEST(builder_refuses_misuse) {
  glr::GrammarBuilder builder("", "f", "test");
  const glr::NodeId empty = builder.empty({});
  const auto throws = [](auto&& call) {
    try {
      call();
    } catch (const std::invalid_argument&) {
      return true;
    }
    return false;
  };
  CHECK(throws([&] { builder.repeat(empty, 3, 2, {}); }));
  const glr::RuleId rule = builder.declare("r");
  CHECK(!builder.defined(rule));
  CHECK(throws([&] { std::move(builder).build(rule); }));
}

TEST(dump_of_what_gbnf_cannot_spell) {
  glr::GrammarBuilder builder("", "f", "test");
  const glr::RuleId odd = builder.declare("$defs/a b");
  const glr::RuleId clash = builder.declare("rule-0");
  const glr::NodeId parts[] = {builder.rule_ref(odd, {}), builder.choice({}, {}), builder.literal("\xFF", {})};
  builder.define(odd, builder.code_points({}, {}), {});
  builder.define(clash, builder.sequence(parts, {}), {});
  const auto grammar = std::move(builder).build(clash);
  CHECK_EQ(glr::dump(*grammar), "rule-0_ ::= []\nrule-0 ::= rule-0_ [] \"\xC3\xBF\"\n");
  CHECK_THROWS_GRAMMAR(glr::require_sentence(*grammar), 1, 1, "no sentence");
}

TEST(fingerprints) {
  const auto of = [](std::string_view text, std::string_view root, std::string_view file) {
    return Grammar::from_gbnf(text, root, file)->fingerprint();
  };
  const std::string_view text = "root ::= \"a\"\nb ::= root";
  CHECK_EQ(of(text, "root", "x").size(), 64u);
  CHECK_EQ(of(text, "root", "x"), of(text, "root", "y"));
  CHECK(of(text, "root", "x") != of(text, "b", "x"));
  CHECK(of(text, "root", "x") != of(std::string(text) + "\n", "root", "x"));
}

TEST(sha256_vectors) {
  CHECK_EQ(glr::sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK_EQ(glr::sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK_EQ(glr::sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
           "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK_EQ(glr::sha256_hex(std::string(1'000'000, 'a')),
           "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  // However the bytes are cut, at every length around the block's.
  for (std::size_t size = 0; size < 200; ++size) {
    const std::string text(size, 'x');
    glr::Sha256 hash;
    for (std::size_t i = 0; i < size; i += 7) hash.update(std::string_view(text).substr(i, 7));
    CHECK_EQ(hash.hex(), glr::sha256_hex(text));
  }
}

TEST(utf8) {
  for (char32_t c = 0; c <= 0x110000; c += c < 0x3000 ? 1 : 37) {
    std::string text;
    if (!glr::is_scalar_value(c)) continue;
    glr::append_utf8(text, c);
    CHECK(glr::decode_utf8(text, 0).value == c && glr::decode_utf8(text, 0).length == text.size());
    CHECK(glr::decode_utf8(text.substr(0, text.size() - 1), 0).length == 0);
  }
  for (const char* bad : {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
                          "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xC3(", "\xE2\x82"})
    CHECK(glr::decode_utf8(bad, 0).length == 0);
}

// Sizes at which recursion would overflow the stack and anything quadratic would take minutes.
TEST(hostile_sizes) {
  const auto begin = std::chrono::steady_clock::now();
  constexpr std::size_t n = 100'000;
  CHECK_THROWS_GRAMMAR(Grammar::from_gbnf("root ::= " + repeated("(", n)), 1, n + 10, "expected ')'");
  CHECK_THROWS_GRAMMAR(Grammar::from_gbnf("root ::= " + repeated("(", n) + "\"a\"\n"), 1, n + 13,
                       "100000 groups are open, the first '(' is at line 1, column 10");
  const auto nested = Grammar::from_gbnf("root ::= " + repeated("(", n) + "\"a\"" + repeated(")", n));
  CHECK_EQ(nested->nodes().size(), 1u);
  const auto deep = Grammar::from_gbnf("root ::= " + repeated("(\"b\" | ", n) + "\"a\"" + repeated(")*", n));
  CHECK_EQ(Grammar::from_gbnf(glr::dump(*deep))->nodes().size(), deep->nodes().size());
  CHECK_EQ(Grammar::from_gbnf("root ::= \"a\"" + repeated("*", n))->nodes().size(), n + 1);
  CHECK_EQ(Grammar::from_gbnf("root ::= " + repeated("\"a\" | ", n))->nodes().size(), n + 2);

  std::string chain = "root ::= r0\n";
  for (std::size_t i = 0; i < n; ++i) chain += 'r' + std::to_string(i) + " ::= r" + std::to_string(i + 1) + '\n';
  CHECK_THROWS_GRAMMAR(Grammar::from_gbnf(chain), n + 1, 12, "undefined rule 'r100000'");
  CHECK_THROWS_GRAMMAR(Grammar::from_gbnf(chain + "r100000 ::= r5"), 1, 1, "'r5' (line 7, column 1)");
  CHECK_EQ(Grammar::from_gbnf(chain + "r100000 ::= \"z\"")->rules().size(), n + 2);

  const std::string big(10'000'000, 'x');
  CHECK_EQ(Grammar::from_gbnf("root ::= \"" + big + "\"")->nodes().front().count, big.size());
  CHECK_THROWS_GRAMMAR(Grammar::from_gbnf("root ::= \"" + big), 1, 10, "unterminated literal");
  CHECK_THROWS_GRAMMAR(Grammar::from_gbnf("root ::= \"" + big + "\" y"), 1, big.size() + 13, "undefined rule 'y'");
  CHECK_THROWS_GRAMMAR(Grammar::from_gbnf(repeated("\n", 1'000'000) + "root ::= y"), 1'000'001, 10, "undefined rule");
  CHECK_THROWS_GRAMMAR(Grammar::from_gbnf("root ::= " + repeated("<", n)), 1, 10, "unterminated token literal");
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  CHECK(seconds.count() < 60);
}

// Whatever is deleted, inserted or replaced, the end is a grammar or a GrammarError, and what is a
// grammar has a dump that reads back as the same grammar.
TEST(mutations) {
  constexpr std::string_view seeds[] = {
      "root ::= object\nobject ::= \"{\" ws (pair (\",\" ws pair)*)? \"}\"\npair ::= string \":\" ws value\n"
      "string ::= \"\\\"\" ([^\"\\\\\\x00-\\x1F] | \"\\\\\" [\"\\\\/bfnrt])* \"\\\"\" ws\n"
      "value ::= object | string | \"true\" ws\nws ::= [ \\t\\n]*\n",
      "root ::= expr\nexpr ::= expr [-+] term | term\nterm ::= [0-9]+ | \"(\" expr \")\"\n",
      "root ::= <think> !</think>* </think> <[1000]> !<[7]>{2,9}\n",
      "# dates\nroot ::= year \"-\" [01] [0-9]\nyear ::= [0-9]{4}\n",
      "root ::= s \".\"\ns ::= s s | \"a\" | \"(\" s? \")\"\n",
      "root ::= \"日本\" [ぁ-ん]{1,20} \"\\u3002\\U0001F600\"\r\n",
      "root ::=\n  \"a\" |\n  (\n    \"b\"\n    \"c\" # inner\n  )\n  | \"d\"\n",
      "root ::= a?\na ::= b \"x\" | \"y\"\nb ::= a \"z\" | a | \"w\"",
      "root ::= .{,3} [^\\n]+ [a\\-z\\]\\[-]* \"\\x41\\\"\"",
      "root ::= (((\"a\"* )? )+ | (\"b\" | ()))\n",
      "a_b ::= \"1\"\nroot ::= a_b{3} a_b{3,} a_b{ 0 , 5 } c-d\nc-d ::= \"\" | root",
      "\xEF\xBB\xBFroot ::= \"x\" | [a-z0-9_.:/?#@!$&'()*+,;=%~-]+\n",
  };
  constexpr std::string_view pieces[] = {"\"", "[",  "]", "(", ")", "{", "}", "<", ">", "!", "|",    "::=", "\\",
                                         "\n", "\r", "-", "^", ",", "0", "9", "#", ".", "*", "root", "\xFF"};
  std::mt19937 random(2026);
  const auto below = [&](std::size_t n) { return random() % n; };
  // Printable mostly: any other byte above 0x7F makes the text invalid UTF-8, which ends the reading early.
  const auto byte = [&] { return static_cast<char>(below(8) == 0 ? below(256) : ' ' + below(95)); };
  int grammars = 0, errors = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string text(seeds[below(std::size(seeds))]);
    for (std::size_t edits = 1 + below(3); edits > 0; --edits) {
      const std::size_t at = below(text.size() + 1);
      switch (below(4)) {
        case 0:
          text.erase(at, 1 + below(4));
          break;
        case 1:
          text.insert(at, pieces[below(std::size(pieces))]);
          break;
        case 2:
          text.insert(at, 1, byte());
          break;
        default:
          if (at < text.size()) text[at] = byte();
      }
    }
    try {
      const auto grammar = Grammar::from_gbnf(text);
      ++grammars;
      const std::string dumped = glr::dump(*grammar);
      CHECK_EQ(glr::dump(*Grammar::from_gbnf(dumped)), dumped);
    } catch (const glr::GrammarError& e) {
      ++errors;
      CHECK(e.line > 0 && e.column > 0);
      const std::string_view what = e.what();
      CHECK(what.size() < 1000 && what.find('\0') == std::string_view::npos);
    }
  }
  CHECK(grammars > 200);
  CHECK(errors > 200);
}
