// Limits: what a compile may cost, and what a grammar's sentences may.
#pragma once

#include <cstdint>

namespace glr {

// Budgets of a compile. Over one of them is a BudgetError, never unconstrained text.
struct Limits {
  std::uint64_t max_states = 131'072;
  std::uint64_t max_transitions = 524'288;
  std::uint64_t max_bytes = 134'217'728;  // also of what is kept while masks are made: over it that is made anew
  double max_compile_seconds = 60.0;      // of any mode, the background thread's work not counted
  // Brackets open at once: uses of a recursive rule inside its own cycle with something on both sides; 0: unlimited.
  std::uint32_t max_nesting = 0;
};

}  // namespace glr
