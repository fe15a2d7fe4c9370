// Translation runs backwards through the tree, on an explicit stack: see the head of regex.hpp.
//
// Left contexts are the start of the text and the classes of code points that the assertions of this pattern tell apart
// (all combinations that occur, so one only when nothing looks back). For loops a context also says whether anything
// was read since the loop's current iteration began: an iteration that reads nothing is left out, as it could only
// exclude.
#include "grammar/regex.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "grammar/diagnostic.hpp"
#include "grammar/productive.hpp"
#include "support/utf8.hpp"

namespace glr {
namespace {

using Ranges = std::vector<CodePointRange>;

constexpr std::size_t kMostSteps = 200'000;  // of the translation: bounds around assertions are written out
constexpr std::size_t kMostClasses = 12;     // that look-behind and boundaries may tell apart
constexpr std::size_t kMostLoops = 1000;     // around assertions; each is a rule for each context

// A language that may follow: a node, and what is known of it.
struct Follow {
  NodeId node{};
  bool nullable = false;
  bool nothing = true;

  friend bool operator==(const Follow& x, const Follow& y) {
    return x.nothing || y.nothing ? x.nothing == y.nothing : x.node == y.node;
  }
};
// By 2 * context + (something was read).
using Follows = std::vector<Follow>;

Ranges common(const Ranges& x, const Ranges& y) {
  Ranges both = complement(x);
  const Ranges other = complement(y);
  both.insert(both.end(), other.begin(), other.end());
  return complement(both);
}

bool contains(const Ranges& ranges, char32_t c) {
  return std::ranges::any_of(ranges, [&](const CodePointRange& r) { return r.first <= c && c <= r.last; });
}

class Translator {
 public:
  Translator(GrammarBuilder& builder, const RegexTree& tree, std::string_view pattern, const RegexSettings& settings)
      : builder_(builder), tree_(tree), pattern_(pattern), settings_(settings) {
    find_contexts();
    write_plain();
  }

  NodeId text() {
    if (!tree_.nodes[tree_.root].assertion) return plain(tree_.root);
    const Follow end = known(builder_.empty(settings_.span), true);
    const Follow all = run(tree_.root, Follows(2 * contexts_.size(), end))[2 * start_];
    return all.nothing ? builder_.nothing(settings_.span) : all.node;
  }

 private:
  struct Context {
    Ranges ranges;              // of the code point before; empty when the context is the start of the text alone
    std::uint64_t classes = 0;  // bit i: these are in behind_[i]
  };
  // What is being translated. `now` is what follows the part in work; `out` what was found so far.
  struct Frame {
    std::uint32_t node;
    Follows follows;
    Follows now{};
    Follows out{};
    std::uint32_t at = 0;         // parts or copies done
    std::vector<RuleId> rules{};  // of the loop, by context
    bool entered = false;
    bool looped = false;
  };

  void find_contexts();
  void write_plain();
  NodeId plain(std::uint32_t id);
  NodeId one_of(const Ranges& ranges, Span span);
  Follows run(std::uint32_t root, Follows follows);
  std::optional<Follows> step(Frame& frame, Follows& result, std::vector<Frame>& stack);
  std::optional<Follows> repeat(Frame& frame, Follows& result, std::vector<Frame>& stack);
  Follows leaf(std::uint32_t id, const Follows& follows);
  Follows ends(std::uint32_t id, const Follows& follows);
  void call(std::vector<Frame>& stack, std::uint32_t node, Follows follows);

  Span span(const RegexNode& n) const { return settings_.spans ? n.span : settings_.span; }
  static Follow known(NodeId node, bool nullable) { return {node, nullable, false}; }
  Follow join(const Follow& x, const Follow& y, Span where);
  Follow after(NodeId head, bool nullable, const Follow& rest, Span where);
  Follow both(const Follow& x, NodeId other, bool nullable, Span where);
  bool uniform(const Follows& follows) const {
    for (std::size_t i = 3; i < follows.size(); i += 2) {
      if (!(follows[i] == follows[1])) return false;
    }
    return true;
  }

