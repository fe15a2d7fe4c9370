// The substrings of a text as a grammar, the empty one included.
//
// A text of n symbols has up to n(n+1)/2 substrings, but the least automaton of them has at most 2n states and 3n
// transitions (the suffix automaton: Blumer et al. 1985; built online as in Crochemore and Rytter). It has no cycle, so
// each state is one node: the empty text, or a symbol and the node of the state it leads to.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "glrsampler/grammar.hpp"

namespace glr {

// `written`: a symbol as the grammar writes it. O(n log n) time, O(n) nodes.
NodeId substrings(GrammarBuilder& builder, std::span<const std::uint32_t> text,
                  const std::function<NodeId(std::uint32_t)>& written, Span span);

}  // namespace glr
