#include "matcher/expected.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "grammar/diagnostic.hpp"
#include "support/hash.hpp"
#include "support/utf8.hpp"

namespace glr {

namespace {

constexpr std::size_t kLongestText = 16'384;
constexpr std::size_t kMostItems = 400'000;
constexpr std::size_t kMostNamed = 16;  // terminals in one message

// A node partly read. `at`: bytes of a literal, bytes of a code point packed, children of a sequence, rounds
// of a repetition.
struct Item {
  NodeId node;
  std::uint32_t at;
  std::uint32_t origin;  // the position where the node began
  friend bool operator==(const Item&, const Item&) = default;
};
struct ItemHash {
  std::size_t operator()(const Item& i) const {
    return static_cast<std::size_t>(mix(mix(static_cast<std::uint64_t>(i.node), i.at), i.origin));
  }
};

struct Position {
  std::vector<Item> items;
  std::unordered_set<Item, ItemHash> seen;
  std::unordered_map<NodeId, std::vector<Item>> waiting;  // for a node that begins here
  std::unordered_set<NodeId> empty;                       // nodes that were found empty here
};

// Whether the bytes are, or can become, a code point of the class.
bool fits(std::span<const CodePointRange> ranges, std::string_view bytes, bool& whole) {
  const auto lead = static_cast<unsigned char>(bytes[0]);
  const std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if ((lead >= 0x80 && lead < 0xC2) || lead > 0xF4 || bytes.size() > length) return false;
  whole = bytes.size() == length;
  char32_t low = length == 1 ? lead : lead & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    if ((byte & 0xC0) != 0x80) return false;
    low = low << 6 | (byte & 0x3Fu);
  }
  const std::size_t due = 6 * (length - bytes.size());
  low <<= due;
  const char32_t high = low | ((char32_t{1} << due) - 1);
  constexpr char32_t kShortest[] = {0, 0, 0x80, 0x800, 0x10000};
  return std::any_of(ranges.begin(), ranges.end(), [&](const CodePointRange& r) {
    return r.first <= high && r.last >= std::max(low, kShortest[length]);
  });
}

class Reader {
 public:
  explicit Reader(const Grammar& grammar) : g_(grammar) {}

  std::vector<std::string> expected(std::string_view text) {
    begin(0, g_.rule(g_.root()).body);
    for (std::uint32_t i = 0; i <= text.size(); ++i) {
      if (!settle(i)) return {};
      if (i == text.size()) break;
      positions_.emplace_back();
      for (const Item& item : positions_[i].items) scan(item, i, text[i]);
    }
    return named(positions_.back());
  }

 private:
  void put(std::uint32_t at, Item item) {
    Position& p = positions_[at];
    if (p.seen.insert(item).second) {
      p.items.push_back(item);
      ++count_;
    }
  }
  void begin(std::uint32_t at, NodeId node) { put(at, {node, 0, at}); }

  void scan(const Item& item, std::uint32_t i, char byte) {
    const Node& n = g_.node(item.node);
    if (n.kind == NodeKind::Literal) {
      const std::string_view bytes = g_.literal(n);
      if (item.at < bytes.size() && bytes[item.at] == byte) put(i + 1, {item.node, item.at + 1, item.origin});
    } else if (n.kind == NodeKind::CodePoints && !done(item)) {
      const std::string bytes = packed(item.at) + byte;
      bool whole = false;
      if (!fits(g_.ranges(n), bytes, whole)) return;
      std::uint32_t at = whole ? kWhole : 0;
      for (const char c : bytes) at = whole ? at : at << 8 | static_cast<unsigned char>(c);
      put(i + 1, {item.node, at, item.origin});
    }
  }

