// Dump: a Grammar as GBNF text, for people, tests and bug reports.
#pragma once

#include <string>

#include "glrsampler/grammar.hpp"

namespace glr {

// One line a rule, in the order of the source. Reading the dump of a GBNF grammar again gives the same
// rules with the same bodies. Rules whose names GBNF has no spelling for are renamed; what it cannot
// say at all (nothing, bytes that are no UTF-8, `a & b`, `~a`, a terminal as `@(a)`, members) is shown so
// that a person understands it.
std::string dump(const Grammar& grammar);

// A single node on one line, as it would stand in a rule's body.
std::string dump(const Grammar& grammar, NodeId node);

}  // namespace glr
