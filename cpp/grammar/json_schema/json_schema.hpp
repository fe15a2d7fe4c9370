// The JSON Schema front end as a list of its stages:
//
//   value      JSON text -> a tree, numbers as they are written
//   reader     tree -> schemas, references resolved (references, limits), equal ones made one (merge_equal)
//   algebra    schemas to be met or not to be met -> a union of shapes, one conjunction of constraints each (shape)
//   writer     shapes -> rules of a Grammar (strings, numbers, arrays, objects)
#pragma once

#include <memory>
#include <string_view>

#include "glrsampler/grammar.hpp"

namespace glr {

std::shared_ptr<const Grammar> read_json_schema(std::string_view text, const JsonSchemaOptions& options,
                                                std::string_view file);

// Adds the rules of the schema that is the text from `begin` on to a grammar, and returns the one for a value. A schema
// that no value meets gives rules without a text.
RuleId add_json_schema(GrammarBuilder& builder, std::string_view text, std::size_t begin,
                       const JsonSchemaOptions& options, std::string_view file);

}  // namespace glr
