// Diagnostic: what is wrong with a source text, where, and the way out.
//
// A reader says what it found as values (kind, span, detail, hint); only this file turns them into
// words. The message reads
//
//   x.gbnf:3:24: undefined rule 'nam'
//     root ::= greeting ", " nam
//                            ^~~
//   hint: did you mean 'name'?
//
// Lines end with \n, \r\n or \r. Columns count code points from 1; a byte-order mark is not counted.
// Long source lines are cut around the place, control characters of the source are escaped, so a
// message has a bounded length whatever the source holds.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "glrsampler/error.hpp"

namespace glr {

enum class DiagnosticKind : std::uint8_t {
  InvalidUtf8,
  NulByte,
  SourceTooLong,
  EmptyGrammar,
  OtherFormat,  // the text is a grammar of another kind, or no grammar at all
  Expected,     // something had to come here and something else does
  Unexpected,   // this cannot stand here
  NothingToRepeat,
  Unterminated,
  Unmatched,
  EmptyClass,
  InvertedRange,
  InvertedBounds,
  BadEscape,
  BadCodePoint,
  NumberTooLarge,
  UndefinedRule,
  UndefinedTerminal,
  DuplicateRule,
  MissingRoot,
  NoSentence,
  MissingByte,   // no token of the vocabulary holds it
  NotAToken,     // a token literal that names no token of the vocabulary
  InvalidValue,  // a keyword or an option has a value that means nothing
  Unsupported,
  LimitExceeded,
};

// The words a message of this kind begins with; tests look for these.
std::string_view kind_text(DiagnosticKind kind);

struct Diagnostic {
  DiagnosticKind kind;
  Span span;           // of the source; at or past its end: "the end of the text"
  std::string detail;  // goes on after kind_text(), often with a quoted() piece of the source
  std::string hint;    // what to write instead; empty when there is nothing to say
};

// `file` names the source in the message.
GrammarError grammar_error(std::string_view source, std::string_view file, const Diagnostic& diagnostic);
// For what has no one place: line and column are 0, the message has no excerpt. The span is not read.
GrammarError grammar_error(std::string_view file, const Diagnostic& diagnostic);

struct Place {
  std::size_t line;
  std::size_t column;
};
// O(offset).
Place place_of(std::string_view source, std::size_t offset);
std::string place_text(Place place);  // "line 3, column 14"

// A piece of the source for a detail or a hint: in single quotes, escaped, cut when it is long.
std::string quoted(std::string_view text);
// Control characters, direction marks and invalid bytes as \n, \xHH or \u{HHHH}.
std::string escaped(std::string_view text);

// The candidate that a misspelled name most likely means, or an empty view. Case and '-' against '_'
// count for little. O(total length of the candidates).
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace glr
