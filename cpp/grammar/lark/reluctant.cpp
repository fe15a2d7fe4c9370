// A node is written out once for each `rest` that it has. First all pairs of the two are found, from the root down;
// then they are built, children first: a child has a smaller number than what it stands in.
#include "grammar/lark/reluctant.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "grammar/diagnostic.hpp"

namespace glr::lark {
namespace {

using Ranges = std::vector<CodePointRange>;

constexpr std::size_t kMostPairs = 100'000;
constexpr std::uint32_t kAsItIs = 0xFFFFFFFF;

// By node: a reluctant quantifier is it or is in it.
std::vector<bool> reluctant_nodes(const RegexTree& tree) {
  std::vector<bool> found(tree.nodes.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const RegexNode& n = tree.nodes[i];
    if (n.kind == RegexKind::Ahead) continue;
    found[i] = n.reluctant || std::ranges::any_of(tree.parts(n), [&](std::uint32_t part) { return found[part]; });
  }
  return found;
}

// By node: may match the empty text somewhere.
std::vector<bool> empty_nodes(const RegexTree& tree) {
  std::vector<bool> empty(tree.nodes.size());
  for (std::size_t i = 0; i < empty.size(); ++i) {
    const RegexNode& n = tree.nodes[i];
    const auto is_empty = [&](std::uint32_t part) { return empty[part]; };
    const auto parts = tree.parts(n);
    switch (n.kind) {
      case RegexKind::Class:
        break;
      case RegexKind::Sequence:
        empty[i] = std::ranges::all_of(parts, is_empty);
        break;
      case RegexKind::Choice:
        empty[i] = std::ranges::any_of(parts, is_empty);
        break;
      case RegexKind::Repeat:
        empty[i] = n.min == 0 || empty[parts[0]];
        break;
      default:
        empty[i] = true;
    }
  }
  return empty;
}

class Writer {
 public:
  Writer(RegexTree& tree, std::string_view source, std::string_view file)
      : tree_(tree), source_(source), file_(file), reluctant_(reluctant_nodes(tree)), empty_(empty_nodes(tree)) {}

  void write() {
    const Span where = tree_.nodes[tree_.root].span;
    nothing_more_ = tree_.add(RegexKind::Sequence, {}, where);
    pair(tree_.root, nothing_more_);
    for (std::size_t i = 0; i < pairs_.size(); ++i) find_parts(i);
    std::vector<std::size_t> order(pairs_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return pairs_[a].node < pairs_[b].node; });
    for (const std::size_t i : order) pairs_[i].written = written(pairs_[i]);
    tree_.root = pairs_[0].written;
  }

 private:
  struct Pair {
    std::uint32_t node;
    std::uint32_t rest;
    std::vector<std::uint32_t> parts{};  // pairs, or kAsItIs
    std::uint32_t written = 0;
  };

  // The pair's number; kAsItIs when there is nothing to write out.
  std::uint32_t pair(std::uint32_t node, std::uint32_t rest) {
    if (!reluctant_[node]) return kAsItIs;
    const auto [it, fresh] = known_.try_emplace({node, rest}, static_cast<std::uint32_t>(pairs_.size()));
    if (!fresh) return it->second;
    if (pairs_.size() == kMostPairs) {
      throw grammar_error(
          source_, file_,
          {DiagnosticKind::LimitExceeded, tree_.nodes[node].span, "the terminal has too many reluctant quantifiers",
           "write what may stand before the end instead: [^\"]* for .*? before a quote"});
    }
    pairs_.push_back({.node = node, .rest = rest});
    return it->second;
  }

