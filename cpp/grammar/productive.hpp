// Productivity: which parts of a grammar stand for at least one finite text.
#pragma once

#include <vector>

#include "glrsampler/grammar.hpp"

namespace glr {

// By NodeId. A token literal counts as a text. An intersection counts when all its operands do, a complement always:
// whether they hold a text indeed is found out when the grammar is compiled (expression/operands.cpp). O(nodes +
// children). `impossible`, by NodeId or empty: literals and classes that stand for no text here, whatever they say.
std::vector<bool> productive_nodes(const Grammar& grammar, const std::vector<bool>& impossible = {});

// Throws GrammarError (NoSentence) that names the root and the rule that never ends.
void require_sentence(const Grammar& grammar);

}  // namespace glr
