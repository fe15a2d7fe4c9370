// Program: a Lark file with all that it imports, names resolved to symbols.
//
// A file that is imported is a scope with names of its own; what it imports has one below it. A name that is imported
// stands for the same symbol in both scopes, so that %override and %extend in the importing file change it in the
// imported one too: a grammar can be derived from another. Files imported in two places are two scopes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "grammar/diagnostic.hpp"
#include "grammar/lark/syntax.hpp"

namespace glr::lark {

using ScopeId = std::uint32_t;
using SymbolId = std::uint32_t;

struct Scope {
  const Syntax* syntax;
  std::unordered_map<std::string_view, SymbolId> names{};
  Span import{};  // in the main file: what led here; of length 0 for the main file itself
};

// A body and the scope that its names are looked up in.
struct Part {
  ScopeId scope;
  Body body;
};

struct Symbol {
  std::string_view name;
  ScopeId scope;  // that defines it
  Span span;      // of the name there
  bool terminal = false;
  std::int32_t priority = 0;
  bool declared = false;                // stands for the model's token of that name
  std::vector<Parameter> parameters{};  // of a template
  std::vector<Part> parts{};            // alternatives: more than one after %extend
};

class Program {
 public:
  static constexpr ScopeId kMain = 0;

  // Reads the main file and what it imports. Throws GrammarError.
  Program(std::string_view text, std::string_view file, std::string_view folder, std::span<const std::string> paths);

  const Scope& scope(ScopeId id) const { return scopes_[id]; }
  const Symbol& symbol(SymbolId id) const { return symbols_[id]; }
  std::size_t symbols() const { return symbols_.size(); }
  const Syntax& main() const { return *scopes_[kMain].syntax; }
  // What %ignore names, a terminal each.
  const std::vector<SymbolId>& ignored() const { return ignored_; }

  // The symbol of a name at a place of the scope's file. Throws GrammarError when there is none.
  SymbolId resolve(ScopeId scope, std::string_view name, Span where) const;

  // A place of a scope's file, as one in the main file.
  Span in_main(ScopeId scope, Span where) const { return scope == kMain ? where : scopes_[scope].import; }
  [[noreturn]] void fail(ScopeId scope, const Diagnostic& diagnostic) const;

  // All that the files say: equal grammars have equal ones.
  std::string fingerprint() const;

 private:
  struct Link {
    ScopeId parent;
    std::uint32_t import;  // of the parent's file
    ScopeId child;
  };

  ScopeId add_scope(ScopeId parent, const Import& import);
  const Syntax* find_file(ScopeId parent, const Import& import);
  const Syntax* load(const std::string& path);
  void bind(ScopeId scope);
  void add_symbol(ScopeId scope, Symbol symbol);
  void check_main() const;

  std::vector<std::string> paths_;
  std::vector<std::unique_ptr<Syntax>> files_;
  std::unordered_map<std::string, const Syntax*> by_path_;
  std::vector<Scope> scopes_;
  std::vector<ScopeId> parents_;  // by ScopeId
  std::vector<Link> links_;       // by parent, ascending
  std::vector<Symbol> symbols_;
  std::vector<SymbolId> ignored_;
};

}  // namespace glr::lark
