// Shape: a conjunction of constraints on one JSON value, each type's apart from the others'.
//
// A schema is a union of shapes (algebra.hpp). The values inside a value are constrained by goals: sets of schemas and
// negated schemas that they must all meet. A goal is no more than its number here; it becomes shapes of its own when
// the writer gets to it, so products of recursive schemas stay finite.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "grammar/json_schema/schema.hpp"

namespace glr::json_schema {

// A schema to be met, or not to be met.
struct Literal {
  SchemaId schema;
  bool negated = false;
  friend auto operator<=>(const Literal&, const Literal&) = default;
};

// All of them at once; sorted, distinct. Empty: any value.
using Goal = std::vector<Literal>;

void add(Goal& goal, Literal literal);
void add(Goal& goal, const Goal& other);

struct NumberShape {
  std::optional<Bound> low;
  std::optional<Bound> high;
  std::vector<Decimal> multiples;      // of each
  std::vector<Decimal> not_multiples;  // of none
  std::optional<std::vector<NumberValue>> only;
  std::vector<Decimal> excluded;

  void tighten_low(const Bound& bound);
  void tighten_high(const Bound& bound);
  void restrict_to(const std::vector<NumberValue>& values);
  bool admits(const Decimal& value) const;  // `only` not looked at
  bool unconstrained() const;
};

struct StringShape {
  std::uint32_t min_length = 0;
  std::uint32_t max_length = kNoBound;
  std::vector<Pattern> matches;
  std::vector<Pattern> not_matches;
  bool from_source = false;  // a piece of the source document
  bool not_from_source = false;
  std::optional<std::vector<std::string>> only;
  std::vector<std::string> excluded;
  std::vector<std::vector<StringShape>> any_of;  // of each list at least one

  void restrict_to(const std::vector<std::string>& values);
  void meet(const StringShape& other);
  bool unconstrained() const;
  // Nothing that `other` says is missing here. Provably; false says nothing.
  bool implies(const StringShape& other) const;
  // Provably; false says nothing.
  bool impossible() const;
  bool excludes(const StringShape& other) const;
  friend bool operator==(const StringShape&, const StringShape&) = default;
};

// How many of the items from index `from` on meet a goal.
struct Contains {
  Goal goal;
  std::uint32_t from = 0;
  std::uint32_t min = 1;
  std::uint32_t max = kNoBound;
};

struct ArrayShape {
  std::vector<Goal> prefix;
  Goal rest;
  std::uint32_t min_items = 0;
  std::uint32_t max_items = kNoBound;
  std::vector<Contains> contains;
  bool unique = false;
  bool repeated = false;  // two items are equal
  std::string unique_pointer;

  Goal& at(std::size_t index);  // the goal of the item, the prefix lengthened as needed
};

// A member whose name is in a class and whose value does not meet a schema: what the negation of
// additionalProperties, patternProperties or propertyNames asks for.
struct Witness {
  enum class Names : std::uint8_t {
    Additional,  // neither a property nor matched by a pattern of `schema`
    Pattern,     // matched by pattern number `index` of `schema`
    Failing,     // does not meet propertyNames of `schema`
  };
  SchemaId schema;
  Names names;
  std::size_t index = 0;
};

struct ObjectShape {
  std::vector<SchemaId> schemas;  // whose properties, patterns and additionalProperties apply
  // Negated schemas, the condition of an `else` above all: their keys come where they would if they were met.
  std::vector<SchemaId> negated;
  std::vector<std::pair<std::string, Literal>> values;  // of single keys, from negations
  std::vector<std::string> required;
  std::vector<std::string> forbidden;
  std::uint32_t min_properties = 0;
  std::uint32_t max_properties = kNoBound;
  Goal names;
  std::vector<Witness> witnesses;

  void require(const std::string& key);
  bool requires_key(const std::string& key) const;
  bool forbids(const std::string& key) const;
};

struct Shape {
  TypeSet types = kAllTypes;
  NumberShape number;
  StringShape string;
  ArrayShape array;
  ObjectShape object;
};

}  // namespace glr::json_schema
