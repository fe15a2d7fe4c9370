#include "grammar/json_schema/algebra.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "grammar/json_schema/error.hpp"
#include "grammar/json_schema/limits.hpp"
#include "grammar/json_schema/strings.hpp"

namespace glr::json_schema {

namespace {

// How far emptiness is looked for inside values and inside other proofs. Deeper, a shape is kept: it costs states that
// nothing reaches, no more.
constexpr unsigned kProofDepth = 4;
constexpr std::size_t kProofShapes = 64;
constexpr std::size_t kMaxWork = 100'000;
// Alternatives of strings in each other, and all of one shape; what has more is multiplied out. Recursion depth too.
constexpr unsigned kStringDepth = 32;
constexpr std::size_t kStringWays = 20'000;

TypeSet types_of(const std::vector<NumberValue>& numbers) {
  TypeSet types = 0;
  for (const NumberValue& n : numbers) types |= n.value.is_integer() ? kInteger : kFractional;
  return types;
}

bool about_members(const Schema& s) {
  return !s.properties.empty() || !s.pattern_properties.empty() || s.additional_properties.has_value();
}

}  // namespace

// Which properties an evaluation did not reach is not to be negated: that would take every way in which it can fail.
bool Algebra::may_negate(const Schema& s) {
  if (!s.unevaluated_properties && !s.unevaluated_items) return true;
  const std::string what = "the negation of 'unevaluatedProperties' or 'unevaluatedItems'";
  if (options_.on_unsupported == JsonSchemaOptions::Unsupported::Error)
    fail(file_, s.pointer, DiagnosticKind::Unsupported, what,
         "write it as additionalProperties where that is the same");
  const std::string warning = s.pointer + ": not enforced: " + what;
  if (std::find(warnings_.begin(), warnings_.end(), warning) == warnings_.end()) warnings_.push_back(warning);
  return false;
}

// --- positive schemas -----------------------------------------------------------------------------------------------

void Algebra::meet_pending(Work& work) {
  while (!work.pending.empty() && !work.dead) {
    const Literal literal = work.pending.back();
    work.pending.pop_back();
    if (std::binary_search(work.met.begin(), work.met.end(), literal)) continue;
    add(work.met, literal);
    const Schema& s = schemas_[literal.schema];
    if (literal.negated) {
      if (s.never || s.widened || !may_negate(s)) continue;
      if (negate_at_once(work.shape, s)) {
        work.dead = work.shape.types == 0;
      } else {
        work.splits.push_back({literal, Split::Kind::Negation});
        if (!s.properties.empty()) work.shape.object.negated.push_back(literal.schema);
      }
    } else if (s.never || std::binary_search(work.met.begin(), work.met.end(), Literal{literal.schema, true})) {
      work.dead = true;
    } else {
      meet(work, s, literal.schema);
      work.dead = work.shape.types == 0;
    }
    if (work.dead) {
      clash_pointer_ = s.pointer;
      clash_ = s.never ? "the schema `false` admits nothing" : "it excludes what the schemas it is combined with admit";
    }
  }
}

void Algebra::meet(Work& work, const Schema& s, SchemaId id) {
  Shape& shape = work.shape;
  shape.types &= s.types;
  for (std::size_t i = 0; i < s.values.size(); ++i) {
    const Values& v = s.values[i];
    if (!v.composites.empty()) {
      work.splits.push_back({{id}, Split::Kind::Composites, i});
      continue;
    }
    shape.types &= static_cast<TypeSet>(v.plain | (v.strings.empty() ? 0 : kString) | types_of(v.numbers));
    shape.string.restrict_to(v.strings);
    shape.number.restrict_to(v.numbers);
  }

  for (const auto& bound : {s.minimum, s.format_minimum}) {
    if (bound) shape.number.tighten_low(*bound);
  }
  for (const auto& bound : {s.maximum, s.format_maximum}) {
    if (bound) shape.number.tighten_high(*bound);
  }
  if (s.multiple_of) shape.number.multiples.push_back(*s.multiple_of);

  shape.string.min_length = std::max(shape.string.min_length, s.min_length);
  shape.string.max_length = std::min(shape.string.max_length, s.max_length);
  for (const Pattern& p : s.patterns) {
    auto& known = shape.string.matches;
    if (std::find(known.begin(), known.end(), p) == known.end()) known.push_back(p);
  }

  shape.string.from_source = shape.string.from_source || s.from_source;

  ArrayShape& array = shape.array;
  for (std::size_t i = 0; i < s.prefix_items.size(); ++i) add(array.at(i), Literal{s.prefix_items[i]});
  if (s.items) {
    for (std::size_t i = s.prefix_items.size(); i < array.prefix.size(); ++i) add(array.prefix[i], Literal{*s.items});
    add(array.rest, Literal{*s.items});
  }
  array.min_items = std::max(array.min_items, s.min_items);
  array.max_items = std::min(array.max_items, s.max_items);
  if (s.contains) array.contains.push_back({{Literal{*s.contains}}, 0, s.min_contains, s.max_contains});
  if (s.unique_items && !array.unique) {
    array.unique = true;
    array.unique_pointer = s.pointer + "/uniqueItems";
  }

  ObjectShape& object = shape.object;
  if (about_members(s)) object.schemas.push_back(id);
  for (const std::string& key : s.required) object.require(key);
  object.min_properties = std::max(object.min_properties, s.min_properties);
  object.max_properties = std::min(object.max_properties, s.max_properties);
  if (s.property_names) add(object.names, Literal{*s.property_names});
  for (std::size_t i = 0; i < s.dependencies.size(); ++i) work.splits.push_back({{id}, Split::Kind::Dependency, i});

  // Last in, first out: what is written first is met first, so that its keys come first.
  for (std::size_t i = s.all_of.size(); i-- > 0;) work.pending.push_back({s.all_of[i]});
  if (s.negated) work.pending.push_back({*s.negated, true});
  for (std::size_t i = 0; i < s.any_of.size(); ++i) work.splits.push_back({{id}, Split::Kind::AnyOf, i});
  if (!s.one_of.empty()) work.splits.push_back({{id}, Split::Kind::OneOf});
  const bool asked = schemas_.asks_what_is_evaluated();
  if (s.unevaluated_properties || s.unevaluated_items) work.unevaluated.push_back(id);
  if (s.condition && (s.consequence || s.alternative || asked)) work.splits.push_back({{id}, Split::Kind::Condition});
}

// --- splits ---------------------------------------------------------------------------------------------------------

void Algebra::split(const Work& work, const Split& split, std::vector<Work>& out) {
  const SchemaId id = split.literal.schema;
  const Schema& s = schemas_[id];
  const auto branch = [&]() -> Work& { return out.emplace_back(work); };
  switch (split.kind) {
    case Split::Kind::AnyOf:
      if (schemas_.asks_what_is_evaluated()) {
        split_all_ways(work, s.any_of[split.index], out);
      } else {
        const std::vector<SchemaId>& list = s.any_of[split.index];
        if (std::any_of(list.begin(), list.end(), [&](SchemaId one) {
              return std::binary_search(work.met.begin(), work.met.end(), Literal{one});
            })) {
          branch();
          return;
        }
        std::unordered_set<SchemaId> taken;
        for (const SchemaId one : list) {
          if (taken.insert(one).second) branch().pending.push_back({one});
        }
      }
      return;
    case Split::Kind::OneOf:
      for (std::size_t i = 0; i < s.one_of.size(); ++i) {
        Work& w = branch();
        for (std::size_t j = 0; j < s.one_of.size(); ++j) {
          if (j != i) w.pending.push_back({s.one_of[j], true});
        }
        w.pending.push_back({s.one_of[i]});
      }
      return;
    case Split::Kind::Condition: {
      Work& met = branch();
      if (s.consequence) met.pending.push_back({*s.consequence});
      met.pending.push_back({*s.condition});
      Work& unmet = branch();
      if (s.alternative) unmet.pending.push_back({*s.alternative});
      unmet.pending.push_back({*s.condition, true});
      return;
    }
    case Split::Kind::Dependency: {
      const Dependency& d = s.dependencies[split.index];
      if (split_by_needed(work, d, out)) return;
      if (!work.shape.object.forbids(d.key) && (work.shape.types & kObject) != 0) {
        Work& present = branch();
        present.shape.types &= kObject;
        present.shape.object.require(d.key);
        for (const std::string& key : d.required) present.shape.object.require(key);
        if (d.schema) present.pending.push_back({*d.schema});
      }
      branch().shape.object.forbidden.push_back(d.key);
      return;
    }
    case Split::Kind::Composites: {
      const Values& v = s.values[split.index];
      Work& scalar = branch();
      scalar.shape.types &= static_cast<TypeSet>(v.plain | (v.strings.empty() ? 0 : kString) | types_of(v.numbers));
      scalar.shape.string.restrict_to(v.strings);
      scalar.shape.number.restrict_to(v.numbers);
      for (const SchemaId composite : v.composites) branch().pending.push_back({composite});
      return;
    }
    case Split::Kind::Negation:
      split_negation(work, id, out);
      return;
  }
}

// A dependency that asks for one thing is split by that, not by the key that asks: many keys ask for the same.
bool Algebra::split_by_needed(const Work& work, const Dependency& d, std::vector<Work>& out) {
  if ((work.shape.types & kObject) == 0 || work.shape.object.forbids(d.key)) return false;
  const auto without_key = [&]() -> ObjectShape& {
    Shape& shape = out.emplace_back(work).shape;
    shape.types &= kObject;
    shape.object.forbidden.push_back(d.key);
    return shape.object;
  };
  if (!d.schema) {
    if (d.required.size() != 1 || !has_place(work.shape.object, d.required[0])) return false;
    out.emplace_back(work).shape.object.require(d.required[0]);
    if (!work.shape.object.requires_key(d.required[0])) without_key().forbidden.push_back(d.required[0]);
    return true;
  }
  const Schema& needed = schemas_[*d.schema];
  // A schema that is met without its key being there would not count as evaluating.
  if (needed.properties.size() != 1 || schemas_.asks_what_is_evaluated()) return false;
  Assertions alone;
  alone.properties = needed.properties;
  if (needed != alone) return false;
  const auto& [name, value] = needed.properties[0];
  if (!has_place(work.shape.object, name)) return false;
  out.emplace_back(work).shape.object.values.emplace_back(name, Literal{value});
  ObjectShape& unmet = without_key();
  unmet.require(name);
  unmet.values.emplace_back(name, Literal{value, true});
  return true;
}

// Every set of alternatives that are met, the others not: all that are met count for what is evaluated.
void Algebra::split_all_ways(const Work& work, const std::vector<SchemaId>& alternatives, std::vector<Work>& out) {
  constexpr std::size_t kMost = 8;
  if (alternatives.size() > kMost) {
    fail(
        file_, schemas_[alternatives[0]].pointer, DiagnosticKind::LimitExceeded,
        "anyOf of more than " + std::to_string(kMost) + " alternatives under unevaluatedProperties or unevaluatedItems",
        "every set of them evaluates something else");
  }
  for (std::uint32_t set = (1u << alternatives.size()) - 1; set > 0; --set) {
    Work& w = out.emplace_back(work);
    for (std::size_t i = 0; i < alternatives.size(); ++i) w.pending.push_back({alternatives[i], (set >> i & 1) == 0});
  }
}

// The schemas that the value meets and that stand in the place of this one: itself, and what it applies to the same
// value. In a shape that is not to be split any more each of them is met or negated.
std::vector<SchemaId> Algebra::evaluating(const Work& work, SchemaId id) const {
  const auto met = [&](SchemaId one, bool negated = false) {
    return std::binary_search(work.met.begin(), work.met.end(), Literal{one, negated});
  };
  std::vector<SchemaId> found{id};
  const auto visit = [&](SchemaId one) {
    if (met(one) && std::find(found.begin(), found.end(), one) == found.end()) found.push_back(one);
  };
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Schema& s = schemas_[found[i]];
    for (const SchemaId one : s.all_of) visit(one);
    for (const auto& list : s.any_of) {
      for (const SchemaId one : list) visit(one);
    }
    for (const SchemaId one : s.one_of) visit(one);
    for (const Dependency& d : s.dependencies) {
      if (d.schema && work.shape.object.requires_key(d.key)) visit(*d.schema);
    }
    if (!s.condition) continue;
    visit(*s.condition);
    if (s.consequence && met(*s.condition)) visit(*s.consequence);
    if (s.alternative && met(*s.condition, true)) visit(*s.alternative);
  }
  return found;
}

