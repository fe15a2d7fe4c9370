#include "grammar/json_schema/strings.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "grammar/json_schema/error.hpp"
#include "grammar/json_schema/value.hpp"
#include "grammar/regex.hpp"
#include "grammar/substrings.hpp"
#include "support/utf8.hpp"

namespace glr::json_schema {

namespace {

constexpr char32_t kFirstSupplementary = 0x10000;

// Control characters, the quote and the backslash: never written as they are.
std::vector<CodePointRange> escaped_only() { return {{0, 0x1F}, {'"', '"'}, {'\\', '\\'}}; }

std::vector<CodePointRange> intersected(const std::vector<CodePointRange>& x, char32_t first, char32_t last) {
  std::vector<CodePointRange> out;
  for (const auto& r : x) {
    const char32_t low = std::max(r.first, first);
    const char32_t high = std::min(r.last, last);
    if (low <= high) out.push_back({low, high});
  }
  return out;
}

bool contains(const std::vector<CodePointRange>& ranges, char32_t c) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const CodePointRange& r) { return r.first <= c && c <= r.last; });
}

// A bound on code points when so many have been read.
std::uint32_t fewer(std::uint32_t bound, std::size_t read) {
  return bound == kNoBound ? kNoBound : static_cast<std::uint32_t>(bound > read ? bound - read : 0);
}

std::u32string decoded(std::string_view text) {
  std::u32string out;
  for (std::size_t i = 0; i < text.size();) {
    const DecodedCodePoint c = decode_utf8(text, i);
    out.push_back(c.value);
    i += std::max<std::size_t>(c.length, 1);
  }
  return out;
}

// Alternatives of a string that are multiplied out: as many small intersections are cheaper than one large one.
constexpr std::size_t kFewCombinations = 32;

// How many there are, as far as that.
std::size_t combinations(const StringShape& shape) {
  std::size_t all = 1;
  for (const std::vector<StringShape>& ways : shape.any_of) {
    std::size_t sum = 0;
    for (const StringShape& way : ways) sum += combinations(way);
    all = std::min(all * std::min(sum, kFewCombinations + 1), kFewCombinations + 1);
  }
  return all;
}

}  // namespace

