// First all files are read, each scope after the one that imports it; then names are bound in the reverse order, so
// that what a scope imports is complete when it does.
#include "grammar/lark/imports.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "grammar/lark/library.hpp"
#include "support/file.hpp"

namespace glr::lark {
namespace {

constexpr std::size_t kMostScopes = 1000;

std::string path_of(const Import& import, std::string_view separator) {
  std::string path;
  for (const std::string_view step : import.path)
    path += (path.empty() ? "" : std::string(separator)) + std::string(step);
  return path;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Program::Program(std::string_view text, std::string_view file, std::string_view folder,
                 std::span<const std::string> paths)
    : paths_(paths.begin(), paths.end()) {
  files_.push_back(std::make_unique<Syntax>(text, file, folder));
  read_syntax(*files_.back());
  scopes_.push_back({.syntax = files_.back().get()});
  parents_.push_back(kMain);
  for (ScopeId scope = 0; scope < scopes_.size(); ++scope) {
    const auto& imports = scopes_[scope].syntax->imports;
    std::unordered_map<std::string, ScopeId> known;  // by path: several imports of a file are one scope
    for (std::uint32_t i = 0; i < imports.size(); ++i) {
      const auto [it, fresh] = known.try_emplace((imports[i].relative ? "." : "") + path_of(imports[i], "."));
      if (fresh) it->second = add_scope(scope, imports[i]);
      links_.push_back({scope, i, it->second});
    }
  }
  for (auto scope = static_cast<ScopeId>(scopes_.size()); scope-- > 0;) bind(scope);
  check_main();
}

ScopeId Program::add_scope(ScopeId parent, const Import& import) {
  const Syntax* file = find_file(parent, import);
  const std::string& name = file->file;
  for (ScopeId up = parent;; up = parents_[up]) {
    if (scopes_[up].syntax == file) {
      fail(parent, {DiagnosticKind::Unsupported, import.span, "import of " + quoted(name) + " in itself",
                    "put what both need into a third file"});
    }
    if (up == kMain) break;
  }
  if (scopes_.size() == kMostScopes) {
    fail(parent, {DiagnosticKind::LimitExceeded, import.span, "more than " + std::to_string(kMostScopes) + " imports",
                  "files that are imported on several ways count each time"});
  }
  scopes_.push_back({.syntax = file, .import = in_main(parent, import.span)});
  parents_.push_back(parent);
  return static_cast<ScopeId>(scopes_.size() - 1);
}

const Syntax* Program::find_file(ScopeId parent, const Import& import) {
  const Syntax& from = *scopes_[parent].syntax;
  std::vector<std::string> folders(paths_.begin(), paths_.end());
  if (import.relative && !from.folder.empty()) folders.push_back(from.folder);
  const std::string path = path_of(import, "/") + ".lark";
  for (const std::string& folder : folders) {
    try {
      return load(folder + "/" + path);
    } catch (const std::system_error& error) {
      if (error.code() == std::errc::no_such_file_or_directory || error.code() == std::errc::not_a_directory) continue;
      fail(parent, {DiagnosticKind::Unsupported, import.span,
                    "import of " + quoted(folder + "/" + path) + ": " + error.code().message(), ""});
    }
  }
  if (!import.relative && import.path.size() == 1) {
    const std::string_view text = library_text(import.path.front());
    if (!text.empty()) {
      const std::string name = "library " + std::string(import.path.front());
      const auto [it, fresh] = by_path_.try_emplace(name);
      if (fresh) {
        files_.push_back(std::make_unique<Syntax>(text, name, ""));
        read_syntax(*files_.back());
        it->second = files_.back().get();
      }
      return it->second;
    }
  }
  std::string hint;
  if (folders.empty()) {
    hint = import.relative ? "a text has no folder: pass import_paths, or read the file with from_file"
                           : "the library has 'common' and 'unicode'; pass import_paths for others";
  } else {
    hint = "looked in ";
    for (std::size_t i = 0; i < folders.size() && i < 4; ++i) hint += (i == 0 ? "" : ", ") + quoted(folders[i]);
  }
  fail(parent, {DiagnosticKind::UndefinedRule, import.span, "grammar " + quoted(path), hint});
}

const Syntax* Program::load(const std::string& path) {
  if (const auto it = by_path_.find(path); it != by_path_.end()) return it->second;
  files_.push_back(std::make_unique<Syntax>(read_file(path), path, folder_of(path)));
  read_syntax(*files_.back());
  return by_path_[path] = files_.back().get();
}

void Program::add_symbol(ScopeId scope, Symbol symbol) {
  const auto [it, fresh] = scopes_[scope].names.try_emplace(symbol.name, static_cast<SymbolId>(symbols_.size()));
  if (!fresh) {
    const Symbol& first = symbols_[it->second];
    const std::string where =
        first.scope == scope ? "defined at " + place_text(place_of(scopes_[scope].syntax->source, first.span.offset))
                             : "imported";
    fail(scope, {DiagnosticKind::DuplicateRule, symbol.span, quoted(symbol.name),
                 "it is " + where +
                     " already; more alternatives are added with %extend, others put in its place with "
                     "%override"});
  }
  symbols_.push_back(std::move(symbol));
}

void Program::bind(ScopeId scope) {
  const Syntax& syntax = *scopes_[scope].syntax;
  const auto [first, last] = std::equal_range(links_.begin(), links_.end(), Link{scope, 0, 0},
                                              [](const Link& a, const Link& b) { return a.parent < b.parent; });
  for (auto link = first; link != last; ++link) {
    for (const ImportedName& name : syntax.imports[link->import].names) {
      const auto& names = scopes_[link->child].names;
      const auto found = names.find(name.name);
      if (found == names.end()) {
        std::vector<std::string_view> known;
        for (const auto& [text, symbol] : names) known.push_back(text);
        std::sort(known.begin(), known.end());
        const std::string_view nearest = nearest_name(name.name, known);
        fail(scope, {DiagnosticKind::UndefinedRule, name.span,
                     quoted(name.name) + " in " + quoted(scopes_[link->child].syntax->file),
                     nearest.empty() ? "" : "did you mean " + quoted(nearest) + "?"});
      }
      const auto [known, fresh] = scopes_[scope].names.try_emplace(name.alias, found->second);
      if (!fresh && known->second != found->second) {
        fail(scope, {DiagnosticKind::DuplicateRule, name.span, quoted(name.alias),
                     "another import has the name already; give one a new name with '->'"});
      }
    }
  }
  for (const Declared& declared : syntax.declared) {
    add_symbol(scope,
               {.name = declared.name, .scope = scope, .span = declared.span, .terminal = true, .declared = true});
  }
  for (const Definition& d : syntax.definitions) {
    if (d.kind == DefinitionKind::Define) {
      add_symbol(scope, {.name = d.name,
                         .scope = scope,
                         .span = d.span,
                         .terminal = d.terminal,
                         .priority = d.priority,
                         .parameters = d.parameters,
                         .parts = {{scope, d.body}}});
      continue;
    }
    const bool extends = d.kind == DefinitionKind::Extend;
    const auto found = scopes_[scope].names.find(d.name);
    if (found == scopes_[scope].names.end()) {
      fail(scope, {DiagnosticKind::UndefinedRule, d.span, quoted(d.name),
                   std::string(extends ? "%extend adds to" : "%override replaces") +
                       " what is imported or defined above; write it without the sign"});
    }
    Symbol& symbol = symbols_[found->second];
    if (symbol.declared && extends) {
      fail(scope, {DiagnosticKind::Unsupported, d.span, "%extend of the declared " + quoted(d.name),
                   "a token of the model has no alternatives; name both in a rule"});
    }
    const bool same = std::ranges::equal(symbol.parameters, d.parameters,
                                         [](const Parameter& a, const Parameter& b) { return a.name == b.name; });
    if (extends && !same) {
      fail(scope, {DiagnosticKind::Unsupported, d.span, "%extend of " + quoted(d.name) + " with other parameters",
                   "parameters are the same, in name and number"});
    }
    if (!extends) {
      symbol.parts.clear();
      symbol.parameters = d.parameters;
      symbol.priority = d.priority;
      symbol.declared = false;
      symbol.scope = scope;
      symbol.span = d.span;
    }
    symbol.parts.push_back({scope, d.body});
  }
  if (scope != kMain) return;
  for (const Body& body : syntax.ignored) {
    const Expr& e = syntax.exprs[body.root];
    if (e.kind == Kind::Name) {
      ignored_.push_back(resolve(scope, syntax.texts[e.text], e.span));
      continue;
    }
    ignored_.push_back(static_cast<SymbolId>(symbols_.size()));
    symbols_.push_back({.name = "ignored", .scope = scope, .span = e.span, .terminal = true, .parts = {{scope, body}}});
  }
}

SymbolId Program::resolve(ScopeId scope, std::string_view name, Span where) const {
  const auto& names = scopes_[scope].names;
  if (const auto found = names.find(name); found != names.end()) return found->second;
  std::vector<std::string_view> known;
  for (const auto& [text, symbol] : names) {
    if (symbols_[symbol].terminal == is_terminal_name(name)) known.push_back(text);
  }
  std::sort(known.begin(), known.end());
  const std::string_view nearest = nearest_name(name, known);
  std::string hint;
  if (in_common(name))
    hint = "the library has it: %import common." + std::string(name);
  else if (!nearest.empty())
    hint = "did you mean " + quoted(nearest) + "?";
  else
    hint = is_terminal_name(name) ? "define it, or declare a token of the model with %declare" : "define it";
  fail(scope, {is_terminal_name(name) ? DiagnosticKind::UndefinedTerminal : DiagnosticKind::UndefinedRule, where,
               quoted(name), hint});
}

// Names of the main file that nothing uses are looked up as well. Those of imported files only when they are used.
void Program::check_main() const {
  const Syntax& syntax = main();
  for (const Definition& d : syntax.definitions) {
    for (const Parameter& p : d.parameters) {
      if (scopes_[kMain].names.contains(p.name)) {
        fail(kMain,
             {DiagnosticKind::DuplicateRule, p.span, "parameter " + quoted(p.name), "a rule has that name already"});
      }
    }
    for (std::uint32_t i = d.body.first; i <= d.body.root; ++i) {
      const Expr& e = syntax.exprs[i];
      if (e.kind != Kind::Name && e.kind != Kind::Template) continue;
      const std::string& name = syntax.texts[e.text];
      const bool parameter = std::ranges::any_of(d.parameters, [&](const Parameter& p) { return p.name == name; });
      if (!parameter) (void)resolve(kMain, name, {e.span.offset, static_cast<std::uint32_t>(name.size())});
    }
  }
}

void Program::fail(ScopeId scope, const Diagnostic& diagnostic) const {
  const Syntax& syntax = *scopes_[scope].syntax;
  throw grammar_error(syntax.source, syntax.file, diagnostic);
}

std::string Program::fingerprint() const {
  std::string all;
  for (std::size_t i = 1; i < files_.size(); ++i) {
    const std::string& text = files_[i]->source;
    all += ' ' + std::to_string(text.size()) + ' ' + text;
  }
  return all;
}

}  // namespace glr::lark
