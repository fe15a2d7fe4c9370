// Numbers: number shapes -> the JSON spellings of the numbers they admit.
//
// A number without an exponent is read digit by digit by an automaton that keeps, for each bound, whether what was read
// is below it, above it or so far the same, and for each multipleOf the remainder: exact for any bound and any length.
// With an exponent the value is not settled until the exponent comes, and the spellings of 5 are no regular
// language any more (0.05e2, 500e-2, ...). Where bounds apply, the spellings admitted are those with one non-zero digit
// before the point, which programs write; where no bound applies, all are. A whole number is written without
// point and exponent, unless every spelling was asked for: then a point with zeros and exponents that only add zeros
// too. With exponents from -9 to 9 every spelling of a number is admitted when every spelling was asked for.
#pragma once

#include <string>

#include "glrsampler/grammar.hpp"
#include "grammar/json_schema/shape.hpp"

namespace glr::json_schema {

// `types`: kInteger, kFractional or both. Throws SchemaError (LimitExceeded) for a multipleOf with too many remainders.
NodeId write_numbers(GrammarBuilder& builder, const NumberShape& shape, TypeSet types, const JsonSchemaOptions& options,
                     std::string_view file, const std::string& pointer);

}  // namespace glr::json_schema