  GrammarBuilder& builder_;
  const RegexTree& tree_;
  std::string_view pattern_;
  const RegexSettings& settings_;
  std::vector<Context> contexts_;
  std::size_t start_ = 0;                        // the context of the start of the text
  std::map<std::uint32_t, std::size_t> behind_;  // class of a Behind -> bit
  std::vector<NodeId> plain_;                    // by tree node, where it has no assertion and is no class
  std::map<std::vector<std::pair<char32_t, char32_t>>, NodeId> written_;
  std::map<std::vector<std::uint32_t>, Follow> joined_;
  std::size_t steps_ = 0;
  std::size_t loops_ = 0;
};

void Translator::find_contexts() {
  std::vector<const Ranges*> classes;
  bool start = false;
  for (const RegexNode& n : tree_.nodes) {
    start = start || n.kind == RegexKind::Start || (n.kind == RegexKind::Behind && n.at_start);
    if (n.kind != RegexKind::Behind) continue;
    const Ranges& ranges = tree_.classes[n.index];
    const auto known = std::ranges::find_if(classes, [&](const Ranges* c) { return *c == ranges; });
    behind_[n.index] = static_cast<std::size_t>(known - classes.begin());
    if (known == classes.end()) classes.push_back(&ranges);
    if (classes.size() > kMostClasses) {
      throw grammar_error(pattern_, settings_.file,
                          {DiagnosticKind::LimitExceeded, n.span,
                           "more than " + std::to_string(kMostClasses) + " different look-behinds",
                           "a pattern with fewer classes to look back at"});
    }
  }
  // Between two cuts all code points are in the same classes.
  std::vector<char32_t> cuts{0, 0xE000, kMaxCodePoint + 1};
  for (const Ranges* c : classes) {
    for (const CodePointRange& r : *c) cuts.insert(cuts.end(), {r.first, r.last + 1});
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  std::map<std::uint64_t, Ranges> by_classes;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    std::uint64_t in = 0;
    for (std::size_t c = 0; c < classes.size(); ++c) in |= std::uint64_t{contains(*classes[c], cuts[i])} << c;
    by_classes[in].push_back({cuts[i], cuts[i + 1] - 1});
  }
  for (auto& [in, ranges] : by_classes) {
    ranges = normalised(std::move(ranges));
    if (in == 0) start_ = contexts_.size();
    contexts_.push_back({std::move(ranges), in});
  }
  // The start is like a code point in none of the classes, unless something asks for it.
  if (!start && by_classes.contains(0)) return;
  start_ = contexts_.size();
  contexts_.push_back({});
}

// What each part without assertions is by itself.
void Translator::write_plain() {
  plain_.resize(tree_.nodes.size());
  for (std::size_t i = 0; i < plain_.size(); ++i) {
    const RegexNode& n = tree_.nodes[i];
    if (n.assertion || n.kind == RegexKind::Class) continue;
    const auto parts = tree_.parts(n);
    std::vector<NodeId> nodes;
    switch (n.kind) {
      case RegexKind::Sequence: {
        std::string literal;
        const auto flush = [&] {
          if (!literal.empty()) nodes.push_back(builder_.literal(literal, span(n)));
          literal.clear();
        };
        for (const std::uint32_t part : parts) {
          const RegexNode& p = tree_.nodes[part];
          const Ranges* ranges = p.kind == RegexKind::Class ? &tree_.classes[p.index] : nullptr;
          if (!settings_.code_points && ranges != nullptr && ranges->size() == 1 &&
              (*ranges)[0].first == (*ranges)[0].last) {
            append_utf8(literal, (*ranges)[0].first);
            continue;
          }
          flush();
          nodes.push_back(plain(part));
        }
        flush();
        plain_[i] = builder_.sequence(nodes, span(n));
        break;
      }
      case RegexKind::Choice:
        for (const std::uint32_t part : parts) nodes.push_back(plain(part));
        plain_[i] = builder_.choice(nodes, span(n));
        break;
      default:
        plain_[i] = builder_.repeat(plain(parts[0]), n.min, n.max, span(n));
    }
  }
}

NodeId Translator::plain(std::uint32_t id) {
  const RegexNode& n = tree_.nodes[id];
  return n.kind == RegexKind::Class ? one_of(tree_.classes[n.index], span(n)) : plain_[id];
}

NodeId Translator::one_of(const Ranges& ranges, Span where) {
  std::vector<std::pair<char32_t, char32_t>> key;
  for (const CodePointRange& r : ranges) key.emplace_back(r.first, r.last);
  const auto [it, fresh] = written_.try_emplace(std::move(key));
  if (!fresh && !settings_.spans) return it->second;
  if (ranges.empty()) {
    it->second = builder_.nothing(where);
  } else if (settings_.code_points) {
    it->second = settings_.code_points(ranges);
  } else if (ranges.size() == 1 && ranges[0].first == ranges[0].last) {
    std::string literal;
    append_utf8(literal, ranges[0].first);
    it->second = builder_.literal(literal, where);
  } else {
    it->second = builder_.code_points(ranges, where);
  }
  return it->second;
}

Follow Translator::join(const Follow& x, const Follow& y, Span where) {
  if (x.nothing) return y;
  if (y.nothing || x.node == y.node) return x;
  const auto [it, fresh] =
      joined_.try_emplace({static_cast<std::uint32_t>(x.node), static_cast<std::uint32_t>(y.node)});
  if (fresh) {
    const NodeId nodes[] = {x.node, y.node};
    it->second = known(builder_.choice(nodes, where), x.nullable || y.nullable);
  }
  return it->second;
}

Follow Translator::after(NodeId head, bool nullable, const Follow& rest, Span where) {
  if (rest.nothing) return {};
  const NodeId nodes[] = {head, rest.node};
  return known(builder_.sequence(nodes, where), nullable && rest.nullable);
}

Follow Translator::both(const Follow& x, NodeId other, bool nullable, Span where) {
  if (x.nothing) return {};
  const NodeId nodes[] = {x.node, other};
  return known(builder_.intersection(nodes, where), x.nullable && nullable);
}

// A part without assertions, followed by the same whatever it ends with.
Follows Translator::leaf(std::uint32_t id, const Follows& follows) {
  const RegexNode& n = tree_.nodes[id];
  const Span where = span(n);
  const Follow& rest = follows[1];
  Follows out(follows.size());
  std::optional<Follow> whole;     // the part, then the rest
  std::optional<Follow> nonempty;  // without the empty text of the part
  for (std::size_t i = 0; i < follows.size(); ++i) {
    if (!n.nullable || follows[i] == rest) {
      if (!whole) whole = after(plain(id), n.nullable, rest, where);
      out[i] = *whole;
      continue;
    }
    if (!nonempty) {
      NodeId head = plain(id);
      const std::uint32_t part = n.count == 1 ? tree_.children[n.first] : 0;
      if (n.kind == RegexKind::Repeat && !tree_.nodes[part].nullable) {
        head = builder_.repeat(plain(part), 1, n.max, where);
      } else {
        const NodeId nodes[] = {head, builder_.complement(builder_.empty(where), where)};
        head = builder_.intersection(nodes, where);
      }
      nonempty = after(head, false, rest, where);
    }
    out[i] = join(follows[i], *nonempty, where);
  }
  return out;
}

// A class, or a repetition, without assertions, told apart by its last code point.
Follows Translator::ends(std::uint32_t id, const Follows& follows) {
  const RegexNode& n = tree_.nodes[id];
  const Span where = span(n);
  Ranges any{{0, kMaxCodePoint}};
  const Ranges* last = &any;
  std::uint32_t part = id;
  bool simple = n.kind == RegexKind::Class;
  if (n.kind == RegexKind::Repeat) {
    part = tree_.children[n.first];
    simple = tree_.nodes[part].kind == RegexKind::Class;
  }
  if (simple) last = &tree_.classes[tree_.nodes[part].index];

  Follow all;
  std::vector<bool> done(contexts_.size());
  for (std::size_t c = 0; c < contexts_.size(); ++c) {
    const Follow& rest = follows[2 * c + 1];
    if (done[c] || rest.nothing) continue;
    Ranges ranges;
    for (std::size_t d = c; d < contexts_.size(); ++d) {
      if (!(follows[2 * d + 1] == rest)) continue;
      done[d] = true;
      ranges.insert(ranges.end(), contexts_[d].ranges.begin(), contexts_[d].ranges.end());
    }
    ranges = common(normalised(std::move(ranges)), *last);
    if (ranges.empty()) continue;
    const NodeId end = one_of(ranges, where);
    NodeId head = end;
    if (n.kind == RegexKind::Repeat && simple) {
      const std::uint32_t max = n.max == kUnbounded ? kUnbounded : n.max - 1;
      const NodeId nodes[] = {builder_.repeat(plain(part), std::max(n.min, 1u) - 1, max, where), end};
      head = builder_.sequence(nodes, where);
    } else if (!simple) {
      const NodeId before[] = {
          builder_.repeat(one_of({{0, 0xD7FF}, {0xE000, kMaxCodePoint}}, where), 0, kUnbounded, where), end};
      const NodeId nodes[] = {plain(id), builder_.sequence(before, where)};
      head = builder_.intersection(nodes, where);
    }
    all = join(all, after(head, false, rest, where), where);
  }
  Follows out(follows.size(), all);
  if (n.nullable) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = join(follows[i], all, where);
  }
  return out;
}

void Translator::call(std::vector<Frame>& stack, std::uint32_t node, Follows follows) {
  if (++steps_ > kMostSteps) {
    throw grammar_error(
        pattern_, settings_.file,
        {DiagnosticKind::LimitExceeded, tree_.nodes[node].span, "the pattern is too large around its assertions",
         "a repetition with large bounds around anchors, boundaries or look-ahead is written out; use smaller bounds"});
  }
  stack.push_back({.node = node, .follows = std::move(follows)});
}

Follows Translator::run(std::uint32_t root, Follows follows) {
  std::vector<Frame> stack;
  Follows result;
  call(stack, root, std::move(follows));
  while (!stack.empty()) {
    // A step either finishes its frame or calls: the frame is moved out, as the stack may grow.
    Frame frame = std::move(stack.back());
    stack.pop_back();
    if (auto done = step(frame, result, stack)) result = std::move(*done);
  }
  return result;
}

// `result` is that of the call made last. Either returns what the frame's node becomes, or puts the frame back below a
// call.
std::optional<Follows> Translator::step(Frame& frame, Follows& result, std::vector<Frame>& stack) {
  const RegexNode& n = tree_.nodes[frame.node];
  const Span where = span(n);
  const auto parts = tree_.parts(n);
  const auto again = [&](std::uint32_t node, Follows follows) {
    stack.push_back(std::move(frame));
    call(stack, node, std::move(follows));
    return std::nullopt;
  };
  if (!n.assertion && uniform(frame.follows)) return leaf(frame.node, frame.follows);
  switch (n.kind) {
    case RegexKind::Class:
      return ends(frame.node, frame.follows);
    case RegexKind::Sequence: {
      Follows now = frame.entered ? std::move(result) : frame.follows;
      if (frame.at == parts.size()) return now;
      frame.entered = true;
      const std::uint32_t part = parts[parts.size() - ++frame.at];
      return again(part, std::move(now));
    }
    case RegexKind::Choice: {
      if (!frame.entered)
        frame.out.resize(frame.follows.size());
      else
        for (std::size_t i = 0; i < frame.out.size(); ++i) frame.out[i] = join(frame.out[i], result[i], where);
      if (frame.at == parts.size()) return frame.out;
      frame.entered = true;
      const std::uint32_t part = parts[frame.at++];
      Follows follows = frame.follows;
      return again(part, std::move(follows));
    }
    case RegexKind::Repeat:
      if (!n.assertion) return ends(frame.node, frame.follows);
      return repeat(frame, result, stack);
    case RegexKind::Start: {
      Follows out(frame.follows.size());
      for (std::size_t i = 2 * start_; i < 2 * start_ + 2; ++i) out[i] = frame.follows[i];
      return out;
    }
    case RegexKind::End: {
      Follows out = frame.follows;
      for (Follow& f : out) f = f.nullable ? known(builder_.empty(where), true) : Follow{};
      return out;
    }
    case RegexKind::Behind: {
      Follows out(frame.follows.size());
      for (std::size_t i = 0; i < out.size(); ++i) {
        const std::size_t c = i / 2;
        const bool at_start = c == start_ && contexts_[c].ranges.empty();
        const bool holds = at_start ? n.at_start : (contexts_[c].classes >> behind_.at(n.index) & 1) != 0;
        if (holds != n.negated) out[i] = frame.follows[i];
      }
      return out;
    }
    case RegexKind::Ahead: {
      if (!frame.entered) {
        frame.entered = true;
        Follows anything(frame.follows.size(), known(builder_.anything(where), true));
        return again(parts[0], std::move(anything));
      }
      Follows out(frame.follows.size());
      std::map<NodeId, NodeId> others;
      for (std::size_t i = 0; i < out.size(); ++i) {
        const Follow& ahead = result[i];
        const Follow& follow = frame.follows[i];
        if (ahead.nothing) {
          if (n.negated) out[i] = follow;
          continue;
        }
        if (!n.negated) {
          out[i] = both(follow, ahead.node, ahead.nullable, where);
          continue;
        }
        const auto [it, fresh] = others.try_emplace(ahead.node);
        if (fresh) it->second = builder_.complement(ahead.node, where);
        out[i] = both(follow, it->second, !ahead.nullable, where);
      }
      return out;
    }
  }
  return frame.follows;
}

// A loop is a rule for each context: Y = what follows | an iteration that reads something, then Y. Bounds are written
// out.
std::optional<Follows> Translator::repeat(Frame& frame, Follows& result, std::vector<Frame>& stack) {
  const RegexNode& n = tree_.nodes[frame.node];
  const Span where = span(n);
  const std::uint32_t part = tree_.children[n.first];
  const std::size_t contexts = contexts_.size();
  const auto again = [&](Follows follows) {
    stack.push_back(std::move(frame));
    call(stack, part, std::move(follows));
    return std::nullopt;
  };
  if (n.max == kUnbounded && !frame.looped) {
    if (!frame.entered) {
      frame.entered = true;
      loops_ += contexts;
      if (loops_ > kMostLoops) {
        throw grammar_error(
            pattern_, settings_.file,
            {DiagnosticKind::LimitExceeded, n.span, "the pattern has too many loops around its assertions",
             "at most " + std::to_string(kMostLoops) + " unbounded repetitions of anchors, boundaries and look-ahead"});
      }
      Follows follows(2 * contexts);
      for (std::size_t c = 0; c < contexts; ++c) {
        frame.rules.push_back(builder_.declare("loop-" + std::to_string(builder_.rules().size())));
        follows[2 * c + 1] = known(builder_.rule_ref(frame.rules[c], where), frame.follows[2 * c + 1].nullable);
      }
      frame.now = follows;
      return again(std::move(follows));
    }
    Follows star(2 * contexts);
    for (std::size_t c = 0; c < contexts; ++c) {
      const Follow& iterations = result[2 * c];
      const Follow body = join(frame.follows[2 * c + 1], iterations, where);
      builder_.define(frame.rules[c], body.nothing ? builder_.nothing(where) : body.node, where);
      const bool same = frame.follows[2 * c] == frame.follows[2 * c + 1];
      star[2 * c + 1] = frame.now[2 * c + 1];
      star[2 * c] = same ? frame.now[2 * c + 1] : join(frame.follows[2 * c], iterations, where);
    }
    frame.looped = true;
    frame.now = std::move(star);
    frame.at = 0;
    if (n.min == 0) return frame.now;
  } else if (!frame.entered) {
    frame.entered = true;
    frame.looped = true;
    frame.now = frame.follows;
  } else {
    // A copy is done: an optional one may be left out.
    const std::uint32_t optional = n.max == kUnbounded ? 0 : n.max - n.min;
    if (frame.at <= optional) {
      for (std::size_t i = 0; i < result.size(); ++i) result[i] = join(frame.follows[i], result[i], where);
    }
    frame.now = std::move(result);
  }
  const std::uint32_t copies = n.max == kUnbounded ? n.min : n.max;
  if (frame.at == copies) return frame.now;
  ++frame.at;
  Follows follows = frame.now;
  return again(std::move(follows));
}

}  // namespace

