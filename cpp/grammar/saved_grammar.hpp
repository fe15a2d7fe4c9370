// A Grammar as bytes.
//
// Nodes are written in order, each with its own bytes, ranges or children after it, so that what GrammarBuilder
// guarantees is read off or checked at once: children before parents, every kind with as many children as it
// has, sorted classes, references to rules that exist, spans inside the source.
#pragma once

#include <memory>

#include "glrsampler/grammar.hpp"
#include "support/bytes.hpp"

namespace glr {

class SavedGrammar {
 public:
  static void write(const Grammar& grammar, ByteWriter& out);
  // Throws Malformed.
  static std::shared_ptr<const Grammar> read(ByteReader& in);
};

}  // namespace glr
