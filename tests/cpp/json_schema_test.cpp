// The JSON Schema reader's parts below the tables of tests/python/test_json_schema.py: exact decimals, values,
// references, patterns on known texts, how many shapes a schema comes to, and hostile or broken schemas.
#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "check.hpp"
#include "glrsampler/constraint.hpp"
#include "glrsampler/grammar.hpp"
#include "grammar/json_schema/algebra.hpp"
#include "grammar/json_schema/decimal.hpp"
#include "grammar/json_schema/limits.hpp"
#include "grammar/json_schema/pattern_matcher.hpp"
#include "grammar/json_schema/reader.hpp"
#include "grammar/json_schema/references.hpp"
#include "grammar/json_schema/value.hpp"

using namespace glr::json_schema;
using glr::Grammar, glr::JsonSchemaOptions, glr::SchemaError;
using namespace std::string_literals;

namespace {

std::string repeated(std::string_view piece, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += piece;
  return text;
}

Decimal decimal(std::string_view text) {
  const auto d = Decimal::parse(text);
  CHECK(d.has_value());
  return d.value_or(Decimal{});
}

std::size_t shapes_of(std::string_view schema) {
  const JsonSchemaOptions options;
  Reader reader(schema, 0, options, "schema");
  Algebra algebra(reader, options, "schema");
  return algebra.shapes({Literal{reader.root()}}).size();
}

bool admits(std::string_view schema, std::string_view text, const JsonSchemaOptions& options = {}) {
  return glr::matches(*Grammar::from_json_schema(schema, options), text);
}

void expect_refusal(std::string_view schema, std::string_view pointer, std::string_view message) {
  try {
    Grammar::from_json_schema(schema);
    CHECK_EQ("accepted: " + std::string(schema), ""s);
  } catch (const SchemaError& e) {
    CHECK_EQ(e.pointer, std::string(pointer));
    CHECK(std::string_view(e.what()).find(message) != std::string_view::npos);
  }
}

}  // namespace

TEST(decimals) {
  CHECK_EQ(decimal("-0").text(), "0"s);
  CHECK_EQ(decimal("1.50e2").text(), "150"s);
  CHECK_EQ(decimal("-1.25e-3").text(), "-0.00125"s);
  CHECK(decimal("1e2") == decimal("100.0"));
  CHECK(!Decimal::parse("1e999999999"));
  const std::string_view ascending[] = {
      "-10", "-9.99", "-1", "-0.1", "0", "1e-300", "0.1", "0.11", "1", "9007199254740992", "9007199254740993"};
  for (std::size_t i = 0; i + 1 < std::size(ascending); ++i) CHECK(decimal(ascending[i]) < decimal(ascending[i + 1]));
  CHECK(is_multiple(decimal("-0.3"), decimal("0.1")));
  CHECK(is_multiple(decimal("0"), decimal("7")));
  CHECK(!is_multiple(decimal("0.35"), decimal("0.1")));
  CHECK(is_multiple(decimal("123456789012345678901234567890"), decimal("10")));
}

TEST(values) {
  const Document document(R"({"b": [1.50, "\u00e9\ud83d\ude00\/"], "a": null, "b": true})", "schema");
  CHECK_EQ(canonical_text(document.root()), R"({"b":true,"a":null})"s);
  CHECK_EQ(canonical_string("\"\\/\n\x01\xC3\xA9"), "\"\\\"\\\\/\\n\\u0001\xC3\xA9\""s);
  CHECK_THROWS_GRAMMAR(Document("{\"a\": 1,\n \"b\" 2}", "schema"), 2, 6, "schema:2:6");
  for (const std::string_view broken : {"", "{", "[1,]", "nul", "\"\\ud800\"", "{\"a\":1} 2", "\"\xFF\""}) {
    bool refused = false;
    try {
      const Document read(broken, "schema");
    } catch (const glr::GrammarError&) {
      refused = true;
    }
    CHECK(refused);
  }
}

