#include "grammar/dump.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <unordered_set>
#include <vector>

#include "support/utf8.hpp"

namespace glr {
namespace {

// Rules to the text that names them in the dump: GBNF names, each only once.
std::vector<std::string> rule_names(const Grammar& grammar) {
  const auto is_gbnf_name = [](const std::string& name) {
    return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    });
  };
  std::vector<std::string> names;
  std::unordered_set<std::string> used;
  for (const Rule& rule : grammar.rules()) used.insert(rule.name);
  std::unordered_set<std::string> taken;
  for (const Rule& rule : grammar.rules()) {
    std::string name = rule.name;
    if (!is_gbnf_name(name) || taken.contains(name)) {
      name = "rule-" + std::to_string(names.size());
      while (used.contains(name) || taken.contains(name)) name += '_';
    }
    taken.insert(name);
    names.push_back(std::move(name));
  }
  return names;
}

void append_character(std::string& out, char32_t c, bool in_class) {
  const auto hex = [&](const char* format) {
    char buffer[16];
    std::snprintf(buffer, sizeof buffer, format, static_cast<unsigned>(c));
    out += buffer;
  };
  if (c == '\n')
    out += "\\n";
  else if (c == '\r')
    out += "\\r";
  else if (c == '\t')
    out += "\\t";
  else if (c == '\\')
    out += "\\\\";
  else if (c == '"' && !in_class)
    out += "\\\"";
  else if (in_class && (c == '[' || c == ']' || c == '-'))
    out += std::string("\\") + static_cast<char>(c);
  else if (in_class && c == '^')
    out += "\\x5E";
  else if (c < 0x20 || (c >= 0x7F && c < 0xA0))
    hex("\\x%02X");
  else if (c > 0xFFFF && (in_class || c >= 0xE0000))
    hex("\\U%08X");
  else if ((in_class && c >= 0x7F) || (c >= 0x2000 && c <= 0x206F) || (c >= 0xD800 && c <= 0xF8FF) || c >= 0xFFF0)
    hex(c > 0xFFFF ? "\\U%08X" : "\\u%04X");
  else
    append_utf8(out, c);
}

void append_literal(std::string& out, std::string_view bytes) {
  out += '"';
  for (std::size_t i = 0; i < bytes.size();) {
    const DecodedCodePoint c = decode_utf8(bytes, i);
    append_character(out, c.length == 0 ? static_cast<unsigned char>(bytes[i]) : c.value, false);
    i += std::max<std::size_t>(c.length, 1);
  }
  out += '"';
}

void append_class(std::string& out, std::span<const CodePointRange> ranges) {
  const std::vector<CodePointRange> rest = complement(ranges);
  if (rest.empty()) {
    out += '.';
    return;
  }
  // Negated when that is shorter, as its author will have written it.
  const bool negated = rest.size() < ranges.size() && !ranges.empty();
  out += negated ? "[^" : "[";
  for (const auto& [first, last] : negated ? std::span<const CodePointRange>(rest) : ranges) {
    append_character(out, first, true);
    if (first == last) continue;
    if (last > first + 1) out += '-';
    append_character(out, last, true);
  }
  out += ']';
}

void append_quantifier(std::string& out, const Node& node) {
  if (node.min == 0 && node.max == kUnbounded)
    out += '*';
  else if (node.min == 1 && node.max == kUnbounded)
    out += '+';
  else if (node.min == 0 && node.max == 1)
    out += '?';
  else {
    out += '{' + std::to_string(node.min);
    if (node.max != node.min) out += ',' + (node.max == kUnbounded ? "" : std::to_string(node.max));
    out += '}';
  }
}

// How tightly what stands around a node binds: a node that binds less needs parentheses.
enum class Binding : std::uint8_t { Body, Alternative, Element };

