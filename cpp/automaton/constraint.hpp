// The inside of a Constraint, for the matcher.
#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "automaton/engine.hpp"
#include "glrsampler/constraint.hpp"

namespace glr {

struct Constraint::Impl {
  std::shared_ptr<const Grammar> grammar;
  std::shared_ptr<const Vocabulary> vocabulary;
  std::shared_ptr<Engine> engine;
  ExprId root = kNothing;
  bool token_literals = false;  // the grammar has some: commits must look for them
  Mode mode = Mode::Lazy;
  Limits limits;
  double compile_ms = 0;

  // Mode::Background: fills the mask automaton ahead, gives way to whoever waits for the machine, and ends
  // with the constraint.
  std::atomic<bool> stop{false};
  std::thread filler;

  ~Impl() {
    stop = true;
    if (filler.joinable()) filler.join();
  }
};

// Sets the root, on the engine at hand; on a careful one of its own where guards may leave nothing to go on with.
// Throws what compiling throws.
void lower(Constraint::Impl& impl, const Deadline& deadline);

}  // namespace glr