// What was not evaluated is what a schema calls additional that has all the properties, patterns and items of those
// that the value meets.
void Algebra::apply_unevaluated(Work& work, SchemaId id) {
  const Schema& asking = schemas_[id];
  Schema names;
  names.pointer = asking.pointer;
  names.additional_properties = asking.unevaluated_properties;
  std::size_t prefix = 0;
  bool all_properties = !asking.unevaluated_properties;
  bool all_items = !asking.unevaluated_items;
  const SchemaId anything = schemas_.add({});
  for (const SchemaId one : evaluating(work, id)) {
    const Schema& s = schemas_[one];
    for (const auto& [name, schema] : s.properties) names.properties.emplace_back(name, anything);
    for (const PatternProperty& p : s.pattern_properties) names.pattern_properties.push_back({p.pattern, anything});
    all_properties = all_properties || s.additional_properties || (one != id && s.unevaluated_properties);
    prefix = std::max(prefix, s.prefix_items.size());
    all_items = all_items || s.items || (one != id && s.unevaluated_items);
    if (!all_items && s.contains && (work.shape.types & kArray) != 0) {
      fail(file_, asking.pointer, DiagnosticKind::Unsupported, "'unevaluatedItems' beside 'contains'",
           "which items it evaluates depends on their values");
    }
  }
  if (!all_properties) work.shape.object.schemas.push_back(schemas_.add(std::move(names)));
  if (all_items) return;
  ArrayShape& array = work.shape.array;
  if (prefix > 0) array.at(prefix - 1);
  const Literal rest{*schemas_[id].unevaluated_items};
  for (std::size_t i = prefix; i < array.prefix.size(); ++i) add(array.prefix[i], rest);
  add(array.rest, rest);
}

