#include "grammar/json_schema/writer.hpp"

#include <algorithm>

#include "grammar/json_schema/error.hpp"
#include "grammar/json_schema/numbers.hpp"

namespace glr::json_schema {

namespace {

// Sixteen levels of an indent of 8.
constexpr std::uint32_t kMaxIndent = 128;
constexpr std::size_t kMaxGoals = 100'000;

bool holds_values(const Shape& shape) { return (shape.types & (kArray | kObject)) != 0; }

}  // namespace

Writer::Writer(Algebra& algebra, GrammarBuilder& builder, const JsonSchemaOptions& options, std::string_view file)
    : algebra_(algebra),
      builder_(builder),
      options_(options),
      file_(file),
      strings_(builder, strict() ? JsonSchemaOptions::Spelling::Canonical : JsonSchemaOptions::Spelling::Any,
               options.spelling, options.source.value_or(""), file),
      names_(builder, options.spelling, options.spelling, options.source.value_or(""), file) {
  const NodeId none = builder_.empty({});
  switch (options.whitespace) {
    case JsonSchemaOptions::Whitespace::Compact:
      spaces_ = {none, none, none, none, none, none, none};
      break;
    case JsonSchemaOptions::Whitespace::Any: {
      const NodeId any = builder_.repeat(
          builder_.code_points({{' ', ' '}, {'\t', '\t'}, {'\n', '\n'}, {'\r', '\r'}}, {}), 0, kUnbounded, {});
      // What stands before a bracket is the space after the value before it.
      spaces_ = {none, any, any, none, any, any, any};
      break;
    }
    case JsonSchemaOptions::Whitespace::Bounded: {
      const NodeId line = sequence({literal("\n"), builder_.repeat(literal(" "), 0, kMaxIndent, {})});
      const NodeId space = choice({none, literal(" "), line});
      spaces_ = {none, none, space, space, none, optional(literal(" ")), none};
      break;
    }
  }
  comma_ = sequence({literal(","), spaces_.after_open});
}

void Writer::refuse(DiagnosticKind kind, std::string detail, std::string hint) {
  fail(file_, pointer_, kind, std::move(detail), std::move(hint));
}

void Writer::unsupported(const std::string& pointer, const std::string& detail, const std::string& hint) {
  if (options_.on_unsupported == JsonSchemaOptions::Unsupported::Error)
    fail(file_, pointer, DiagnosticKind::Unsupported, detail, hint);
  builder_.warn(pointer + ": not enforced: " + detail);
}

NodeId Writer::close(bool something_before, std::string_view bracket) {
  return something_before ? sequence({spaces_.before_close, literal(bracket)}) : literal(bracket);
}

RuleId Writer::write(const Goal& root) {
  const RuleId rule = builder_.declare("root");
  const NodeId whole = value(root);
  builder_.define(rule, sequence({spaces_.around, whole, spaces_.around}), {});
  while (!waiting_.empty()) {
    const Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    pointer_ = next.pointer;
    if (next.depth != depth_) {
      depth_ = next.depth;
      any_array_.reset();
      any_object_.reset();
    }
    builder_.define(next.rule, write_shapes(next.shapes), {});
  }
  return rule;
}

NodeId Writer::value(const Goal& goal) {
  std::pair key(depth_, goal);
  if (const auto it = written_.find(key); it != written_.end()) return it->second;
  if (written_.size() > kMaxGoals) {
    refuse(DiagnosticKind::LimitExceeded, "more than " + std::to_string(kMaxGoals) + " combinations of schemas",
           "schemas that refer to each other are combined here");
  }
  const std::string pointer = goal.empty() ? "#" : algebra_.schemas()[goal.front().schema].pointer;
  std::vector<Shape> shapes = algebra_.shapes(goal);
  if (std::none_of(shapes.begin(), shapes.end(), holds_values)) {
    const std::string outer = std::exchange(pointer_, pointer);
    const NodeId node = write_shapes(shapes);
    pointer_ = outer;
    written_.emplace(std::move(key), node);
    return node;
  }
  const RuleId rule = builder_.declare(goal.empty() ? "value" : pointer);
  const NodeId node = builder_.rule_ref(rule, {});
  written_.emplace(std::move(key), node);
  waiting_.push_back({rule, std::move(shapes), pointer, strict() ? depth_ + 1 : 0});
  return node;
}

NodeId Writer::any_value() { return value({}); }

NodeId Writer::write_shapes(const std::vector<Shape>& shapes) {
  std::vector<NodeId> ways;
  for (const Shape& shape : shapes) ways.push_back(write_shape(shape));
  return choice(ways);
}

NodeId Writer::write_shape(const Shape& shape) {
  std::vector<NodeId> ways;
  const auto has = [&](TypeSet type) { return (shape.types & type) != 0; };
  if (has(kNull)) ways.push_back(literal("null"));
  if (has(kTrue)) ways.push_back(literal("true"));
  if (has(kFalse)) ways.push_back(literal("false"));
  if (has(kNumber)) ways.push_back(number(shape.number, shape.types & kNumber));
  if (has(kString)) ways.push_back(string(shape.string));
  if (has(kArray)) ways.push_back(array(shape.array));
  if (has(kObject)) ways.push_back(object(shape.object));
  return choice(ways);
}

// A rule for each language of strings: inside one of them a state is the same wherever the string stands, if the engine
// finds that worth a call.
NodeId Writer::string(const StringShape& shape) {
  const NodeId text = strings_.quoted(strings_.content(shape));
  if (shape.only) return text;
  auto known = string_rules_.find(text);
  if (known == string_rules_.end()) {
    const RuleId rule = builder_.declare("string");
    builder_.define(rule, text, {});
    known = string_rules_.emplace(text, builder_.rule_ref(rule, {})).first;
  }
  return known->second;
}

NodeId Writer::number(const NumberShape& shape, TypeSet types) {
  if (!shape.unconstrained() || types != kNumber)
    return write_numbers(builder_, shape, types, options_, file_, pointer_);
  if (!number_) number_ = write_numbers(builder_, shape, types, options_, file_, pointer_);
  return *number_;
}

}  // namespace glr::json_schema
