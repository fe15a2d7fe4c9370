#include "grammar/saved_grammar.hpp"

#include <algorithm>
#include <utility>

namespace glr {

namespace {

constexpr std::size_t kFingerprintDigits = 64;

// Nodes may be used more than once: front ends share what is equal, and written out as a tree a grammar of a few
// hundred bytes can have 2^100 nodes. A term made of one grows as the tree does only where it is put in front of
// another, whose factors it is then prefixed with; these are counted. The largest of 200 real JSON Schemas has 50,883
// of them.
constexpr std::uint64_t kMostFactors = 1 << 22;
constexpr std::uint32_t kMostIntersected = 8;

// Of members: every set of witnesses is looked at.
constexpr std::uint32_t kMostWitnessSets = 16;

void write(Span span, ByteWriter& out) {
  out.u32(span.offset);
  out.u32(span.length);
}

Span read_span(ByteReader& in, const std::string& source) {
  const Span span{in.u32(), in.u32()};
  in.require(std::uint64_t{span.offset} + span.length <= source.size(), "a place is outside the grammar's source");
  return span;
}

// Of the term that a node becomes.
struct Extent {
  std::uint64_t factors = 1;  // at most, in a row, of the term
  bool rules = false;         // it refers to some
};

}  // namespace

void SavedGrammar::write(const Grammar& g, ByteWriter& out) {
  out.text(g.source_);
  out.text(g.file_);
  out.raw(g.fingerprint_);
  out.text(g.kind_);
  out.u8(g.document_ ? 1 : 0);
  if (g.document_) out.text(*g.document_);
  out.count(g.warnings_.size());
  for (const std::string& warning : g.warnings_) out.text(warning);
  out.count(g.rules_.size());
  for (const Rule& rule : g.rules_) {
    out.text(rule.name);
    glr::write(rule.span, out);
    out.u32(static_cast<std::uint32_t>(rule.body));
  }
  out.u32(static_cast<std::uint32_t>(g.root_));
  out.count(g.nodes_.size());
  for (const Node& node : g.nodes_) {
    out.u8(static_cast<std::uint8_t>(node.kind));
    glr::write(node.span, out);
    switch (node.kind) {
      case NodeKind::Literal:
        out.text(g.literal(node));
        break;
      case NodeKind::CodePoints:
        out.count(node.count);
        for (const auto& [first, last] : g.ranges(node)) {
          out.u32(first);
          out.u32(last);
        }
        break;
      case NodeKind::RuleRef:
        out.u32(node.first);
        break;
      case NodeKind::Sequence:
      case NodeKind::Choice:
      case NodeKind::Intersection:
      case NodeKind::Terminal:
        out.count(node.count);
        if (node.kind == NodeKind::Terminal) out.u8(static_cast<std::uint8_t>(node.min));
        for (NodeId child : g.children(node)) out.u32(static_cast<std::uint32_t>(child));
        break;
      case NodeKind::Repeat:
        out.u32(static_cast<std::uint32_t>(g.children(node)[0]));
        out.u32(node.min);
        out.u32(node.max);
        break;
      case NodeKind::Complement:
        out.u32(static_cast<std::uint32_t>(g.children(node)[0]));
        break;
      case NodeKind::Members: {
        const Members& members = g.members(node);
        out.count(members.required.size());
        for (const bool required : members.required) out.u8(required ? 1 : 0);
        out.count(members.ways.size());
        for (const Members::Way& way : members.ways) {
          out.u32(way.member);
          out.u8(static_cast<std::uint8_t>(way.witnesses));
        }
        out.u8(members.ordered ? 1 : 0);
        out.u32(members.min);
        out.u32(members.max);
        for (NodeId child : g.children(node)) out.u32(static_cast<std::uint32_t>(child));
        break;
      }
      case NodeKind::Token: {
        const TokenLiteral& literal = g.token_literal(node);
        out.text(literal.text);
        out.u32(literal.id);
        out.u8(literal.negated ? 1 : 0);
        break;
      }
    }
  }
}

std::shared_ptr<const Grammar> SavedGrammar::read(ByteReader& in) {
  auto grammar = std::make_shared<Grammar>();
  Grammar& g = *grammar;
  g.source_ = in.text();
  g.file_ = in.text();
  g.fingerprint_ = in.raw(kFingerprintDigits);
  in.require(g.fingerprint_.find_first_not_of("0123456789abcdef") == std::string::npos,
             "the grammar's fingerprint is not in hex");
  g.kind_ = in.text();
  if (in.u8() != 0) g.document_ = in.text();
  for (std::uint32_t n = in.count(4); n > 0; --n) g.warnings_.emplace_back(in.text());
  for (std::uint32_t n = in.count(16); n > 0; --n) {
    std::string name(in.text());
    const Span span = read_span(in, g.source_);
    g.rules_.push_back({std::move(name), span, NodeId{in.u32()}});
  }
  g.root_ = RuleId{in.index(g.rules_.size(), "the root is no rule")};

  std::vector<Extent> extents;
  std::uint64_t prefixed = 0;
  const std::uint32_t count = in.count(10);
  for (std::uint32_t id = 0; id < count; ++id) {
    Extent extent;
    const auto child = [&] {
      const std::uint32_t c = in.index(id, "a node's child does not come before it");
      g.children_.push_back(NodeId{c});
      return extents[c];
    };
    const std::uint8_t kind = in.u8();
    in.require(kind <= static_cast<std::uint8_t>(NodeKind::Members), "a node is of no known kind");
    Node node{.kind = static_cast<NodeKind>(kind), .span = read_span(in, g.source_)};
    node.first = static_cast<std::uint32_t>(g.children_.size());
    switch (node.kind) {
      case NodeKind::Literal: {
        node.first = static_cast<std::uint32_t>(g.bytes_.size());
        const std::string_view bytes = in.text();
        node.count = static_cast<std::uint32_t>(bytes.size());
        g.bytes_ += bytes;
        extent.factors = std::max<std::uint64_t>(bytes.size(), 1);
        break;
      }
      case NodeKind::CodePoints: {
        node.first = static_cast<std::uint32_t>(g.ranges_.size());
        node.count = in.count(8);
        for (std::uint32_t i = 0; i < node.count; ++i) {
          const char32_t first = in.u32();
          g.ranges_.push_back({first, static_cast<char32_t>(in.u32())});
        }
        const auto own = g.ranges(node);
        const std::vector<CodePointRange> canonical = normalised({own.begin(), own.end()});
        in.require(std::ranges::equal(own, canonical), "a class is not sorted");
        extent.factors = 4;
        break;
      }
      case NodeKind::RuleRef:
        node.first = in.index(g.rules_.size(), "a rule is not there");
        extent.rules = true;
        break;
      case NodeKind::Sequence:
      case NodeKind::Choice:
      case NodeKind::Intersection: {
        node.count = in.count(4);
        in.require(node.count >= 2 || (node.count == 0 && node.kind == NodeKind::Choice),
                   "a node has too few children");
        std::uint32_t with_rules = 0;
        for (std::uint32_t i = 0; i < node.count; ++i) {
          const Extent e = child();
          const bool sequence = node.kind == NodeKind::Sequence;
          if (sequence && i + 1 < node.count) prefixed += e.factors;
          extent.factors = sequence ? extent.factors + e.factors : std::max(extent.factors, e.factors);
          extent.rules = extent.rules || e.rules;
          with_rules += e.rules ? 1 : 0;
          in.require(extent.factors <= kMostFactors && prefixed <= kMostFactors, "its rules are too large");
        }
        // Each is distributed over the alternatives of the others. Few are: what a person intersects.
        in.require(node.kind != NodeKind::Intersection || with_rules <= kMostIntersected,
                   "too many rules are intersected");
        break;
      }
      case NodeKind::Repeat: {
        const Extent e = child();
        extent = {e.factors + 1, e.rules};
        node.count = 1;
        node.min = in.u32();
        node.max = in.u32();
        in.require(node.min <= node.max && node.min != kUnbounded && node.max > 0 && (node.min != 1 || node.max != 1),
                   "the bounds of a repetition are wrong");
        break;
      }
      case NodeKind::Complement:
        extent = child();
        node.count = 1;
        break;
      case NodeKind::Terminal:
        node.count = in.count(4);
        in.require(node.count == 1 || node.count == 2, "a terminal has no operand or too many");
        node.min = in.u8();
        in.require(node.min < node.count, "what competes with a terminal is wrong");
        for (std::uint32_t n = 0; n < node.count; ++n) {
          const Extent e = child();
          extent = {extent.factors + e.factors, extent.rules || e.rules};
        }
        break;
      case NodeKind::Members: {
        Members members;
        for (std::uint32_t n = in.count(1); n > 0; --n) members.required.push_back(in.u8() != 0);
        const auto names = static_cast<std::uint32_t>(members.required.size());
        std::uint32_t last = 0;
        for (std::uint32_t n = in.count(5); n > 0; --n) {
          const std::uint32_t member = in.u32();
          members.ways.push_back({member, in.u8()});
          in.require(member >= last && member <= names && members.ways.back().witnesses < kMostWitnessSets,
                     "a way to write a member is wrong");
          last = member;
        }
        members.ordered = in.u8() != 0;
        members.min = in.u32();
        members.max = in.u32();
        in.require(members.min <= members.max, "the bounds of members are wrong");
        node.count = static_cast<std::uint32_t>(names + members.ways.size() + 2);
        for (std::uint32_t i = 0; i < node.count; ++i) {
          const Extent e = child();
          if (i + 1 == node.count) break;  // the values again
          prefixed += e.factors;
          extent.factors = std::max(extent.factors, e.factors);
          extent.rules = extent.rules || e.rules;
          in.require(prefixed <= kMostFactors, "its rules are too large");
        }
        node.min = static_cast<std::uint32_t>(g.members_.size());
        g.members_.push_back(std::move(members));
        break;
      }
      case NodeKind::Token: {
        node.first = static_cast<std::uint32_t>(g.tokens_.size());
        node.count = 1;
        TokenLiteral literal;
        literal.text = in.text();
        literal.id = in.u32();
        const std::uint8_t negated = in.u8();
        in.require(negated <= 1 && (literal.text.empty() || literal.id == 0), "a token literal is wrong");
        literal.negated = negated == 1;
        g.tokens_.push_back(std::move(literal));
        break;
      }
    }
    in.require(extent.factors <= kMostFactors, "its rules are too large");
    g.nodes_.push_back(node);
    extents.push_back(extent);
  }
  for (const Rule& rule : g.rules_) in.require(static_cast<std::uint32_t>(rule.body) < count, "a rule has no body");
  return grammar;
}

}  // namespace glr
