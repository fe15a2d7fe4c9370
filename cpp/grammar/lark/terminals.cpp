#include "grammar/lark/terminals.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "grammar/diagnostic.hpp"
#include "grammar/lark/reluctant.hpp"
#include "grammar/regex.hpp"
#include "grammar/unicode.hpp"
#include "support/utf8.hpp"

namespace glr::lark {
namespace {

constexpr std::size_t kMostWritten = 4'000'000;        // nodes of terminals, written out again in others
constexpr std::uint64_t kLargestTerminal = 1'000'000;  // nodes when what it uses is written out in each place

// Matches the empty text and nothing else.
bool only_empty(const RegexTree& tree) {
  std::vector<bool> empty(tree.nodes.size());
  for (std::size_t i = 0; i < empty.size(); ++i) {
    const RegexNode& n = tree.nodes[i];
    const bool group = n.kind == RegexKind::Sequence || n.kind == RegexKind::Choice;
    empty[i] = group && (n.kind == RegexKind::Sequence || n.count > 0) &&
               std::ranges::all_of(tree.parts(n), [&](std::uint32_t part) { return empty[part]; });
  }
  return empty[tree.root];
}

// The first assertion that asks for what may lie outside the terminal, where it takes the terminal's ends for those of
// the text: look-ahead that can be longer than the rest of the terminal, look-behind where nothing may come before.
const RegexNode* outward_assertion(const RegexTree& tree) {
  constexpr std::uint64_t kEndless = std::uint64_t{1} << 32;
  const std::size_t count = tree.nodes.size();
  struct Length {
    std::uint64_t least = 0;
    std::uint64_t most = 0;
  };
  std::vector<Length> lengths(count);
  for (std::size_t i = 0; i < count; ++i) {
    const RegexNode& n = tree.nodes[i];
    const auto parts = tree.parts(n);
    Length& l = lengths[i];
    if (n.kind == RegexKind::Class) l = {1, 1};
    if (n.kind == RegexKind::Choice && !parts.empty()) l.least = kEndless;
    for (const std::uint32_t part : parts) {
      const Length& p = lengths[part];
      if (n.kind == RegexKind::Sequence) l = {l.least + p.least, l.most + p.most};
      if (n.kind == RegexKind::Choice) l = {std::min(l.least, p.least), std::max(l.most, p.most)};
      if (n.kind == RegexKind::Repeat) l = {n.min * p.least, n.max == kUnbounded ? kEndless : n.max * p.most};
    }
    l = {std::min(l.least, kEndless), std::min(l.most, kEndless)};
  }
  // What comes before and after a node at least, parents first.
  std::vector<std::uint64_t> before(count, kEndless);
  std::vector<std::uint64_t> after(count, kEndless);
  before[tree.root] = after[tree.root] = 0;
  for (std::size_t i = count; i-- > 0;) {
    const RegexNode& n = tree.nodes[i];
    if (before[i] == kEndless && after[i] == kEndless) continue;  // in no other place than look-ahead
    if (n.kind == RegexKind::Ahead && lengths[tree.parts(n)[0]].most > after[i]) return &n;
    if ((n.kind == RegexKind::Behind || n.kind == RegexKind::Start) && before[i] == 0) return &n;
    if (n.kind == RegexKind::End && after[i] == 0) return &n;
    if (n.kind == RegexKind::Ahead) continue;
    std::uint64_t left = before[i];
    std::uint64_t right = after[i] + (n.kind == RegexKind::Sequence ? lengths[i].least : 0);
    for (const std::uint32_t part : tree.parts(n)) {
      if (n.kind == RegexKind::Sequence) right -= std::min(right, lengths[part].least);
      before[part] = std::min(before[part], left);
      after[part] = std::min(after[part], right);
      if (n.kind == RegexKind::Sequence) left += lengths[part].least;
    }
  }
  return nullptr;
}

// Has one text: a row of single code points.
bool single_text(const RegexTree& tree) {
  const auto single = [&](std::uint32_t id) {
    const RegexNode& n = tree.nodes[id];
    if (n.kind != RegexKind::Class) return false;
    const auto& ranges = tree.classes[n.index];
    return ranges.size() == 1 && ranges[0].first == ranges[0].last;
  };
  const RegexNode& root = tree.nodes[tree.root];
  return single(tree.root) || (root.kind == RegexKind::Sequence && std::ranges::all_of(tree.parts(root), single));
}

}  // namespace

NodeId Terminals::lexeme(SymbolId terminal, Span use) {
  if (known_[terminal].lexeme) return *known_[terminal].lexeme;
  const Symbol& symbol = program_.symbol(terminal);
  if (symbol.declared) {
    const std::string_view bare = symbol.name.substr(symbol.name.find_first_not_of('_'));
    if (bare == "INDENT" || bare == "DEDENT") {
      program_.fail(symbol.scope,
                    {DiagnosticKind::Unsupported, symbol.span, "terminal " + quoted(symbol.name),
                     "it is made by a program that counts indentation (Lark's Indenter), which no grammar says; write "
                     "blocks with brackets, or indentation of a fixed depth as text"});
    }
    const NodeId token = builder_.token({.text = std::string(symbol.name)}, use);
    known_[terminal].lexeme = token;
    return token;
  }
  const NodeId made = lexeme_of(operand(terminal), program_.in_main(symbol.scope, symbol.span));
  known_[terminal].lexeme = made;
  return made;
}

NodeId Terminals::lexeme(ScopeId scope, const Expr& expr) {
  return lexeme_of(build(scope, expr, {}), program_.in_main(scope, expr.span));
}

void Terminals::check() {
  for (SymbolId id = 0; id < known_.size(); ++id) {
    if (program_.symbol(id).terminal && program_.symbol(id).scope == Program::kMain) (void)order(id);
  }
}

// What a terminal is made of.

std::vector<Terminals::Use> Terminals::uses(const Symbol& symbol) const {
  std::vector<Use> found;
  for (const Part& part : symbol.parts) {
    const Syntax& syntax = *program_.scope(part.scope).syntax;
    for (std::uint32_t i = part.body.first; i <= part.body.root; ++i) {
      const Expr& e = syntax.exprs[i];
      if (e.kind != Kind::Name) continue;
      const SymbolId used = program_.resolve(part.scope, syntax.texts[e.text], e.span);
      const Symbol& other = program_.symbol(used);
      if (!other.terminal) {
        program_.fail(part.scope, {DiagnosticKind::Unsupported, e.span, "rule " + quoted(other.name) + " in a terminal",
                                   "terminals are made of texts, patterns and terminals; make a rule of it, in lower "
                                   "case, or a terminal of the other"});
      }
      if (other.declared) {
        program_.fail(part.scope,
                      {DiagnosticKind::Unsupported, e.span, "token " + quoted(other.name) + " in a terminal",
                       "terminals are made of texts; name the token in a rule"});
      }
      found.push_back({used, part.scope, e.span});
    }
  }
  return found;
}

// The terminal and all that it uses and that was not looked at before, what is used first.
std::vector<SymbolId> Terminals::order(SymbolId symbol) {
  struct Open {
    SymbolId symbol;
    std::vector<Use> uses;
    std::size_t at = 0;
  };
  std::vector<SymbolId> done;
  std::vector<Open> open;
  const auto enter = [&](SymbolId id) {
    known_[id].state = Known::State::Open;
    open.push_back({id, uses(program_.symbol(id))});
  };
  if (known_[symbol].state == Known::State::New) enter(symbol);
  while (!open.empty()) {
    Open& top = open.back();
    if (top.at == top.uses.size()) {
      known_[top.symbol].state = Known::State::Done;
      done.push_back(top.symbol);
      open.pop_back();
      continue;
    }
    const Use use = top.uses[top.at++];
    if (known_[use.symbol].state == Known::State::Done) continue;
    if (known_[use.symbol].state == Known::State::Open) {
      const std::string_view self = program_.symbol(use.symbol).name;
      const bool direct = use.symbol == top.symbol;
      program_.fail(use.scope, {DiagnosticKind::Unsupported, use.span, "recursive terminal " + quoted(self),
                                (direct ? "it refers to itself"
                                        : "it refers to itself through " + quoted(program_.symbol(top.symbol).name)) +
                                    "; recursion is for rules, in lower case"});
    }
    enter(use.symbol);
  }
  return done;
}

const Terminals::Operand& Terminals::operand(SymbolId symbol) {
  // What check() has put in order is built here all the same.
  std::vector<SymbolId> todo{symbol};
  while (!todo.empty()) {
    const SymbolId top = todo.back();
    if (known_[top].operand) {
      todo.pop_back();
      continue;
    }
    if (known_[top].state == Known::State::New) (void)order(top);
    const std::size_t before = todo.size();
    for (const Use& use : uses(program_.symbol(top))) {
      if (!known_[use.symbol].operand) todo.push_back(use.symbol);
    }
    if (todo.size() > before) continue;
    const Symbol& s = program_.symbol(top);
    std::vector<Operand> parts;
    for (const Part& part : s.parts) parts.push_back(build(part.scope, part.body));
    known_[top].operand = choice(parts, program_.in_main(s.scope, s.span));
    todo.pop_back();
  }
  return *known_[symbol].operand;
}

Terminals::Operand Terminals::build(ScopeId scope, const Body& body) {
  const Syntax& syntax = *program_.scope(scope).syntax;
  std::vector<Operand> built;
  std::vector<Operand> parts;
  for (std::uint32_t i = body.first; i <= body.root; ++i) {
    const Expr& e = syntax.exprs[i];
    parts.clear();
    for (const std::uint32_t part : syntax.parts(e)) parts.push_back(built[part - body.first]);
    built.push_back(build(scope, e, parts));
  }
  return built.back();
}

Terminals::Operand Terminals::build(ScopeId scope, const Expr& e, std::span<const Operand> parts) {
  const Syntax& syntax = *program_.scope(scope).syntax;
  const Span where = program_.in_main(scope, e.span);
  switch (e.kind) {
    case Kind::Text:
      return text(scope, e);
    case Kind::Range:
      return tree(tree_.add_class({{e.first_code_point, e.last_code_point}}, where));
    case Kind::Pattern: {
      const std::size_t first = tree_.nodes.size();
      const std::uint32_t root = read_regex(tree_, {.source = syntax.source,
                                                    .part = e.part,
                                                    .flags = syntax.texts[e.text],
                                                    .file = syntax.file,
                                                    .dialect = RegexDialect::Python});
      for (std::size_t i = first; scope != Program::kMain && i < tree_.nodes.size(); ++i) tree_.nodes[i].span = where;
      return tree(root);
    }
    case Kind::Name:
      return *known_[program_.resolve(scope, syntax.texts[e.text], e.span)].operand;
    case Kind::Substring:
      return node(builder_.substrings(std::span(syntax.texts).subspan(e.text, e.count), where));
    case Kind::Sequence:
    case Kind::Choice:
    case Kind::Repeat:
    case Kind::Both:
    case Kind::Not:
      return combined(e.kind, e, parts, where);
    case Kind::Template:
    case Kind::Tokens:
    case Kind::Json:
      break;
  }
  const std::string what = e.kind == Kind::Template ? "template"
                           : e.kind == Kind::Json   ? "%json"
                                                    : "token of the model";
  program_.fail(scope, {DiagnosticKind::Unsupported, e.span, what + " in a terminal",
                        "terminals are made of texts and patterns; write it in a rule, in lower case"});
}

Terminals::Operand Terminals::text(ScopeId scope, const Expr& e) {
  const std::string& value = program_.scope(scope).syntax->texts[e.text];
  const Span where = program_.in_main(scope, e.span);
  std::vector<std::uint32_t> parts;
  for (std::size_t i = 0; i < value.size();) {
    const DecodedCodePoint c = decode_utf8(value, i);
    std::vector<CodePointRange> ranges{{c.value, c.value}};
    if (e.ignore_case) {
      const auto [it, fresh] = case_variants_.try_emplace(c.value);
      if (fresh) it->second = with_case_variants(ranges);
      ranges = it->second;
    }
    parts.push_back(tree_.add_class(std::move(ranges), where));
    i += c.length;
  }
  return tree(tree_.add(RegexKind::Sequence, parts, where));
}

Terminals::Operand Terminals::choice(const std::vector<Operand>& parts, Span span) {
  if (parts.size() == 1) return parts.front();
  return combined(Kind::Choice, {.kind = Kind::Choice, .span = span}, parts, span);
}

Terminals::Operand Terminals::combined(Kind kind, const Expr& e, std::span<const Operand> parts, Span where) {
  const bool regex = kind == Kind::Sequence || kind == Kind::Choice || kind == Kind::Repeat;
  if (regex && std::ranges::all_of(parts, &Operand::in_tree)) {
    std::vector<std::uint32_t> ids;
    for (const Operand& part : parts) ids.push_back(part.tree);
    if (kind == Kind::Repeat) return tree(tree_.add_repeat(ids.front(), e.min, e.max, where));
    return tree(tree_.add(kind == Kind::Sequence ? RegexKind::Sequence : RegexKind::Choice, ids, where));
  }
  std::vector<NodeId> nodes;
  for (const Operand& part : parts) nodes.push_back(node_of(part, where));
  switch (kind) {
    case Kind::Sequence:
      return node(builder_.sequence(nodes, where));
    case Kind::Choice:
      return node(builder_.choice(nodes, where));
    case Kind::Both:
      return node(builder_.intersection(nodes, where));
    case Kind::Not: {
      const NodeId texts = builder_.repeat(builder_.code_points({{0, kMaxCodePoint}}, where), 0, kUnbounded, where);
      const NodeId both[] = {builder_.complement(nodes.front(), where), texts};
      return node(builder_.intersection(both, where));
    }
    default:
      return node(builder_.repeat(nodes.front(), e.min, e.max, where));
  }
}

// Translation.

NodeId Terminals::node_of(const Operand& operand, Span where) {
  return operand.in_tree ? translated(cut_out(operand.tree, where), where) : operand.node;
}

NodeId Terminals::lexeme_of(const Operand& operand, Span where) {
  const bool longest = lexing_ == LarkOptions::Lexing::Longest;
  if (!operand.in_tree) return longest ? builder_.terminal(operand.node, where) : operand.node;
  RegexTree tree = cut_out(operand.tree, where);
  const bool single = single_text(tree);
  const NodeId node = translated(std::move(tree), where);
  return longest && !single ? builder_.terminal(node, where) : node;
}

// The part of tree_ below a node, as a tree of its own.
RegexTree Terminals::cut_out(std::uint32_t root, Span where) {
  std::vector<std::uint32_t> ids{root};
  std::unordered_map<std::uint32_t, std::uint32_t> copies{{root, 0}};
  for (std::size_t i = 0; i < ids.size(); ++i) {
    for (const std::uint32_t part : tree_.parts(tree_.nodes[ids[i]])) {
      if (copies.try_emplace(part, 0).second) ids.push_back(part);
    }
  }
  std::sort(ids.begin(), ids.end());
  written_ += ids.size();
  RegexTree cut;
  std::vector<std::uint64_t> sizes;
  for (const std::uint32_t id : ids) {
    RegexNode n = tree_.nodes[id];
    const auto parts = tree_.parts(n);
    std::uint64_t size = 1;
    n.first = static_cast<std::uint32_t>(cut.children.size());
    for (const std::uint32_t part : parts) {
      cut.children.push_back(copies[part]);
      size += sizes[copies[part]];
    }
    sizes.push_back(std::min(size, kLargestTerminal + 1));
    if (n.kind == RegexKind::Class || n.kind == RegexKind::Behind) {
      cut.classes.push_back(tree_.classes[n.index]);
      n.index = static_cast<std::uint32_t>(cut.classes.size() - 1);
    }
    copies[id] = static_cast<std::uint32_t>(cut.nodes.size());
    cut.nodes.push_back(n);
  }
  if (sizes.back() > kLargestTerminal || written_ > tree_.nodes.size() + kMostWritten) {
    program_.fail(Program::kMain, {DiagnosticKind::LimitExceeded, where, "the terminal is too large written out",
                                   "terminals that it uses count in each place; use repetitions, or rules"});
  }
  cut.root = copies[root];
  return cut;
}

NodeId Terminals::translated(RegexTree tree, Span where) {
  const Syntax& main = program_.main();
  if (const RegexNode* outward = outward_assertion(tree)) {
    builder_.warn(place_text(place_of(main.source, outward->span.offset)) + ": " +
                  quoted(main.source.substr(outward->span.offset, outward->span.length)) +
                  " in a terminal sees no further than the terminal's ends, where Lark looks at the text around it");
  }
  const bool reluctant = has_reluctant(tree);
  write_out_reluctant(tree, main.source, main.file);
  if (reluctant && only_empty(tree)) {
    program_.fail(Program::kMain,
                  {DiagnosticKind::Unsupported, where, "terminal that matches only the empty text",
                   "a reluctant quantifier at the end of a terminal stops at once; let it be greedy, or put what ends "
                   "it into the same terminal: /.*?;/"});
  }
  RegexSettings settings;
  settings.span = where;
  settings.spans = true;
  settings.file = main.file;
  return regex_match(builder_, tree, main.source, settings);
}

}  // namespace glr::lark