std::uint32_t code_points_in(std::string_view text) {
  return static_cast<std::uint32_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

NodeId Strings::sequence(std::initializer_list<NodeId> nodes) {
  return builder_.sequence(std::vector<NodeId>(nodes), {});
}

NodeId Strings::quoted(NodeId content) { return sequence({literal("\""), content, literal("\"")}); }

NodeId Strings::text(const std::string& content) {
  if (enumerated_ == Spelling::Canonical) {
    const std::string spelled = canonical_string(content);
    return literal(std::string_view(spelled).substr(1, spelled.size() - 2));
  }
  std::vector<NodeId> nodes;
  for (const char32_t c : decoded(content)) nodes.push_back(one_of({{c, c}}));
  return builder_.sequence(nodes, {});
}

// --- one code point -------------------------------------------------------------------------------------------------

NodeId Strings::one_of(const std::vector<CodePointRange>& ranges) {
  std::vector<std::pair<char32_t, char32_t>> key;
  for (const auto& r : ranges) key.emplace_back(r.first, r.last);
  if (const auto it = spelled_.find(key); it != spelled_.end()) return it->second;
  const NodeId node = code_points(ranges);
  spelled_.emplace(std::move(key), node);
  return node;
}

NodeId Strings::code_points(const std::vector<CodePointRange>& ranges) {
  std::vector<NodeId> ways;
  std::vector<CodePointRange> raw;
  for (const auto& [first, last] : complement(escaped_only())) {
    for (const auto& r : intersected(ranges, first, last)) raw.push_back(r);
  }
  if (!raw.empty()) ways.push_back(builder_.code_points(raw, {}));

  if (const std::optional<NodeId> escaped = escapes(ranges)) ways.push_back(*escaped);
  return builder_.choice(ways, {});
}

// The spellings of those code points of the ranges that begin with a backslash.
std::optional<NodeId> Strings::escapes(const std::vector<CodePointRange>& ranges) {
  std::vector<NodeId> after;
  const bool canonical = open_ == Spelling::Canonical;
  std::uint64_t known = 0;  // which of the code points that canonical text escapes there are
  if (canonical) {
    for (char32_t c = 0; c < 0x20; ++c) known |= std::uint64_t{contains(ranges, c)} << c;
    known |= std::uint64_t{contains(ranges, '"')} << 32 | std::uint64_t{contains(ranges, '\\')} << 33;
    if (const auto it = escapes_.find(known); it != escapes_.end()) return it->second;
  }
  for (const auto& [c, letter] : {std::pair<char32_t, std::string_view>{'"', "\""},
                                  {'\\', "\\"},
                                  {'/', "/"},
                                  {8, "b"},
                                  {12, "f"},
                                  {10, "n"},
                                  {13, "r"},
                                  {9, "t"}}) {
    if (contains(ranges, c) && !(canonical && c == '/')) after.push_back(literal(letter));
  }
  if (canonical) {
    for (char32_t c = 0; c < 0x20; ++c) {
      if (!contains(ranges, c)) continue;
      const std::string spelled = canonical_string(std::string(1, static_cast<char>(c)));
      if (spelled.size() > 4) after.push_back(literal(std::string_view(spelled).substr(2, 5)));
    }
  } else {
    std::vector<NodeId> numbered;
    const auto basic = normalised(intersected(ranges, 0, kFirstSupplementary - 1));
    if (!basic.empty()) numbered.push_back(hexadecimal(basic, 4));
    const auto supplementary = intersected(ranges, kFirstSupplementary, kMaxCodePoint);
    if (!supplementary.empty()) numbered.push_back(surrogate_pairs(supplementary));
    if (!numbered.empty()) after.push_back(sequence({literal("u"), builder_.choice(numbered, {})}));
  }
  std::optional<NodeId> node;
  if (!after.empty()) node = sequence({literal("\\"), builder_.choice(after, {})});
  if (canonical) escapes_.emplace(known, node);
  return node;
}

// The numbers of the ranges in so many hexadecimal digits, in either case. Recurses once a digit.
NodeId Strings::hexadecimal(const std::vector<CodePointRange>& ranges, unsigned digits) {
  if (digits == 0) return builder_.empty({});
  std::pair<unsigned, std::vector<std::pair<char32_t, char32_t>>> key(digits, {});
  for (const auto& [first, last] : ranges) key.second.emplace_back(first, last);
  if (const auto it = hexadecimal_.find(key); it != hexadecimal_.end()) return it->second;
  const char32_t block = char32_t{1} << (4 * (digits - 1));
  std::map<std::vector<std::pair<char32_t, char32_t>>, std::vector<CodePointRange>> digits_before;  // by what follows
  for (char32_t d = 0; d < 16; ++d) {
    std::vector<std::pair<char32_t, char32_t>> rest;
    for (const auto& r : intersected(ranges, d * block, d * block + block - 1))
      rest.emplace_back(r.first - d * block, r.last - d * block);
    if (rest.empty()) continue;
    std::vector<CodePointRange>& class_of = digits_before[rest];
    const auto letter = static_cast<char32_t>("0123456789abcdef"[d]);
    class_of.push_back({letter, letter});
    if (d > 9) class_of.push_back({letter - 32, letter - 32});
  }
  std::vector<NodeId> ways;
  for (const auto& [rest, class_of] : digits_before) {
    std::vector<CodePointRange> after;
    for (const auto& [first, last] : rest) after.push_back({first, last});
    ways.push_back(sequence({builder_.code_points(class_of, {}), hexadecimal(after, digits - 1)}));
  }
  const NodeId node = builder_.choice(ways, {});
  hexadecimal_.emplace(std::move(key), node);
  return node;
}

// After "\u": the high surrogate, "\u", the low one.
NodeId Strings::surrogate_pairs(const std::vector<CodePointRange>& ranges) {
  std::map<std::vector<std::pair<char32_t, char32_t>>, std::vector<CodePointRange>> highs;  // by the low ones
  for (const auto& [first, last] : ranges) {
    // Whole blocks of 1,024 in the middle share one entry.
    const char32_t low = first - kFirstSupplementary;
    const char32_t high = last - kFirstSupplementary;
    for (char32_t block = low >> 10; block <= high >> 10;) {
      const char32_t from = block == low >> 10 ? low & 0x3FF : 0;
      const char32_t to = block == high >> 10 ? high & 0x3FF : 0x3FF;
      char32_t last_block = block;
      if (from == 0 && to == 0x3FF) last_block = (high & 0x3FF) == 0x3FF ? high >> 10 : (high >> 10) - 1;
      highs[{{0xDC00 + from, 0xDC00 + to}}].push_back({0xD800 + block, 0xD800 + last_block});
      block = last_block + 1;
    }
  }
  std::vector<NodeId> ways;
  for (const auto& [lows, high] : highs) {
    std::vector<CodePointRange> after;
    for (const auto& [first, last] : lows) after.push_back({first, last});
    ways.push_back(sequence({hexadecimal(high, 4), literal("\\u"), hexadecimal(after, 4)}));
  }
  return builder_.choice(ways, {});
}

// --- contents -------------------------------------------------------------------------------------------------------

NodeId Strings::repeated_any(std::uint32_t min, std::uint32_t max) {
  const auto [it, fresh] = repeated_.emplace(std::pair(min, max), NodeId{});
  if (fresh) it->second = builder_.repeat(one_of({{0, kMaxCodePoint}}), min, max == kNoBound ? kUnbounded : max, {});
  return it->second;
}

NodeId Strings::any_content() { return repeated_any(0, kNoBound); }

NodeId Strings::without(NodeId some) {
  return builder_.intersection(std::vector{any_content(), builder_.complement(some, {})}, {});
}

// One more code point, with what may follow it: `next` after c, anything after any other one.
NodeId Strings::one_more(char32_t c, NodeId next, std::uint32_t min, std::uint32_t max) {
  auto known = apart_.find(c);
  if (known == apart_.end()) {
    const std::vector<CodePointRange> itself{{c, c}};
    known = apart_.emplace(c, std::pair(one_of(itself), one_of(complement(itself)))).first;
  }
  const auto& [this_one, others] = known->second;
  return builder_.choice(std::vector{sequence({this_one, next}), sequence({others, repeated_any(min, max)})}, {});
}

// Names of members have their ends in common, within one object and among many.
NodeId Strings::all_but_one(const std::u32string& text, std::size_t begin, std::uint32_t min, std::uint32_t max) {
  constexpr std::size_t kLongestKept = 64;
  const auto kept = [&](std::size_t place) { return text.size() - place <= kLongestKept; };
  const auto key = [&](std::size_t place) {
    return std::tuple(text.substr(place), fewer(min, place - begin), fewer(max, place - begin));
  };
  // No code points beyond the bound.
  const std::size_t end = max == kNoBound ? text.size() : std::min(text.size(), begin + max);
  std::size_t at = begin;
  NodeId node{};
  for (;; ++at) {
    if (kept(at)) {
      if (const auto it = all_but_one_.find(key(at)); it != all_but_one_.end()) {
        node = it->second;
        break;
      }
    }
    if (at < end) continue;
    // The whole text, or as much of it as there may be.
    const std::uint32_t least = fewer(min, at - begin);
    if (at < text.size())
      node = builder_.empty({});
    else
      node = max == at - begin ? builder_.nothing({})
                               : repeated_any(std::max<std::uint32_t>(least, 1), fewer(max, at - begin));
    if (kept(at)) all_but_one_.emplace(key(at), node);
    break;
  }
  while (at-- > begin) {
    const std::size_t read = at - begin;
    node = one_more(text[at], node, fewer(min, read + 1), fewer(max, read + 1));
    if (read >= min) node = builder_.choice(std::vector{builder_.empty({}), node}, {});
    if (kept(at)) all_but_one_.emplace(key(at), node);
  }
  return node;
}

NodeId Strings::all_but(const std::vector<std::string>& texts, std::uint32_t min, std::uint32_t max) {
  std::vector<std::u32string> sorted;
  for (const std::string& text : texts) {
    std::u32string code_points = decoded(text);
    if (max == kNoBound || code_points.size() <= max) sorted.push_back(std::move(code_points));
  }
  if (sorted.empty()) return repeated_any(min, max);
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  // Texts from `first` to `last` have `depth` code points in common. Children stand behind their parents.
  struct Part {
    std::size_t first;
    std::size_t last;
    std::size_t depth = 0;
    std::size_t children = 0;  // the first of them
  };
  std::vector<Part> parts{{0, sorted.size()}};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto [first, last, depth, children] = parts[i];
    if (last - first == 1) continue;
    parts[i].children = parts.size();
    if (sorted[first].size() == depth) ++first;  // a text that ends here
    while (first < last) {
      std::size_t next = first;
      while (next < last && sorted[next][depth] == sorted[first][depth]) ++next;
      parts.push_back({first, next, depth + 1});
      first = next;
    }
  }
  std::vector<NodeId> nodes(parts.size());
  for (std::size_t i = parts.size(); i-- > 0;) {
    const auto& [first, last, depth, children] = parts[i];
    if (last - first == 1) {
      nodes[i] = all_but_one(sorted[first], depth, fewer(min, depth), fewer(max, depth));
      continue;
    }
    std::vector<NodeId> ways;
    if (sorted[first].size() != depth && depth >= min) ways.push_back(builder_.empty({}));
    std::vector<CodePointRange> here;
    for (std::size_t child = children; child < parts.size() && parts[child].depth == depth + 1; ++child) {
      if (parts[child].first >= last) break;
      const char32_t c = sorted[parts[child].first][depth];
      here.push_back({c, c});
      ways.push_back(sequence({one_of({{c, c}}), nodes[child]}));
    }
    ways.push_back(sequence({one_of(complement(here)), repeated_any(fewer(min, depth + 1), fewer(max, depth + 1))}));
    nodes[i] = builder_.choice(ways, {});
  }
  return nodes[0];
}

