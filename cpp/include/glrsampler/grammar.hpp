// Grammar: rules of expressions as their author wrote them, source positions kept.
//
// Every front end (GBNF, JSON Schema, Lark, regular expressions) produces this one form through
// GrammarBuilder. Nodes live in one array and a node's children always have smaller ids than the
// node itself, so every pass over a grammar is a loop over that array and no pass recurses on the
// depth of the input.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glrsampler/error.hpp"

namespace glr {

enum class NodeId : std::uint32_t {};
enum class RuleId : std::uint32_t {};

inline constexpr std::uint32_t kUnbounded = std::numeric_limits<std::uint32_t>::max();
inline constexpr char32_t kMaxCodePoint = 0x10FFFF;

// An inclusive range of Unicode scalar values (surrogates are never part of a class).
struct CodePointRange {
  char32_t first;
  char32_t last;

  friend bool operator==(const CodePointRange&, const CodePointRange&) = default;
};

enum class NodeKind : std::uint8_t {
  Literal,       // exactly these bytes; the empty literal is the empty text
  CodePoints,    // one code point of a class, as UTF-8
  RuleRef,       // the text of a rule
  Sequence,      // children one after the other
  Choice,        // any one of the children; no children: nothing at all
  Repeat,        // min to max times the only child, max may be kUnbounded
  Token,         // one whole model token, at a token boundary
  Intersection,  // the texts that all children have in common; regular operands only (see below)
  Complement,    // every byte string that the only child is not; regular operand only
  Terminal,      // one lexeme: a match of the first child that is not cut short; regular operands only (see below)
  Members,       // things of a list, at least one, each at most once, a separator between them; see Members
};

// The operands of Intersection, Complement and Terminal are regular: no tokens, no terminals, and every rule they reach
// is either not recursive or right-linear: it refers to rules of its own cycle only where its text ends (last in
// sequences, not in repetitions or complements) and never before it has read something. Anything else is a GrammarError
// when the grammar is compiled. Complement is relative to all byte strings, so complement(nothing) is any text
// whatever; front ends over code points intersect it with well-formed UTF-8.
//
// A match of a Terminal is cancelled once the same terminal matches longer from the same start, by the text that
// follows, also where only the shorter match would let the parse go on. That it could match longer does not cancel it.
// Of a child that may be empty, the empty match is never cancelled: the node is an optional non-empty lexeme.
// A second child, when there is one, is what else competes: a match is cancelled once the second child matches longer
// from the same start, and the first counts for nothing but what it is a match of. It holds all texts of the first.
// `answered` says of it that whatever it goes on with, some parse of the same text is inside a terminal that goes on
// with it too, so that a match is never cancelled for nothing; unless that is known, it is looked for in each place.

// Names one model token by its text (`<think>`) or its id (`<[1000]>`). Negated it stands for every
// *text* token but that one: control and end-of-generation tokens are admitted only by name.
struct TokenLiteral {
  std::string text;      // with the angle brackets; empty when named by id
  std::uint32_t id = 0;  // when text is empty
  bool negated = false;
};

// What a Members node asks of its members: those of a JSON object.
struct Members {
  // One way to write a member. A member may have several, when some of its values are witnesses: the text as a whole
  // must hold one for each bit that any way has. The first way of a member is none and admits every value of the
  // others.
  struct Way {
    std::uint32_t member;  // by its name; required.size(): an additional one, that has its name in itself
    std::uint32_t witnesses = 0;
  };

  bool ordered = false;        // by member, additional ones last
  std::vector<bool> required;  // by member
  std::vector<Way> ways;       // ascending by member
  std::uint32_t min = 0;       // members
  std::uint32_t max = kUnbounded;
};

struct Node {
  NodeKind kind;
  Span span;
  // Literal: [first, first + count) of literal_bytes(). CodePoints: of class_ranges().
  // Sequence, Choice, Intersection, Terminal: of children(). Repeat, Complement: first is the index of the child in
  // children(). RuleRef: first is the RuleId. Token: first is the index in token_literals(). Members: of children():
  // the separator, the members' names, their values by way, and the sequence of those values that must come.
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::uint32_t min = 0;  // Repeat; Members: which; Terminal: 1 when answered
  std::uint32_t max = 0;
};

struct Rule {
  std::string name;
  Span span;  // of the name where it is defined
  NodeId body;
};

// How a JSON Schema is read and how the texts are spelled.
struct JsonSchemaOptions {
  enum class Whitespace : std::uint8_t {
    Bounded,  // what json.dumps writes with any indent up to 8: nothing, one blank, or a new line and its indent
    Any,      // RFC 8259: any number of blanks, tabs and new lines between tokens
    Compact,  // none
  };
  enum class PropertyOrder : std::uint8_t {
    Schema,  // as declared, additional ones after them
    Any,
  };
  enum class Profile : std::uint8_t { None, Strict };
  // Of keys and of enum and const values. Other strings may use any escapes in either.
  enum class Spelling : std::uint8_t { Canonical, Any };
  enum class Unsupported : std::uint8_t {
    Error,
    Warn,  // admit more than the schema does and say so in warnings()
  };

