#include "grammar/json_schema/json_schema.hpp"

#include <string>

#include "grammar/json_schema/algebra.hpp"
#include "grammar/json_schema/error.hpp"
#include "grammar/json_schema/limits.hpp"
#include "grammar/json_schema/reader.hpp"
#include "grammar/json_schema/strings.hpp"
#include "grammar/json_schema/writer.hpp"
#include "grammar/productive.hpp"

namespace glr {

namespace {

std::string front_end(const JsonSchemaOptions& o) {
  std::string name = "json_schema";
  for (const std::uint32_t option :
       {static_cast<std::uint32_t>(o.whitespace), static_cast<std::uint32_t>(o.property_order),
        static_cast<std::uint32_t>(o.profile), static_cast<std::uint32_t>(o.spelling),
        static_cast<std::uint32_t>(o.on_unsupported), o.max_digits})
    name += ' ' + std::to_string(option);
  return name;
}

void check(const JsonSchemaOptions& options, std::string_view file) {
  using json_schema::fail;
  if (options.profile == JsonSchemaOptions::Profile::Strict &&
      options.property_order == JsonSchemaOptions::PropertyOrder::Any) {
    fail(file, "#", DiagnosticKind::Unsupported, "property_order=\"any\" in the strict profile",
         "it has one order for the members of an object");
  }
  if (options.profile == JsonSchemaOptions::Profile::Strict && options.spelling == JsonSchemaOptions::Spelling::Any) {
    fail(file, "#", DiagnosticKind::Unsupported, "spelling=\"any\" in the strict profile",
         "it has one spelling for each text");
  }
  if (options.source && json_schema::code_points_in(*options.source) > json_schema::kMaxSource) {
    fail(file, "#", DiagnosticKind::LimitExceeded,
         "source document of more than " + std::to_string(json_schema::kMaxSource) + " code points",
         "pass the part of it that the strings may come from");
  }
}

RuleId write(GrammarBuilder& builder, json_schema::Algebra& algebra, const json_schema::Reader& schemas,
             const JsonSchemaOptions& options, std::string_view file) {
  for (const std::string& warning : schemas.warnings()) builder.warn(warning);
  const RuleId root =
      json_schema::Writer(algebra, builder, options, file).write({json_schema::Literal{schemas.root()}});
  for (const std::string& warning : algebra.warnings()) builder.warn(warning);
  return root;
}

}  // namespace

std::shared_ptr<const Grammar> read_json_schema(std::string_view text, const JsonSchemaOptions& options,
                                                std::string_view file) {
  using namespace json_schema;
  check(options, file);
  Reader schemas(text, 0, options, file);
  Algebra algebra(schemas, options, file);
  GrammarBuilder builder(text, file, front_end(options));
  builder.share_nodes();
  if (options.source) builder.set_document(*options.source);
  const RuleId root = write(builder, algebra, schemas, options, file);
  auto grammar = std::move(builder).build(root);
  if (!productive_nodes(*grammar)[static_cast<std::size_t>(grammar->rule(root).body)]) {
    const std::string& why = algebra.clash();
    fail(file, algebra.clash_pointer(), DiagnosticKind::NoSentence,
         "no value meets the schema" + (why.empty() ? "" : ": " + why));
  }
  return grammar;
}

RuleId add_json_schema(GrammarBuilder& builder, std::string_view text, std::size_t begin,
                       const JsonSchemaOptions& options, std::string_view file) {
  check(options, file);
  json_schema::Reader schemas(text, begin, options, file);
  json_schema::Algebra algebra(schemas, options, file);
  return write(builder, algebra, schemas, options, file);
}

std::shared_ptr<const Grammar> Grammar::from_json_schema(std::string_view text, const JsonSchemaOptions& options,
                                                         std::string_view file) {
  return read_json_schema(text, options, file);
}

}  // namespace glr