  // Predictions and completions at one position; false when it is too much.
  bool settle(std::uint32_t i) {
    for (std::size_t k = 0; k < positions_[i].items.size(); ++k) {
      if (count_ > kMostItems) return false;
      const Item item = positions_[i].items[k];
      const Node& n = g_.node(item.node);
      if (done(item)) complete(item, i);
      switch (n.kind) {
        case NodeKind::RuleRef:
          wait(item, g_.rule(RuleId{n.first}).body, i);
          break;
        case NodeKind::Sequence:
          if (item.at < n.count) wait(item, g_.children(n)[item.at], i);
          break;
        case NodeKind::Choice:
          if (item.at == 0) {
            for (NodeId child : g_.children(n)) wait(item, child, i);
          }
          break;
        case NodeKind::Terminal:  // cancelled matches are not told apart: what follows one is listed too
          if (item.at == 0) wait(item, g_.children(n)[0], i);
          break;
        case NodeKind::Repeat:
          if (item.at < n.max) wait(item, g_.children(n)[0], i);
          break;
        case NodeKind::Literal:
        case NodeKind::CodePoints:
          break;
        default:
          return false;
      }
    }
    return true;
  }

  bool done(const Item& item) const {
    const Node& n = g_.node(item.node);
    switch (n.kind) {
      case NodeKind::Literal:
      case NodeKind::Sequence:
        return item.at == n.count;
      case NodeKind::CodePoints:
        return item.at == kWhole;
      case NodeKind::Repeat:
        return item.at >= n.min;
      default:
        return item.at == 1;
    }
  }

  void wait(const Item& item, NodeId child, std::uint32_t i) {
    if (item.at == 1 && g_.node(item.node).kind == NodeKind::RuleRef) return;
    positions_[i].waiting[child].push_back(item);
    begin(i, child);
    if (positions_[i].empty.contains(child)) advance(item, i, true);
  }
  void complete(const Item& item, std::uint32_t i) {
    if (item.origin == i) positions_[i].empty.insert(item.node);
    const std::vector<Item> waiting = positions_[item.origin].waiting[item.node];
    for (const Item& w : waiting) advance(w, i, item.origin == i);
  }
  void advance(const Item& item, std::uint32_t i, bool empty) {
    const Node& n = g_.node(item.node);
    std::uint32_t at = item.at + 1;
    if (n.kind == NodeKind::Repeat) {
      if (empty) at = std::max(item.at, n.min);  // empty rounds can be as many as are due
      if (n.max == kUnbounded) at = std::min(at, n.min);
    }
    put(i, {item.node, at, item.origin});
  }

  std::vector<std::string> named(const Position& p) const {
    // Which rule a node stands in: the rule whose body's span begins last before it.
    std::set<std::string> found;
    for (const Item& item : p.items) {
      const Node& n = g_.node(item.node);
      const bool terminal = n.kind == NodeKind::Literal || n.kind == NodeKind::CodePoints;
      if (!terminal || done(item) || n.span.length == 0) continue;
      const Rule* rule = nullptr;
      for (const Rule& r : g_.rules()) {
        if (r.span.offset <= n.span.offset && (rule == nullptr || r.span.offset > rule->span.offset)) rule = &r;
      }
      std::string text(std::string_view(g_.source()).substr(n.span.offset, n.span.length));
      if (rule != nullptr) text += " in rule " + rule->name;
      text += ", line " + std::to_string(place_of(g_.source(), n.span.offset).line);
      found.insert(std::move(text));
      if (found.size() == kMostNamed) break;
    }
    return {found.begin(), found.end()};
  }

  static std::string packed(std::uint32_t at) {
    std::string bytes;
    for (int shift = 16; shift >= 0; shift -= 8) {
      if (at >> shift != 0) bytes += static_cast<char>(static_cast<unsigned char>(at >> shift & 0xFF));
    }
    return bytes;
  }

  static constexpr std::uint32_t kWhole = 0xFFFFFFFF;
  const Grammar& g_;
  std::vector<Position> positions_{1};
  std::size_t count_ = 0;
};

}  // namespace

std::vector<std::string> expected_terminals(const Grammar& grammar, std::string_view text) {
  if (text.size() > kLongestText) return {};
  return Reader(grammar).expected(text);
}

}  // namespace glr
