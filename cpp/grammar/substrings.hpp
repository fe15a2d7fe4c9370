// The texts that are some chunks of a list in a row: the substrings of a text at the granularity of its chunks.
#pragma once

#include <span>
#include <string>

#include "glrsampler/grammar.hpp"

namespace glr {

// Also the empty text. As many nodes as chunks: each tail of the list is made once.
NodeId substrings(GrammarBuilder& builder, std::span<const std::string> chunks, Span span);

}  // namespace glr
