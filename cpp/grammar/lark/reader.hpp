// Reader: of a Lark file, into its syntax tree. Statements and characters are in syntax.cpp, bodies in bodies.cpp, what
// they are made of in elements.cpp.
//
// One loop over the elements of a body. Groups that are open stand on an explicit stack; the finished elements,
// conjuncts and alternatives of all open groups share three vectors, and a group knows where its own begin.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grammar/diagnostic.hpp"
#include "grammar/lark/syntax.hpp"

namespace glr::lark {

inline constexpr std::uint32_t kMaxBound = kUnbounded - 1;

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
inline bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
inline bool is_name(char c) { return is_digit(c) || is_lower(c) || is_upper(c) || c == '_'; }
inline bool is_newline(char c) { return c == '\n' || c == '\r'; }

class Reader {
 public:
  explicit Reader(Syntax& syntax) : syntax_(syntax), source_(syntax.source) {}

  void read();

 private:
  // '~' just before what comes.
  struct Negations {
    std::size_t count = 0;
    std::size_t begin = 0;  // of the first
  };
  struct Group {
    char bracket;               // ( [ or {; \0: the body itself
    std::size_t opened;         // offset of the bracket
    std::size_t begin;          // offset of what the group is: of the name of a template
    std::size_t elements;       // where its current sequence begins in elements_
    std::size_t conjuncts;      // likewise
    std::size_t alternatives;   // likewise
    Negations negations;        // before it
    std::uint32_t name = 0;     // of a template, in texts
    std::size_t arguments = 0;  // of a template: those that are done
  };

  void read_statement();
  void read_import();
  void read_declare();
  void read_definition(DefinitionKind kind);
  void read_parameters(Definition& definition);
  std::int32_t read_priority();
  void read_colon(const Definition& definition);
  Body read_body();
  bool body_continues();
  bool definition_here() const;
  void read_alias();
  void read_element(char c);
  void read_text();
  void read_range(std::size_t begin, const std::string& from);
  std::string read_string(bool& ignore_case);
  char32_t read_escape(std::string& out);
  void read_pattern();
  void read_tokens();
  void read_token_ids(std::size_t begin);
  void read_directive();
  Span read_json(std::size_t begin);
  void read_substring(std::size_t begin);
  void read_reference();
  void read_tilde();
  void read_quantifier(char c);
  std::pair<std::uint32_t, std::uint32_t> read_bounds();
  std::uint32_t read_number(std::uint32_t largest, std::string_view what);
  void repeat_last(std::uint32_t min, std::uint32_t max, std::size_t begin);

  void open_group(char bracket, std::size_t begin, std::uint32_t name = 0);
  void close_sequence();
  void close_alternative();
  std::uint32_t close_choice();
  void close_group(char bracket);
  void next_argument();
  void add_element(std::uint32_t expr, std::size_t begin);

  std::uint32_t add(Expr expr) {
    syntax_.exprs.push_back(expr);
    return static_cast<std::uint32_t>(syntax_.exprs.size() - 1);
  }
  std::uint32_t add(Kind kind, std::span<const std::uint32_t> children, Span span);
  std::uint32_t text(std::string value) {
    syntax_.texts.push_back(std::move(value));
    return static_cast<std::uint32_t>(syntax_.texts.size() - 1);
  }

  bool at_end() const { return at_ >= source_.size(); }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }
  std::string_view rest() const { return source_.substr(at_); }
  bool take(std::string_view sign);
  std::string_view read_name();
  std::string_view expect_name(std::string_view what);
  bool comment_here() const { return peek() == '#' || (peek() == '/' && peek(1) == '/'); }
  void skip_blanks();
  void skip_space();  // blanks, lines and comments
  void end_line(std::string_view after);
  std::size_t end_of_line(std::size_t offset) const {
    return std::min(source_.find_first_of("\r\n", offset), source_.size());
  }
  std::string place(std::size_t offset) const { return place_text(place_of(source_, offset)); }
  std::string found() const;
  static Span span(std::size_t begin, std::size_t end) {
    return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end - begin)};
  }
  Span here() const { return span(at_, std::min(at_ + 1, source_.size())); }
  [[noreturn]] void fail(DiagnosticKind kind, Span where, std::string detail, std::string hint = "") const {
    throw grammar_error(source_, syntax_.file, {kind, where, std::move(detail), std::move(hint)});
  }
  [[noreturn]] void fail_unterminated(std::string_view what, std::size_t opened, std::string_view closing) const;
  [[noreturn]] void fail_unclosed_group(std::string_view before) const;
  [[noreturn]] void fail_misplaced_definition(std::string_view name, Span where) const;
  [[noreturn]] void fail_unexpected() const;
  [[noreturn]] void fail_statement() const;

  Syntax& syntax_;
  std::string_view source_;
  std::size_t at_ = 0;
  std::size_t element_end_ = 0;  // where the last finished element ended
  Negations negations_;
  bool quantified_ = false;  // the last element has its quantifier

  std::vector<Group> groups_;
  std::vector<std::uint32_t> elements_;
  std::vector<std::size_t> begins_;  // by index in elements_
  std::vector<std::uint32_t> conjuncts_;
  std::vector<std::uint32_t> alternatives_;
};

}  // namespace glr::lark
