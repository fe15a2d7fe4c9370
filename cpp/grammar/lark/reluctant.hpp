// Reluctant quantifiers: what they mean in a terminal.
//
// A lexer that matches `".*?"` stops at the first quote; one that matches `".*"` at the last. As languages the two are
// the same, so what a reluctant quantifier leaves out is written out: it reads no further where the rest of the
// terminal can match,
//
//     x*? rest   =   (?:(?!rest)x)* rest          and likewise x+?, x??, x{m,n}?
//
// which is what a backtracking matcher does, as long as x cannot match the same text in several ways. `rest` is all
// that may follow up to the end of the terminal: after a quantifier inside a loop that is the rest of the iteration,
// any number of iterations and what comes after them. Where an iteration may be empty, the reluctant quantifier is
// read as a greedy one: what one iteration leaves, the next may take.
#pragma once

#include <string_view>

#include "grammar/regex_syntax.hpp"

namespace glr::lark {

// Whether the tree has reluctant quantifiers outside look-ahead.
bool has_reluctant(const RegexTree& tree);

// Writes them out. `source` and `file` are for messages. Throws GrammarError when that takes too much.
void write_out_reluctant(RegexTree& tree, std::string_view source, std::string_view file);

}  // namespace glr::lark
