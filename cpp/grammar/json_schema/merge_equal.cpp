#include "grammar/json_schema/merge_equal.hpp"

#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "support/hash.hpp"
#include "support/id_map.hpp"

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
std::uint64_t hash_of(Schema& s) {
  std::uint64_t hash = 0;
  const auto add = [&](std::uint64_t value) { hash = mix(hash, value); };
  const auto add_text = [&](const std::string& text) { add(std::hash<std::string_view>()(text)); };
  const auto add_bound = [&](const std::optional<Bound>& bound) {
    if (bound) add_text(bound->value.integer);
  };
  add(s.types);
  add(s.never ? 1 : 0);
  for (const std::uint32_t count : {s.min_length, s.max_length, s.min_items, s.max_items}) add(count);
  add_bound(s.minimum);
  add_bound(s.maximum);
  for (const Pattern& p : s.patterns) add_text(p.text);
  for (const Values& values : s.values) {
    add(values.plain);
    for (const std::string& text : values.strings) add_text(text);
    for (const NumberValue& n : values.numbers) add_text(n.text);
  }
  for (const auto& [name, id] : s.properties) add_text(name);
  for (const PatternProperty& p : s.pattern_properties) add_text(p.pattern.text);
  for (const std::string& name : s.required) add_text(name);
  each_mention(s, [&](const SchemaId& id) { add(id); });
  return hash;
}

}  // namespace

void merge_equal(std::deque<Schema>& schemas, bool (*keep)(const Schema&)) {
  enum class Mark : std::uint8_t { New, Open, Done };
  std::vector<Mark> marks(schemas.size(), Mark::New);
  std::vector<SchemaId> first(schemas.size());
  IdIndex known;
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
    const std::uint64_t hash = hash_of(s);
    const std::uint32_t equal =
        known.find(hash, [&](SchemaId other) { return static_cast<const Assertions&>(schemas[other]) == s; });
    if (equal != IdIndex::kMissing)
      first[id] = equal;
    else
      known.insert(hash, id);
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
