#include "vocabulary/trie.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "vocabulary/utf8.hpp"

namespace glr {

namespace {

constexpr std::array<std::uint8_t, 256> make_groups() {
  std::array<std::uint8_t, 256> g{};
  std::uint8_t next = 0;
  const auto own = [&](unsigned b) { g[b] = next++; };
  for (unsigned b = 0; b < 256; ++b) g[b] = 0xFF;
  for (unsigned b : {unsigned{'\t'}, unsigned{'\n'}, unsigned{'\r'}, unsigned{' '}}) own(b);
  for (unsigned b = 33; b < 127; ++b) {
    const bool alnum = (b >= '0' && b <= '9') || (b >= 'A' && b <= 'Z') || (b >= 'a' && b <= 'z');
    if (!alnum) own(b);  // 32 punctuation marks
  }
  const auto range = [&](unsigned lo, unsigned hi) {
    for (unsigned b = lo; b <= hi; ++b) {
      if (g[b] == 0xFF) g[b] = next;
    }
    ++next;
  };
  range('0', '0');
  range('1', '1');
  range('2', '7');
  range('8', '9');
  range('e', 'e');
  range('E', 'E');
  range('a', 'f');
  range('A', 'F');
  range('g', 'z');
  range('G', 'Z');
  range(0, 31);
  range(127, 127);
  for (unsigned b = 0x80; b < 0x100; ++b) {
    g[b] = b < 0xC0 ? 60 : b < 0xE0 ? 61 : b < 0xF0 ? 62 : 63;
  }
  return g;
}
constexpr auto kGroups = make_groups();
static_assert(*std::max_element(kGroups.begin(), kGroups.end()) == 63);

// The bytes in the order of their groups, and where each group begins.
struct ByGroup {
  std::array<std::uint8_t, 256> bytes{};
  std::array<std::uint16_t, 65> begin{};
};
constexpr ByGroup make_by_group() {
  ByGroup r;
  std::uint16_t at = 0;
  for (unsigned g = 0; g < 64; ++g) {
    r.begin[g] = at;
    for (unsigned b = 0; b < 256; ++b) {
      if (kGroups[b] == g) r.bytes[at++] = static_cast<std::uint8_t>(b);
    }
  }
  r.begin[64] = at;
  return r;
}
constexpr auto kByGroup = make_by_group();

}  // namespace

std::uint8_t byte_group(std::uint8_t byte) { return kGroups[byte]; }

std::span<const std::uint8_t> bytes_of_group(unsigned group) {
  const std::size_t begin = kByGroup.begin[group];
  return std::span(kByGroup.bytes).subspan(begin, kByGroup.begin[group + 1] - begin);
}

TokenTrie::TokenTrie(std::span<const Token> tokens) {
  // Sorted by their first eight bytes as one integer, the rest by comparison: most pairs of tokens differ early.
  struct Key {
    std::uint64_t head;
    TokenId id;
  };
  std::vector<Key> keys;
  keys.reserve(tokens.size());
  std::size_t total = 0;
  universe_.assign((tokens.size() + 31) / 32, 0);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Token& t = tokens[i];
    if (t.bytes.empty() || t.control || t.end_of_generation) continue;
    std::uint64_t head = 0;
    for (std::size_t k = 0; k < 8; ++k)
      head = head << 8 | (k < t.bytes.size() ? static_cast<std::uint8_t>(t.bytes[k]) : 0u);
    keys.push_back({head, static_cast<TokenId>(i)});
    total += t.bytes.size();
    universe_[i / 32] |= 1u << (i % 32);
  }
  const auto bytes = [&](TokenId id) { return std::string_view(tokens[static_cast<std::size_t>(id)].bytes); };
  std::sort(keys.begin(), keys.end(), [&](const Key& a, const Key& b) {
    if (a.head != b.head) return a.head < b.head;
    const int order = bytes(a.id).compare(bytes(b.id));
    return order != 0 ? order < 0 : a.id < b.id;
  });

  nodes_.reserve(total / 2 + 2);
  nodes_.push_back({});
  std::vector<std::uint32_t> path{0};  // nodes from the root to the last token
  std::string_view last;
  for (const Key& key : keys) {
    const std::string_view now = bytes(key.id);
    std::size_t common = 0;
    while (common < last.size() && common < now.size() && last[common] == now[common]) ++common;
    for (std::size_t d = path.size(); d-- > common + 1;)
      nodes_[path[d]].end = static_cast<std::uint32_t>(nodes_.size());
    path.resize(common + 1);
    for (std::size_t d = common; d < now.size(); ++d) {
      path.push_back(static_cast<std::uint32_t>(nodes_.size()));
      nodes_.push_back({.groups_below = 0,
                        .end = 0,
                        .ordinal = static_cast<std::uint32_t>(ids_.size()),
                        .ordinal_end = 0,
                        .depth = static_cast<std::uint16_t>(d + 1),
                        .byte = static_cast<std::uint8_t>(now[d]),
                        .utf8 = 0});
    }
    ids_.push_back(key.id);
    last = now;
  }
  const auto n = static_cast<std::uint32_t>(nodes_.size());
  for (std::uint32_t i : path) nodes_[i].end = n;

  // Bottom up: a node's children come after it.
  heights_.resize(n);
  for (std::uint32_t i = n; i-- > 0;) {
    Node& node = nodes_[i];
    node.utf8 = 0xFF;
    for (std::uint32_t c = i + 1; c < node.end; c = nodes_[c].end) {
      heights_[i] = std::max(heights_[i], static_cast<std::uint8_t>(std::min(heights_[c] + 1, 255)));
      node.groups_below |= nodes_[c].groups_below | std::uint64_t{1} << kGroups[nodes_[c].byte];
      for (unsigned s = 0; s < utf8::Invalid; ++s) {
        const utf8::State t = utf8::next(static_cast<utf8::State>(s), nodes_[c].byte);
        const bool fine = t != utf8::Invalid && (nodes_[c].utf8 >> t & 1);
        if (!fine) node.utf8 &= static_cast<std::uint8_t>(~(1u << s));
      }
    }
  }
  for (std::uint32_t i = 1; i < n; ++i) ++first_of_byte_[nodes_[i].byte + 1u];
  for (std::size_t b = 0; b < 256; ++b) first_of_byte_[b + 1] += first_of_byte_[b];
  by_byte_.resize(n > 0 ? n - 1 : 0);
  auto at = first_of_byte_;
  for (std::uint32_t i = 1; i < n; ++i) by_byte_[at[nodes_[i].byte]++] = i;
  Node sentinel{};
  sentinel.end = n + 1;
  sentinel.ordinal = sentinel.ordinal_end = static_cast<std::uint32_t>(ids_.size());
  nodes_.push_back(sentinel);
  for (std::uint32_t i = 0; i < n; ++i) nodes_[i].ordinal_end = nodes_[nodes_[i].end].ordinal;
}

std::size_t TokenTrie::bytes() const {
  return nodes_.capacity() * sizeof(Node) + heights_.capacity() + ids_.capacity() * 4 + by_byte_.capacity() * 4;
}

}  // namespace glr
