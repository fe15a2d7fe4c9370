#include "glrsampler/grammar.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "grammar/dump.hpp"
#include "grammar/saved_grammar.hpp"
#include "support/hash.hpp"
#include "support/id_map.hpp"
#include "support/sha256.hpp"

namespace glr {
namespace {

constexpr char32_t kBeforeSurrogates = 0xD7FF;
constexpr char32_t kAfterSurrogates = 0xE000;

std::uint32_t checked_size(std::size_t size) {
  if (size > std::numeric_limits<std::uint32_t>::max()) throw std::length_error("a grammar of more than 2^32 nodes");
  return static_cast<std::uint32_t>(size);
}

}  // namespace

std::vector<CodePointRange> normalised(std::vector<CodePointRange> ranges) {
  std::vector<CodePointRange> scalar;
  scalar.reserve(ranges.size());
  const auto keep = [&](char32_t first, char32_t last) {
    if (first <= last) scalar.push_back({first, last});
  };
  for (const auto& [first, last] : ranges) {
    keep(first, std::min(last, kBeforeSurrogates));
    keep(std::max(first, kAfterSurrogates), std::min(last, kMaxCodePoint));
  }
  std::sort(scalar.begin(), scalar.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<CodePointRange> merged;
  for (const CodePointRange& range : scalar) {
    if (!merged.empty() && range.first <= merged.back().last + 1)
      merged.back().last = std::max(merged.back().last, range.last);
    else
      merged.push_back(range);
  }
  return merged;
}

std::vector<CodePointRange> complement(std::span<const CodePointRange> ranges) {
  std::vector<CodePointRange> gaps;
  char32_t next = 0;  // the first code point not yet decided
  for (const auto& [first, last] : normalised({ranges.begin(), ranges.end()})) {
    if (next < first) gaps.push_back({next, first - 1});
    next = last + 1;
  }
  if (next <= kMaxCodePoint) gaps.push_back({next, kMaxCodePoint});
  return normalised(std::move(gaps));
}

GrammarBuilder::GrammarBuilder(std::string_view source, std::string_view file, std::string_view front_end)
    : front_end_(front_end) {
  grammar_.source_ = source;
  grammar_.file_ = file;
  grammar_.kind_ = front_end.substr(0, front_end.find(' '));
}

GrammarBuilder::GrammarBuilder(const GrammarBuilder& other)
    : grammar_(other.grammar_),
      defined_(other.defined_),
      front_end_(other.front_end_),
      shared_(other.shared_ ? std::make_unique<IdIndex>(*other.shared_) : nullptr) {}
GrammarBuilder::GrammarBuilder(GrammarBuilder&&) noexcept = default;
GrammarBuilder& GrammarBuilder::operator=(GrammarBuilder other) noexcept {
  std::swap(grammar_, other.grammar_);
  std::swap(defined_, other.defined_);
  std::swap(front_end_, other.front_end_);
  std::swap(shared_, other.shared_);
  return *this;
}
GrammarBuilder::~GrammarBuilder() = default;

void GrammarBuilder::share_nodes() {
  if (!shared_) shared_ = std::make_unique<IdIndex>();
}

// What the node consists of has just been put at the end of its array.
NodeId GrammarBuilder::add_or_share(Node node) {
  const auto put = [&](auto& parts, auto&& number_of) {
    const auto equal = [&](std::uint32_t id) {
      const Node& other = grammar_.nodes_[id];
      return other.kind == node.kind && other.count == node.count && other.min == node.min && other.max == node.max &&
             other.span.length == 0 && other.span.offset == 0 &&
             std::equal(parts.begin() + node.first, parts.end(), parts.begin() + other.first);
    };
    std::uint64_t hash = mix(static_cast<std::uint64_t>(node.kind), node.count);
    hash = mix(hash, std::uint64_t{node.min} << 32 | node.max);
    for (auto it = parts.begin() + node.first; it != parts.end(); ++it) hash = mix(hash, number_of(*it));
    const std::uint32_t known = shared_->find(hash, equal);
    if (known == IdIndex::kMissing) {
      shared_->insert(hash, checked_size(grammar_.nodes_.size()));
      grammar_.nodes_.push_back(node);
      return NodeId{checked_size(grammar_.nodes_.size() - 1)};
    }
    parts.resize(node.first);
    return NodeId{known};
  };
  if (node.kind == NodeKind::Literal)
    return put(grammar_.bytes_, [](char c) { return static_cast<std::uint64_t>(static_cast<unsigned char>(c)); });
  if (node.kind == NodeKind::CodePoints)
    return put(grammar_.ranges_, [](const CodePointRange& r) { return std::uint64_t{r.first} << 32 | r.last; });
  return put(grammar_.children_, [](NodeId id) { return static_cast<std::uint64_t>(id); });
}

NodeId GrammarBuilder::add(Node node) {
  const bool has_parts =
      node.kind != NodeKind::RuleRef && node.kind != NodeKind::Token && node.kind != NodeKind::Members;
  if (shared_ && has_parts && node.span.offset == 0 && node.span.length == 0) return add_or_share(node);
  const std::uint32_t id = checked_size(grammar_.nodes_.size());
  grammar_.nodes_.push_back(node);
  return NodeId{id};
}

NodeId GrammarBuilder::literal(std::string_view bytes, Span span) {
  const std::uint32_t first = checked_size(grammar_.bytes_.size());
  grammar_.bytes_ += bytes;
  return add({.kind = NodeKind::Literal, .span = span, .first = first, .count = checked_size(bytes.size())});
}

NodeId GrammarBuilder::code_points(std::vector<CodePointRange> ranges, Span span) {
  ranges = normalised(std::move(ranges));
  const std::uint32_t first = checked_size(grammar_.ranges_.size());
  grammar_.ranges_.insert(grammar_.ranges_.end(), ranges.begin(), ranges.end());
  return add({.kind = NodeKind::CodePoints, .span = span, .first = first, .count = checked_size(ranges.size())});
}

NodeId GrammarBuilder::rule_ref(RuleId rule, Span span) {
  return add({.kind = NodeKind::RuleRef, .span = span, .first = static_cast<std::uint32_t>(rule)});
}

NodeId GrammarBuilder::sequence(std::span<const NodeId> children, Span span) {
  if (children.empty()) return empty(span);
  if (children.size() == 1) return children.front();
  const std::uint32_t first = checked_size(grammar_.children_.size());
  grammar_.children_.insert(grammar_.children_.end(), children.begin(), children.end());
  return add({.kind = NodeKind::Sequence, .span = span, .first = first, .count = checked_size(children.size())});
}

NodeId GrammarBuilder::choice(std::span<const NodeId> children, Span span) {
  if (children.size() == 1) return children.front();
  const std::uint32_t first = checked_size(grammar_.children_.size());
  grammar_.children_.insert(grammar_.children_.end(), children.begin(), children.end());
  return add({.kind = NodeKind::Choice, .span = span, .first = first, .count = checked_size(children.size())});
}

NodeId GrammarBuilder::repeat(NodeId child, std::uint32_t min, std::uint32_t max, Span span) {
  if (min > max || min == kUnbounded) throw std::invalid_argument("bounds of a repetition are inverted");
  if (min == 1 && max == 1) return child;
  if (max == 0) return empty(span);
  const std::uint32_t first = checked_size(grammar_.children_.size());
  grammar_.children_.push_back(child);
  return add({.kind = NodeKind::Repeat, .span = span, .first = first, .count = 1, .min = min, .max = max});
}

NodeId GrammarBuilder::intersection(std::span<const NodeId> children, Span span) {
  if (children.empty()) throw std::invalid_argument("an intersection of nothing");
  if (children.size() == 1) return children.front();
  const std::uint32_t first = checked_size(grammar_.children_.size());
  grammar_.children_.insert(grammar_.children_.end(), children.begin(), children.end());
  return add({.kind = NodeKind::Intersection, .span = span, .first = first, .count = checked_size(children.size())});
}

NodeId GrammarBuilder::complement(NodeId child, Span span) {
  const std::uint32_t first = checked_size(grammar_.children_.size());
  grammar_.children_.push_back(child);
  return add({.kind = NodeKind::Complement, .span = span, .first = first, .count = 1});
}

NodeId GrammarBuilder::terminal(NodeId child, Span span) {
  const std::uint32_t first = checked_size(grammar_.children_.size());
  grammar_.children_.push_back(child);
  return add({.kind = NodeKind::Terminal, .span = span, .first = first, .count = 1});
}

NodeId GrammarBuilder::terminal(NodeId child, NodeId competitors, bool answered, Span span) {
  const std::uint32_t first = checked_size(grammar_.children_.size());
  grammar_.children_.push_back(child);
  grammar_.children_.push_back(competitors);
  return add({.kind = NodeKind::Terminal, .span = span, .first = first, .count = 2, .min = answered ? 1U : 0U});
}

NodeId GrammarBuilder::members(NodeId separator, std::span<const NodeId> names, std::span<const NodeId> values,
                               Members members, Span span) {
  const auto& ways = members.ways;
  const bool sorted = std::ranges::is_sorted(ways, {}, &Members::Way::member);
  if (names.size() != members.required.size() || values.size() != ways.size() || !sorted ||
      (!ways.empty() && ways.back().member > names.size()) || members.min > members.max)
    throw std::invalid_argument("members that do not fit together");
  std::vector<NodeId> least;
  for (std::uint32_t member = 0; member < names.size(); ++member) {
    if (!members.required[member]) continue;
    const auto way = std::ranges::lower_bound(ways, member, {}, &Members::Way::member);
    if (way == ways.end() || way->member != member) return nothing(span);
    least.push_back(values[static_cast<std::size_t>(way - ways.begin())]);
  }
  const NodeId shortest = sequence(least, span);
  const std::uint32_t first = checked_size(grammar_.children_.size());
  auto& children = grammar_.children_;
  children.push_back(separator);
  children.insert(children.end(), names.begin(), names.end());
  children.insert(children.end(), values.begin(), values.end());
  children.push_back(shortest);
  const std::uint32_t index = checked_size(grammar_.members_.size());
  grammar_.members_.push_back(std::move(members));
  return add({.kind = NodeKind::Members,
              .span = span,
              .first = first,
              .count = checked_size(children.size() - first),
              .min = index});
}

NodeId GrammarBuilder::token(TokenLiteral literal, Span span) {
  const std::uint32_t first = checked_size(grammar_.tokens_.size());
  grammar_.tokens_.push_back(std::move(literal));
  return add({.kind = NodeKind::Token, .span = span, .first = first, .count = 1});
}

NodeId GrammarBuilder::include(const Grammar& other, std::optional<Span> span) {
  const std::uint32_t nodes = checked_size(grammar_.nodes_.size());
  const std::uint32_t rules = checked_size(grammar_.rules_.size());
  const std::uint32_t bytes = checked_size(grammar_.bytes_.size());
  const std::uint32_t ranges = checked_size(grammar_.ranges_.size());
  const std::uint32_t children = checked_size(grammar_.children_.size());
  const std::uint32_t tokens = checked_size(grammar_.tokens_.size());
  const std::uint32_t members = checked_size(grammar_.members_.size());
  checked_size(nodes + other.nodes_.size());
  grammar_.bytes_ += other.bytes_;
  grammar_.ranges_.insert(grammar_.ranges_.end(), other.ranges_.begin(), other.ranges_.end());
  for (NodeId child : other.children_) grammar_.children_.push_back(NodeId{static_cast<std::uint32_t>(child) + nodes});
  grammar_.tokens_.insert(grammar_.tokens_.end(), other.tokens_.begin(), other.tokens_.end());
  grammar_.members_.insert(grammar_.members_.end(), other.members_.begin(), other.members_.end());
  grammar_.warnings_.insert(grammar_.warnings_.end(), other.warnings_.begin(), other.warnings_.end());
  for (Node node : other.nodes_) {
    if (span) node.span = *span;
    switch (node.kind) {
      case NodeKind::Literal:
        node.first += bytes;
        break;
      case NodeKind::CodePoints:
        node.first += ranges;
        break;
      case NodeKind::RuleRef:
        node.first += rules;
        break;
      case NodeKind::Token:
        node.first += tokens;
        break;
      case NodeKind::Members:
        node.min += members;
        node.first += children;
        break;
      default:
        node.first += children;
    }
    grammar_.nodes_.push_back(node);
  }
  for (const Rule& rule : other.rules_) {
    grammar_.rules_.push_back(
        {rule.name, span.value_or(rule.span), NodeId{static_cast<std::uint32_t>(rule.body) + nodes}});
    defined_.push_back(true);
  }
  return rule_ref(RuleId{static_cast<std::uint32_t>(other.root_) + rules}, span.value_or(Span{}));
}

RuleId GrammarBuilder::declare(std::string_view name) {
  const std::uint32_t id = checked_size(grammar_.rules_.size());
  grammar_.rules_.push_back({std::string(name), {}, {}});
  defined_.push_back(false);
  return RuleId{id};
}

void GrammarBuilder::define(RuleId rule, NodeId body, Span name_span) {
  const auto index = static_cast<std::size_t>(rule);
  grammar_.rules_[index].body = body;
  grammar_.rules_[index].span = name_span;
  defined_[index] = true;
}

bool GrammarBuilder::defined(RuleId rule) const { return defined_[static_cast<std::size_t>(rule)]; }

std::shared_ptr<const Grammar> GrammarBuilder::build(RuleId root) && {
  for (std::size_t i = 0; i < defined_.size(); ++i) {
    if (!defined_[i]) throw std::invalid_argument("rule '" + grammar_.rules_[i].name + "' is declared, not defined");
  }
  grammar_.root_ = root;
  Sha256 hash;
  hash.update_sized(front_end_);
  if (grammar_.source_.empty()) {
    ByteWriter whole;
    SavedGrammar::write(grammar_, whole);
    hash.update_sized(std::move(whole).take());
    grammar_.source_ = dump(grammar_);
  }
  hash.update_sized(grammar_.rules_.at(static_cast<std::size_t>(root)).name);
  hash.update_sized(grammar_.source_);
  if (grammar_.document_) hash.update_sized(*grammar_.document_);
  grammar_.fingerprint_ = hash.hex();
  return std::make_shared<const Grammar>(std::move(grammar_));
}

}  // namespace glr
