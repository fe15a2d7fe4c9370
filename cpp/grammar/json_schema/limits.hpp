// The keywords of JSON Schema and what becomes of them: the one table that the reader uses and docs/limits.md is
// generated from.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace glr::json_schema {

enum class Support : std::uint8_t {
  Exact,       // enforced, nothing more and nothing less
  Partly,      // enforced exactly where `note` says, refused elsewhere
  Annotation,  // says nothing about which values are valid
  Refused,     // a SchemaError, or a warning when asked for
};

struct Keyword {
  std::string_view name;
  Support support;
  std::string_view note;
};

std::span<const Keyword> keywords();
// Null for a name that no draft defines: such a name is an annotation.
const Keyword* find_keyword(std::string_view name);

struct Format {
  std::string_view name;
  std::string_view pattern;  // of the whole text; empty: nothing to enforce
  std::string_view note;
};

// Formats of strings. A name that is not among them says nothing (a warning tells so).
std::span<const Format> formats();
const Format* find_format(std::string_view name);

// How far a schema may go; beyond each is a SchemaError.
inline constexpr std::size_t kMaxShapes = 4'000;         // alternatives of one schema, combinations multiplied out
inline constexpr std::size_t kMaxNumberStates = 50'000;  // of the automaton of one number
inline constexpr std::size_t kMaxKeyClasses = 256;       // subsets of the patterns that apply to one object
inline constexpr std::size_t kMaxSource = 200'000;       // code points of a source document
inline constexpr std::uint32_t kStrictDepth = 16;        // arrays and objects in each other, in the strict profile
inline constexpr std::uint32_t kStrictDigits = 17;       // of a number, in the strict profile

}  // namespace glr::json_schema