// --- negated schemas: one branch for each way not to meet it --------------------------------------------------------

void Algebra::split_negation(const Work& work, SchemaId id, std::vector<Work>& out) {
  const Schema& s = schemas_[id];
  if (s.types != kAllTypes && (work.shape.types & ~s.types) != 0) {
    out.emplace_back(work).shape.types &= static_cast<TypeSet>(~s.types);
  }
  for (const Values& v : s.values) drop_values(out.emplace_back(work), v);
  if ((work.shape.types & kNumber) != 0) negate_numbers(work, s, out);
  if ((work.shape.types & kString) != 0) negate_strings(work, s, out);
  if ((work.shape.types & kArray) != 0) negate_arrays(work, s, out);
  if ((work.shape.types & kObject) != 0) negate_objects(work, s, id, out);
  negate_combinations(work, s, out);
}

// A schema that only lists values, or types, has one way not to be met.
bool Algebra::negate_at_once(Shape& shape, const Schema& s) {
  if (s.values.size() > 1 || (s.values.empty() && s.types == kAllTypes)) return false;
  Assertions alone;
  alone.types = s.types;
  alone.values = s.values;
  if (s != alone) return false;
  if (s.values.empty()) {
    shape.types &= static_cast<TypeSet>(~s.types);
    return true;
  }
  const Values& values = s.values[0];
  if (!values.composites.empty()) return false;
  shape.types &= static_cast<TypeSet>(~(values.plain & s.types));
  if ((s.types & kString) != 0)
    shape.string.excluded.insert(shape.string.excluded.end(), values.strings.begin(), values.strings.end());
  for (const NumberValue& n : values.numbers) {
    if ((s.types & (n.value.is_integer() ? kInteger : kFractional)) != 0) shape.number.excluded.push_back(n.value);
  }
  return true;
}

