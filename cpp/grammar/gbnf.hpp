// GBNF: llama.cpp's grammar notation -> Grammar. docs/gbnf.md describes the dialect.
#pragma once

#include <memory>
#include <string_view>

#include "glrsampler/grammar.hpp"

namespace glr {

// What Grammar::from_gbnf does. Throws GrammarError. Linear in the length of the text, and no
// recursion: nesting is limited by memory alone.
std::shared_ptr<const Grammar> read_gbnf(std::string_view source, std::string_view root, std::string_view file);

}  // namespace glr
