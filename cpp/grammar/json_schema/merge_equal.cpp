#include "grammar/json_schema/merge_equal.hpp"

#include <functional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace glr::json_schema {

namespace {

template <typename Visit>
void each_mention(Schema& s, Visit visit) {
  for (Values& values : s.values) {
    for (SchemaId& id : values.composites) visit(id);
  }
  for (auto* list : {&s.prefix_items, &s.all_of, &s.one_of}) {
    for (SchemaId& id : *list) visit(id);
  }
  for (auto& list : s.any_of) {
    for (SchemaId& id : list) visit(id);
  }
  for (auto& [name, id] : s.properties) visit(id);
  for (PatternProperty& p : s.pattern_properties) visit(p.schema);
  for (auto* one : {&s.items, &s.contains, &s.unevaluated_items, &s.additional_properties, &s.property_names,
                    &s.unevaluated_properties, &s.negated, &s.condition, &s.consequence, &s.alternative}) {
    if (*one) visit(**one);
  }
  for (Dependency& d : s.dependencies) {
    if (d.schema) visit(*d.schema);
  }
}

// Of what tells most schemas apart; equality looks at everything.
std::size_t hash_of(Schema& s) {
  std::size_t hash = 0;
  const auto mix = [&](std::size_t value) { hash = (hash ^ value) * 0x9E3779B97F4A7C15u + (hash >> 29); };
  const auto mix_text = [&](const std::string& text) { mix(std::hash<std::string_view>()(text)); };
  const auto mix_bound = [&](const std::optional<Bound>& bound) {
    if (bound) mix_text(bound->value.integer);
  };
  mix(s.types);
  mix(s.never ? 1 : 0);
  for (const std::uint32_t count : {s.min_length, s.max_length, s.min_items, s.max_items}) mix(count);
  mix_bound(s.minimum);
  mix_bound(s.maximum);
  for (const Pattern& p : s.patterns) mix_text(p.text);
  for (const Values& values : s.values) {
    mix(values.plain);
    for (const std::string& text : values.strings) mix_text(text);
    for (const NumberValue& n : values.numbers) mix_text(n.text);
  }
  for (const auto& [name, id] : s.properties) mix_text(name);
  for (const PatternProperty& p : s.pattern_properties) mix_text(p.pattern.text);
  for (const std::string& name : s.required) mix_text(name);
  each_mention(s, [&](const SchemaId& id) { mix(id); });
  return hash;
}

}  // namespace

void merge_equal(std::deque<Schema>& schemas, bool (*keep)(const Schema&)) {
  enum class Mark : std::uint8_t { New, Open, Done };
  std::vector<Mark> marks(schemas.size(), Mark::New);
  std::vector<SchemaId> first(schemas.size());
  std::unordered_multimap<std::size_t, SchemaId> known;
  std::vector<std::pair<SchemaId, std::vector<SchemaId>>> path;
  const auto open = [&](SchemaId id) {
    marks[id] = Mark::Open;
    first[id] = id;
    std::vector<SchemaId> mentioned;
    each_mention(schemas[id], [&](const SchemaId& other) { mentioned.push_back(other); });
    path.emplace_back(id, std::vector<SchemaId>(mentioned.rbegin(), mentioned.rend()));
  };
  const auto close = [&](SchemaId id) {
    marks[id] = Mark::Done;
    Schema& s = schemas[id];
    each_mention(s, [&](SchemaId& other) { other = first[other]; });
    if (keep(s)) return;
    const std::size_t hash = hash_of(s);
    const auto [begin, end] = known.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      if (static_cast<const Assertions&>(schemas[it->second]) == s) {
        first[id] = it->second;
        return;
      }
    }
    known.emplace(hash, id);
  };
  for (SchemaId start = 0; start < schemas.size(); ++start) {
    if (marks[start] == Mark::New) open(start);
    while (!path.empty()) {
      auto& [id, mentioned] = path.back();
      if (mentioned.empty()) {
        close(id);
        path.pop_back();
        continue;
      }
      const SchemaId next = mentioned.back();
      mentioned.pop_back();
      if (marks[next] == Mark::New) open(next);
    }
  }
}

}  // namespace glr::json_schema