// An object that fails a schema about one property has it, with another value.
bool Algebra::fails_in_one_way(const Shape& shape, const Schema& s) const {
  if (shape.types != kObject || (s.types & kObject) == 0 || s.properties.size() != 1) return false;
  Assertions alone;
  alone.types = s.types;
  alone.properties = s.properties;
  return s == alone;
}

void Algebra::drop_values(Work& work, const Values& values) {
  Shape& shape = work.shape;
  shape.types &= static_cast<TypeSet>(~values.plain);
  shape.string.excluded.insert(shape.string.excluded.end(), values.strings.begin(), values.strings.end());
  for (const NumberValue& n : values.numbers) shape.number.excluded.push_back(n.value);
  for (const SchemaId composite : values.composites) work.pending.push_back({composite, true});
}

void Algebra::negate_numbers(const Work& work, const Schema& s, std::vector<Work>& out) {
  const auto branch = [&]() -> NumberShape& {
    Work& w = out.emplace_back(work);
    w.shape.types &= kNumber;
    return w.shape.number;
  };
  for (const auto& bound : {s.minimum, s.format_minimum}) {
    if (bound) branch().tighten_high({bound->value, !bound->exclusive});
  }
  for (const auto& bound : {s.maximum, s.format_maximum}) {
    if (bound) branch().tighten_low({bound->value, !bound->exclusive});
  }
  if (s.multiple_of) branch().not_multiples.push_back(*s.multiple_of);
}

void Algebra::negate_strings(const Work& work, const Schema& s, std::vector<Work>& out) {
  const auto branch = [&]() -> StringShape& {
    Work& w = out.emplace_back(work);
    w.shape.types &= kString;
    return w.shape.string;
  };
  if (s.min_length > 0) {
    StringShape& shorter = branch();
    shorter.max_length = std::min(shorter.max_length, s.min_length - 1);
  }
  if (s.max_length != kNoBound) {
    StringShape& longer = branch();
    longer.min_length = std::max(longer.min_length, s.max_length + 1);
  }
  for (const Pattern& p : s.patterns) branch().not_matches.push_back(p);
  if (s.from_source) branch().not_from_source = true;
}

