// Engine: what all constraints of one vocabulary share, since it depends on expressions and tokens alone:
// the machine, the mask automaton, and which rules are equal.
#pragma once

#include <memory>

#include "automaton/mask_automaton.hpp"
#include "expression/machine.hpp"
#include "expression/rules.hpp"
#include "glrsampler/vocabulary.hpp"

namespace glr {

class Engine {
 public:
  // `vocabulary` must outlive the engine; without one there are no masks (Grammar::matches).
  explicit Engine(const Vocabulary* vocabulary)
      : vocabulary_(vocabulary), masks_(vocabulary ? std::make_unique<MaskAutomaton>(machine_, *vocabulary) : nullptr) {}

  Machine& machine() { return machine_; }
  MaskAutomaton& masks() { return *masks_; }

  // The root of a grammar as a state of the machine.
  ExprId lower(const Grammar& grammar) { return glr::lower(grammar, vocabulary_, machine_, rules_); }

  std::size_t bytes() {
    const std::scoped_lock lock(machine_.mutex());
    return machine_.bytes() + (masks_ ? masks_->bytes() : 0);
  }

 private:
  const Vocabulary* vocabulary_;
  Machine machine_;
  RuleIndex rules_;
  std::unique_ptr<MaskAutomaton> masks_;
};

}  // namespace glr
