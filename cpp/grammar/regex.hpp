// Regular expressions: ECMA-262 syntax in Unicode mode, and the Python spellings of the same things, as nodes of a
// Grammar. docs/regex.md describes the dialect.
//
// A position of a text has a left context: the start of the text, or the class of the code point before it. An
// expression is translated backwards, as what it makes of the languages that may follow it in each context:
//
//     (?=F) k  =  (F anything) & k        (?!F) k  =  ~(F anything) & k        $ k  =  "" when k may be empty
//     ^ k  =  k at the start, else nothing        \b k  =  k & (\w anything) after a non-word, ...
//
// So assertions are exact wherever they stand, in loops as well: a loop around assertions becomes a right-linear rule
// for each context. Without assertions the translation is the plain one.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "glrsampler/grammar.hpp"
#include "grammar/regex_syntax.hpp"

namespace glr {

struct RegexSettings {
  std::string_view flags;  // of Grammar::from_regex
  // What one code point of a class is written as: by default its UTF-8. A front end whose texts are spelled in another
  // way (the content of a JSON string) puts its own. The spellings of all code points together must be a prefix code
  // (no spelling begins with another code point's), none may be empty, and a code point has the same spellings whatever
  // class it is asked for in. The ranges are sorted and disjoint, never empty. Called once for each distinct class.
  std::function<NodeId(const std::vector<CodePointRange>& ranges)> code_points;
  Span span;           // of all nodes made, in the builder's source
  bool spans = false;  // the pattern is the builder's source: nodes have the spans of what they were written as
  std::string_view file = "pattern";  // names the pattern in messages
};

// The texts that match as a whole. Throws GrammarError with line and column in the pattern.
NodeId regex_match(GrammarBuilder& builder, std::string_view pattern, const RegexSettings& settings = {});

// The same for a tree that was put together otherwise. `source` is what its spans speak of, for messages.
NodeId regex_match(GrammarBuilder& builder, const RegexTree& tree, std::string_view source,
                   const RegexSettings& settings);

// The texts in which a match is found somewhere: JSON Schema's `pattern`. `^a|b$` is (^a)|(b$).
NodeId regex_search(GrammarBuilder& builder, std::string_view pattern, const RegexSettings& settings = {});

}  // namespace glr