NodeId Strings::matching(const Pattern& pattern) {
  const auto [it, fresh] = matching_.emplace(std::pair(pattern.text, pattern.whole), NodeId{});
  if (!fresh) return it->second;
  RegexSettings settings;
  settings.code_points = [this](const std::vector<CodePointRange>& ranges) { return one_of(ranges); };
  try {
    it->second =
        pattern.whole ? regex_match(builder_, pattern.text, settings) : regex_search(builder_, pattern.text, settings);
  } catch (const GrammarError& error) {
    throw SchemaError(
        grammar_error(file_ + pattern.pointer, {DiagnosticKind::InvalidValue, {}, error.what(), error.hint}),
        pattern.pointer);
  }
  return it->second;
}

// One rule, however many strings are pieces of it.
NodeId Strings::piece_of_source() {
  if (!piece_) {
    const RuleId rule = builder_.declare("source-span");
    std::vector<std::uint32_t> text;
    for (const char32_t c : decoded(source_)) text.push_back(c);
    const auto written = [this](std::uint32_t c) { return one_of({{c, c}}); };
    builder_.define(rule, substrings(builder_, text, written, {}), {});
    piece_ = builder_.rule_ref(rule, {});
  }
  return *piece_;
}

// Recurses on alternatives in each other, of which the algebra makes a bounded number.
NodeId Strings::content(const StringShape& shape) {
  if (!shape.any_of.empty() && combinations(shape) <= kFewCombinations) {
    StringShape all = shape;
    const std::vector<StringShape> ways = std::move(all.any_of.back());
    all.any_of.pop_back();
    std::vector<NodeId> texts;
    for (const StringShape& way : ways) {
      StringShape both = all;
      both.meet(way);
      if (!both.impossible()) texts.push_back(content(both));
    }
    return builder_.choice(texts, {});
  }
  std::vector<NodeId> all;
  if (shape.only) {
    StringShape others = shape;
    others.only.reset();
    std::vector<NodeId> texts;
    for (const std::string& text_of : *shape.only) texts.push_back(text(text_of));
    all.push_back(builder_.choice(texts, {}));
    if (others.unconstrained()) return all[0];
  }
  if (shape.matches.empty() && shape.not_matches.empty() && !shape.from_source && !shape.not_from_source &&
      shape.any_of.empty() && !shape.only)
    return all_but(shape.excluded, shape.min_length, shape.max_length);
  if (shape.from_source) all.push_back(piece_of_source());
  for (const Pattern& p : shape.matches) all.push_back(matching(p));
  for (const std::vector<StringShape>& ways : shape.any_of) {
    std::vector<NodeId> texts;
    for (const StringShape& way : ways) texts.push_back(content(way));
    all.push_back(builder_.choice(texts, {}));
  }
  if (all.empty() || shape.min_length > 0 || shape.max_length != kNoBound || !shape.excluded.empty())
    all.push_back(all_but(shape.excluded, shape.min_length, shape.max_length));
  for (const Pattern& p : shape.not_matches) all.push_back(builder_.complement(matching(p), {}));
  if (shape.not_from_source) all.push_back(builder_.complement(piece_of_source(), {}));
  return builder_.intersection(all, {});
}

}  // namespace glr::json_schema