void append_node(std::string& out, const Grammar& grammar, NodeId root, const std::vector<std::string>& names) {
  // What is left to print, last first: a node, or a piece of text.
  struct Step {
    NodeId node{};
    Binding around{};
    const char* text = nullptr;
    const Node* quantified = nullptr;
  };
  std::vector<Step> steps = {{.node = root}};
  while (!steps.empty()) {
    const Step step = steps.back();
    steps.pop_back();
    if (step.text != nullptr) {
      out += step.text;
      continue;
    }
    if (step.quantified != nullptr) {
      append_quantifier(out, *step.quantified);
      continue;
    }
    const Node& node = grammar.node(step.node);
    switch (node.kind) {
      case NodeKind::Literal:
        append_literal(out, grammar.literal(node));
        break;
      case NodeKind::CodePoints:
        append_class(out, grammar.ranges(node));
        break;
      case NodeKind::RuleRef:
        out += names[node.first];
        break;
      case NodeKind::Token: {
        const TokenLiteral& token = grammar.token_literal(node);
        if (token.negated) out += '!';
        out += token.text.empty() ? "<[" + std::to_string(token.id) + "]>" : token.text;
        break;
      }
      case NodeKind::Members: {
        // {separator: name value, name value?, +additional}: the ones with a question mark may be left out. In angle
        // brackets: in any order.
        const Members& members = grammar.members(node);
        const auto children = grammar.children(node);
        const std::size_t named_members = members.required.size();
        steps.push_back({.text = members.ordered ? "}" : ">"});
        for (std::size_t way = members.ways.size(); way-- > 0;) {
          const std::uint32_t member = members.ways[way].member;
          const bool named = member < named_members;
          if (named && !members.required[member]) steps.push_back({.text = "?"});
          steps.push_back({.node = children[1 + named_members + way], .around = Binding::Element});
          steps.push_back({.text = named ? " " : "+"});
          if (named) steps.push_back({.node = children[1 + member], .around = Binding::Element});
          steps.push_back({.text = way == 0 ? ": " : ", "});
        }
        steps.push_back({.node = children[0], .around = Binding::Element});
        out += members.ordered ? '{' : '<';
        break;
      }
      case NodeKind::Complement:
        out += '~';
        steps.push_back({.node = grammar.children(node).front(), .around = Binding::Element});
        break;
      case NodeKind::Terminal:
        out += "@(";
        steps.push_back({.text = ")"});
        if (node.count > 1) {  // what it competes with behind a bar of its own
          steps.push_back({.node = grammar.children(node).back(), .around = Binding::Body});
          steps.push_back({.text = " // "});
        }
        steps.push_back({.node = grammar.children(node).front(), .around = Binding::Body});
        break;
      case NodeKind::Repeat:
        steps.push_back({.quantified = &node});
        steps.push_back({.node = grammar.children(node).front(), .around = Binding::Element});
        break;
      case NodeKind::Sequence:
      case NodeKind::Intersection:
      case NodeKind::Choice: {
        const bool choice = node.kind == NodeKind::Choice;
        const bool sequence = node.kind == NodeKind::Sequence;
        const auto children = grammar.children(node);
        if (children.empty()) {
          out += "[]";
          break;
        }
        const bool parentheses = step.around == Binding::Element || (!sequence && step.around != Binding::Body);
        if (parentheses) {
          out += '(';
          steps.push_back({.text = ")"});
        }
        for (std::size_t i = children.size(); i-- > 0;) {
          steps.push_back({.node = children[i], .around = sequence ? Binding::Element : Binding::Alternative});
          if (i > 0) steps.push_back({.text = choice ? " | " : sequence ? " " : " & "});
        }
        break;
      }
    }
  }
}

}  // namespace

std::string dump(const Grammar& grammar) {
  std::vector<std::size_t> order(grammar.rules().size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return grammar.rules()[a].span.offset < grammar.rules()[b].span.offset;
  });
  const std::vector<std::string> names = rule_names(grammar);
  std::string out;
  for (const std::size_t i : order) {
    out += names[i] + " ::= ";
    append_node(out, grammar, grammar.rules()[i].body, names);
    out += '\n';
  }
  return out;
}

std::string dump(const Grammar& grammar, NodeId node) {
  std::string out;
  append_node(out, grammar, node, rule_names(grammar));
  return out;
}

}  // namespace glr