void Algebra::negate_arrays(const Work& work, const Schema& s, std::vector<Work>& out) {
  const auto branch = [&]() -> ArrayShape& {
    Work& w = out.emplace_back(work);
    w.shape.types &= kArray;
    return w.shape.array;
  };
  if (s.min_items > 0) {
    ArrayShape& shorter = branch();
    shorter.max_items = std::min(shorter.max_items, s.min_items - 1);
  }
  if (s.max_items != kNoBound) {
    ArrayShape& longer = branch();
    longer.min_items = std::max(longer.min_items, s.max_items + 1);
  }
  const auto prefix = static_cast<std::uint32_t>(s.prefix_items.size());
  for (std::uint32_t i = 0; i < prefix; ++i) {
    ArrayShape& failing = branch();
    failing.min_items = std::max(failing.min_items, i + 1);
    add(failing.at(i), Literal{s.prefix_items[i], true});
  }
  if (s.items) branch().contains.push_back({{Literal{*s.items, true}}, prefix, 1, kNoBound});
  if (s.contains) {
    const Goal goal{Literal{*s.contains}};
    if (s.min_contains > 0) branch().contains.push_back({goal, 0, 0, s.min_contains - 1});
    if (s.max_contains != kNoBound) branch().contains.push_back({goal, 0, s.max_contains + 1, kNoBound});
  }
  if (s.unique_items) {
    ArrayShape& repeated = branch();
    repeated.repeated = true;
    repeated.unique_pointer = s.pointer + "/uniqueItems";
  }
}

void Algebra::negate_objects(const Work& work, const Schema& s, SchemaId id, std::vector<Work>& out) {
  // What was not met by the branches before is met in those that follow, as far as that leaves the order of the members
  // alone: they would have the same texts once more.
  Work rest = work;
  rest.shape.types &= kObject;
  const auto branch = [&]() -> ObjectShape& { return out.emplace_back(rest).shape.object; };
  const auto fails = [&](const std::string& key, Literal value) {
    if (rest.shape.object.forbids(key)) return;
    ObjectShape& failing = branch();
    failing.require(key);
    failing.values.emplace_back(key, Literal{value.schema, !value.negated});
    if (has_place(rest.shape.object, key)) rest.shape.object.values.emplace_back(key, value);
  };
  for (const auto& [key, value] : s.properties) fails(key, Literal{value});
  for (const std::string& key : s.required) {
    if (rest.shape.object.requires_key(key)) continue;
    branch().forbidden.push_back(key);
    if (has_place(rest.shape.object, key)) rest.shape.object.require(key);
  }
  const std::optional<std::vector<std::string>> all_names = names_of_members(work.shape.object);
  const auto member_fails = [&](const Witness& witness, std::optional<Literal> value) {
    if (!all_names) {
      branch().witnesses.push_back(witness);
      return;
    }
    for (const std::string& name : *all_names) {
      if (!is_witness(witness, name)) continue;
      if (value) {
        fails(name, *value);
      } else if (!rest.shape.object.forbids(name)) {
        branch().require(name);
        rest.shape.object.forbidden.push_back(name);
      }
    }
  };
  for (std::size_t i = 0; i < s.pattern_properties.size(); ++i)
    member_fails({id, Witness::Names::Pattern, i}, Literal{s.pattern_properties[i].schema});
  if (s.additional_properties) member_fails({id, Witness::Names::Additional}, Literal{*s.additional_properties});
  if (s.property_names) member_fails({id, Witness::Names::Failing}, std::nullopt);
  if (s.min_properties > 0) {
    ObjectShape& fewer = branch();
    fewer.max_properties = std::min(fewer.max_properties, s.min_properties - 1);
    rest.shape.object.min_properties = std::max(rest.shape.object.min_properties, s.min_properties);
  }
  if (s.max_properties != kNoBound) {
    ObjectShape& more = branch();
    more.min_properties = std::max(more.min_properties, s.max_properties + 1);
    rest.shape.object.max_properties = std::min(rest.shape.object.max_properties, s.max_properties);
  }
  for (const Dependency& d : s.dependencies) {
    for (const std::string& key : d.required) {
      ObjectShape& missing = branch();
      missing.require(d.key);
      missing.forbidden.push_back(key);
    }
    if (!d.schema) continue;
    Work& unmet = out.emplace_back(rest);
    unmet.shape.object.require(d.key);
    unmet.pending.push_back({*d.schema, true});
  }
}

// Whether a key stands among the declared ones already, so that saying more about its value moves nothing.
bool Algebra::has_place(const ObjectShape& object, const std::string& key) const {
  return object.requires_key(key) || std::any_of(object.schemas.begin(), object.schemas.end(), [&](SchemaId id) {
           const auto& properties = schemas_[id].properties;
           return std::any_of(properties.begin(), properties.end(), [&](const auto& p) { return p.first == key; });
         });
}

// The names of all members that there can be; nothing when there is no end of them.
std::optional<std::vector<std::string>> Algebra::names_of_members(const ObjectShape& object) const {
  for (const SchemaId id : object.schemas) {
    const Schema& s = schemas_[id];
    if (!s.additional_properties || !schemas_[*s.additional_properties].never || !s.pattern_properties.empty())
      continue;
    std::vector<std::string> names;
    for (const auto& [name, value] : s.properties) names.push_back(name);
    return names;
  }
  return std::nullopt;
}

