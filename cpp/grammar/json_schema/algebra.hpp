// Algebra: what a goal comes to as a union of shapes.
//
// A positive schema is the conjunction of its keywords: those about one type go into the shape, allOf and $ref are
// further schemas to be met, and anyOf, oneOf, if and dependencies split the shape. A negated schema is the union of
// its negated keywords, so negation moves inward (de Morgan) until it reaches a keyword of one type or a schema of a
// value inside, where it waits in a goal. Splits come last, when the shape is as narrow as it gets: a negated schema
// that the shape excludes already splits nothing, which is what keeps oneOf over alternatives that a `const` tells
// apart a plain union.
//
// Strings are not split: their languages are regular, so a shape of strings has its alternatives inside and the engine
// makes the states of the product that a text reaches.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "grammar/json_schema/pattern_matcher.hpp"
#include "grammar/json_schema/reader.hpp"
#include "grammar/json_schema/shape.hpp"

namespace glr::json_schema {

class Algebra {
 public:
  Algebra(Reader& schemas, const JsonSchemaOptions& options, std::string_view file)
      : schemas_(schemas), options_(options), file_(file), patterns_(file) {}

  // The shapes whose union is the goal; none when no value meets it. SchemaError beyond kMaxShapes.
  std::vector<Shape> shapes(const Goal& goal);

  // What the value of a key must meet, by all that the shape says about it. The key itself is not judged.
  Goal value_goal(const ObjectShape& object, const std::string& key);

  // Whether a string of this content is one of the shape's.
  bool admits(const StringShape& shape, const std::string& content);

  // Whether a string of this content meets the goal.
  bool admits_name(const Goal& names, const std::string& name);

  // Whether a member of this name is in the class of names that the witness is of.
  bool is_witness(const Witness& witness, const std::string& name);

  // Provably; false says nothing.
  bool is_empty(const Goal& goal) { return provably_empty(goal, 0); }

  PatternMatcher& patterns() { return patterns_; }
  const Reader& schemas() const { return schemas_; }

  // What was left out at the caller's wish.
  const std::vector<std::string>& warnings() const { return warnings_; }

  // Why a shape was last dropped as empty, and where: for the error of a schema that no value meets.
  const std::string& clash() const { return clash_; }
  const std::string& clash_pointer() const { return clash_pointer_; }

 private:
  struct Split {
    Literal literal;
    enum class Kind : std::uint8_t { AnyOf, OneOf, Condition, Dependency, Composites, Negation } kind;
    std::size_t index = 0;
  };
  // A shape on its way: what it must still meet, what it will be split by.
  struct Work {
    Shape shape;
    std::vector<Literal> pending;
    std::vector<Split> splits;
    Goal met;
    std::vector<SchemaId> unevaluated;  // that ask what the schemas beside and inside them evaluate
    bool dead = false;
  };

  std::vector<Shape> expand(Work start, unsigned depth, bool& cut_short);
  void meet_pending(Work& work);
  void meet(Work& work, const Schema& s, SchemaId id);
  void split(const Work& work, const Split& split, std::vector<Work>& out);
  bool split_by_needed(const Work& work, const Dependency& d, std::vector<Work>& out);
  bool may_negate(const Schema& s);
  void split_all_ways(const Work& work, const std::vector<SchemaId>& alternatives, std::vector<Work>& out);
  void apply_unevaluated(Work& work, SchemaId id);
  std::vector<SchemaId> evaluating(const Work& work, SchemaId id) const;
  void split_negation(const Work& work, SchemaId id, std::vector<Work>& out);
  void negate_numbers(const Work& work, const Schema& s, std::vector<Work>& out);
  void negate_strings(const Work& work, const Schema& s, std::vector<Work>& out);
  void negate_arrays(const Work& work, const Schema& s, std::vector<Work>& out);
  void negate_objects(const Work& work, const Schema& s, SchemaId id, std::vector<Work>& out);
  void negate_combinations(const Work& work, const Schema& s, std::vector<Work>& out);
  bool fails_in_one_way(const Shape& shape, const Schema& s) const;
  bool negate_at_once(Shape& shape, const Schema& s);
  void drop_values(Work& work, const Values& values);

  bool has_place(const ObjectShape& object, const std::string& key) const;
  std::optional<std::vector<std::string>> names_of_members(const ObjectShape& object) const;

  std::optional<StringShape> strings_of(const Work& work, unsigned depth, std::size_t& left);

  void settle(Work& work, unsigned depth);
  void settle_string(StringShape& shape);
  void settle_numbers(Shape& shape) const;
  void settle_array(Shape& shape, unsigned depth);
  bool object_is_empty(const ObjectShape& object, unsigned depth);
  bool excluded_already(const Work& work, SchemaId id, unsigned depth);
  bool provably_empty(const Goal& goal, unsigned depth);

  Reader& schemas_;
  const JsonSchemaOptions& options_;
  std::string file_;
  PatternMatcher patterns_;
  std::map<Goal, bool> empty_;                // known, or being found out (false)
  std::map<Goal, std::vector<Shape>> names_;  // of goals that names of members must meet
  std::vector<std::string> warnings_;
  std::string clash_;
  std::string clash_pointer_ = "#";
};

}  // namespace glr::json_schema