  Whitespace whitespace = Whitespace::Bounded;
  PropertyOrder property_order = PropertyOrder::Schema;
  Profile profile = Profile::None;
  Spelling spelling = Spelling::Canonical;
  Unsupported on_unsupported = Unsupported::Error;
  // What strings marked "x-source-span" are pieces of (UTF-8).
  std::optional<std::string> source;
  std::uint32_t max_digits = 0;  // of a number, before and after the point together; 0: unlimited, 17 in Strict
};

// How a Lark grammar is read.
struct LarkOptions {
  // Which texts of a rule's terminals, one after the other, are a reading (docs/lark.md).
  enum class Lexing : std::uint8_t {
    Longest,     // those in which no terminal is cut short: see NodeKind::Terminal
    Contextual,  // that which Lark's contextual lexer finds (grammar/lark/contextual.hpp)
    All,         // all of them
  };

  Lexing lexing = Lexing::Longest;
  std::vector<std::string> import_paths{};  // folders that %import looks in, in this order, before the library
  std::string folder{};                     // that relative imports of the text look in after these; none when empty
};

// Immutable once built; share it by pointer.
class Grammar {
 public:
  // Reads llama.cpp's GBNF dialect. `file` only names the source in messages.
  // Throws GrammarError with line, column and hint.
  static std::shared_ptr<const Grammar> from_gbnf(std::string_view text, std::string_view root = "root",
                                                  std::string_view file = "grammar");

  // Reads Lark's notation with llguidance's additions. `start` is the rule that a text has to match. Throws
  // GrammarError with line, column and hint; SchemaError for what stands after %json.
  static std::shared_ptr<const Grammar> from_lark(std::string_view text, std::string_view start = "start",
                                                  std::string_view file = "grammar", const LarkOptions& options = {});

  // The texts that a regular expression matches as a whole: ECMA-262 syntax (Unicode mode) and the Python spellings of
  // the same things. `flags`: any of i (ignore case), m (^ and $ at lines), s (dot matches line ends), u (no effect).
  // Throws GrammarError with line, column and hint.
  static std::shared_ptr<const Grammar> from_regex(std::string_view pattern, std::string_view flags = "",
                                                   std::string_view file = "pattern");

  // Exactly these texts. Throws GrammarError when there is none.
  static std::shared_ptr<const Grammar> from_choices(std::span<const std::string> texts,
                                                     std::string_view file = "choices");

  // The JSON texts whose value meets a JSON Schema (drafts 4 to 2020-12). `file` only names the source in messages.
  // Throws SchemaError, with the pointer of the cause, for what is no schema, cannot be enforced exactly or is
  // met by no value; GrammarError for what is not JSON.
  static std::shared_ptr<const Grammar> from_json_schema(std::string_view text, const JsonSchemaOptions& options = {},
                                                         std::string_view file = "schema");

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Rule>& rules() const { return rules_; }
  RuleId root() const { return root_; }
  const std::string& source() const { return source_; }
  const std::string& file() const { return file_; }

  const Node& node(NodeId id) const { return nodes_[static_cast<std::size_t>(id)]; }
  const Rule& rule(RuleId id) const { return rules_[static_cast<std::size_t>(id)]; }
  std::string_view literal(const Node& n) const { return std::string_view(bytes_).substr(n.first, n.count); }
  std::span<const CodePointRange> ranges(const Node& n) const { return std::span(ranges_).subspan(n.first, n.count); }
  std::span<const NodeId> children(const Node& n) const { return std::span(children_).subspan(n.first, n.count); }
  const TokenLiteral& token_literal(const Node& n) const { return tokens_[n.first]; }
  const Members& members(const Node& n) const { return members_[n.min]; }

  // GBNF of the same language; the root is called root. Rules that no sentence uses and alternatives without a text are
  // left out. Throws GrammarError for what GBNF has no means for: intersections and complements, members in any order
  // and counted ones.
  std::string to_gbnf() const;

