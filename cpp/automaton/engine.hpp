// Engine: what all constraints of one vocabulary share, since it depends on expressions and tokens alone:
// the machine, the mask automaton, and which rules are equal.
#pragma once

#include <memory>
#include <mutex>

#include "automaton/mask_automaton.hpp"
#include "expression/machine.hpp"
#include "expression/rules.hpp"
#include "glrsampler/vocabulary.hpp"

namespace glr {

class Engine {
 public:
  // `vocabulary` must outlive the engine; without one there are no masks (Grammar::matches). `max_bytes`
  // bounds the mask automaton: over it, it is dropped and filled anew, never an error.
  explicit Engine(const Vocabulary* vocabulary, std::size_t max_bytes, bool careful = false)
      : vocabulary_(vocabulary), max_bytes_(max_bytes), machine_(careful) {}

  Machine& machine() { return machine_; }
  const RuleIndex& rules() const { return rules_; }  // under the machine's mutex
  std::size_t max_bytes() const { return max_bytes_; }

  // The mask automaton in use: a fresh one when the last is full.
  std::shared_ptr<MaskAutomaton> masks() {
    const std::scoped_lock lock(mutex_);
    if (!masks_ || masks_->full())
      masks_ = std::make_shared<MaskAutomaton>(machine_, *vocabulary_, max_bytes_, ++generations_);
    return masks_;
  }
  std::uint32_t generations() const { return generations_; }

  // The root of a grammar as a state of the machine.
  ExprId lower(const Grammar& grammar, const Limits& limits, const Deadline& deadline) {
    return glr::lower(grammar, vocabulary_, limits, deadline, machine_, rules_);
  }

  std::size_t bytes() {
    const auto masks = vocabulary_ ? this->masks() : nullptr;
    const std::scoped_lock lock(machine_.mutex());
    return machine_.bytes() + (masks ? masks->bytes() : 0);
  }

 private:
  const Vocabulary* vocabulary_;
  std::size_t max_bytes_;
  Machine machine_;
  RuleIndex rules_;
  std::mutex mutex_;
  std::shared_ptr<MaskAutomaton> masks_;
  std::uint32_t generations_ = 0;
};

}  // namespace glr
