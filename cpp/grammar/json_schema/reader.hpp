// Reader: JSON Schema text -> schemas.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "glrsampler/grammar.hpp"
#include "grammar/json_schema/references.hpp"
#include "grammar/json_schema/schema.hpp"
#include "grammar/json_schema/value.hpp"

namespace glr::json_schema {

// Reads every schema that the root reaches. Afterwards no schema applies to itself without going through a property
// or an item: such references (A is A, or a member of its own anyOf) are refused.
class Reader {
 public:
  // The schema is the text from `begin` on.
  Reader(std::string_view text, std::size_t begin, const JsonSchemaOptions& options, std::string_view file);

  const Schema& operator[](SchemaId id) const { return schemas_[id]; }
  SchemaId root() const { return 0; }
  std::size_t size() const { return schemas_.size(); }
  const std::vector<std::string>& warnings() const { return warnings_; }
  // Some schema asks which properties or items were evaluated by the others.
  bool asks_what_is_evaluated() const { return asks_what_is_evaluated_; }
  // A schema that is not in the text.
  SchemaId add(Schema schema) {
    schemas_.push_back(std::move(schema));
    return static_cast<SchemaId>(schemas_.size() - 1);
  }

 private:
  SchemaId schema_at(const Value& value, std::string pointer);
  void read(SchemaId id, const Value& value);
  void read_keyword(Schema& s, const std::string& key, const Value& value, const Value& object);
  bool read_number_keyword(Schema& s, const std::string& key, const Value& value, const Value& object);
  bool read_string_keyword(Schema& s, const std::string& key, const Value& value);
  bool read_array_keyword(Schema& s, const std::string& key, const Value& value, const Value& object);
  bool read_object_keyword(Schema& s, const std::string& key, const Value& value);
  bool read_applicator(Schema& s, const std::string& key, const Value& value, const Value& object);
  void read_unevaluated(Schema& s, const std::string& key, const Value& value);
  void read_types(Schema& s, const Value& value, const std::string& at);
  void read_dependencies(Schema& s, const std::string& key, const Value& value);
  void read_source_span(Schema& s, bool marked, const std::string& at);
  void read_format(Schema& s, const Value& value, const std::string& at);
  void add_value(Values& values, const Value& value, const std::string& at);
  SchemaId schema_of_value(const Value& value, const std::string& at);
  SchemaId never(const std::string& at);
  void refuse_cycles() const;

  std::vector<SchemaId> list_of(const Value& value, const std::string& at);
  std::vector<std::string> names_of(const Value& value, const std::string& at) const;
  std::uint32_t count_of(const Value& value, const std::string& at) const;
  Decimal decimal_of(const Value& value, const std::string& at) const;
  const Value& expect(const Value& value, ValueKind kind, const std::string& at) const;
  void unsupported(Schema& s, const std::string& at, std::string detail, std::string hint);
  [[noreturn]] void invalid(const std::string& at, std::string detail, std::string hint = "") const;

  Document document_;
  References references_;
  const JsonSchemaOptions& options_;
  std::string file_;
  std::deque<Schema> schemas_;
  std::unordered_map<const Value*, SchemaId> by_value_;
  std::vector<std::pair<SchemaId, const Value*>> todo_;
  std::vector<std::string> warnings_;
  bool asks_what_is_evaluated_ = false;
};

}  // namespace glr::json_schema
