// Writer: goals -> grammar rules.
//
// A goal whose values hold no other values is written where it stands; every other goal becomes a rule of its own,
// once, and waits in a queue until it is written: nothing recurses on the nesting of a schema, and goals that lead back
// to themselves are recursive rules.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "glrsampler/grammar.hpp"
#include "grammar/diagnostic.hpp"
#include "grammar/json_schema/algebra.hpp"
#include "grammar/json_schema/limits.hpp"
#include "grammar/json_schema/strings.hpp"

namespace glr::json_schema {

class Writer {
 public:
  Writer(Algebra& algebra, GrammarBuilder& builder, const JsonSchemaOptions& options, std::string_view file);

  // The root rule: one value, with the white space that may stand around it.
  RuleId write(const Goal& root);

 private:
  // White space, by where it stands.
  struct Spaces {
    NodeId none;
    NodeId around;        // before and after the whole text
    NodeId after_open;    // after { [ and ,
    NodeId before_close;  // before } and ] when something stands before it
    NodeId before_colon;
    NodeId after_colon;
    NodeId after_value;  // before , } and ]
  };
  struct Waiting {
    RuleId rule;
    std::vector<Shape> shapes;
    std::string pointer;
    std::uint32_t depth;
  };

  NodeId value(const Goal& goal);
  NodeId write_shapes(const std::vector<Shape>& shapes);
  NodeId write_shape(const Shape& shape);
  bool strict() const { return options_.profile == JsonSchemaOptions::Profile::Strict; }
  bool too_deep() const { return depth_ > kStrictDepth; }
  NodeId any_value();
  NodeId string(const StringShape& shape);
  NodeId number(const NumberShape& shape, TypeSet types);

  // arrays.cpp
  NodeId array(const ArrayShape& shape);
  NodeId counted_array(const ArrayShape& shape);
  NodeId unique_array(const ArrayShape& shape);
  NodeId item(const Goal& goal) { return sequence({value(goal), spaces_.after_value}); }

  // objects.cpp
  struct Member;
  struct Evidence;
  struct Object;
  NodeId object(const ObjectShape& shape);
  std::vector<NodeId> name_contents(const Goal& names);
  void add_declared(const ObjectShape& shape, Object& object);
  void add_extras(const ObjectShape& shape, Object& object);
  NodeId extra_names(const ObjectShape& shape, const Object& object, const std::vector<Pattern>& patterns,
                     std::uint32_t subset);
  void add_ways(const std::vector<NodeId>& names, const Goal& goal, const std::vector<Evidence>& evidence,
                std::vector<Member>& out);
  std::vector<NodeId> member(const std::vector<NodeId>& key, const Goal& goal);
  NodeId known_name(const std::string& name);
  std::vector<NodeId> after_name();
  std::vector<NodeId> key(NodeId content);
  NodeId members(const Object& object);

  NodeId sequence(const std::vector<NodeId>& nodes) { return builder_.sequence(nodes, {}); }
  NodeId choice(const std::vector<NodeId>& nodes) { return builder_.choice(nodes, {}); }
  NodeId optional(NodeId node) { return builder_.repeat(node, 0, 1, {}); }
  NodeId literal(std::string_view text) { return builder_.literal(text, {}); }
  NodeId close(bool something_before, std::string_view bracket);
  [[noreturn]] void refuse(DiagnosticKind kind, std::string detail, std::string hint);
  void unsupported(const std::string& pointer, const std::string& detail, const std::string& hint);

  Algebra& algebra_;
  GrammarBuilder& builder_;
  const JsonSchemaOptions& options_;
  std::string file_;
  Strings strings_;  // values
  Strings names_;    // keys
  Spaces spaces_;
  NodeId comma_;
  // By goal and, in the strict profile, the arrays and objects around it.
  std::map<std::pair<std::uint32_t, Goal>, NodeId> written_;
  std::deque<Waiting> waiting_;
  std::string pointer_ = "#";              // of what is being written
  std::uint32_t depth_ = 0;                // of what is being written, in the strict profile; 0 in all others
  std::map<NodeId, NodeId> string_rules_;  // by what stands between the quotes, and they
  std::optional<NodeId> number_;
  std::optional<NodeId> any_array_;
  std::optional<NodeId> any_object_;
};

}  // namespace glr::json_schema