NodeId regex_match(GrammarBuilder& builder, std::string_view pattern, const RegexSettings& settings) {
  const RegexTree tree = read_regex(pattern, settings.flags, settings.file);
  return Translator(builder, tree, pattern, settings).text();
}

NodeId regex_match(GrammarBuilder& builder, const RegexTree& tree, std::string_view source,
                   const RegexSettings& settings) {
  return Translator(builder, tree, source, settings).text();
}

NodeId regex_search(GrammarBuilder& builder, std::string_view pattern, const RegexSettings& settings) {
  RegexTree tree = read_regex(pattern, settings.flags, settings.file);
  const Span whole{0, static_cast<std::uint32_t>(pattern.size())};
  const std::uint32_t any = tree.add_repeat(tree.add_class({{0, kMaxCodePoint}}, whole), 0, kUnbounded, whole);
  // Any text before and after it. Where the pattern itself begins with ^ or ends with $, nothing: that is the same, and
  // with no assertion left the translation is the plain one.
  const RegexNode& root = tree.nodes[tree.root];
  std::vector<std::uint32_t> parts{tree.root};
  if (root.kind == RegexKind::Sequence) parts.assign(tree.parts(root).begin(), tree.parts(root).end());
  const auto is = [&](std::uint32_t part, RegexKind kind) { return tree.nodes[part].kind == kind; };
  const bool from_start = !parts.empty() && is(parts.front(), RegexKind::Start);
  if (from_start) parts.erase(parts.begin());
  const bool to_end = !parts.empty() && is(parts.back(), RegexKind::End);
  if (to_end) parts.pop_back();
  // Beside any text a repetition says no more than that it is there as often as it must be.
  const auto shorten = [&](bool front) {
    while (!parts.empty()) {
      std::uint32_t& part = front ? parts.front() : parts.back();
      const RegexNode node = tree.nodes[part];
      if (node.kind != RegexKind::Repeat || node.assertion) return;
      if (node.min > 0) {
        const std::uint32_t repeated = tree.parts(node)[0];
        part = node.min == 1 ? repeated : tree.add_repeat(repeated, node.min, node.min, node.span);
        return;
      }
      parts.erase(front ? parts.begin() : parts.end() - 1);
    }
  };
  if (!from_start) shorten(true);
  if (!to_end) shorten(false);
  if (!from_start && !to_end && parts.size() == 1 && is(parts[0], RegexKind::Class)) {
    // One code point of a class somewhere: the first one will do, and after it nothing is open.
    const auto& ranges = tree.classes[tree.nodes[parts[0]].index];
    const std::uint32_t others = tree.add_repeat(tree.add_class(complement(ranges), whole), 0, kUnbounded, whole);
    parts = {others, parts[0], any};
  } else {
    if (!from_start) parts.insert(parts.begin(), any);
    if (!to_end) parts.push_back(any);
  }
  tree.root = tree.add(RegexKind::Sequence, parts, whole);
  return Translator(builder, tree, pattern, settings).text();
}

