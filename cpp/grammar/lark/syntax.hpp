// The syntax tree of one Lark file, and its reader. docs/lark.md describes the notation.
//
// The expressions of all bodies share one array. Those of a body stand in a row, children before what they stand in,
// the body itself last: whatever goes through a body is a loop.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glrsampler/grammar.hpp"

namespace glr::lark {

enum class Kind : std::uint8_t {
  Text,       // "..." or "..."i: text, ignore_case
  Pattern,    // /.../flags: part is what stands between the slashes, text its flags
  Range,      // "a".."z": first_code_point to last_code_point
  Substring,  // %regex {"substring_...": ...}: any chunks in a row of texts [text, text + count)
  Name,       // of a rule, a terminal or a parameter: text
  Template,   // name{arguments}: text, children
  Tokens,     // <...>, <[...]>: any one of tokens [first, first + count)
  Json,       // %json {...}: part is the schema
  Sequence,   // children; none: the empty text
  Choice,     // children
  Repeat,     // min to max times the only child
  Both,       // what all children match; terminals only
  Not,        // what the only child does not match; terminals only
};

struct Expr {
  Kind kind;
  Span span;
  std::uint32_t first = 0;  // of children; of tokens
  std::uint32_t count = 0;  // of these; of texts
  std::uint32_t text = 0;   // index in texts
  std::uint32_t min = 0;    // Repeat
  std::uint32_t max = 0;
  char32_t first_code_point = 0;
  char32_t last_code_point = 0;
  Span part{};
  bool ignore_case = false;
  bool argument = false;  // of a Template
};

// A body is expressions [first, root].
struct Body {
  std::uint32_t first = 0;
  std::uint32_t root = 0;
};

enum class DefinitionKind : std::uint8_t { Define, Override, Extend };

struct Parameter {
  std::string_view name;
  Span span;
};

struct Definition {
  std::string_view name;
  Span span;  // of the name
  DefinitionKind kind = DefinitionKind::Define;
  bool terminal = false;
  std::int32_t priority = 0;
  std::vector<Parameter> parameters{};
  Body body{};
};

struct ImportedName {
  std::string_view name;
  std::string_view alias;  // the name itself when there is no other
  Span span;
};

struct Import {
  std::vector<std::string_view> path;
  bool relative = false;
  std::vector<ImportedName> names{};
  Span span{};
};

// A name on its own: of %declare.
struct Declared {
  std::string_view name;
  Span span;
};

struct Syntax {
  std::string source;  // names and spans are pieces of it, so it must not move
  std::string file;    // names it in messages
  std::string folder;  // of its relative imports; empty when it has none
  std::vector<Expr> exprs{};
  std::vector<std::uint32_t> children{};
  std::vector<std::string> texts{};
  std::vector<TokenLiteral> tokens{};
  std::vector<Definition> definitions{};
  std::vector<Import> imports{};
  std::vector<Body> ignored{};
  std::vector<Declared> declared{};

  Syntax(std::string_view text, std::string_view name, std::string_view in) : source(text), file(name), folder(in) {}
  Syntax(const Syntax&) = delete;
  Syntax& operator=(const Syntax&) = delete;

  // The children; none of what has none.
  std::span<const std::uint32_t> parts(const Expr& e) const {
    if (e.kind == Kind::Tokens || e.kind == Kind::Substring) return {};
    return std::span(children).subspan(e.first, e.count);
  }
  std::string_view spelled(Span span) const { return std::string_view(source).substr(span.offset, span.length); }
};

bool is_terminal_name(std::string_view name);

// Fills everything but source, file and folder. Throws GrammarError.
void read_syntax(Syntax& syntax);

}  // namespace glr::lark
