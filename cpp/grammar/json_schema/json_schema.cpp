#include "grammar/json_schema/json_schema.hpp"

#include <string>

#include "grammar/json_schema/algebra.hpp"
#include "grammar/json_schema/error.hpp"
#include "grammar/json_schema/reader.hpp"
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

}  // namespace

std::shared_ptr<const Grammar> read_json_schema(std::string_view text, const JsonSchemaOptions& options,
                                                std::string_view file) {
  using namespace json_schema;
  if (options.profile == JsonSchemaOptions::Profile::Strict &&
      options.property_order == JsonSchemaOptions::PropertyOrder::Any) {
    fail(file, "#", DiagnosticKind::Unsupported, "property_order=\"any\" in the strict profile",
         "it has one order for the members of an object");
  }
  if (options.profile == JsonSchemaOptions::Profile::Strict && options.spelling == JsonSchemaOptions::Spelling::Any) {
    fail(file, "#", DiagnosticKind::Unsupported, "spelling=\"any\" in the strict profile",
         "it has one spelling for each text");
  }
  const Reader schemas(text, options, file);
  Algebra algebra(schemas, file);
  GrammarBuilder builder(text, file, front_end(options));
  for (const std::string& warning : schemas.warnings()) builder.warn(warning);
  const RuleId root = Writer(algebra, builder, options, file).write({Literal{schemas.root()}});
  auto grammar = std::move(builder).build(root);
  if (!productive_nodes(*grammar)[static_cast<std::size_t>(grammar->rule(root).body)]) {
    const std::string& why = algebra.clash();
    fail(file, algebra.clash_pointer(), DiagnosticKind::NoSentence,
         "no value meets the schema" + (why.empty() ? "" : ": " + why));
  }
  return grammar;
}

std::shared_ptr<const Grammar> Grammar::from_json_schema(std::string_view text, const JsonSchemaOptions& options,
                                                         std::string_view file) {
  return read_json_schema(text, options, file);
}

}  // namespace glr
