// Other formats: a text given as a grammar that is plainly something else.
#pragma once

#include <string_view>

namespace glr {

// Throws GrammarError (OtherFormat) for a JSON text (a JSON Schema, most likely) and for the path of
// a file. Call it for texts that the front end would refuse anyway: it guesses.
void refuse_other_formats(std::string_view source, std::string_view file);

}  // namespace glr
