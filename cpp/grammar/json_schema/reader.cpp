// A work list, not recursion: a subschema gets its number when it is first mentioned and is read later.

#include "grammar/json_schema/reader.hpp"

#include <algorithm>

#include "grammar/json_schema/error.hpp"
#include "grammar/json_schema/limits.hpp"
#include "grammar/json_schema/merge_equal.hpp"

namespace glr::json_schema {

namespace {

constexpr std::pair<std::string_view, TypeSet> kTypeNames[] = {
    {"null", kNull},     {"boolean", kBoolean}, {"integer", kInteger}, {"number", kNumber},
    {"string", kString}, {"array", kArray},     {"object", kObject}};

std::string_view kind_name(ValueKind kind) {
  switch (kind) {
    case ValueKind::Null:
      return "null";
    case ValueKind::Boolean:
      return "a boolean";
    case ValueKind::Number:
      return "a number";
    case ValueKind::String:
      return "a string";
    case ValueKind::Array:
      return "an array";
    case ValueKind::Object:
      return "an object";
  }
  return "a value";
}

}  // namespace

Reader::Reader(std::string_view text, std::size_t begin, const JsonSchemaOptions& options, std::string_view file)
    : document_(text, begin, file), references_(document_), options_(options), file_(file) {
  for (const std::string& at : document_.repeated_keys()) {
    if (options_.profile == JsonSchemaOptions::Profile::Strict) invalid(at, "key that is there twice", "keep one");
    warnings_.push_back(at + ": the key is there twice: the last one counts");
  }
  schema_at(document_.root(), "#");
  while (!todo_.empty()) {
    const auto [id, value] = todo_.back();
    todo_.pop_back();
    read(id, *value);
  }
  refuse_cycles();
  // A warning that comes later names every place.
  const bool warns = options_.on_unsupported == JsonSchemaOptions::Unsupported::Warn;
  merge_equal(
      schemas_, warns
                    ? [](const Schema& s) { return s.unique_items || s.unevaluated_properties || s.unevaluated_items; }
                    : [](const Schema&) { return false; });
}

void Reader::invalid(const std::string& at, std::string detail, std::string hint) const {
  fail(file_, at, DiagnosticKind::InvalidValue, std::move(detail), std::move(hint));
}

void Reader::unsupported(Schema& s, const std::string& at, std::string detail, std::string hint) {
  if (options_.on_unsupported == JsonSchemaOptions::Unsupported::Error)
    fail(file_, at, DiagnosticKind::Unsupported, std::move(detail), std::move(hint));
  warnings_.push_back(at + ": not enforced: " + detail + (hint.empty() ? "" : " (" + hint + ")"));
  s.widened = true;
}

const Value& Reader::expect(const Value& value, ValueKind kind, const std::string& at) const {
  if (value.kind != kind) invalid(at, quoted(canonical_text(value)), "it must be " + std::string(kind_name(kind)));
  return value;
}

std::uint32_t Reader::count_of(const Value& value, const std::string& at) const {
  const Decimal d = decimal_of(value, at);
  if (d.negative || !d.is_integer()) invalid(at, quoted(value.text), "it must be a whole number, not negative");
  // A count that no text reaches.
  return d.integer.size() > 9 ? kNoBound - 1
         : d.integer.empty()  ? 0
                              : static_cast<std::uint32_t>(std::stoul(d.integer));
}

Decimal Reader::decimal_of(const Value& value, const std::string& at) const {
  const auto d = Decimal::parse(expect(value, ValueKind::Number, at).text);
  if (!d) {
    fail(file_, at, DiagnosticKind::LimitExceeded, quoted(value.text) + " has too many digits when written out",
         "at most " + std::to_string(Decimal::kMaxDigits) + ", without an exponent");
  }
  return *d;
}

std::vector<std::string> Reader::names_of(const Value& value, const std::string& at) const {
  std::vector<std::string> names;
  for (const Value* name : expect(value, ValueKind::Array, at).children) {
    const std::string& text = expect(*name, ValueKind::String, at).text;
    if (std::find(names.begin(), names.end(), text) == names.end()) names.push_back(text);
  }
  return names;
}

SchemaId Reader::schema_at(const Value& value, std::string pointer) {
  const auto [it, fresh] = by_value_.emplace(&value, static_cast<SchemaId>(schemas_.size()));
  if (fresh) {
    schemas_.push_back({});
    schemas_.back().pointer = std::move(pointer);
    todo_.emplace_back(it->second, &value);
  }
  return it->second;
}

SchemaId Reader::never(const std::string& at) {
  schemas_.push_back({});
  schemas_.back().pointer = at;
  schemas_.back().never = true;
  return static_cast<SchemaId>(schemas_.size() - 1);
}

std::vector<SchemaId> Reader::list_of(const Value& value, const std::string& at) {
  std::vector<SchemaId> ids;
  const auto& children = expect(value, ValueKind::Array, at).children;
  for (std::size_t i = 0; i < children.size(); ++i) ids.push_back(schema_at(*children[i], step(at, std::to_string(i))));
  return ids;
}

void Reader::read(SchemaId id, const Value& value) {
  Schema& s = schemas_[id];
  if (value.kind == ValueKind::Boolean) {
    s.never = !value.boolean;
    return;
  }
  if (value.kind != ValueKind::Object)
    invalid(s.pointer, quoted(canonical_text(value)), "a schema is an object, true or false");
  for (std::size_t i = 0; i < value.keys.size(); ++i) read_keyword(s, value.keys[i], *value.children[i], value);
}

void Reader::read_keyword(Schema& s, const std::string& key, const Value& value, const Value& object) {
  const Keyword* keyword = find_keyword(key);
  if (keyword == nullptr || keyword->support == Support::Annotation) return;
  const std::string at = step(s.pointer, key);
  const bool strict = options_.profile == JsonSchemaOptions::Profile::Strict;
  const bool unevaluated = key.starts_with("unevaluated");
  const bool dynamic = key == "$dynamicRef" || key == "$recursiveRef";
  if (keyword->support == Support::Refused || (strict && (unevaluated || dynamic))) {
    unsupported(s, at, "keyword " + quoted(key), std::string(keyword->note));
    return;
  }
  if (unevaluated) return read_unevaluated(s, key, value);
  if (dynamic) {
    // The outermost schema that was gone through decides, unless only one can.
    const std::string& text = expect(value, ValueKind::String, at).text;
    const std::string_view anchor = key == "$recursiveRef" ? "$recursiveAnchor" : "$dynamicAnchor";
    if (text.starts_with("#/") || references_.count(anchor, text) <= 1)
      read_applicator(s, key, value, object);
    else
      unsupported(s, at, "keyword " + quoted(key) + " with several targets", std::string(keyword->note));
    return;
  }
  if (key == "type") {
    read_types(s, value, at);
    const Value* nullable = object.find("nullable");
    if (nullable != nullptr && nullable->kind == ValueKind::Boolean && nullable->boolean) s.types |= kNull;
  } else if (key == "enum" || key == "const") {
    Values values;
    if (key == "const") {
      add_value(values, value, at);
    } else {
      const auto& children = expect(value, ValueKind::Array, at).children;
      for (std::size_t i = 0; i < children.size(); ++i) add_value(values, *children[i], step(at, std::to_string(i)));
    }
    s.values.push_back(std::move(values));
  } else if (key == "format") {
    read_format(s, value, at);
  } else if (key == "nullable") {
    expect(value, ValueKind::Boolean, at);  // read with the types
  } else if (!read_number_keyword(s, key, value, object) && !read_string_keyword(s, key, value) &&
             !read_array_keyword(s, key, value, object) && !read_object_keyword(s, key, value)) {
    read_applicator(s, key, value, object);
  }
}

void Reader::read_unevaluated(Schema& s, const std::string& key, const Value& value) {
  if (value.kind == ValueKind::Boolean && value.boolean) return;  // whatever was not evaluated is fine
  const SchemaId id = schema_at(value, step(s.pointer, key));
  (key == "unevaluatedItems" ? s.unevaluated_items : s.unevaluated_properties) = id;
  asks_what_is_evaluated_ = true;
}

void Reader::read_types(Schema& s, const Value& value, const std::string& at) {
  TypeSet types = 0;
  const auto add = [&](const Value& name) {
    expect(name, ValueKind::String, at);
    for (const auto& [text, type] : kTypeNames) {
      if (text == name.text) {
        types |= type;
        return;
      }
    }
    std::vector<std::string_view> known;
    for (const auto& [text, type] : kTypeNames) known.push_back(text);
    const std::string_view nearest = nearest_name(name.text, known);
    invalid(at, quoted(name.text),
            name.text == "json_schema" ? "this is a response format: pass the schema inside it"
            : !nearest.empty()         ? "did you mean " + quoted(nearest) + "?"
                                       : "the types are null, boolean, integer, number, string, array, object");
  };
  if (value.kind == ValueKind::Array) {
    for (const Value* name : value.children) add(*name);
  } else {
    add(value);
  }
  s.types = types;
}

bool Reader::read_number_keyword(Schema& s, const std::string& key, const Value& value, const Value& object) {
  const std::string at = step(s.pointer, key);
  const auto flag = [&](std::string_view name) {
    const Value* f = object.find(name);
    return f != nullptr && f->kind == ValueKind::Boolean && f->boolean;
  };
  const auto tighten = [](std::optional<Bound>& bound, Bound other, bool lower) {
    const bool tighter = !bound || (lower ? bound->value < other.value : other.value < bound->value) ||
                         (bound->value == other.value && other.exclusive);
    if (tighter) bound = std::move(other);
  };
  if (key == "minimum") {
    tighten(s.minimum, {decimal_of(value, at), flag("exclusiveMinimum")}, true);
  } else if (key == "maximum") {
    tighten(s.maximum, {decimal_of(value, at), flag("exclusiveMaximum")}, false);
  } else if (key == "exclusiveMinimum") {
    if (value.kind != ValueKind::Boolean) tighten(s.minimum, {decimal_of(value, at), true}, true);
  } else if (key == "exclusiveMaximum") {
    if (value.kind != ValueKind::Boolean) tighten(s.maximum, {decimal_of(value, at), true}, false);
  } else if (key == "multipleOf") {
    s.multiple_of = decimal_of(value, at);
    if (s.multiple_of->is_zero() || s.multiple_of->negative)
      invalid(at, quoted(value.text), "it must be greater than 0");
  } else {
    return false;
  }
  return true;
}

bool Reader::read_string_keyword(Schema& s, const std::string& key, const Value& value) {
  const std::string at = step(s.pointer, key);
  if (key == "minLength")
    s.min_length = count_of(value, at);
  else if (key == "maxLength")
    s.max_length = count_of(value, at);
  else if (key == "pattern")
    s.patterns.push_back({expect(value, ValueKind::String, at).text, false, at});
  else if (key == "x-source-span")
    read_source_span(s, expect(value, ValueKind::Boolean, at).boolean, at);
  else
    return false;
  return true;
}

void Reader::read_source_span(Schema& s, bool marked, const std::string& at) {
  if (marked && !options_.source)
    unsupported(s, at, "'x-source-span' without a source document", "pass it as source=");
  else
    s.from_source = s.from_source || marked;
}

void Reader::read_format(Schema& s, const Value& value, const std::string& at) {
  if (value.kind != ValueKind::String) return;
  const auto range = [&](std::string_view low, std::string_view high) {
    s.format_minimum = Bound{*Decimal::parse(low), false};
    s.format_maximum = Bound{*Decimal::parse(high), false};
  };
  if (value.text == "int32") {
    range("-2147483648", "2147483647");
  } else if (value.text == "int64") {
    range("-9223372036854775808", "9223372036854775807");
  } else if (const Format* format = find_format(value.text)) {
    if (!format->pattern.empty()) s.patterns.push_back({std::string(format->pattern), true, at});
  } else {
    warnings_.push_back(at + ": " + quoted(value.text) +
                        " is no format that the specification or OpenAPI defines: it says nothing");
  }
}

bool Reader::read_array_keyword(Schema& s, const std::string& key, const Value& value, const Value& object) {
  const std::string at = step(s.pointer, key);
  if (key == "prefixItems" || (key == "items" && value.kind == ValueKind::Array)) {
    s.prefix_items = list_of(value, at);
  } else if (key == "items") {
    s.items = schema_at(value, at);
  } else if (key == "additionalItems") {
    const Value* items = object.find("items");
    if (items != nullptr && items->kind == ValueKind::Array) s.items = schema_at(value, at);
  } else if (key == "minItems") {
    s.min_items = count_of(value, at);
  } else if (key == "maxItems") {
    s.max_items = count_of(value, at);
  } else if (key == "contains") {
    s.contains = schema_at(value, at);
  } else if (key == "minContains") {
    s.min_contains = count_of(value, at);
  } else if (key == "maxContains") {
    s.max_contains = count_of(value, at);
  } else if (key == "uniqueItems") {
    s.unique_items = expect(value, ValueKind::Boolean, at).boolean;
  } else {
    return false;
  }
  return true;
}

bool Reader::read_object_keyword(Schema& s, const std::string& key, const Value& value) {
  const std::string at = step(s.pointer, key);
  if (key == "properties") {
    expect(value, ValueKind::Object, at);
    for (std::size_t i = 0; i < value.keys.size(); ++i)
      s.properties.emplace_back(value.keys[i], schema_at(*value.children[i], step(at, value.keys[i])));
  } else if (key == "patternProperties") {
    expect(value, ValueKind::Object, at);
    for (std::size_t i = 0; i < value.keys.size(); ++i) {
      const std::string where = step(at, value.keys[i]);
      s.pattern_properties.push_back({{value.keys[i], false, where}, schema_at(*value.children[i], where)});
    }
  } else if (key == "additionalProperties") {
    s.additional_properties = schema_at(value, at);
  } else if (key == "propertyNames") {
    s.property_names = schema_at(value, at);
  } else if (key == "required") {
    // Draft 3's boolean belongs to the schema above and says nothing in later drafts.
    if (value.kind == ValueKind::Boolean) {
      unsupported(s, at, "draft 3's boolean 'required'", "list the names in the 'required' of the object's schema");
      return true;
    }
    s.required = names_of(value, at);
  } else if (key == "minProperties") {
    s.min_properties = count_of(value, at);
  } else if (key == "maxProperties") {
    s.max_properties = count_of(value, at);
  } else if (key == "dependencies" || key == "dependentRequired" || key == "dependentSchemas") {
    read_dependencies(s, key, value);
  } else {
    return false;
  }
  return true;
}

void Reader::read_dependencies(Schema& s, const std::string& key, const Value& value) {
  const std::string at = step(s.pointer, key);
  expect(value, ValueKind::Object, at);
  for (std::size_t i = 0; i < value.keys.size(); ++i) {
    const Value& needed = *value.children[i];
    const std::string where = step(at, value.keys[i]);
    Dependency d{value.keys[i], {}, {}};
    if (needed.kind == ValueKind::Array && key != "dependentSchemas")
      d.required = names_of(needed, where);
    else if (needed.kind == ValueKind::String && key == "dependencies")
      d.required = {needed.text};
    else if (key != "dependentRequired")
      d.schema = schema_at(needed, where);
    else
      invalid(where, quoted(canonical_text(needed)), "it must be a list of names");
    s.dependencies.push_back(std::move(d));
  }
}

bool Reader::read_applicator(Schema& s, const std::string& key, const Value& value, const Value& object) {
  const std::string at = step(s.pointer, key);
  const auto nonempty = [&](std::vector<SchemaId> list) {
    if (list.empty()) invalid(at, "[]", "it must not be empty");
    return list;
  };
  if (key == "$ref" || key == "$dynamicRef" || key == "$recursiveRef") {
    const std::string& text = expect(value, ValueKind::String, at).text;
    const References::Target target = references_.find(text, object);
    if (target.value == nullptr) {
      fail(file_, at, DiagnosticKind::Unsupported, "reference " + quoted(text),
           "nothing of that name is in the schema, and nothing is fetched: put the schema it means into $defs");
    }
    s.all_of.push_back(schema_at(*target.value, target.pointer));
  } else if (key == "allOf") {
    for (const SchemaId id : nonempty(list_of(value, at))) s.all_of.push_back(id);
  } else if (key == "anyOf") {
    s.any_of.push_back(nonempty(list_of(value, at)));
  } else if (key == "oneOf") {
    s.one_of = nonempty(list_of(value, at));
  } else if (key == "not") {
    s.negated = schema_at(value, at);
  } else if (key == "if") {
    s.condition = schema_at(value, at);
  } else if (key == "then") {
    s.consequence = schema_at(value, at);
  } else if (key == "else") {
    s.alternative = schema_at(value, at);
  } else {
    return false;
  }
  return true;
}

void Reader::add_value(Values& values, const Value& value, const std::string& at) {
  switch (value.kind) {
    case ValueKind::Null:
      values.plain |= kNull;
      break;
    case ValueKind::Boolean:
      values.plain |= value.boolean ? kTrue : kFalse;
      break;
    case ValueKind::Number:
      values.numbers.push_back({decimal_of(value, at), value.text});
      break;
    case ValueKind::String:
      values.strings.push_back(value.text);
      break;
    case ValueKind::Array:
    case ValueKind::Object:
      values.composites.push_back(schema_of_value(value, at));
      break;
  }
}

// Recurses on the nesting of a value: at most Document::kMaxDepth.
SchemaId Reader::schema_of_value(const Value& value, const std::string& at) {
  Schema s;
  s.pointer = at;
  if (value.kind == ValueKind::Array) {
    s.types = kArray;
    for (const Value* item : value.children) s.prefix_items.push_back(schema_of_value(*item, at));
    s.min_items = s.max_items = static_cast<std::uint32_t>(value.children.size());
  } else if (value.kind == ValueKind::Object) {
    s.types = kObject;
    for (std::size_t i = 0; i < value.keys.size(); ++i)
      s.properties.emplace_back(value.keys[i], schema_of_value(*value.children[i], at));
    s.required = value.keys;
    s.additional_properties = never(at);
  } else {
    Values values;
    add_value(values, value, at);
    s.values.push_back(std::move(values));
  }
  schemas_.push_back(std::move(s));
  return static_cast<SchemaId>(schemas_.size() - 1);
}

// Depth-first over what applies to the same value.
void Reader::refuse_cycles() const {
  enum class Mark : std::uint8_t { New, Open, Done };
  std::vector<Mark> marks(schemas_.size(), Mark::New);
  struct Visit {
    SchemaId id;
    std::vector<SchemaId> next;
  };
  const auto applied = [&](SchemaId id) {
    const Schema& s = schemas_[id];
    std::vector<SchemaId> ids = s.all_of;
    for (const auto& list : s.any_of) ids.insert(ids.end(), list.begin(), list.end());
    ids.insert(ids.end(), s.one_of.begin(), s.one_of.end());
    for (const auto& one : {s.negated, s.condition, s.consequence, s.alternative}) {
      if (one) ids.push_back(*one);
    }
    for (const Dependency& d : s.dependencies) {
      if (d.schema) ids.push_back(*d.schema);
    }
    return ids;
  };
  std::vector<Visit> path;
  for (SchemaId start = 0; start < schemas_.size(); ++start) {
    if (marks[start] != Mark::New) continue;
    marks[start] = Mark::Open;
    path.push_back({start, applied(start)});
    while (!path.empty()) {
      Visit& top = path.back();
      if (top.next.empty()) {
        marks[top.id] = Mark::Done;
        path.pop_back();
        continue;
      }
      const SchemaId next = top.next.back();
      top.next.pop_back();
      if (marks[next] == Mark::Open) {
        fail(file_, schemas_[next].pointer, DiagnosticKind::InvalidValue, "reference that leads back to itself",
             "a schema may contain itself only inside a property or an item");
      }
      if (marks[next] != Mark::New) continue;
      marks[next] = Mark::Open;
      path.push_back({next, applied(next)});
    }
  }
}

}  // namespace glr::json_schema
