// Constraint: a grammar compiled for a vocabulary.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "glrsampler/grammar.hpp"
#include "glrsampler/limits.hpp"
#include "glrsampler/vocabulary.hpp"

namespace glr {

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
  // std::filesystem::filesystem_error for one that cannot be read. Load only files that you would take a grammar from.
  static std::shared_ptr<const Constraint> load(const std::string& path, std::shared_ptr<const Vocabulary> vocabulary);
  ~Constraint();
  Constraint(const Constraint&) = delete;
  Constraint& operator=(const Constraint&) = delete;

  const Grammar& grammar() const;
  const Vocabulary& vocabulary() const;
  ConstraintStats stats() const;

  // Writes the grammar and what has been computed of the masks: everything, after an eager compile. The file appears
  // whole or not at all. Throws std::filesystem::filesystem_error.
  void save(const std::string& path) const;

  struct Impl;
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  explicit Constraint(std::shared_ptr<Impl> impl);
  static std::shared_ptr<const Constraint> ready(std::shared_ptr<Impl> impl,
                                                 std::chrono::steady_clock::time_point began);
  std::shared_ptr<Impl> impl_;
};

// Computes ahead what most grammars have in common (JSON strings, numbers, white space), so that the first masks of the
// constraints compiled after it find it. With a folder it is kept there, in a file named by this version and the
// vocabulary, and read from it the next time: a folder that only its user can write to, since a hostile file there
// could change masks. Before the first constraint of the vocabulary, or nothing is read. Throws
// std::filesystem::filesystem_error.
void warm(const std::shared_ptr<const Vocabulary>& vocabulary, const std::string& folder = "");

// Whether `text` as a whole is a sentence of the grammar; no vocabulary needed.
bool matches(const Grammar& grammar, std::string_view text);

}  // namespace glr
