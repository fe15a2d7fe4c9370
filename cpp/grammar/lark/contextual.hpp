// Contextual lexing: a grammar in which each terminal competes with those that could come in its place.
//
// Lark's LALR parser reads the next lexeme as a match of one of the terminals that its state accepts, and of those that
// are ignored: the longest one; of equal ones that with the highest priority, then a text before a pattern. What a
// state accepts depends on all that was read. The grammar that is made here says the same without a parser: rules are
// split by the LALR state they begin in, and each use of a terminal says what it competes with there
// (NodeKind::Terminal with a second child). Where that makes no difference the parts are one again: rules that say the
// same are one rule, found as equal states of an automaton are (Moore's refinement).
//
// A parser that can do two things in a state, so that Lark refuses the grammar, is no fault here: each way counts, with
// what competes on it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "glrsampler/grammar.hpp"

namespace glr::lark {

struct LexerTerminal {
  RuleId rule{};  // its texts
  std::string name{};
  std::int32_t priority = 0;
  bool text = false;          // written as a single text
  std::uint32_t written = 0;  // length of what it is written as: the longer one goes first when all else is equal
  bool ignored = false;
  bool whole = false;  // no text that others could compete with: a token of the model, %json
};

// `plain` has a rule for each terminal, and nothing ignored. `out` is a builder for the same source. Throws
// GrammarError.
std::shared_ptr<const Grammar> contextual(const Grammar& plain, std::span<const LexerTerminal> terminals,
                                          GrammarBuilder out);

}  // namespace glr::lark