// Beyond what a double holds.
TEST(long_numbers) {
  const std::string digits(400, '7');
  const Document document("[1, \"9e999\", 1e309, -" + digits + ", [2E-400, \"\\\"1e999\"], 3.5e+12]", "schema");
  CHECK_EQ(canonical_text(document.root()), "[1,\"9e999\",1e309,-" + digits + ",[2E-400,\"\\\"1e999\"],3.5e+12]");
  CHECK_THROWS_GRAMMAR(Document("[1e309, 01e309]", "schema"), 1, 10, "unexpected");
  CHECK_THROWS_GRAMMAR(Document("[1e309, 1e+]", "schema"), 1, 12, "unexpected");
  const std::string least = R"({"type": "integer", "minimum": )" + digits + "}";
  CHECK(admits(least, digits));
  CHECK(!admits(least, digits.substr(1) + "6"));
  CHECK(admits(R"({"const": 1e309})", "1e309"));
  CHECK(admits(R"({"type": "number", "maximum": 1e309})", std::string(309, '9')));
  CHECK(!admits(R"({"type": "number", "maximum": 1e309})", "1" + std::string(308, '0') + "1"));
  expect_refusal(R"({"items": {"minimum": 1e1300}})", "#/items/minimum", "too many digits");
}

TEST(repeated_keys) {
  const auto warnings = [](std::string_view schema) { return Grammar::from_json_schema(schema)->warnings(); };
  const std::vector<std::string> expected{"#/items/1/a~1b/type: the key is there twice: the last one counts"};
  CHECK(warnings(R"({"items": [{}, {"a/b": {"type": "null", "type": "string"}}]})") == expected);
  CHECK(warnings(R"({"properties": {"type": {"type": "null"}}})").empty());
  CHECK(admits(R"({"type": "null", "type": "string"})", R"("x")"));
  JsonSchemaOptions options;
  options.profile = JsonSchemaOptions::Profile::Strict;
  CHECK_THROWS_GRAMMAR(Grammar::from_json_schema(R"({"type": "null", "type": "null"})", options), 0, 0, "twice");
}

TEST(references) {
  const Document document(R"({
    "$id": "https://a.b/c/root.json", "$defs": {
      "x/y~z": {"type": "null"}, "n": {"$id": "n.json", "$defs": {"in": true}, "at": {"$anchor": "k", "list": [1, {"d": 2}]}}}})",
                          "schema");
  References references(document);
  const Value& root = document.root();
  const Value& inner = *root.find("$defs")->find("n");
  const auto pointer = [&](std::string_view reference, const Value& at) {
    return references.find(reference, at).pointer;
  };
  CHECK_EQ(pointer("#", root), "#"s);
  CHECK_EQ(pointer("#/$defs/x~1y~0z", root), "#/$defs/x~1y~0z"s);
  CHECK_EQ(pointer("#/$defs/x~1y%7E0z", root), "#/$defs/x~1y~0z"s);
  CHECK_EQ(pointer("#/$defs/in", inner), "#/$defs/n/$defs/in"s);
  CHECK_EQ(pointer("#/$defs/n", inner), "#/$defs/n"s);  // not in its resource, but in the document
  CHECK_EQ(pointer("n.json#k", root), "#/$defs/n/at"s);
  CHECK_EQ(pointer("https://a.b/c/n.json#/at/list/1/d", root), "#/$defs/n/at/list/1/d"s);
  CHECK(references.find("#/$defs/x/y~z", root).value == nullptr);
  CHECK(references.find("#/$defs/n/at/list/9", root).value == nullptr);
  CHECK(references.find("other.json", root).value == nullptr);
}

TEST(patterns_of_known_texts) {
  PatternMatcher matcher("schema");
  const auto matches = [&](std::string pattern, const std::string& text, bool whole = false) {
    return matcher.matches({std::move(pattern), whole, "#/pattern"}, text);
  };
  CHECK(matches("^a|b$", "xb"));
  CHECK(!matches("^a|b$", "xa"));
  CHECK(!matches("a", "xa", true));
  CHECK(matches("^(?!a).\\W$", "\xC3\xA9 "));
  CHECK(matches("(a*)*b", repeated("a", 300) + "b"));  // no backtracking
  CHECK(!matches("^(a|aa)+$", repeated("a", 300) + "b"));
}

TEST(shapes) {
  CHECK_EQ(shapes_of("{}"), 1u);
  CHECK_EQ(shapes_of("false"), 0u);
  CHECK_EQ(shapes_of(R"({"type": "integer", "enum": ["a"]})"), 0u);
  CHECK_EQ(shapes_of(R"({"allOf": [{"minimum": 1}, {"maxLength": 2}], "required": ["a"]})"), 1u);
  CHECK_EQ(shapes_of(R"({"not": {"type": "string"}})"), 1u);
  CHECK_EQ(shapes_of(R"({"not": {"not": {"minimum": 3}}})"), 1u);
  // Alternatives that a const tells apart stay a plain union: no negation splits them.
  std::string tagged;
  for (int i = 0; i < 50; ++i) {
    tagged += (i == 0 ? "" : ",") + R"({"properties": {"t": {"const": ")"s + std::to_string(i) +
              R"("}, "v": {"minimum": 1}}, "required": ["t"]})";
  }
  CHECK_EQ(shapes_of(R"({"type": "object", "oneOf": [)" + tagged + "]}"), 50u);
}

