// Lark grammars: the notation as texts that grammars accept and refuse, the nodes that they become, imports, templates,
// errors with their places, mutations and hostile sizes.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "check.hpp"
#include "glrsampler/constraint.hpp"
#include "glrsampler/grammar.hpp"
#include "glrsampler/matcher.hpp"
#include "glrsampler/vocabulary.hpp"
#include "grammar/dump.hpp"
#include "grammar/lark/library.hpp"
#include "grammar/lark/reluctant.hpp"
#include "grammar/regex.hpp"

using glr::Grammar;
using glr::LarkOptions;
using namespace std::string_literals;

namespace {

using Texts = std::vector<std::string_view>;

LarkOptions all() {
  LarkOptions options;
  options.lexing = LarkOptions::Lexing::All;
  return options;
}

std::string repeated(std::string_view piece, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += piece;
  return text;
}

void expect(const Grammar& grammar, std::string_view name, const Texts& yes, const Texts& no) {
  for (const std::string_view text : yes) {
    if (!glr::matches(grammar, text))
      check::fail(__FILE__, __LINE__, std::string(name) + "\nrefuses " + std::string(text));
  }
  for (const std::string_view text : no) {
    if (glr::matches(grammar, text))
      check::fail(__FILE__, __LINE__, std::string(name) + "\naccepts " + std::string(text));
  }
}

struct Case {
  std::string_view grammar;
  Texts yes;
  Texts no;
};

const Case kNotation[] = {
    // Texts, patterns, ranges.
    {R"g(start: "a\n\t\"\\\x41\u0042\U00000043" "é"i)g", {"a\n\t\"\\ABCé", "a\n\t\"\\ABCÉ"}, {"aé"}},
    {R"g(start: "\." "\/")g", {R"g(\.\/)g"}, {"./"}},
    {R"g(start: "x"i "" "y")g", {"xy", "Xy"}, {"XY", "x"}},
    {R"g(start: /a\/b/ /[\/-9]/i | /c d # no
  e/x)g",
     {"a/b/", "a/b5", "cde"},
     {"a/b", "cd"}},
    {R"g(start: /\d\w/ /./s)g", {"\u0661\u00E9\n"}, {"a1\n"}},
    {R"g(start: /./ /[]a]/)g", {"\r]", "\u2028a"}, {"\n]"}},
    {R"g(start: "a".."c" "é" .. "ë")g", {"aê", "cë"}, {"dé", "aê "}},
    {R"g(start: "go"rest
rest: "x")g",
     {"gox"},
     {"go"}},
    // Rules: quantifiers, groups, alternatives, what says nothing about the texts.
    {R"g(start: "a"? "b"* "c"+)g", {"c", "abbcc"}, {"", "ab"}},
    {R"g(start: ["a"] ("b" | "c") ~ 2 "d"~1..2)g", {"abcd", "bbdd"}, {"ad", "bcddd"}},
    {R"g(start: "a"{2} "b"{,1} "c"{1,} "d"{0,2} ("e"~0))g", {"aac", "aabccdd"}, {"ac", "aabbc", "aacddd", "aace"}},
    {R"g(?start.2: _x -> one
     | y -> two
!?y.-1: "y"
_x: "x")g",
     {"x", "y"},
     {"xy"}},
    {"start: a\n  // remark\n  | b # another\n\n  | (\n  \"c\"\n  | \"d\" )\na: \"a\"\nb: \"b\"",
     {"a", "b", "c", "d"},
     {"", "e"}},
    {"start:\n  | \"a\"\n  | \"b\"", {"", "a", "b"}, {"ab"}},
    {"start: \"a\" \\\n  \"b\"\r\n", {"ab"}, {"a"}},
    {R"g(start: start "+" start | "(" start ")" | "1")g", {"1+(1+1)+1"}, {"1+", "()"}},
    {R"g(start: kebab-case->x
kebab-case: "k")g",
     {"k"},
     {}},
    // Terminals.
    {R"g(start: A+ B
A: "x" C ~ 2 | [C] "y"
B: (C | "z"i)*
C: "0".."9")g",
     {"x12", "yx12Z3", "5y"},
     {"x1", "z"}},
    {R"g(start: A
A: /[a-z]+/ & ~("if" | "else") & ~/.*zz.*/)g",
     {"iff", "a"},
     {"if", "else", "azzb", ""}},
    {R"g(start: A "." B
A: %regex {"substring_chunks": ["ab", "c", "d"]}
B: %regex {"substring_words": "to be, or"})g",
     {".", "abc.be, or", "cd.,"},
     {"bc.", "d.b", "abd.to"}},
    {R"g(start: %regex {"substring_chars": "añb"})g", {"", "ñ", "añ", "ñb"}, {"ab", "\xC3"}},
    // Assertions and reluctant quantifiers speak of the whole terminal.
    {R"g(start: S*
S: /".*?"/)g",
     {"", "\"a\"", "\"a\"\"b\""},
     {"\"", "\"a\"b\""}},
    {R"g(start: S
S: "\"" _INNER "\""
_INNER: /.*?/ /(?<!\\)(\\\\)*?/)g",
     {R"g("a")g", R"g("a\"b")g", R"g("\\")g"},
     {R"g("a"b")g", R"g("a\")g"}},
    {R"g(start: C+
C: "/*" /(.|\n)*?/ "*/" | /<!--[^]]*?-->/)g",
     {"/* a\n**/", "/**//**/", "<!-- - -->"},
     {"/* */ */", "<!-- --> -->", "/*/"}},
    {R"g(start: N+
N: "1".."9" ("0".."9")* | "0" /(?![0-9])/)g",
     {"0", "10", "00"},
     {"a"}},
    {R"g(start: A
A: /a+?b{2,}?/ | /(?:x|yx)??yx?z/ | /q{1,3}?r/)g",
     {"aabb", "xyz", "yxz", "qqr"},
     {"aabbb", "aab", "qqqqr"}},
    {R"g(start: T
T: /(?:'[a-z']*?' )+;/)g",
     {"'a' 'b' ;", "'a' ;"},
     {"'a' 'b'"}},
    // A loop of what may be empty is read as it is without reluctance.
    {R"g(start: J
J: "\"" _I* "\""
_I: /(?:[^"\\]|\\.)*?/)g",
     {R"g("")g", R"g("ab\"c")g"},
     {R"g("a"b")g"}},
    // What is ignored stands before, between and after terminals, never in one.
    {R"g(start: "a" A
A: "b" "c"
%ignore " "
%ignore /#[^\n]*\n/)g",
     {"abc", " a  bc #x\n", "a#\u00E9\n bc"},
     {"ab c", "a#bc", "ab#\nc"}},
    {R"g(start: A*
%ignore WS
WS: /[ \n]/*
A: "a")g",
     {"", "  ", " a a"},
     {"b"}},
    // The library.
    {R"g(%import common.INT
%import common (SIGNED_NUMBER, ESCAPED_STRING, WS)
%import common.CNAME -> NAME
start: (INT "," SIGNED_NUMBER "," ESCAPED_STRING "," NAME)*
%ignore WS)g",
     {"", "1, -1.5e3 ,\"a\\\"b\", _x9\n", "007,.5,\"\",a"},
     {"1,1,\"\n\",a", "1,-,\"\",a", "1,1,\"\",9"}},
    // Templates.
    {R"g(start: list{"a", comma} | pair{NUMBER}
list{item, separator}: item (separator item)*
pair{x}: "<" list{x, ":"} ">"
comma: ","
NUMBER: /[0-9]+/)g",
     {"a", "a,a", "<1:22>"},
     {"", "a:a", "<1,2>"}},
    {R"g(start: twice{bracket} twice{x}
twice{t}: t{"1"} t{"2"}
bracket{y}: "[" y "]"
x{z}: z)g",
     {"[1][2]12"},
     {"1212"}},
    {R"g(start: nest{"a"}
nest{x}: x | "(" nest{x} ")")g",
     {"a", "((a))"},
     {"(a"}},
    {R"g(start: outer{inner{"a"}}
outer{x}: x "," x
inner{y}: y y?)g",
     {"a,aa"},
     {"a"}},
    // %extend and %override.
    {R"g(start: a
a: "x"
%extend a: "y"
B: "b"
%extend B: "c"
%extend a: B)g",
     {"x", "y", "b", "c"},
     {"xb"}},
    {R"g(start: INT
%import common (INT, DIGIT)
%override INT: /[0-7]+/)g",
     {"17"},
     {"18"}},
    // An embedded schema.
    {R"g(start: "<" %json {"type": "array", "items": {"enum": ["}", "\"{"]}} ">" %json {"type": "integer"}
%llguidance {})g",
     {R"g(<["}", "\"{"]>-5)g", "<[]>0"},
     {"<1>0", "<[]>x"}},
    {"%llguidance {\"no_forcing\": true}\nstart: \"a\"", {"a"}, {}},
};

}  // namespace

TEST(notation) {
  for (const Case& c : kNotation) {
    try {
      expect(*Grammar::from_lark(c.grammar), c.grammar, c.yes, c.no);
      expect(*Grammar::from_lark(c.grammar, "start", "grammar", all()), c.grammar, c.yes, c.no);
    } catch (const glr::GrammarError& e) {
      check::fail(__FILE__, __LINE__, e.what());
    }
  }
}

TEST(lexemes) {
  const auto dumped = [](std::string_view text, const LarkOptions& options = {}) {
    return glr::dump(*Grammar::from_lark(text, "start", "grammar", options));
  };
  // A terminal and what stands in a rule as one is a lexeme, with nothing of the kind inside. A single text needs none.
  const std::string_view mixed = "start: \"a\" B /c+/ \"d\"i \"e\"..\"f\" G\nB: \"b\" H\nG: \"g\"\nH: /h*/";
  CHECK_EQ(dumped(mixed), "start ::= \"a\" B @(\"c\"+) @([Dd]) @([ef]) G\nB ::= @(\"b\" \"h\"*)\nG ::= \"g\"\n"s);
  CHECK_EQ(dumped(mixed, all()), "start ::= \"a\" B \"c\"+ [Dd] [ef] G\nB ::= \"b\" \"h\"*\nG ::= \"g\"\n"s);
  // Ignored texts come before the first terminal and after each.
  CHECK_EQ(dumped("start: \"a\" B\nB: \"b\"\n%ignore / +/ | \"#\"\n%ignore B\n"),
           "start ::= ignored rule-2\nignored ::= (rule-4 | rule-5)*\nrule-2 ::= (\"a\" ignored) B\n"
           "B ::= \"b\" ignored\nrule-5 ::= \"b\"\nrule-4 ::= @(\" \"+ | \"#\")\n"s);
  CHECK_EQ(dumped("start: <a> <[3]> | <[5-6,9]> | TOOL\n%declare TOOL"),
           "start ::= <a> <[3]> | (<[5]> | <[6]> | <[9]>) | TOOL\nTOOL ::= TOOL\n"s);
}

namespace {

struct Refusal {
  std::string_view grammar;
  std::size_t line;
  std::size_t column;
  std::string_view text;
};

const Refusal kRefusals[] = {
    // The text.
    {"", 1, 1, "empty grammar"},
    {"// nothing\n", 2, 1, "empty grammar"},
    {"\"a\"", 1, 1, "expected the name of a rule or a terminal, found '\"'"},
    {"start: \"a\"\n\"b\"", 2, 1, "begins with '|'"},
    {"start \"a\"", 1, 7, "expected ':' after 'start'"},
    {"root ::= \"a\"", 1, 6, "from_gbnf"},
    {"{\"type\": \"object\"}", 1, 1, "from_json_schema"},
    {"grammars/x.lark", 1, 1, "from_file"},
    {"Start: \"a\"", 1, 1, "unexpected name 'Start'"},
    {"_: \"a\"", 1, 1, "unexpected name '_'"},
    {"1a: \"a\"", 1, 1, "unexpected name '1a'"},
    {"__a: \"a\"", 1, 1, "reserved"},
    {"start: \"a\xFF\"", 1, 10, "invalid UTF-8"},
    {"start: \"a\" b: \"c\"", 1, 12, "a new line before the definition of 'b'"},
    {"start: (\"a\"\nb: \"c\"", 2, 1, "line 1, column 8"},
    // Texts and patterns.
    {"start: \"a", 1, 8, "unterminated text"},
    {"start: \"a\n\"", 1, 8, "unterminated text"},
    {"start: \"\\d\"", 1, 9, "bad escape '\\d'"},
    {"start: \"\\x4\"", 1, 9, "bad escape"},
    {"start: \"\\uD800\"", 1, 9, "not a code point"},
    {"start: \"a\"if", 1, 11, "unexpected 'if' after a text"},
    {"start: 'a'", 1, 8, "double quotes"},
    {"start: /a", 1, 8, "unterminated pattern"},
    {"start: /a\nb/", 1, 8, "over several lines has the flag x"},
    {"start: /a/l", 1, 11, "unsupported flag 'l'"},
    {"start: /a/q", 1, 11, "unexpected 'q' after a pattern"},
    {"start: \"a\" /(b/", 1, 13, "unmatched '('"},
    {"start: /(a)\\1/", 1, 12, "back-reference"},
    {"start: \"ab\"..\"c\"", 1, 8, "one character at each end"},
    {"start: \"c\"..\"a\"", 1, 8, "inverted range"},
    {"start: \"a\"..", 1, 13, "end of a range"},
    {"start: \"a\"i..\"z\"", 1, 11, "a range has no flags"},
    // Bodies.
    {"start: * \"a\"", 1, 8, "nothing to repeat before '*'"},
    {"start: \"a\"+?", 1, 12, "second quantifier '?'"},
    {"start: \"a\" ~ 3..2", 1, 12, "inverted bounds"},
    {"start: \"a\" ~ 3..", 1, 17, "a number after '..'"},
    {"start: \"a\"{}", 1, 12, "a number after '{'"},
    {"start: \"a\"{99999999999}", 1, 12, "number too large"},
    {"start: \"a\")", 1, 11, "unmatched ')'"},
    {"start: (\"a\"]", 1, 12, "closed by ')'"},
    {"start: (\"a\" | [\"b\"", 1, 19, "expected ']' at the end of the text"},
    {"start: \"a\" -> b \"c\"", 1, 17, "the end of the alternative after its alias"},
    {"start: \"a\" -> B", 1, 15, "an alias is lower-case"},
    {"start: \"a\", \"b\"", 1, 11, "without commas"},
    {"start: . \"b\"", 1, 8, "/./"},
    {"start: @other", 1, 8, "%import"},
    {"start[lazy]: \"a\"", 1, 6, "reluctant quantifier"},
    {"start::x: \"a\"", 1, 6, "parametric rule"},
    {"start.x: \"a\"", 1, 7, "a priority is written"},
    {"start: ~ \"a\"", 1, 8, "'~' in a rule"},
    {"start: \"a\" & \"b\"", 1, 8, "'&' in a rule"},
    {"start: <a", 1, 8, "unterminated token"},
    {"start: <[1-x]>", 1, 12, "the number of a token after '-'"},
    {"start: <[*]>", 1, 10, "unsupported '*'"},
    {"start: <[5-1]>", 1, 10, "inverted range"},
    {"start: <[0-99999999]>", 1, 8, "limit exceeded"},
    {"start: <[0-60000]> | <[1-6000]>", 1, 22, "limit exceeded"},
    // Names.
    {"start: a\nb: \"x\"", 1, 8, "undefined rule 'a'"},
    {"start: nam\nname: \"x\"", 1, 8, "did you mean 'name'?"},
    {"start: \"a\"\nother: B", 2, 8, "undefined terminal 'B'"},
    {"start: NUMBER", 1, 8, "%import common.NUMBER"},
    {"start: \"a\"\nstart: \"b\"", 2, 1, "duplicate rule 'start'"},
    {"strat: \"a\"", 1, 1, "start=\"strat\""},
    {"start{x}: x", 1, 1, "missing root rule 'start' without parameters"},
    {"start: \"a\" start", 1, 1, "no sentence"},
    // Terminals.
    {"start: A\nA: \"a\" B\nB: C\nC: A", 4, 4, "it refers to itself through 'C'"},
    {"start: \"a\"\nB: B \"b\"", 2, 4, "it refers to itself;"},
    {"start: A\nA: b\nb: \"b\"", 2, 4, "rule 'b' in a terminal"},
    {"start: A\nA: <a>", 2, 4, "token of the model in a terminal"},
    {"start: A\nA: %json {}", 2, 4, "%json in a terminal"},
    {"start: A\n%declare B\nA: B", 3, 4, "token 'B' in a terminal"},
    {"start: A\nA: t{\"a\"}\nt{x}: x", 2, 4, "template in a terminal"},
    {"start: A\nA{x}: x", 2, 2, "templates are rules"},
    {"start: A\nA: \"a\" /.*?/\nB: \"b\"", 0, 0, ""},
    {"start: /.*?/", 1, 8, "only the empty text"},
    {"start: _INDENT \"a\"\n%declare _INDENT _DEDENT", 2, 10, "counts indentation"},
    {"start: A\nA: \"a\"\n%ignore start", 1, 1, "ignored rule 'start'"},
    {"start: \"a\"\n%ignore", 2, 1, "what to ignore"},
    {"start: \"a\"\n%declare T\n%ignore T", 2, 10, "ignored token 'T'"},
    {"start: \"a\"\n%declare rule", 2, 10, "declared rule"},
    // Templates.
    {"start: t\nt{x}: x", 1, 8, "arguments after 't'"},
    {"start: t{\"a\", \"b\"}\nt{x}: x", 1, 8, "it takes 1"},
    {"start: t{\"a\"}\nt: \"x\"", 1, 8, "it takes none"},
    {"start: t{u{\"a\"}}\nt{x}: x{\"b\"}\nu{y}: y", 2, 7, "takes no arguments"},
    {"start: t{}\nt{x}: x", 1, 10, "an argument of 't'"},
    {"start: t{\"a\" \"b\"}\nt{x}: x", 1, 17, "several elements"},
    {"start: t{(\"a\")?}\nt{x}: x", 1, 15, "'?' in an argument"},
    {"start: t{\"a\" | \"b\"}\nt{x}: x", 1, 14, "'|' in an argument"},
    {"start: t{\"a\"}\nt{x, x}: x", 2, 6, "parameter 'x'"},
    {"start: t{\"a\"}\nt{start}: start", 2, 3, "parameter 'start'"},
    {"start: t{\"a\"}\nt{x}: x | \"b\" t{t{x}}", 2, 15, "limit exceeded"},
    // Statements.
    {"%import common", 1, 9, "%import common.INT"},
    {"%import common.INTT\nstart: INTT", 1, 16, "did you mean 'INT'?"},
    {"%import nowhere.INT\nstart: INT", 1, 9, "import_paths"},
    {"%import .nowhere.INT\nstart: INT", 1, 9, "from_file"},
    {"%import common.INT -> int\nstart: int", 1, 23, "upper-case"},
    {"%import common (INT WS)\nstart: INT", 1, 21, "',' or ')'"},
    {"%import common.INT\nINT: \"1\"\nstart: INT", 2, 1, "it is imported already"},
    {"%import common.INT\n%import common.WS -> INT\nstart: INT", 2, 16, "another import has the name"},
    {"%imprt common.INT\nstart: INT", 1, 1, "did you mean %import?"},
    {"%json {}\nstart: INT", 1, 1, "it stands in the body of a rule"},
    {"%override a: \"x\"\nstart: \"a\"", 1, 11, "%override replaces"},
    {"start: \"a\"\n%extend start{x}: x", 2, 9, "with other parameters"},
    {"start: %regex {\"pattern\": \"a\"}", 1, 8, "substring_chunks"},
    {"start: %json {\"type\": \"integer\"", 1, 14, "unterminated object"},
    {"start: %json {\"type\": integer}", 1, 23, "text in JSON"},
    {"start: %json {\"type\": \"integr\"}", 1, 8, "grammar:1:8#/type: invalid value 'integr'"},
    {"%llguidance {\"skip_repetition\": \"once\"}\nstart: \"a\"", 1, 13, "skip_repetition"},
};

}  // namespace

TEST(refusals) {
  for (const Refusal& r : kRefusals) {
    if (r.line == 0) {
      expect(*Grammar::from_lark(r.grammar), r.grammar, {"a"}, {"ab"});
      continue;
    }
    CHECK_THROWS_GRAMMAR(Grammar::from_lark(r.grammar), r.line, r.column, std::string(r.text));
  }
  LarkOptions contextual;
  contextual.lexing = LarkOptions::Lexing::Contextual;
  CHECK_THROWS_GRAMMAR(Grammar::from_lark("start: A\nA: /a*/", "start", "g", contextual), 2, 1, "may be empty");
  CHECK_THROWS_GRAMMAR(Grammar::from_lark("start: \"a\"", "star"), 1, 1, "did you mean 'start'?");
}

TEST(what_could_come_decides_in_a_contextual_lexer) {
  LarkOptions options;
  options.lexing = LarkOptions::Lexing::Contextual;
  const auto read = [&](std::string_view text) { return Grammar::from_lark(text, "start", "g", options); };
  expect(*read("start: \"if\" NAME | NAME \"=\" NAME\nNAME: /[a-z]+/\n%ignore \" \""), "keywords",
         {"if x", "x=y", "x = if", "if if"}, {"ifx", "if = x", "x y"});
  expect(*read("start: A B | C\nA.2: /ab/\nB: /c/\nC: /[a-c]+/"), "length before priority", {"abc", "b"}, {"ab"});
  expect(*read("start: e\ne: e (\"<\" | \"<<\") N | N\nN: /[0-9]+/"), "operators", {"1<2", "1<<2<3"}, {"1<<<2"});
  expect(*read("start: N (\"..\" N)?\nN: /[0-9]+(\\.[0-9]*)?/"), "what matches longer", {"1.", "1.5", "1...2"},
         {"1..2"});
  expect(*read("start: (A | B)~2..20\nA: \"a\"\nB: /b+/"), "rounds", {"aa", "ab", "abbba"}, {"a", "bb"});
  expect(*read("start: m \"end\"\nm: (NAME \";\")*\nNAME: /[a-z]+/"), "a rule that may be empty", {"end", "ends;end"},
         {"end;end", "a;"});
}

// Lark's lexer looks around a terminal; a terminal here ends where its text does, and that is said.
TEST(assertions_that_look_outward) {
  const auto warnings = [](std::string_view terminal) {
    return Grammar::from_lark("start: A\nA: " + std::string(terminal))->warnings().size();
  };
  for (const char* terminal :
       {"\"a\" /(?!b)/", R"(/if\b/)", R"(/\bif/)", "/^a/", "/a$/", "/(?<!x)a/", "/(?!ab)[ab]+/", "/(?:a(?!b))+/"}) {
    CHECK_EQ(warnings(terminal), 1u);
  }
  for (const char* terminal :
       {"/a(?!b)[a-c]/", "/(?!ab)[ab]{2}/", "/a(?<!x)/", R"(/"(?:(?!").)*"/)", R"(/".*?"/)", "/a(?<=a)b/"}) {
    CHECK_EQ(warnings(terminal), 0u);
  }
  const auto grammar = Grammar::from_lark("start: NAME\nNAME: /(?!if\\b)[a-z]+/");
  CHECK(grammar->warnings().front().starts_with("line 2, column 8: '(?!if\\b)' in a terminal"));
}

TEST(start) {
  const std::string_view text = "start: \"a\"\nother: B \"c\"\nB: \"b\"\n%ignore \" \"";
  expect(*Grammar::from_lark(text, "other"), "other", {"bc", " b c "}, {"a"});
  expect(*Grammar::from_lark(text, "B"), "B", {"b", " b "}, {"bc"});
  CHECK(Grammar::from_lark(text)->fingerprint() != Grammar::from_lark(text, "other")->fingerprint());
  CHECK(Grammar::from_lark(text)->fingerprint() != Grammar::from_lark(text, "start", "g", all())->fingerprint());
  const std::string fingerprint = Grammar::from_lark(text)->fingerprint();
  CHECK_EQ(Grammar::from_lark(text)->fingerprint(), fingerprint);
}

TEST(tokens) {
  std::vector<glr::Token> tokens(260);
  for (std::size_t b = 0; b < 256; ++b) tokens[b].bytes = std::string(1, static_cast<char>(b));
  tokens[256].end_of_generation = true;
  tokens[257].name = "<tool>";
  tokens[257].control = true;
  tokens[258].bytes = "TOOL";
  const auto vocabulary = std::make_shared<const glr::Vocabulary>(std::move(tokens));
  const auto allowed = [&](std::string_view text) {
    glr::Matcher m(glr::Constraint::compile(Grammar::from_lark(text), vocabulary));
    std::vector<glr::TokenId> found;
    m.allowed().for_each([&](glr::TokenId t) { found.push_back(t); });
    return found;
  };
  CHECK((allowed("start: <tool> \"a\" | \"b\"") == std::vector<glr::TokenId>{'b', 257}));
  CHECK((allowed("start: <[97-99,257]> \"x\"") == std::vector<glr::TokenId>{'a', 'b', 'c', 257}));
  CHECK((allowed("start: TOOL\n%declare TOOL\n%ignore \" \"") == std::vector<glr::TokenId>{' ', 258}));
  CHECK_THROWS_GRAMMAR(allowed("start: \"a\" <nosuch>"), 1, 12, "not one token of the vocabulary: '<nosuch>'");
  CHECK_THROWS_GRAMMAR(allowed("start: TOOLS\n%declare TOOLS"), 1, 8, "not one token of the vocabulary: 'TOOLS'");
}

namespace {

// Files in a folder of their own.
class Folder {
 public:
  explicit Folder(const std::string& name)
      : path_(std::filesystem::temp_directory_path() / ("glrsampler_lark_test_" + name)) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  void write(const std::string& name, std::string_view text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace

TEST(imports) {
  const Folder folder("imports");
  folder.write("base.lark",
               "start: item (\",\" item)*\nitem: WORD | deep\n%import .parts.deep.deep\nWORD: LETTER+\n"
               "LETTER: \"a\"..\"f\"\n%ignore \" \"\n");
  folder.write("parts/deep.lark", "deep: \"<\" X \">\"\n%import common.INT -> X\nunused: nothing\n");
  folder.write("self.lark", "%import .self.a\na: \"a\"\n");
  folder.write("one.lark", "%import .two.a\n");
  folder.write("two.lark", "%import .one.a\n");
  folder.write("bad.lark", "a: \"a\"\nb: (\n");
  folder.write("undefined.lark", "a: b\n");
  LarkOptions options;
  options.folder = folder.path();
  const auto read = [&](std::string_view text) { return Grammar::from_lark(text, "start", "main", options); };
  // What an imported grammar ignores is its own business.
  expect(*read("%import .base.start"), "base", {"a,<1>", "fade"}, {"a, a", "g"});
  expect(*read("%import .base (start, WORD)\n%ignore /;/"), "names", {"a;,a", ";<1>"}, {"a, a", "aa b"});
  // Derived: what is put in place or added is so in the imported grammar too.
  expect(*read("%import .base (start, item)\n%override item: \"x\" | start2\nstart2: \"y\""), "override", {"x,y"},
         {"a"});
  expect(*read("%import .base (start, LETTER)\n%extend LETTER: \"z\""), "extend", {"az,<1>"}, {"y"});
  expect(*read("%import .base.start -> list\nstart: list \";\" list"), "alias", {"a;a,<2>"}, {"a"});
  expect(*read("%import .base.WORD\nstart: WORD LETTER\nLETTER: \"x\""), "names of its own", {"abx"}, {"axx"});
  // Folders that are searched, absolute names as well.
  LarkOptions paths;
  paths.import_paths = {"/nowhere", folder.path()};
  expect(*Grammar::from_lark("%import parts.deep.deep\n%import .base.WORD\nstart: deep WORD", "start", "main", paths),
         "paths", {"<1>a"}, {"<a>a"});
  // Another text in an imported file is another grammar.
  const std::string before = read("%import .base.start")->fingerprint();
  folder.write("base.lark", "start: \"q\"\n");
  CHECK(read("%import .base.start")->fingerprint() != before);
  CHECK_THROWS_GRAMMAR(read("start: \"a\"\n%import .self.a"), 1, 9, "import of '" + folder.path().substr(0, 3));
  CHECK_THROWS_GRAMMAR(read("start: \"a\"\n%import .one.a"), 1, 9, "in itself");
  CHECK_THROWS_GRAMMAR(read("%import .none.a\nstart: a"), 1, 9, "undefined rule grammar 'none.lark'");
  CHECK_THROWS_GRAMMAR(read("%import .bad.a\nstart: a"), 2, 5, "bad.lark:2:5");
  CHECK_THROWS_GRAMMAR(read("%import .undefined.a\nstart: a"), 1, 4, "undefined.lark:1:4: undefined rule 'b'");
  CHECK_THROWS_GRAMMAR(read("%import .undefined.c\nstart: c"), 1, 20, "undefined rule 'c' in");
  CHECK_THROWS_GRAMMAR(read("%import .parts.a\nstart: a"), 1, 9, "'parts.lark'");
}

TEST(library) {
  for (const char* name :
       {"DIGIT",        "HEXDIGIT", "INT",           "SIGNED_INT",     "DECIMAL",      "FLOAT",
        "SIGNED_FLOAT", "NUMBER",   "SIGNED_NUMBER", "ESCAPED_STRING", "LCASE_LETTER", "UCASE_LETTER",
        "LETTER",       "WORD",     "CNAME",         "WS_INLINE",      "WS",           "CR",
        "LF",           "NEWLINE",  "SH_COMMENT",    "CPP_COMMENT",    "C_COMMENT",    "SQL_COMMENT"}) {
    CHECK(glr::lark::in_common(name));
    const std::string text = "%import common."s + name + "\nstart: " + name;
    CHECK(!glr::matches(*Grammar::from_lark(text), "\x01"));
  }
  CHECK(!glr::lark::in_common("NOTHING"));
  const auto is = [](const std::string& name, const Texts& yes, const Texts& no) {
    expect(*Grammar::from_lark("%import common." + name + "\nstart: " + name), name, yes, no);
  };
  is("NUMBER", {"1", "1.", ".5", "1.5e-3", "2E5"}, {"", "-1", ".", "e5", "1e"});
  is("SIGNED_FLOAT", {"-1.0", "+.5", "1e5"}, {"1", "-"});
  is("ESCAPED_STRING", {R"("")", R"("a\"b\\")", "\"\u00E9\""}, {"\"\n\"", R"("\")", R"("a"b")"});
  is("C_COMMENT", {"/**/", "/* * / **/", "/*\n*/"}, {"/*/", "/* */ */"});
  is("CNAME", {"_a9", "X"}, {"9a", ""});
  is("NEWLINE", {"\n", "\r\n\n"}, {"\r", ""});
  expect(*Grammar::from_lark("%import unicode.WS\nstart: WS"), "WS", {"\u00A0 \n"}, {"\u2003"});
}

TEST(reluctant_quantifiers_are_written_out) {
  const auto language = [](std::string_view pattern) {
    glr::RegexTree tree = glr::read_regex(pattern, "", "pattern");
    const bool reluctant = glr::lark::has_reluctant(tree);
    glr::lark::write_out_reluctant(tree, pattern, "pattern");
    CHECK(!glr::lark::has_reluctant(tree));
    glr::GrammarBuilder builder(pattern, "pattern", "test");
    const glr::RuleId root = builder.declare("root");
    builder.define(root, glr::regex_match(builder, tree, pattern, {}), {});
    return std::pair(glr::dump(*std::move(builder).build(root)), reluctant);
  };
  CHECK_EQ(language("\"[a-c\"]*?\"").first, "root ::= \"\\\"\" [a-c]* \"\\\"\"\n"s);
  CHECK_EQ(language("(?:a|\\n)+?a").first, "root ::= ((\"a\" | \"\\n\") \"\\n\"*) \"a\"\n"s);
  CHECK_EQ(language("ab*?").first, "root ::= \"a\" \"\"\n"s);
  CHECK_EQ(language("ab{3}?").first, "root ::= \"a\" \"b\"{3}\n"s);
  CHECK(!language("a*b+").second);
  CHECK(!language("(?=a*?)b").second);
  CHECK(language("(?:a*?b)+").second);
}

TEST(hostile_sizes) {
  const auto begin = std::chrono::steady_clock::now();
  const std::size_t n = 20'000;
  expect(*Grammar::from_lark("start: " + repeated("(", n) + "\"a\"" + repeated(")", n)), "groups", {"a"}, {"b"});
  expect(*Grammar::from_lark("start: " + repeated("[", n) + "\"a\"" + repeated("]", n)), "maybes", {"", "a"}, {"b"});
  expect(*Grammar::from_lark("start: A\nA: " + repeated("(", n) + "\"a\"" + repeated(")*", n)), "terminal", {"aa"},
         {"b"});
  const std::string nested = repeated("t{", 5000) + "\"a\"" + repeated("}", 5000);
  expect(*Grammar::from_lark("start: " + nested + "\nt{x}: x"), "arguments", {"a"}, {"b"});
  std::string chain = "start: A0\n";
  for (std::size_t i = 0; i < 2000; ++i) chain += "A" + std::to_string(i) + ": \"x\" A" + std::to_string(i + 1) + "\n";
  expect(*Grammar::from_lark(chain + "A2000: \"a\""), "chain", {repeated("x", 2000) + "a"}, {"xa"});
  std::string doubling = "start: A0\n";
  for (int i = 0; i < 60; ++i) {
    const std::string next = "A" + std::to_string(i + 1);
    doubling += "A" + std::to_string(i) + ": " + next + " " + next + "\n";
  }
  CHECK_THROWS_GRAMMAR(Grammar::from_lark(doubling + "A60: \"a\""), 2, 1, "limit exceeded");
  expect(*Grammar::from_lark("start: A\nA: /" + repeated("(?:a", n) + repeated(")??", n) + "b/"), "reluctant",
         {"b", "aab"}, {"a", "ba"});
  std::string wide = "start: \"a\"";
  for (int i = 0; i < 1100; ++i) wide += " | t{\"" + std::to_string(i) + "\"}";
  CHECK_THROWS_GRAMMAR(Grammar::from_lark(wide + "\nt{x}: x" + repeated(" \"b\"", 1000)), 2, 7, "limit exceeded");
  std::string rules = "start: \"a\"";
  for (std::size_t i = 0; i < n; ++i) rules += " | r" + std::to_string(i);
  for (std::size_t i = 0; i < n; ++i) rules += "\nr" + std::to_string(i) + ": \"" + std::to_string(i) + "\" B";
  expect(*Grammar::from_lark(rules + "\nB: /b+/\n%ignore \" \""), "rules", {"a", "77 bb", "19999b"}, {"20000b"});
  std::string literal = "start: \"" + repeated("ab", 10'000) + "\"i";
  expect(*Grammar::from_lark(literal), "text", {repeated("aB", 10'000)}, {"ab"});
  expect(*Grammar::from_lark("start: %regex {\"substring_chars\": \"" + repeated("a", 2000) + "\"}"), "substring",
         {repeated("a", 2000)}, {repeated("a", 2001)});
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(60));
}

// A grammar damaged at random is refused with a place or can be used.
TEST(mutations) {
  std::mt19937 random(3);
  std::vector<std::string> texts;
  for (const Case& c : kNotation) texts.emplace_back(c.grammar);
  const std::string pieces[] = {
      "(",       ")",    "[",    "]",     "{",  "}",   "|",     "*",       "+?",      "~",        "~2..3",
      "\"",      "/",    "//",   "\\",    "\n", "\n|", ":",     "->",      "%",       "%ignore ", "%import common.",
      "%json {", "<",    ">",    "<[0]>", "A",  "a",   "start", "start: ", "{\"a\"}", "..",       "i",
      "&",       "\xC3", "\"\"", ".*?",   "\t", "\r"};
  int read = 0;
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = texts[random() % texts.size()];
    for (std::size_t k = random() % 8 == 0 ? 3 : 1; k > 0; --k) {
      const std::size_t at = random() % (text.size() + 1);
      const std::size_t length = random() % 4;
      if (random() % 2 == 0)
        text.replace(at, length, pieces[random() % std::size(pieces)]);
      else
        text.insert(at, text.substr(random() % (text.size() + 1), random() % 20));
    }
    try {
      LarkOptions options;
      if (i % 3 == 0) options.lexing = LarkOptions::Lexing::Contextual;
      const auto grammar = Grammar::from_lark(text, "start", "g", options);
      (void)glr::matches(*grammar, "ab(1,\"x\")");
      (void)glr::dump(*grammar);
      ++read;
    } catch (const glr::SchemaError&) {
      ++refused;
    } catch (const glr::GrammarError& e) {
      CHECK(std::string_view(e.what()).size() < 2000);
      ++refused;
    } catch (const glr::BudgetError&) {
      ++refused;
    }
  }
  CHECK(read > 200);
  CHECK(refused > 500);
}
