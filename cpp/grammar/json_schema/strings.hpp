// Strings: string shapes -> what may stand between the quotes.
//
// A language of code points is translated by spelling each code point. Under either spelling every spelling of a
// text belongs to its language or none does, so intersection and complement of languages of texts are intersection and
// complement of what is written (within well-formed content). Lone surrogates (\ud800) are no code points and never
// written.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "glrsampler/grammar.hpp"
#include "grammar/json_schema/shape.hpp"

namespace glr::json_schema {

std::uint32_t code_points_in(std::string_view text);

class Strings {
 public:
  using Spelling = JsonSchemaOptions::Spelling;

  // `enumerated`: how known texts (enum, keys) are spelled; `open`: all other strings. Any implies nothing for the
  // other one, except that enumerated texts are a part of the open ones.
  // `source`: what the strings that are pieces of a document are pieces of.
  Strings(GrammarBuilder& builder, Spelling open, Spelling enumerated, std::string_view source, std::string_view file)
      : builder_(builder), open_(open), enumerated_(enumerated), source_(source), file_(file) {}

  NodeId quoted(NodeId content);
  // What the shape admits, without the quotes.
  NodeId content(const StringShape& shape);
  NodeId text(const std::string& content);  // a known text, without the quotes
  NodeId any_content();
  // Every text but these, of min to max code points.
  NodeId all_but(const std::vector<std::string>& texts, std::uint32_t min, std::uint32_t max);
  // The texts that a pattern matches, without the quotes. SchemaError for a pattern that cannot be read.
  NodeId matching(const Pattern& pattern);
  NodeId piece_of_source();
  NodeId without(NodeId some);  // well-formed content that is none of `some`

 private:
  NodeId code_points(const std::vector<CodePointRange>& ranges);
  NodeId one_of(const std::vector<CodePointRange>& ranges);
  std::optional<NodeId> escapes(const std::vector<CodePointRange>& ranges);
  NodeId hexadecimal(const std::vector<CodePointRange>& ranges, unsigned digits);
  NodeId surrogate_pairs(const std::vector<CodePointRange>& ranges);
  NodeId repeated_any(std::uint32_t min, std::uint32_t max);
  NodeId one_more(char32_t c, NodeId next, std::uint32_t min, std::uint32_t max);
  NodeId all_but_one(const std::u32string& text, std::size_t begin, std::uint32_t min, std::uint32_t max);
  NodeId sequence(std::initializer_list<NodeId> nodes);
  NodeId literal(std::string_view bytes) { return builder_.literal(bytes, {}); }

  GrammarBuilder& builder_;
  Spelling open_;
  Spelling enumerated_;
  std::string source_;
  std::string file_;
  std::optional<NodeId> piece_;
  std::map<std::vector<std::pair<char32_t, char32_t>>, NodeId> spelled_;
  std::map<std::uint64_t, std::optional<NodeId>> escapes_;  // canonical ones, by which code points have them
  std::map<std::pair<unsigned, std::vector<std::pair<char32_t, char32_t>>>, NodeId> hexadecimal_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, NodeId> repeated_;
  std::map<std::pair<std::string, bool>, NodeId> matching_;
  std::unordered_map<char32_t, std::pair<NodeId, NodeId>> apart_;  // a code point, all others
  // By the text, or the end of one, and the bounds.
  std::map<std::tuple<std::u32string, std::uint32_t, std::uint32_t>, NodeId> all_but_one_;
};

}  // namespace glr::json_schema
