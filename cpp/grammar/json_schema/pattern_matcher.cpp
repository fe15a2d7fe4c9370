#include "grammar/json_schema/pattern_matcher.hpp"

#include <vector>

#include "grammar/json_schema/error.hpp"
#include "grammar/regex.hpp"
#include "support/utf8.hpp"

namespace glr::json_schema {

namespace {

// Rows of bits: row i has bit j when a match from i may end at j.
class Ends {
 public:
  explicit Ends(std::size_t positions) : n_(positions), words_((positions + 63) / 64), bits_(positions * words_) {}

  bool get(std::size_t i, std::size_t j) const { return (bits_[i * words_ + j / 64] >> (j % 64) & 1) != 0; }
  void set(std::size_t i, std::size_t j) { bits_[i * words_ + j / 64] |= std::uint64_t{1} << (j % 64); }
  void join(const Ends& o) {
    for (std::size_t w = 0; w < bits_.size(); ++w) bits_[w] |= o.bits_[w];
  }
  void meet(const Ends& o) {
    for (std::size_t w = 0; w < bits_.size(); ++w) bits_[w] &= o.bits_[w];
  }
  Ends then(const Ends& next) const {
    Ends out(n_);
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = i; j < n_; ++j) {
        if (!get(i, j)) continue;
        for (std::size_t w = 0; w < words_; ++w) out.bits_[i * words_ + w] |= next.bits_[j * words_ + w];
      }
    }
    return out;
  }
  Ends negated() const {
    Ends out(n_);
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = i; j < n_; ++j) {
        if (!get(i, j)) out.set(i, j);
      }
    }
    return out;
  }
  static Ends identity(std::size_t positions) {
    Ends out(positions);
    for (std::size_t i = 0; i < positions; ++i) out.set(i, i);
    return out;
  }
  friend bool operator==(const Ends&, const Ends&) = default;

 private:
  std::size_t n_;
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

class Evaluation {
 public:
  Evaluation(const Grammar& grammar, std::string_view text) : grammar_(grammar), text_(text), n_(text.size() + 1) {}

  bool matches() {
    const std::size_t root = static_cast<std::size_t>(grammar_.rule(grammar_.root()).body);
    ends_.assign(grammar_.nodes().size(), Ends(n_));
    // Rules refer forwards, so passes are repeated until nothing changes; a rule reads before it comes to itself,
    // so there are at most as many passes as positions.
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = 0; i < ends_.size(); ++i) {
        Ends now = evaluate(grammar_.nodes()[i]);
        if (now == ends_[i]) continue;
        ends_[i] = std::move(now);
        changed = true;
      }
      if (grammar_.rules().size() == 1) break;
    }
    return ends_[root].get(0, n_ - 1);
  }

 private:
  const Ends& of(NodeId id) const { return ends_[static_cast<std::size_t>(id)]; }

  Ends evaluate(const Node& node) const {
    Ends out(n_);
    switch (node.kind) {
      case NodeKind::Literal: {
        const std::string_view literal = grammar_.literal(node);
        for (std::size_t i = 0; i + literal.size() < n_; ++i) {
          if (text_.substr(i, literal.size()) == literal) out.set(i, i + literal.size());
        }
        break;
      }
      case NodeKind::CodePoints:
        for (std::size_t i = 0; i + 1 < n_; ++i) {
          const DecodedCodePoint c = decode_utf8(text_, i);
          if (c.length == 0) continue;
          for (const CodePointRange& range : grammar_.ranges(node)) {
            if (c.value >= range.first && c.value <= range.last) out.set(i, i + c.length);
          }
        }
        break;
      case NodeKind::RuleRef:
        return of(grammar_.rule(RuleId{node.first}).body);
      case NodeKind::Sequence: {
        out = Ends::identity(n_);
        for (const NodeId child : grammar_.children(node)) out = out.then(of(child));
        break;
      }
      case NodeKind::Choice:
        for (const NodeId child : grammar_.children(node)) out.join(of(child));
        break;
      case NodeKind::Repeat:
        return repeated(of(grammar_.children(node)[0]), node.min, node.max);
      case NodeKind::Intersection: {
        const auto children = grammar_.children(node);
        out = of(children[0]);
        for (const NodeId child : children.subspan(1)) out.meet(of(child));
        break;
      }
      case NodeKind::Terminal:  // a lexeme as long as the text is not cut short
        return of(grammar_.children(node)[0]);
      case NodeKind::Complement:
        return of(grammar_.children(node)[0]).negated();
      case NodeKind::Token:
      case NodeKind::Members:
        break;
    }
    return out;
  }

  // Rounds beyond the number of positions add nothing: each reads at least one byte or stands still.
  Ends repeated(const Ends& once, std::uint32_t min, std::uint32_t max) const {
    Ends at_least = Ends::identity(n_);
    const std::size_t low = std::min<std::size_t>(min, n_ + 1);
    for (std::size_t i = 0; i < low; ++i) at_least = at_least.then(once);
    Ends out = at_least;
    const std::size_t more = max == kUnbounded ? n_ : std::min<std::size_t>(max - min, n_);
    for (std::size_t i = 0; i < more; ++i) {
      at_least = at_least.then(once);
      Ends joined = out;
      joined.join(at_least);
      if (joined == out) break;
      out = std::move(joined);
    }
    return out;
  }

  const Grammar& grammar_;
  std::string_view text_;
  std::size_t n_;
  std::vector<Ends> ends_;
};

}  // namespace

const Grammar& PatternMatcher::compiled(const Pattern& pattern) {
  auto& grammar = compiled_[{pattern.text, pattern.whole}];
  if (grammar) return *grammar;
  GrammarBuilder builder(pattern.text, file_, "pattern");
  try {
    const NodeId body = pattern.whole ? regex_match(builder, pattern.text) : regex_search(builder, pattern.text);
    const RuleId root = builder.declare("pattern");
    builder.define(root, body, {});
    grammar = std::move(builder).build(root);
  } catch (const GrammarError& error) {
    throw SchemaError(
        grammar_error(file_ + pattern.pointer, {DiagnosticKind::InvalidValue, {}, error.what(), error.hint}),
        pattern.pointer);
  }
  return *grammar;
}

bool PatternMatcher::matches(const Pattern& pattern, const std::string& text) {
  const Grammar& grammar = compiled(pattern);
  const auto [it, fresh] = known_.emplace(std::pair(&grammar, text), false);
  if (fresh) it->second = Evaluation(grammar, text).matches();
  return it->second;
}

}  // namespace glr::json_schema
