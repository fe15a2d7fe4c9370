// Whether guards always leave something to go on with: a proof by first bytes, for most grammars.
//
// After a NAME that may be longer, the next byte must not be a letter. Mostly something else can follow: white space, a
// bracket, the end. A grammar is never stuck when that is so wherever a lexeme can end. Then every state can be
// completed on every stack and nobody has to ask (ends.hpp is for the others).
//
// What is looked at are the places where a guard is pending, not all states: after each lexeme of each rule, under each
// guard that the lexeme can leave, on through the bytes that keep the guard pending, and where a rule ends under a
// guard in each of its callers. At each such place there must be a way to the end of the rule. For that way a guard is
// taken for its first bytes alone, all of which are kept off; so what is found is a way, and where none is found there
// may still be one. States without a guard need no look: they can be completed up to the next end of a lexeme.
//
// Grows with the positions of the grammar and the guards pending there; gives up, as if none was found, over a bound.
#pragma once

#include "expression/machine.hpp"

namespace glr {

// The caller holds the machine's mutex.
bool never_stuck(Machine& machine, ExprId root);

}  // namespace glr
