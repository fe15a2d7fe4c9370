// Equal schemas become one.
//
// People write the same subschema in many places, generators even more often. Combinations are looked up by the numbers
// of schemas (algebra.hpp, writer.hpp), so that with one number for what says the same, a contradiction between two
// places is seen at once, and their values are written once.
#pragma once

#include <deque>

#include "grammar/json_schema/schema.hpp"

namespace glr::json_schema {

// Every mention of a schema becomes one of the first that says the same. `keep(schema)`: one that is not to be
// replaced. Schemas that contain themselves are equal to nothing else. Linear in the text of all schemas; no recursion.
void merge_equal(std::deque<Schema>& schemas, bool (*keep)(const Schema&));

}  // namespace glr::json_schema
