// Schema: one JSON Schema object as typed assertions, every subschema by its number.
//
// The reader (reader.cpp) turns keywords of all drafts into this one form: `const` and `enum` are values, draft 4's
// boolean exclusiveMinimum is an exclusive bound, `dependencies` are dependentRequired and dependentSchemas, an array
// or object among enum values is a schema of its own that only that value meets. Nothing here knows how a schema is
// combined with others (algebra.hpp) or how it is spelled (writer.hpp).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "grammar/json_schema/decimal.hpp"

namespace glr::json_schema {

using SchemaId = std::uint32_t;
inline constexpr std::uint32_t kNoBound = std::numeric_limits<std::uint32_t>::max();

// Sets of JSON types. The two booleans and the whole and the other numbers are told apart, so that every finite
// value without content and `integer` are sets too.
using TypeSet = std::uint8_t;
inline constexpr TypeSet kNull = 1;
inline constexpr TypeSet kFalse = 2;
inline constexpr TypeSet kTrue = 4;
inline constexpr TypeSet kInteger = 8;
inline constexpr TypeSet kFractional = 16;
inline constexpr TypeSet kString = 32;
inline constexpr TypeSet kArray = 64;
inline constexpr TypeSet kObject = 128;
inline constexpr TypeSet kBoolean = kFalse | kTrue;
inline constexpr TypeSet kNumber = kInteger | kFractional;
inline constexpr TypeSet kAllTypes = 255;

struct Bound {
  Decimal value;
  bool exclusive = false;
  friend bool operator==(const Bound&, const Bound&) = default;
};

// A number and the spelling its author gave it.
struct NumberValue {
  Decimal value;
  std::string text;
  friend bool operator==(const NumberValue&, const NumberValue&) = default;
};

// A regular language over code points: `pattern` somewhere in the text, or the whole text (formats).
struct Pattern {
  std::string text;
  bool whole = false;
  std::string pointer;  // of the keyword, for messages
  friend bool operator==(const Pattern& x, const Pattern& y) { return x.text == y.text && x.whole == y.whole; }
};

// The values of one enum or const.
struct Values {
  TypeSet plain = 0;  // null, false, true
  std::vector<std::string> strings;
  std::vector<NumberValue> numbers;
  std::vector<SchemaId> composites;  // arrays and objects
  friend bool operator==(const Values&, const Values&) = default;
};

struct PatternProperty {
  Pattern pattern;
  SchemaId schema;
  friend bool operator==(const PatternProperty&, const PatternProperty&) = default;
};

struct Dependency {
  std::string key;
  std::vector<std::string> required;
  std::optional<SchemaId> schema;
  friend bool operator==(const Dependency&, const Dependency&) = default;
};

// What a schema says, wherever it stands.
struct Assertions {
  bool never = false;  // the schema `false`
  // Something of it was left out at the caller's wish (on_unsupported="warn"): it admits too much, so that its
  // negation is taken as `true`.
  bool widened = false;

  TypeSet types = kAllTypes;
  std::vector<Values> values;

  std::optional<Bound> minimum;
  std::optional<Bound> maximum;
  std::optional<Decimal> multiple_of;
  // Of a format such as int32: like minimum and maximum.
  std::optional<Bound> format_minimum;
  std::optional<Bound> format_maximum;

  std::uint32_t min_length = 0;
  std::uint32_t max_length = kNoBound;
  std::vector<Pattern> patterns;  // pattern and format
  bool from_source = false;       // a piece of the source document

  std::vector<SchemaId> prefix_items;
  std::optional<SchemaId> items;  // those after the prefix
  std::uint32_t min_items = 0;
  std::uint32_t max_items = kNoBound;
  std::optional<SchemaId> contains;
  std::uint32_t min_contains = 1;
  std::uint32_t max_contains = kNoBound;
  bool unique_items = false;
  std::optional<SchemaId> unevaluated_items;

  std::vector<std::pair<std::string, SchemaId>> properties;
  std::vector<PatternProperty> pattern_properties;
  std::optional<SchemaId> additional_properties;
  std::optional<SchemaId> property_names;
  std::optional<SchemaId> unevaluated_properties;
  std::vector<std::string> required;
  std::uint32_t min_properties = 0;
  std::uint32_t max_properties = kNoBound;
  std::vector<Dependency> dependencies;

  std::vector<SchemaId> all_of;  // and $ref
  std::vector<std::vector<SchemaId>> any_of;
  std::vector<SchemaId> one_of;
  std::optional<SchemaId> negated;
  std::optional<SchemaId> condition;
  std::optional<SchemaId> consequence;
  std::optional<SchemaId> alternative;

  friend bool operator==(const Assertions&, const Assertions&) = default;
};

struct Schema : Assertions {
  std::string pointer;  // "#/properties/a"
};

}  // namespace glr::json_schema
