// Arrays: array shapes -> texts. Built from the closing bracket forwards, so that every node stands after what it is
// made of.

#include <algorithm>

#include "grammar/json_schema/error.hpp"
#include "grammar/json_schema/limits.hpp"
#include "grammar/json_schema/writer.hpp"

namespace glr::json_schema {

namespace {

// Values of the items of an array without repetitions: where what may stand at a place depends on the place, subsets
// are states; elsewhere they are made as they are reached.
constexpr std::size_t kMaxPlaced = 10;
constexpr std::size_t kMaxDistinct = 10'000;
constexpr std::size_t kMaxCountedStates = 4'000;  // recursion depth too

Literal opposite(Literal literal) { return {literal.schema, !literal.negated}; }

}  // namespace

NodeId Writer::array(const ArrayShape& shape) {
  if (too_deep()) return builder_.nothing({});
  if (shape.unique && shape.max_items > 1) return unique_array(shape);
  if (shape.repeated)
    unsupported(shape.unique_pointer, "the negation of uniqueItems", "items cannot be compared with each other");
  if (!shape.contains.empty()) return counted_array(shape);
  const bool any = shape.prefix.empty() && shape.rest.empty() && shape.min_items == 0 && shape.max_items == kNoBound;
  if (any && any_array_) return *any_array_;

  const std::uint32_t min = shape.min_items;
  const std::uint32_t max = shape.max_items;
  const auto prefix = std::min<std::uint32_t>(static_cast<std::uint32_t>(shape.prefix.size()), max);
  const auto after_comma = [&](std::uint32_t at, NodeId node) { return at == 0 ? node : sequence({comma_, node}); };
  NodeId tail{};
  if (max == prefix) {
    tail = close(prefix > 0, "]");
  } else {
    const NodeId one = item(shape.rest);
    const std::uint32_t most = max == kNoBound ? kUnbounded : max - prefix;
    const std::uint32_t least = min > prefix ? min - prefix : 0;
    const auto more = [&](std::uint32_t low, std::uint32_t high) {
      return builder_.repeat(sequence({comma_, one}), low, high, {});
    };
    if (prefix > 0) {
      tail = sequence({more(least, most), close(true, "]")});
    } else {
      tail = sequence({one, more(least == 0 ? 0 : least - 1, most == kUnbounded ? most : most - 1), close(true, "]")});
      if (least == 0) tail = choice({close(false, "]"), tail});
    }
  }
  for (std::uint32_t i = prefix; i-- > 0;) {
    const NodeId next = sequence({after_comma(i, item(shape.prefix[i])), tail});
    tail = i >= min ? choice({close(i > 0, "]"), next}) : next;
  }
  const NodeId node = sequence({literal("["), spaces_.after_open, tail});
  if (any) any_array_ = node;
  return node;
}

// `contains`: a state is a position, as far as it matters, and how many items met each of the goals, as far as it
// matters.
NodeId Writer::counted_array(const ArrayShape& shape) {
  std::size_t last = std::max<std::size_t>(shape.prefix.size(), shape.min_items);
  if (shape.max_items != kNoBound) last = std::max<std::size_t>(last, shape.max_items);
  for (const Contains& c : shape.contains) last = std::max<std::size_t>(last, c.from);
  std::size_t states = last + 1;
  const auto cap = [](const Contains& c) { return c.max == kNoBound ? c.min : c.max; };
  for (const Contains& c : shape.contains) states = std::min(states, kMaxCountedStates + 1) * (std::size_t{cap(c)} + 1);
  if (states > kMaxCountedStates) {
    refuse(DiagnosticKind::LimitExceeded, "contains with bounds that need " + std::to_string(states) + " states",
           "at most " + std::to_string(kMaxCountedStates) + " are counted out");
  }
  struct State {
    std::size_t position;
    std::vector<std::uint32_t> counts;
    auto operator<=>(const State&) const = default;
  };
  std::map<State, std::optional<NodeId>> known;  // empty: no array ends well from here
  const auto write = [&](const auto& self, const State& at) -> std::optional<NodeId> {
    if (const auto it = known.find(at); it != known.end()) return it->second;
    std::vector<NodeId> ways;
    std::optional<NodeId> loop;
    bool complete = at.position >= shape.min_items;
    for (std::size_t i = 0; i < at.counts.size(); ++i) complete = complete && at.counts[i] >= shape.contains[i].min;
    if (complete) ways.push_back(close(at.position > 0, "]"));
    if (shape.max_items == kNoBound || at.position < shape.max_items) {
      for (std::uint32_t met = 0; met < (1u << shape.contains.size()); ++met) {
        Goal goal = at.position < shape.prefix.size() ? shape.prefix[at.position] : shape.rest;
        State next{std::min(at.position + 1, std::max<std::size_t>(last, 1)), at.counts};
        bool possible = true;
        for (std::size_t i = 0; i < shape.contains.size(); ++i) {
          const Contains& c = shape.contains[i];
          const bool counts = (met >> i & 1) != 0;
          const bool matters = at.position >= c.from && (c.max != kNoBound || at.counts[i] < c.min);
          if (!matters) {
            possible = possible && !counts;  // one of the two ways stands for both
          } else if (counts) {
            possible = possible && at.counts[i] < cap(c);
            add(goal, c.goal);
            ++next.counts[i];
          } else if (c.goal.size() == 1) {
            add(goal, opposite(c.goal[0]));
          }
        }
        if (!possible) continue;
        const NodeId one = item(goal);
        const NodeId step = at.position == 0 ? one : sequence({comma_, one});
        if (next == at) {
          loop = loop ? choice({*loop, step}) : step;
        } else if (const auto rest = self(self, next)) {
          ways.push_back(sequence({step, *rest}));
        }
      }
    }
    std::optional<NodeId> node;
    if (!ways.empty()) {
      node = choice(ways);
      if (loop) node = sequence({builder_.repeat(*loop, 0, kUnbounded, {}), *node});
    }
    known.emplace(at, node);
    return node;
  };
  const auto body = write(write, {0, std::vector<std::uint32_t>(shape.contains.size())});
  return body ? sequence({literal("["), spaces_.after_open, *body}) : builder_.nothing({});
}

// Items of known values, each at most once.
NodeId Writer::unique_array(const ArrayShape& shape) {
  ArrayShape rest = shape;
  rest.unique = false;
  struct Distinct {
    TypeSet plain = 0;
    std::optional<Decimal> number;
    std::optional<std::string> string;
    auto operator<=>(const Distinct&) const = default;
  };
  std::map<Distinct, std::pair<std::size_t, NodeId>> values;
  bool enumerable = shape.contains.empty();
  const auto values_of = [&](const Goal& goal) {
    std::vector<std::size_t> found;
    const auto add_value = [&](const Distinct& d, auto&& node) {
      const auto it = values.find(d);
      if (it == values.end())
        found.push_back(values.emplace(d, std::pair(values.size(), node())).first->second.first);
      else if (std::find(found.begin(), found.end(), it->second.first) == found.end())
        found.push_back(it->second.first);
    };
    for (const Shape& s : algebra_.shapes(goal)) {
      const bool endless = (s.types & (kArray | kObject)) != 0 || ((s.types & kString) != 0 && !s.string.only) ||
                           ((s.types & kNumber) != 0 && !s.number.only);
      if (endless) {
        enumerable = false;
        return found;
      }
      for (const auto& [type, text] :
           {std::pair<TypeSet, std::string_view>{kNull, "null"}, {kTrue, "true"}, {kFalse, "false"}}) {
        if ((s.types & type) != 0) add_value({type, {}, {}}, [&, word = text] { return literal(word); });
      }
      if ((s.types & kNumber) != 0) {
        for (const NumberValue& n : *s.number.only) {
          NumberShape one;
          one.only = std::vector{n};
          add_value({0, n.value, {}}, [&] { return number(one, kNumber); });
        }
      }
      if ((s.types & kString) != 0) {
        for (const std::string& text : *s.string.only)
          add_value({0, {}, text}, [&] { return strings_.quoted(strings_.text(text)); });
      }
    }
    return found;
  };
  std::vector<std::vector<std::size_t>> at_position;
  for (const Goal& goal : shape.prefix) at_position.push_back(values_of(goal));
  at_position.push_back(values_of(shape.rest));
  const std::size_t most = shape.prefix.empty() ? kMaxDistinct : kMaxPlaced;
  if (!enumerable || values.size() > most) {
    unsupported(shape.unique_pointer,
                "uniqueItems of items that are not at most " + std::to_string(most) + " known values",
                "give the items an enum, or set \"uniqueItems\": false");
    return array(rest);
  }
  if (shape.prefix.empty()) {
    // Like the members of an object in any order: the values are the names.
    Members members;
    members.required.resize(values.size());
    members.min = shape.min_items;
    members.max = shape.max_items == kNoBound ? kUnbounded : shape.max_items;
    std::vector<NodeId> names(values.size());
    for (const auto& [value, entry] : values) names[entry.first] = entry.second;
    for (std::uint32_t i = 0; i < values.size(); ++i) members.ways.push_back({i});
    const std::vector<NodeId> after(values.size(), spaces_.after_value);
    std::vector<NodeId> ways;
    if (shape.min_items == 0) ways.push_back(close(false, "]"));
    if (!names.empty() && shape.min_items <= names.size()) {
      const NodeId some = builder_.members(comma_, names, after, std::move(members), {});
      ways.push_back(sequence({some, close(true, "]")}));
    }
    return sequence({literal("["), spaces_.after_open, choice(ways)});
  }
  // A state is a position and the set of values that were written.
  std::vector<NodeId> nodes(values.size());
  for (const auto& [value, entry] : values) nodes[entry.first] = sequence({entry.second, spaces_.after_value});
  // Sets with more members first: the position is the number of members.
  const std::uint32_t sets = 1u << values.size();
  std::vector<NodeId> from(sets);
  std::vector<std::uint32_t> order(sets);
  for (std::uint32_t i = 0; i < sets; ++i) order[i] = i;
  const auto count = [](std::uint32_t set) { return static_cast<std::uint32_t>(__builtin_popcount(set)); };
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t x, std::uint32_t y) { return count(x) > count(y); });
  for (const std::uint32_t set : order) {
    const std::uint32_t position = count(set);
    std::vector<NodeId> ways;
    if (position >= shape.min_items) ways.push_back(close(position > 0, "]"));
    if (position < shape.max_items) {
      for (const std::size_t v : at_position[std::min<std::size_t>(position, at_position.size() - 1)]) {
        if ((set >> v & 1) != 0) continue;
        const NodeId next = from[set | 1u << v];
        ways.push_back(position == 0 ? sequence({nodes[v], next}) : sequence({comma_, nodes[v], next}));
      }
    }
    from[set] = choice(ways);
  }
  return sequence({literal("["), spaces_.after_open, from[0]});
}

}  // namespace glr::json_schema
