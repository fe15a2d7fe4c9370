// What the author's grammar expects after a text, in the author's terms: for messages only.
//
// The machine has forgotten rules and lines, so the text is read once more by Earley's algorithm (Earley 1970, with the
// treatment of nullable rules by Aycock and Horspool 2002) over the syntax tree. Slow and simple; gives up
// on long texts and on grammars with token literals, intersections or complements.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "glrsampler/grammar.hpp"

namespace glr {

// The terminals that can come at the end of `text`, such as `"}" in rule object, line 3`; empty when it gave up
// or when nothing can come.
std::vector<std::string> expected_terminals(const Grammar& grammar, std::string_view text);

}  // namespace glr