  void find_parts(std::size_t at) {
    const RegexNode n = tree_.nodes[pairs_[at].node];
    std::uint32_t rest = pairs_[at].rest;
    std::vector<std::uint32_t> parts(n.count);
    switch (n.kind) {
      case RegexKind::Sequence:
        for (std::uint32_t i = n.count; i-- > 0;) {
          const std::uint32_t part = tree_.children[n.first + i];
          parts[i] = pair(part, rest);
          if (i > 0) rest = then(part, rest);
        }
        break;
      case RegexKind::Choice:
        for (std::uint32_t i = 0; i < n.count; ++i) parts[i] = pair(tree_.children[n.first + i], rest);
        break;
      default: {
        const std::uint32_t part = tree_.children[n.first];
        if (n.max > 1) rest = then(tree_.add_repeat(part, 0, kUnbounded, n.span), rest);
        parts[0] = n.max > 1 && empty_[part] ? kAsItIs : pair(part, rest);
      }
    }
    pairs_[at].parts = std::move(parts);
  }

  std::uint32_t then(std::uint32_t part, std::uint32_t rest) {
    if (rest == nothing_more_) return part;
    const std::uint32_t both[] = {part, rest};
    return tree_.add(RegexKind::Sequence, both, tree_.nodes[part].span);
  }

  std::uint32_t written(const Pair& p) {
    const RegexNode n = tree_.nodes[p.node];
    std::vector<std::uint32_t> parts;
    for (std::uint32_t i = 0; i < n.count; ++i) {
      parts.push_back(p.parts[i] == kAsItIs ? tree_.children[n.first + i] : pairs_[p.parts[i]].written);
    }
    if (n.kind != RegexKind::Repeat) return tree_.add(n.kind, parts, n.span);
    const std::uint32_t part = parts[0];
    if (!n.reluctant || n.min == n.max) return tree_.add_repeat(part, n.min, n.max, n.span);
    const std::uint32_t due = tree_.add_repeat(part, n.min, n.min, n.span);
    const RegexNode& rest = tree_.nodes[p.rest];
    if (rest.nullable && !rest.assertion) return due;
    const std::uint32_t more = n.max == kUnbounded ? kUnbounded : n.max - n.min;
    const std::uint32_t both[] = {due, tree_.add_repeat(before(part, p.rest, n.span), 0, more, n.span)};
    return n.min == 0 ? both[1] : tree_.add(RegexKind::Sequence, both, n.span);
  }

  // (?!rest)part
  std::uint32_t before(std::uint32_t part, std::uint32_t rest, Span where) {
    const auto allowed = class_of(part);
    const auto ends = class_of(rest);
    if (allowed && ends) {
      Ranges others = complement(*allowed);
      others.insert(others.end(), ends->begin(), ends->end());
      return tree_.add_class(complement(others), where);
    }
    const std::uint32_t both[] = {tree_.add_ahead(rest, true, where), part};
    return tree_.add(RegexKind::Sequence, both, where);
  }

  // Of a node that reads one code point, whatever else.
  std::optional<Ranges> class_of(std::uint32_t node) const {
    const RegexNode& n = tree_.nodes[node];
    if (n.kind == RegexKind::Class) return tree_.classes[n.index];
    if (n.kind != RegexKind::Choice) return std::nullopt;
    Ranges all;
    for (const std::uint32_t part : tree_.parts(n)) {
      if (tree_.nodes[part].kind != RegexKind::Class) return std::nullopt;
      const Ranges& ranges = tree_.classes[tree_.nodes[part].index];
      all.insert(all.end(), ranges.begin(), ranges.end());
    }
    return normalised(std::move(all));
  }

  RegexTree& tree_;
  std::string_view source_;
  std::string_view file_;
  std::vector<bool> reluctant_;  // of the nodes that were there first
  std::vector<bool> empty_;
  std::uint32_t nothing_more_ = 0;
  std::vector<Pair> pairs_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known_;
};

}  // namespace

bool has_reluctant(const RegexTree& tree) { return reluctant_nodes(tree)[tree.root]; }

void write_out_reluctant(RegexTree& tree, std::string_view source, std::string_view file) {
  if (has_reluctant(tree)) Writer(tree, source, file).write();
}

}  // namespace glr::lark