// Whether a member of this name is in the class that a witness is of.
bool Algebra::is_witness(const Witness& witness, const std::string& name) {
  const Schema& s = schemas_[witness.schema];
  const auto matched = [&](const PatternProperty& p) { return patterns_.matches(p.pattern, name); };
  switch (witness.names) {
    case Witness::Names::Failing:
      return !admits_name({Literal{*s.property_names}}, name);
    case Witness::Names::Pattern:
      return matched(s.pattern_properties[witness.index]);
    case Witness::Names::Additional:
      return std::none_of(s.properties.begin(), s.properties.end(), [&](const auto& p) { return p.first == name; }) &&
             std::none_of(s.pattern_properties.begin(), s.pattern_properties.end(), matched);
  }
  return false;
}

bool Algebra::admits_name(const Goal& names, const std::string& name) {
  if (names.empty()) return true;
  auto known = names_.find(names);
  if (known == names_.end()) known = names_.emplace(names, shapes(names)).first;
  return std::any_of(known->second.begin(), known->second.end(),
                     [&](const Shape& s) { return (s.types & kString) != 0 && admits(s.string, name); });
}

void Algebra::negate_combinations(const Work& work, const Schema& s, std::vector<Work>& out) {
  for (const SchemaId one : s.all_of) out.emplace_back(work).pending.push_back({one, true});
  for (const auto& list : s.any_of) {
    Work& none = out.emplace_back(work);
    for (const SchemaId one : list) none.pending.push_back({one, true});
  }
  if (!s.one_of.empty()) {
    Work& none = out.emplace_back(work);
    for (const SchemaId one : s.one_of) none.pending.push_back({one, true});
    for (std::size_t i = 0; i < s.one_of.size(); ++i) {
      for (std::size_t j = i + 1; j < s.one_of.size(); ++j) {
        Work& two = out.emplace_back(work);
        two.pending.push_back({s.one_of[i]});
        two.pending.push_back({s.one_of[j]});
      }
    }
  }
  if (s.negated) out.emplace_back(work).pending.push_back({*s.negated});
  if (s.condition && s.consequence) {
    Work& w = out.emplace_back(work);
    w.pending.push_back({*s.condition});
    w.pending.push_back({*s.consequence, true});
  }
  if (s.condition && s.alternative) {
    Work& w = out.emplace_back(work);
    w.pending.push_back({*s.condition, true});
    w.pending.push_back({*s.alternative, true});
  }
}

// --- emptiness ------------------------------------------------------------------------------------------------------

bool Algebra::admits(const StringShape& shape, const std::string& content) {
  const std::uint32_t length = code_points_in(content);
  if (length < shape.min_length || length > shape.max_length) return false;
  if (std::find(shape.excluded.begin(), shape.excluded.end(), content) != shape.excluded.end()) return false;
  if (shape.only && std::find(shape.only->begin(), shape.only->end(), content) == shape.only->end()) return false;
  const bool in_source =
      (shape.from_source || shape.not_from_source) && options_.source.value_or("").find(content) != std::string::npos;
  if ((shape.from_source && !in_source) || (shape.not_from_source && in_source)) return false;
  const auto matched = [&](const Pattern& p) { return patterns_.matches(p, content); };
  return std::all_of(shape.matches.begin(), shape.matches.end(), matched) &&
         std::none_of(shape.not_matches.begin(), shape.not_matches.end(), matched) &&
         std::all_of(shape.any_of.begin(), shape.any_of.end(), [&](const auto& ways) {
           return std::any_of(ways.begin(), ways.end(), [&](const StringShape& way) { return admits(way, content); });
         });
}

void Algebra::settle_numbers(Shape& shape) const {
  NumberShape& number = shape.number;
  if (number.only) {
    std::erase_if(*number.only, [&](const NumberValue& v) {
      const TypeSet type = v.value.is_integer() ? kInteger : kFractional;
      return (shape.types & type) == 0 || !number.admits(v.value);
    });
    shape.types &= static_cast<TypeSet>(~kNumber | types_of(*number.only));
  } else if (number.low && number.high) {
    const bool empty = number.high->value < number.low->value ||
                       (number.high->value == number.low->value && (number.high->exclusive || number.low->exclusive));
    if (empty) shape.types &= static_cast<TypeSet>(~kNumber);
  }
}