// What would be thousands of combinations when multiplied out.
TEST(products) {
  // Languages of strings are combined by the engine.
  std::string strings = R"({"type": "string", "minLength": 3, "allOf": [)";
  for (int i = 0; i < 9; ++i) {
    const auto group = std::to_string(i);
    strings += (i == 0 ? "" : ",") + R"({"anyOf": [{"pattern": "^x"}, {"pattern": "a)"s + group +
               R"("}, {"not": {"not": {"enum": ["abc", "b)" + group + R"("]}}}]})";
  }
  strings += "]}";
  CHECK_EQ(shapes_of(strings), 1u);
  for (const std::string_view text : {R"("xyz")", R"("abc")", R"("a0a1a2a3a4a5a6a7a8")"}) CHECK(admits(strings, text));
  for (const std::string_view text : {R"("x")", R"("b1")", R"("a0a1a2a3a4a5a7a8a9")"}) CHECK(!admits(strings, text));

  // Values listed in an alternative are still subject to what stands around it.
  const std::string listed = R"x({"allOf": [{"pattern": "b$"}, {"anyOf": [
    {"if": {"pattern": "^(?!a)"}, "else": {"enum": ["a"]}}, {"pattern": "^a*b"}]}]})x";
  CHECK(!admits(listed, R"("a")"));
  CHECK(admits(listed, R"("xb")"));

  // Keys that ask for the same property.
  std::string asking = R"({"type": "object", "properties": {"t": {"enum": ["a", "b", "c"]}}, "dependencies": {)";
  for (int i = 0; i < 30; ++i) {
    asking += (i == 0 ? "" : ",") + ("\"k" + std::to_string(i) + R"(": {"properties": {"t": {"const": ")") +
              std::string(1, static_cast<char>('a' + i % 3)) + "\"}}}";
  }
  asking += "}}";
  CHECK(shapes_of(asking) <= 8);
  CHECK(admits(asking, R"({"t": "b", "k1": 1, "k28": 2})"));
  CHECK(!admits(asking, R"({"t": "b", "k1": 1, "k2": 2})"));
  CHECK(admits(asking, R"({"k1": 1, "k2": 2})"));
  CHECK(admits(asking, R"({"t": "c", "other": 1})"));
  std::string needing = R"({"type": "object", "properties": {"t": {}}, "dependentRequired": {)";
  for (int i = 0; i < 30; ++i) needing += (i == 0 ? "\"k" : ",\"k") + std::to_string(i) + R"(": ["t"])";
  needing += "}}";
  CHECK_EQ(shapes_of(needing), 2u);
  CHECK(admits(needing, R"({"t": 0, "k1": 1})"));
  CHECK(!admits(needing, R"({"k1": 1})"));

  // Conditions on one property that may be absent, where all of them are met.
  std::string conditions = R"({"type": "object", "properties": {"t": {"maxLength": 1}}, "allOf": [)";
  for (int i = 0; i < 20; ++i) {
    const std::string letter(1, static_cast<char>('a' + i));
    conditions += (i == 0 ? "" : ",") + R"({"if": {"properties": {"t": {"const": ")"s + letter +
                  R"("}}}, "then": {"required": ["k)" + letter + R"("]}})";
  }
  conditions += "]}";
  CHECK(shapes_of(conditions) <= 44);
  CHECK(admits(conditions, R"({"t": "b", "kb": 1})"));
  CHECK(admits(conditions, R"({"t": "z"})"));
  CHECK(!admits(conditions, R"({"t": "b", "ka": 1})"));
  CHECK(!admits(conditions, R"({"kb": 1})"));

  // Alternatives that a property tells apart only if it is there.
  std::string apart = R"({"oneOf": [)";
  for (int i = 0; i < 12; ++i) {
    const auto number = std::to_string(i);
    apart += (i == 0 ? "" : ",") + R"({"type": "object", "additionalProperties": false, "properties": {)"s +
             R"("t": {"enum": [")" + number +
             R"("]}, "id": {"type": "string", "maxLength": 9}, "c": {"type": "null"}, )" + R"("own)" + number +
             R"(": true, "v": {"enum": ["x", )" + number + "]}}}";
  }
  apart += "]}";
  CHECK_EQ(shapes_of(apart), 36u);
  CHECK(admits(apart, R"({"t": "3", "id": "i", "v": "x"})"));
  CHECK(!admits(apart, R"({"t": "12"})"));
  CHECK(!admits(apart, R"({"id": "i", "v": "x"})"));  // all twelve
  CHECK(admits(apart, R"({"id": "i", "v": 7})"));
  CHECK(admits(apart, R"({"own5": 1, "v": "x"})"));
  CHECK(!admits(apart, R"({"own5": 1, "v": 7})"));
}

