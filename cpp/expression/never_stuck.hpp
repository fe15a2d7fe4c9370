// Whether guards always leave something to go on with: a proof by first bytes, for nearly all grammars.
//
// A guard forbids, so a state under one may have no way to go on. That does no harm where another parse of the same
// text has: the one in which the lexeme that left the guard has not ended. It is there for as long as the guard is
// pending, and of all that are pending, that of the lexeme which began first is under no guard. So masks are exact when
// states without a guard can be completed, whatever the stack, and those can be completed up to the end of the lexeme
// that they are in, or of the next. What is left to show: at whatever byte inside a lexeme a text is, the lexeme can
// end in some way after which the rule can be brought to an end, and so can each of its callers with what is pending
// then. Which way may depend on the callers: an end fails where, on some stack, nothing follows it, and of the ends of
// a lexeme one that does not fail is enough. Stacks are finite, so what does not show to fail does not: a greatest
// fixed point.
//
// Nor need a lexeme have an end when another parse is in the same lexeme, begun at the same byte, which has one:
// ignored white space before a place that demands some.
//
// For that way a guard is taken for its first bytes, all of which are kept off. So what is found is a way, and where
// none is found there may still be one; ends.hpp is for these grammars.
#pragma once

#include "expression/machine.hpp"

namespace glr {

// The caller holds the machine's mutex. O(positions of the grammar) in practice; gives up, as if there was no proof,
// over a bound.
bool never_stuck(Machine& machine, ExprId root);

}  // namespace glr
