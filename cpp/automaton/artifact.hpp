// The saved form of a Constraint.
//
//   magic                   8 bytes, made so that a transfer as text shows
//   format version          u32
//   library version         16 bytes of text, padded with zeros
//   vocabulary fingerprint  32 bytes
//   payload length          u64
//   payload SHA-256         32 bytes
//   payload                 grammar, mode, limits; terms; token sets, residuals, entries of the mask automaton
//
// Integers are little-endian. What is saved of the mask automaton are the entries that are there for the states and
// frames that this grammar can come to: all of them when it was compiled eagerly, those filled so far otherwise.
//
// Loading compiles the grammar and puts the entries into an engine of its own, never into the one that the vocabulary
// shares: entries say what a state allows, and those of a file are believed. A file can therefore mislead its own
// constraint and no other: it is trusted as much as a grammar from the same place would be. It cannot do more.
// Every length, number and reference is checked before it is used; terms are not rewritten, and serve only where
// compiling makes equal ones.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "automaton/constraint.hpp"

namespace glr {

// Where looking for states would exceed the constraint's limits, what was found by then is saved.
std::string write_artifact(const Constraint::Impl& constraint);

// Throws IncompatibleArtifact, with a sentence that says what is wrong and what to do.
std::shared_ptr<Constraint::Impl> read_artifact(std::string_view bytes, std::shared_ptr<const Vocabulary> vocabulary);

}  // namespace glr