TEST(equal_schemas) {
  const JsonSchemaOptions options;
  const Reader schemas(R"({"properties": {
    "a": {"type": "object", "properties": {"x": {"minimum": 1.0}, "y": {"$ref": "#/$defs/z"}}, "title": "A"},
    "b": {"title": "B", "properties": {"x": {"minimum": 1}, "y": {"$ref": "#/$defs/z"}}, "type": "object"},
    "c": {"type": "object", "properties": {"y": {"$ref": "#/$defs/z"}, "x": {"minimum": 1}}},
    "d": {"const": 1}, "e": {"const": 1.0}}, "$defs": {"z": {"items": {"$ref": "#/$defs/z"}}}})",
                       0, options, "schema");
  const auto& properties = schemas[schemas.root()].properties;
  CHECK(properties[0].second == properties[1].second);
  CHECK(properties[0].second != properties[2].second);  // another order
  CHECK(properties[3].second != properties[4].second);  // another spelling
}

// What objects have in common, their escapes and the ends of their keys, is in the grammar once.
TEST(equal_parts) {
  std::string schema = R"({"properties": {)";
  for (int i = 0; i < 40; ++i) {
    const auto number = std::to_string(i);
    schema += (i == 0 ? "\"" : ",\"") + number +
              R"(": {"type": "object", "properties": {"creationTimestamp": {}, "x)"s + number + R"(": {}}})";
  }
  const auto nodes = [](const std::string& text) { return Grammar::from_json_schema(text)->nodes().size(); };
  CHECK(nodes(schema + "}}") - nodes("{}") < 40 * 30);
}

TEST(tables) {
  std::set<std::string_view> names;
  for (const Keyword& k : keywords()) {
    CHECK(names.insert(k.name).second);
    CHECK(k.support == Support::Exact || k.support == Support::Annotation || !k.note.empty());
    CHECK(find_keyword(k.name) == &k);
  }
  CHECK(find_keyword("x-note") == nullptr);
  std::set<std::string_view> format_names;
  for (const Format& f : formats()) CHECK(format_names.insert(f.name).second);
  CHECK(find_format("no-such") == nullptr);
}

TEST(refusals) {
  expect_refusal(R"({"properties": {"a/b~": {"type": "strng"}}})", "#/properties/a~1b~0/type", "did you mean 'string'");
  expect_refusal(R"({"items": {"not": {"unevaluatedItems": false}}})", "#/items/not", "the negation of");
  expect_refusal(R"({"extends": {}})", "#/extends", "unsupported keyword");
  expect_refusal(R"({"$ref": "#/nowhere"})", "#/$ref", "nothing of that name");
  expect_refusal(R"({"minimum": "1"})", "#/minimum", "must be a number");
  expect_refusal("[]", "#", "a schema is");
}

TEST(options) {
  JsonSchemaOptions options;
  options.profile = JsonSchemaOptions::Profile::Strict;
  const std::string list =
      R"({"$ref": "#/$defs/l", "$defs": {"l": {"type": "array", "items": {"$ref": "#/$defs/l"}}}})";
  const auto nested = [](std::size_t depth) { return repeated("[", depth) + repeated("]", depth); };
  CHECK(admits(list, nested(kStrictDepth), options));
  CHECK(!admits(list, nested(kStrictDepth + 1), options));
  CHECK(admits(list, nested(1000)));
  const std::string digits(kStrictDigits, '7');
  CHECK(admits(R"({"type": "number"})", digits, options));
  CHECK(!admits(R"({"type": "number"})", digits + '7', options));
  CHECK(admits(R"({"type": "number"})", digits + '7'));
  CHECK_THROWS_GRAMMAR(Grammar::from_json_schema("{}", options), 0, 0, "open object in the strict profile");
  options.property_order = JsonSchemaOptions::PropertyOrder::Any;
  CHECK_THROWS_GRAMMAR(Grammar::from_json_schema("{}", options), 0, 0, "property_order=\"any\" in the strict profile");
}

TEST(one_witness_for_several_negations) {
  const std::string schema = R"({"type": "object", "maxProperties": 2, "allOf": [
    {"not": {"propertyNames": {"not": {"pattern": "a"}}}}, {"not": {"propertyNames": {"not": {"pattern": "b"}}}},
    {"not": {"propertyNames": {"not": {"pattern": "c"}}}}, {"propertyNames": {"pattern": "^..$"}}]})";
  CHECK(admits(schema, R"({"ab": 1, "cx": 2})"));
  CHECK(admits(schema, R"({"xc": 1, "ba": 2})"));
  CHECK(!admits(schema, R"({"ab": 1, "xx": 2})"));
  CHECK(!admits(schema, R"({"a": 1, "bc": 2})"));
}

