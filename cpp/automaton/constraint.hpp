// The inside of a Constraint, for the matcher.
#pragma once

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
};

}  // namespace glr
