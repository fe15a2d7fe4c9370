// PatternMatcher: whether a pattern matches a given text, decided while a grammar is being built.
//
// Keys and enumerated strings are known texts, so what a pattern says about them is settled once and never enters
// the grammar. The matcher computes, for every node of the pattern's syntax tree and every position of the text,
// the set of positions where the node's match may end: O(nodes * length^2) bits, and no automaton is built.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "glrsampler/grammar.hpp"
#include "grammar/json_schema/schema.hpp"

namespace glr::json_schema {

class PatternMatcher {
 public:
  explicit PatternMatcher(std::string_view file) : file_(file) {}

  // Throws SchemaError for a pattern that is no regular expression.
  bool matches(const Pattern& pattern, const std::string& text);

 private:
  const Grammar& compiled(const Pattern& pattern);

  std::string file_;
  std::map<std::pair<std::string, bool>, std::shared_ptr<const Grammar>> compiled_;
  std::map<std::pair<const Grammar*, std::string>, bool> known_;
};

}  // namespace glr::json_schema