TEST(deep_and_large) {
  CHECK_THROWS_GRAMMAR(Grammar::from_json_schema(repeated("{\"not\":", 100'000) + "{}" + repeated("}", 100'000)), 0, 0,
                       "nest");
  const std::string deep = repeated("{\"allOf\":[", 150) + R"({"type": "null"})" + repeated("]}", 150);
  CHECK(admits(deep, "null"));
  CHECK(!admits(deep, "1"));
  std::string chain = R"({"$ref": "#/$defs/0", "$defs": {)";
  for (int i = 0; i < 5'000; ++i)
    chain += '"' + std::to_string(i) + R"(": {"$ref": "#/$defs/)" + std::to_string(i + 1) + "\"},";
  CHECK(admits(chain + R"("5000": {"type": "null"}}})", "null"));
}

// Alternatives in alternatives, each mentioned twice: 2^40 ways to go through them.
TEST(alternatives_that_double) {
  std::string schema =
      R"({"type": "string", "minLength": 1, "allOf": [{"$ref": "#/$defs/0"}, {"$ref": "#/$defs/1"}], "$defs": {)";
  for (int i = 0; i < 40; ++i) {
    const auto next = R"({"$ref": "#/$defs/)" + std::to_string(i + 1) + "\"}";
    schema += '"' + std::to_string(i) + R"(": {"anyOf": [{"allOf": [{"pattern": "a"}, )" + next + "]}, {\"allOf\": [" +
              next + R"(, {"pattern": "b)" + std::to_string(i) + "\"}]}]},";
  }
  expect_refusal(schema + R"("40": {"pattern": "x"}, "41": {"pattern": "y"}}})", "#", "combinations of alternatives");
}

// Pieces of schemas put together at random are read or refused: nothing else happens.
TEST(mutations) {
  const std::string seed =
      R"({"type": ["object", "null"], "properties": {"a": {"enum": [1, "x", {"k": []}]}, "b": {"$ref": "#/$defs/d"}}, "required": ["a"],)"
      R"("patternProperties": {"^x": {"not": {"pattern": "a+"}}}, "oneOf": [{"minProperties": 1}, {"required": ["b"]}], "additionalProperties":)"
      R"({"multipleOf": 0.5, "minimum": -3}, "$defs": {"d": {"items": {"format": "date"}, "maxItems": 3, "contains": {"const": null}}}})";
  std::mt19937 random(7);
  std::size_t read = 0;
  std::size_t refused = 0;
  for (int round = 0; round < 1'500; ++round) {
    std::string text = seed;
    for (auto n = 1 + random() % 3; n-- > 0;) {
      const std::size_t at = random() % text.size();
      const std::size_t length = 1 + random() % 4;
      switch (random() % 3) {
        case 0:
          text.erase(at, length);
          break;
        case 1:
          text.insert(at, text.substr(random() % text.size(), length));
          break;
        default:
          text[at] = "{}[]\",:01-.eaxn$#/\\"[random() % 19];
          break;
      }
    }
    try {
      Grammar::from_json_schema(text);
      ++read;
    } catch (const glr::GrammarError&) {
      ++refused;
    }
  }
  CHECK(read > 100);
  CHECK(refused > 500);
}
