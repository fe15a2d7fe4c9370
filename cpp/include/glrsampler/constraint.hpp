// Constraint: a grammar compiled for a vocabulary.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "glrsampler/grammar.hpp"
#include "glrsampler/vocabulary.hpp"

namespace glr {

// Budgets of a compile. Over one of them is a BudgetError, never unconstrained text.
struct Limits {
  std::uint64_t max_states = 131'072;
  std::uint64_t max_transitions = 524'288;
  std::uint64_t max_bytes = 134'217'728;
  double max_compile_seconds = 60.0;
  // Brackets open at once: uses of a recursive rule inside its own cycle with something on both sides; 0: unlimited.
  std::uint32_t max_nesting = 0;

  // What is in force for a grammar: the smaller budget of the two.
  std::uint32_t nesting_of(const Grammar& grammar) const {
    if (max_nesting == 0 || grammar.max_nesting() == 0) return std::max(max_nesting, grammar.max_nesting());
    return std::min(max_nesting, grammar.max_nesting());
  }
};

enum class Mode : std::uint8_t { Lazy, Eager, Background };

struct ConstraintStats {
  std::uint64_t states = 0;   // expressions the machine has been in
  std::uint64_t frames = 0;   // expressions that were pushed
  std::uint64_t entries = 0;  // of the mask automaton
  std::uint64_t bytes = 0;    // of all that the constraint keeps alive
  double compile_ms = 0;
};

// Immutable to its users, shared by any number of threads and matchers.
class Constraint {
 public:
  // Throws GrammarError (a token literal that is no token of the vocabulary) or BudgetError.
  static std::shared_ptr<const Constraint> compile(std::shared_ptr<const Grammar> grammar,
                                                   std::shared_ptr<const Vocabulary> vocabulary, Mode mode = Mode::Lazy,
                                                   const Limits& limits = {});
  // What save() wrote, for the vocabulary that it was made for. Nothing is walked again that was saved. Throws
  // IncompatibleArtifact for a file that is damaged, of another version or of another vocabulary, and
  // std::system_error for one that cannot be read. Load only files that you would take a grammar from.
  static std::shared_ptr<const Constraint> load(const std::string& path, std::shared_ptr<const Vocabulary> vocabulary);
  ~Constraint();
  Constraint(const Constraint&) = delete;
  Constraint& operator=(const Constraint&) = delete;

  const Grammar& grammar() const;
  const Vocabulary& vocabulary() const;
  ConstraintStats stats() const;

  // Writes the grammar and what has been computed of the masks: everything, after an eager compile. The file appears
  // whole or not at all. Throws std::system_error.
  void save(const std::string& path) const;

  struct Impl;
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  explicit Constraint(std::shared_ptr<Impl> impl);
  static std::shared_ptr<const Constraint> ready(std::shared_ptr<Impl> impl,
                                                 std::chrono::steady_clock::time_point began);
  std::shared_ptr<Impl> impl_;
};

// Whether `text` as a whole is a sentence of the grammar; no vocabulary needed.
bool matches(const Grammar& grammar, std::string_view text);

}  // namespace glr