  // The reader that made it: gbnf, json_schema, regex, choices...
  const std::string& kind() const { return kind_; }
  // The document that some strings must be pieces of, beside the source; see JsonSchemaOptions.
  const std::optional<std::string>& document() const { return document_; }

  // Where the grammar departs from its source, a sentence each; empty when it is exact.
  const std::vector<std::string>& warnings() const { return warnings_; }

  // SHA-256 of the source text, the root's name and the front end's options, in hex.
  const std::string& fingerprint() const { return fingerprint_; }

 private:
  friend class GrammarBuilder;
  friend class SavedGrammar;
  std::vector<Node> nodes_;
  std::vector<Rule> rules_;
  std::string bytes_;
  std::vector<CodePointRange> ranges_;
  std::vector<NodeId> children_;
  std::vector<TokenLiteral> tokens_;
  std::vector<Members> members_;
  RuleId root_{};
  std::string source_;
  std::string file_;
  std::string fingerprint_;
  std::string kind_;
  std::optional<std::string> document_;
  std::vector<std::string> warnings_;
};

class IdIndex;

// Builds a Grammar bottom up: children first. Rules may be referred to before they are defined.
class GrammarBuilder {
 public:
  // `front_end` names the reader and its options, the reader up to the first blank; it enters the fingerprint.
  GrammarBuilder(std::string_view source, std::string_view file, std::string_view front_end);
  GrammarBuilder(const GrammarBuilder& other);
  GrammarBuilder(GrammarBuilder&&) noexcept;
  GrammarBuilder& operator=(GrammarBuilder other) noexcept;
  ~GrammarBuilder();

  // From here on nodes that are equal and have no place in the source are one: for front ends that write much that
  // says the same.
  void share_nodes();

  NodeId empty(Span span) { return literal("", span); }
  NodeId literal(std::string_view bytes, Span span);
  // Ranges may overlap and come in any order; surrogates are cut out.
  NodeId code_points(std::vector<CodePointRange> ranges, Span span);
  NodeId rule_ref(RuleId rule, Span span);
  NodeId sequence(std::span<const NodeId> children, Span span);  // one child: that child
  NodeId choice(std::span<const NodeId> children, Span span);    // one child: that child
  NodeId repeat(NodeId child, std::uint32_t min, std::uint32_t max, Span span);
  NodeId token(TokenLiteral literal, Span span);
  NodeId nothing(Span span) { return choice({}, span); }             // no text at all
  NodeId intersection(std::span<const NodeId> children, Span span);  // at least one; one child: that child
  NodeId complement(NodeId child, Span span);
  NodeId terminal(NodeId child, Span span);
  NodeId terminal(NodeId child, NodeId competitors, bool answered, Span span);
  // `names`: of the members with a name, disjoint; `values`: by way, from the end of the name on. Neither the separator
  // nor a name nor an additional member may be empty, else the grammar is refused when it is compiled.
  NodeId members(NodeId separator, std::span<const NodeId> names, std::span<const NodeId> values, Members members,
                 Span span);
  NodeId anything(Span span) { return complement(nothing(span), span); }  // any byte string

  // Some of the chunks of a list in a row, or nothing: the substrings of a text, cut at its chunks only. O(chunks)
  // nodes.
  NodeId substrings(std::span<const std::string> chunks, Span span);

  // All rules of another grammar, with its warnings; the node refers to its root. Every node gets the span, since the
  // places of the other grammar mean nothing here; without one they are of the same source and stay.
  NodeId include(const Grammar& other, std::optional<Span> span);

  RuleId declare(std::string_view name);  // new, undefined
  void define(RuleId rule, NodeId body, Span name_span);
  bool defined(RuleId rule) const;
  const std::vector<Rule>& rules() const { return grammar_.rules_; }

  void set_document(std::string_view text) { grammar_.document_ = text; }
  void warn(std::string sentence) { grammar_.warnings_.push_back(std::move(sentence)); }

  // Every rule must be defined. The builder is spent. A grammar without a source, put together by calls, gets its
  // listing as one, and its fingerprint is of all it holds.
  std::shared_ptr<const Grammar> build(RuleId root) &&;

 private:
  NodeId add(Node node);
  NodeId add_or_share(Node node);
  Grammar grammar_;
  std::vector<bool> defined_;
  std::string front_end_;
  std::unique_ptr<IdIndex> shared_;
};

// The complement of a class among all Unicode scalar values, sorted and merged.
std::vector<CodePointRange> complement(std::span<const CodePointRange> ranges);
// Sorted, merged, without surrogates.
std::vector<CodePointRange> normalised(std::vector<CodePointRange> ranges);

}  // namespace glr