void Algebra::settle_array(Shape& shape, unsigned depth) {
  ArrayShape& array = shape.array;
  for (std::size_t i = 0; i < array.prefix.size() && i < array.max_items; ++i) {
    if (provably_empty(array.prefix[i], depth)) array.max_items = static_cast<std::uint32_t>(i);
  }
  const auto prefix = static_cast<std::uint32_t>(array.prefix.size());
  if (array.max_items > prefix && provably_empty(array.rest, depth)) array.max_items = prefix;
  if (array.min_items > array.max_items) shape.types &= static_cast<TypeSet>(~kArray);
}

bool Algebra::object_is_empty(const ObjectShape& object, unsigned depth) {
  if (object.min_properties > object.max_properties || object.required.size() > object.max_properties) return true;
  return std::any_of(object.required.begin(), object.required.end(), [&](const std::string& key) {
    return object.forbids(key) || provably_empty(value_goal(object, key), depth);
  });
}

void Algebra::settle_string(StringShape& shape) {
  // Alternatives that what applies to all of them excludes or includes are no question any more.
  for (std::size_t i = 0; i < shape.any_of.size() && !shape.only;) {
    const auto place = shape.any_of.begin() + static_cast<std::ptrdiff_t>(i);
    std::vector<StringShape> all = std::move(*place);
    shape.any_of.erase(place);
    std::vector<StringShape> ways;
    bool met = false;
    bool enumerated = true;
    for (StringShape& way : all) {
      if (way.only) std::erase_if(*way.only, [&](const std::string& v) { return !admits(shape, v); });
      if (shape.excludes(way) || std::find(ways.begin(), ways.end(), way) != ways.end()) continue;
      met = met || shape.implies(way);
      enumerated = enumerated && way.only.has_value();
      ways.push_back(std::move(way));
    }
    if (met) continue;
    if (enumerated) {
      std::vector<std::string> texts;
      for (const StringShape& way : ways) texts.insert(texts.end(), way.only->begin(), way.only->end());
      shape.restrict_to(texts);
    } else if (ways.size() == 1) {
      shape.meet(ways[0]);
      i = 0;  // what applies to all has grown
    } else {
      shape.any_of.insert(shape.any_of.begin() + static_cast<std::ptrdiff_t>(i++), std::move(ways));
    }
  }
  if (!shape.only) return;
  // Settled once for all, so that neither list is searched for each member of the other again.
  std::vector<std::string> only = *std::exchange(shape.only, std::nullopt);
  const std::vector<std::string> excluded = std::exchange(shape.excluded, {});
  const std::unordered_set<std::string_view> gone(excluded.begin(), excluded.end());
  std::erase_if(only, [&](const std::string& v) { return gone.contains(v) || !admits(shape, v); });
  shape = {};
  shape.only = std::move(only);
}

// The strings that the work admits, nothing being pending, as one shape; nothing when alternatives nest too deep or are
// more than `left`.
std::optional<StringShape> Algebra::strings_of(const Work& work, unsigned depth, std::size_t& left) {
  StringShape shape = work.shape.string;
  for (const Split& one : work.splits) {
    Work start;
    start.shape.types = kString;
    start.met = work.met;  // that need not be said again
    std::vector<Work> branches;
    split(start, one, branches);
    std::vector<StringShape> ways;
    for (Work& branch : branches) {
      meet_pending(branch);
      if (branch.dead || branch.shape.types == 0) continue;
      if (depth == kStringDepth || left == 0) return std::nullopt;
      --left;
      std::optional<StringShape> way = strings_of(branch, depth + 1, left);
      if (!way) return std::nullopt;
      if (!way->impossible()) ways.push_back(*std::move(way));
    }
    shape.any_of.push_back(std::move(ways));
  }
  settle_string(shape);
  return shape;
}

// Takes the types out of the shape that it admits no value of.
void Algebra::settle(Work& work, unsigned depth) {
  Shape& shape = work.shape;
  if ((shape.types & kNumber) != 0) settle_numbers(shape);
  if ((shape.types & kString) != 0) {
    settle_string(shape.string);
    if (shape.string.impossible()) shape.types &= static_cast<TypeSet>(~kString);
  }
  if ((shape.types & kArray) != 0) settle_array(shape, depth);
  if ((shape.types & kObject) != 0 && object_is_empty(shape.object, depth))
    shape.types &= static_cast<TypeSet>(~kObject);
  work.dead = work.dead || shape.types == 0;
}

Goal Algebra::value_goal(const ObjectShape& object, const std::string& key) {
  Goal goal;
  for (const SchemaId id : object.schemas) {
    const Schema& s = schemas_[id];
    bool named = false;
    const auto meets = [&](SchemaId value) {
      add(goal, Literal{value});
      named = true;
    };
    for (const auto& [name, value] : s.properties) {
      if (name == key) meets(value);
    }
    for (const PatternProperty& p : s.pattern_properties) {
      if (patterns_.matches(p.pattern, key)) meets(p.schema);
    }
    if (!named && s.additional_properties) add(goal, Literal{*s.additional_properties});
  }
  for (const auto& [name, literal] : object.values) {
    if (name == key) add(goal, literal);
  }
  return goal;
}

