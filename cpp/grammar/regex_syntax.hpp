// The syntax tree of a regular expression. Children come before what they stand in, so passes are loops.
//
// Flags are resolved while reading: classes are closed under case folding where case is ignored, '.' is the class it
// stands for, '^', '$' and word boundaries are the contexts they ask for. Groups leave no trace. Whether a quantifier
// is reluctant is kept: it does not change the language, but it changes what a lexer finds in a text.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "glrsampler/grammar.hpp"

namespace glr {

enum class RegexKind : std::uint8_t {
  Class,     // one code point of classes[index]
  Sequence,  // no children: the empty text
  Choice,
  Repeat,  // min to max times
  Start,   // nothing, at the start of the text
  End,     // nothing, at its end
  Behind,  // nothing, after a code point of classes[index]; with at_start, at the start of the text too
  Ahead,   // nothing, where the child matches a prefix of what follows
};

struct RegexNode {
  RegexKind kind;
  Span span;
  std::uint32_t first = 0;  // of children
  std::uint32_t count = 0;
  std::uint32_t index = 0;  // in classes
  std::uint32_t min = 0;
  std::uint32_t max = 0;
  bool negated = false;    // Behind, Ahead
  bool at_start = false;   // Behind
  bool assertion = false;  // this or something in it is one of Start, End, Behind, Ahead
  bool nullable = false;   // without assertions: matches the empty text
  bool reluctant = false;  // Repeat
};

struct RegexTree {
  std::vector<RegexNode> nodes;
  std::vector<std::uint32_t> children;
  std::vector<std::vector<CodePointRange>> classes;  // sorted, disjoint; may be empty
  std::uint32_t root = 0;

  std::span<const std::uint32_t> parts(const RegexNode& n) const {
    return std::span(children).subspan(n.first, n.count);
  }

  std::uint32_t add_class(std::vector<CodePointRange> ranges, Span span);
  std::uint32_t add(RegexKind kind, std::span<const std::uint32_t> parts, Span span);
  std::uint32_t add_repeat(std::uint32_t part, std::uint32_t min, std::uint32_t max, Span span);
  std::uint32_t add_behind(std::vector<CodePointRange> ranges, bool at_start, bool negated, Span span);
  std::uint32_t add_ahead(std::uint32_t part, bool negated, Span span);

 private:
  std::uint32_t add(RegexNode node, std::span<const std::uint32_t> parts);
};

enum class RegexDialect : std::uint8_t {
  Ecma,    // ECMA-262 in Unicode mode, docs/regex.md
  Python,  // of `re`: \d \w \s \b by Unicode, '.' and lines end at \n alone, ']' first in a class is itself, the flag x
};

// A pattern as a part of a source text; messages and spans speak of that text.
struct RegexText {
  std::string_view source;
  Span part;
  std::string_view flags;
  std::string_view file = "pattern";  // names the source in messages
  RegexDialect dialect = RegexDialect::Ecma;
};

// Adds the pattern's nodes to `tree` and returns the topmost; `tree.root` is left alone. Throws GrammarError.
std::uint32_t read_regex(RegexTree& tree, const RegexText& text);

// The whole of `pattern`. Throws GrammarError. `file` names the pattern in messages.
RegexTree read_regex(std::string_view pattern, std::string_view flags, std::string_view file);

}  // namespace glr