std::shared_ptr<const Grammar> Grammar::from_regex(std::string_view pattern, std::string_view flags,
                                                   std::string_view file) {
  GrammarBuilder builder(pattern, file, "regex " + std::string(flags));
  const RuleId root = builder.declare("root");
  const Span whole{0, static_cast<std::uint32_t>(std::min<std::size_t>(pattern.size(), kUnbounded))};
  RegexSettings settings;
  settings.flags = flags;
  settings.span = whole;
  settings.spans = true;
  settings.file = file;
  builder.define(root, regex_match(builder, pattern, settings), whole);
  auto grammar = std::move(builder).build(root);
  if (!productive_nodes(*grammar)[static_cast<std::size_t>(grammar->rule(root).body)]) {
    throw grammar_error(
        pattern, file,
        {DiagnosticKind::NoSentence, whole, "no text matches the pattern", "what it asks for excludes itself"});
  }
  return grammar;
}

std::shared_ptr<const Grammar> Grammar::from_choices(std::span<const std::string> texts, std::string_view file) {
  // The source is what is chosen from, so that grammars with the same choices have the same fingerprint.
  std::string source;
  std::vector<Span> spans;
  for (const std::string& text : texts) {
    spans.push_back({static_cast<std::uint32_t>(source.size()), static_cast<std::uint32_t>(text.size())});
    source += text + '\n';
  }
  std::string front_end = "choices";
  for (const std::string& text : texts) front_end += ' ' + std::to_string(text.size());
  if (texts.empty()) {
    throw grammar_error(
        file, {DiagnosticKind::EmptyGrammar, {}, "no text to choose from", "one choice at least, which may be \"\""});
  }
  GrammarBuilder builder(source, file, front_end);
  const RuleId root = builder.declare("root");
  std::vector<NodeId> nodes;
  for (std::size_t i = 0; i < texts.size(); ++i) nodes.push_back(builder.literal(texts[i], spans[i]));
  builder.define(root, builder.choice(nodes, {}), {});
  return std::move(builder).build(root);
}

}  // namespace glr