bool Algebra::provably_empty(const Goal& goal, unsigned depth) {
  if (goal.empty()) return false;
  if (goal.size() == 1 && !goal[0].negated && schemas_[goal[0].schema].never) return true;
  if (depth >= kProofDepth) return false;
  const auto [known, fresh] = empty_.emplace(goal, false);
  if (!fresh) return known->second;
  Work work;
  work.pending.assign(goal.rbegin(), goal.rend());
  bool cut_short = false;
  const bool empty = expand(std::move(work), depth + 1, cut_short).empty() && !cut_short;
  empty_[goal] = empty;
  return empty;
}

bool Algebra::excluded_already(const Work& work, SchemaId id, unsigned depth) {
  if (depth >= kProofDepth) return false;
  Work test = work;
  test.splits.clear();
  std::erase(test.met, Literal{id, true});  // that is the question
  test.pending = {Literal{id}};
  bool cut_short = false;
  return expand(std::move(test), depth + 1, cut_short).empty() && !cut_short;
}

// --- the union ------------------------------------------------------------------------------------------------------

// At depth 0 exactly the union; deeper, for proofs, a union that admits at least as much.
std::vector<Shape> Algebra::expand(Work start, unsigned depth, bool& cut_short) {
  const bool proof = depth > 0;
  const std::string pointer = start.pending.empty() ? "#" : schemas_[start.pending.back().schema].pointer;
  std::vector<Shape> shapes;
  std::vector<Work> stack;
  stack.push_back(std::move(start));
  std::size_t done = 0;
  bool strings_fit = true;  // into one shape
  while (!stack.empty()) {
    Work work = std::move(stack.back());
    stack.pop_back();
    if (proof && ++done > kProofShapes) {
      cut_short = true;
      return shapes;
    }
    if (!proof && (shapes.size() > kMaxShapes || ++done > kMaxWork)) {
      fail(file_, pointer, DiagnosticKind::LimitExceeded,
           "more than " + std::to_string(kMaxShapes) + " combinations of alternatives",
           "alternatives told apart by a required property with a const multiply least");
    }
    meet_pending(work);
    if (!work.dead) settle(work, depth);
    if (work.dead) continue;
    if (work.splits.empty()) {
      if (!proof && !work.unevaluated.empty()) {
        for (const SchemaId id : work.unevaluated) apply_unevaluated(work, id);
        settle(work, depth);
        if (work.dead) continue;
      }
      shapes.push_back(std::move(work.shape));
      if (proof) return shapes;
      continue;
    }
    const bool strings =
        (work.shape.types & kString) != 0 && (proof ? work.shape.types == kString : work.splits.size() > 1);
    if (strings && strings_fit) {
      std::size_t left = kStringWays;
      const std::optional<StringShape> together = strings_of(work, 0, left);
      strings_fit = together.has_value();
      if (strings_fit && !together->impossible()) {
        Shape& shape = shapes.emplace_back();
        shape.types = kString;
        shape.string = *together;
        if (proof) return shapes;
      }
      if (strings_fit) work.shape.types &= static_cast<TypeSet>(~kString);
      if (work.shape.types == 0) continue;
    }
    // First what leaves one way only: it decides others. Then what is no negation: those decide negations.
    auto next = std::find_if(work.splits.begin(), work.splits.end(), [&](const Split& s) {
      return s.kind == Split::Kind::Negation && !proof && fails_in_one_way(work.shape, schemas_[s.literal.schema]);
    });
    if (next == work.splits.end()) {
      next = std::find_if(work.splits.begin(), work.splits.end(),
                          [](const Split& s) { return s.kind != Split::Kind::Negation; });
    }
    if (next == work.splits.end()) next = work.splits.begin();
    const Split chosen = *next;
    work.splits.erase(next);
    if (chosen.kind == Split::Kind::Negation && (proof || excluded_already(work, chosen.literal.schema, depth))) {
      stack.push_back(std::move(work));
      continue;
    }
    std::vector<Work> branches;
    split(work, chosen, branches);
    for (std::size_t i = branches.size(); i-- > 0;) stack.push_back(std::move(branches[i]));
  }
  return shapes;
}

std::vector<Shape> Algebra::shapes(const Goal& goal) {
  Work work;
  work.pending.assign(goal.rbegin(), goal.rend());
  bool cut_short = false;
  return expand(std::move(work), 0, cut_short);
}

}  // namespace glr::json_schema
