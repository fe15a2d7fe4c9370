#include "grammar/substrings.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <vector>

namespace glr {

namespace {

constexpr std::uint32_t kNone = 0xFFFFFFFF;

// A state stands for the substrings that end at the same places of the text, the longest of `length` symbols;
// `link` is the state of the longest of their suffixes that ends at more.
struct State {
  std::uint32_t length = 0;
  std::uint32_t link = kNone;
  std::map<std::uint32_t, std::uint32_t> next{};
};

std::vector<State> suffix_automaton(std::span<const std::uint32_t> text) {
  std::vector<State> states(1);
  std::uint32_t last = 0;
  for (const std::uint32_t symbol : text) {
    const auto now = static_cast<std::uint32_t>(states.size());
    states.push_back({.length = states[last].length + 1, .link = 0});
    std::uint32_t at = last;
    while (at != kNone && states[at].next.emplace(symbol, now).second) at = states[at].link;
    if (at != kNone) {
      const std::uint32_t there = states[at].next.at(symbol);
      if (states[at].length + 1 == states[there].length) {
        states[now].link = there;
      } else {
        const auto copy = static_cast<std::uint32_t>(states.size());
        states.push_back(State(states[there]));
        states[copy].length = states[at].length + 1;
        for (; at != kNone; at = states[at].link) {
          const auto it = states[at].next.find(symbol);
          if (it == states[at].next.end() || it->second != there) break;
          it->second = copy;
        }
        states[there].link = states[now].link = copy;
      }
    }
    last = now;
  }
  return states;
}

}  // namespace

NodeId substrings(GrammarBuilder& builder, std::span<const std::uint32_t> text,
                  const std::function<NodeId(std::uint32_t)>& written, Span span) {
  const std::vector<State> states = suffix_automaton(text);
  // Transitions lead to longer states: the longest are built first.
  std::vector<std::uint32_t> order(states.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, std::greater<>(), [&](std::uint32_t s) { return states[s].length; });
  std::vector<NodeId> nodes(states.size());
  for (const std::uint32_t s : order) {
    std::vector<NodeId> ways{builder.empty(span)};
    for (const auto& [symbol, to] : states[s].next)
      ways.push_back(builder.sequence(std::vector{written(symbol), nodes[to]}, span));
    nodes[s] = builder.choice(ways, span);
  }
  return nodes[0];
}

NodeId GrammarBuilder::substrings(std::span<const std::string> chunks, Span span) {
  std::map<std::string_view, std::uint32_t> numbers;
  std::vector<std::uint32_t> text;
  std::vector<NodeId> nodes;
  for (const std::string& chunk : chunks) {
    const auto [it, fresh] = numbers.emplace(chunk, static_cast<std::uint32_t>(nodes.size()));
    if (fresh) nodes.push_back(literal(chunk, span));
    text.push_back(it->second);
  }
  return glr::substrings(*this, text, [&](std::uint32_t number) { return nodes[number]; }, span);
}

}  // namespace glr
