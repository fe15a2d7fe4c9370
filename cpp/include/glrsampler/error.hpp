// Errors of the library, as values that name the place, the cause and the way out.
//
// C++ callers get these as exceptions. Nothing here ever crosses a C boundary: the
// llama.cpp adapter (llama/adapter.hpp) turns them into a stored status.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace glr {

// A piece of a source text: bytes [offset, offset + length).
struct Span {
  std::uint32_t offset = 0;
  std::uint32_t length = 0;
};

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A text is not a grammar, or a grammar cannot be compiled for a vocabulary.
// `line` and `column` count from 1, columns in code points; 0 when there is no one place.
class GrammarError : public Error {
 public:
  GrammarError(const std::string& what, std::size_t at_line, std::size_t at_column, std::string way_out)
      : Error(what), line(at_line), column(at_column), hint(std::move(way_out)) {}

  std::size_t line;
  std::size_t column;
  std::string hint;
};

// A JSON Schema that is none, that cannot be enforced exactly, or that no value meets. `pointer` is the JSON pointer
// (as a URI fragment, "#/properties/a") of the keyword or schema that is the cause.
class SchemaError : public GrammarError {
 public:
  SchemaError(const GrammarError& error, std::string at) : GrammarError(error), pointer(std::move(at)) {}

  std::string pointer;
};

// A compile would exceed one of `Limits`.
class BudgetError : public Error {
 public:
  BudgetError(const std::string& what, std::string name, std::uint64_t at_most, std::uint64_t reached,
              std::string in_rule)
      : Error(what), budget(std::move(name)), limit(at_most), value(reached), rule(std::move(in_rule)) {}

  std::string budget;  // the name of the field of Limits
  std::uint64_t limit;
  std::uint64_t value;
  std::string rule;  // the rule being compiled, empty when none
};

// A token or a text that the grammar does not allow here; the matcher is unchanged.
// `offset` is the byte at which the text fails.
class RejectedToken : public Error {
 public:
  RejectedToken(const std::string& what, std::size_t at) : Error(what), offset(at) {}

  std::size_t offset;
};

// A saved constraint that is damaged, of another version, or of another vocabulary.
class IncompatibleArtifact : public Error {
 public:
  using Error::Error;
};

// The loaded llama.cpp is not laid out as this library expects.
class LlamaAbiError : public Error {
 public:
  using Error::Error;
};

}  // namespace glr
