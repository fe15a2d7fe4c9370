// The inside of a Constraint, for the matcher.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>

#include "automaton/engine.hpp"
#include "glrsampler/constraint.hpp"

namespace glr {

// Where sequences of a constraint run: the root is a term of the engine's machine.
struct Ground {
  std::shared_ptr<Engine> engine;
  ExprId root = kNothing;
};

struct Constraint::Impl {
  std::shared_ptr<const Grammar> grammar;
  std::shared_ptr<const Vocabulary> vocabulary;
  bool token_literals = false;  // the grammar has some: commits must look for them
  Mode mode = Mode::Lazy;
  Limits limits;
  double compile_ms = 0;

  Ground ground() const {
    const std::scoped_lock lock(ground_mutex_);
    return ground_;
  }
  // For a sequence that begins. The terms of a machine are never dropped while a stack may hold them; so when the
  // machine of a lazy constraint has outgrown Limits.max_bytes, the next sequence gets a new engine, and the old one
  // goes with the last sequence on it. What was filled ahead stays: nobody who asked for that shall wait again.
  Ground ground_to_begin();
  void set_ground(Ground ground);

  // Mode::Background: fills the mask automaton ahead, gives way to whoever waits for the machine, and ends
  // with the constraint.
  std::atomic<bool> stop{false};
  std::thread filler;

  ~Impl() {
    stop = true;
    if (filler.joinable()) filler.join();
  }

 private:
  mutable std::mutex ground_mutex_;
  Ground ground_;
  std::size_t bytes_at_first_ = 0;  // of the machine, when this became its ground
};

// The grammar as a root, on the engine given, or on a careful one of its own where guards may leave nothing to go on
// with. Throws what compiling throws.
Ground lower(const Grammar& grammar, const std::shared_ptr<const Vocabulary>& vocabulary, const Limits& limits,
             std::shared_ptr<Engine> engine, const Deadline& deadline);

}  // namespace glr
