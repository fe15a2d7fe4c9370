// Objects: object shapes -> texts.
//
// The declared keys stand in a row, each written or (when it is not required) left out; after them come the additional
// members in any number. What must be known on the way is only what the bounds and the witnesses ask for: how many
// members were written, up to the greatest bound, and which witnesses were met. Without either the row is one
// sequence of optional members, and the only choice is which of them is the first, the one without a comma.
//
// In any order there is no row: the declared keys are the members of one Unordered node.

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "grammar/json_schema/error.hpp"
#include "grammar/json_schema/limits.hpp"
#include "grammar/json_schema/writer.hpp"

namespace glr::json_schema {

// A way to write a member, and the witnesses it is one of. Its parts are put straight into the sequences it stands in:
// a sequence in a sequence is concatenated twice when the grammar is compiled. In any order a declared member's parts
// begin after its name.
struct Writer::Member {
  std::vector<NodeId> parts;
  std::uint32_t witnesses = 0;  // bits
};

// What a member must have besides to be a witness.
struct Writer::Evidence {
  std::uint32_t witness;      // a bit
  std::vector<NodeId> names;  // its name is in each
  Goal goal;                  // its value meets it
};

struct Writer::Object {
  struct Declared {
    std::vector<NodeId> name;  // with its quotes; in any order only
    std::vector<Member> ways;
    bool required = false;
  };
  std::vector<Declared> declared;
  std::vector<Member> extras;
  std::unordered_set<std::string> mentioned;  // names that are no additional member's
  std::uint32_t min = 0;
  std::uint32_t max = kNoBound;
  std::uint32_t cap = 1;  // counts from here on are alike
  std::uint32_t all_witnesses = 0;
};

std::vector<NodeId> Writer::member(const std::vector<NodeId>& key, const Goal& goal) {
  std::vector<NodeId> parts = key;
  for (const NodeId part : {spaces_.after_colon, value(goal), spaces_.after_value}) {
    if (part != spaces_.none) parts.push_back(part);
  }
  return parts;
}

NodeId Writer::known_name(const std::string& name) {
  if (options_.spelling == JsonSchemaOptions::Spelling::Any) return names_.quoted(names_.text(name));
  return literal(canonical_string(name));
}

std::vector<NodeId> Writer::after_name() {
  if (spaces_.before_colon == spaces_.none) return {literal(":")};
  return {spaces_.before_colon, literal(":")};
}

// With its quotes, up to and with the colon.
std::vector<NodeId> Writer::known_key(const std::string& name) {
  if (options_.spelling == JsonSchemaOptions::Spelling::Any) return key(names_.text(name));
  if (spaces_.before_colon == spaces_.none) return {literal(canonical_string(name) + ':')};
  return {literal(canonical_string(name)), spaces_.before_colon, literal(":")};
}

std::vector<NodeId> Writer::key(NodeId content) {
  std::vector<NodeId> parts{literal("\""), content};
  if (spaces_.before_colon == spaces_.none) {
    parts.push_back(literal("\":"));
  } else {
    parts.insert(parts.end(), {literal("\""), spaces_.before_colon, literal(":")});
  }
  return parts;
}

NodeId Writer::written(const Member& member, bool after_comma, std::optional<NodeId> rest) {
  std::vector<NodeId> parts;
  if (after_comma) parts.push_back(comma_);
  parts.insert(parts.end(), member.parts.begin(), member.parts.end());
  if (rest) parts.push_back(*rest);
  return sequence(parts);
}

bool Writer::name_admitted(const Goal& names, const std::string& key) {
  if (names.empty()) return true;
  const auto shapes = algebra_.shapes(names);
  return std::any_of(shapes.begin(), shapes.end(),
                     [&](const Shape& s) { return (s.types & kString) != 0 && algebra_.admits(s.string, key); });
}

std::vector<NodeId> Writer::name_contents(const Goal& names) {
  std::vector<NodeId> out;
  for (const Shape& s : algebra_.shapes(names)) {
    if ((s.types & kString) != 0) out.push_back(names_.content(s.string));
  }
  return out;
}

NodeId Writer::object(const ObjectShape& shape) {
  if (too_deep()) return builder_.nothing({});
  const bool any = shape.schemas.empty() && shape.values.empty() && shape.required.empty() && shape.forbidden.empty() &&
                   shape.min_properties == 0 && shape.max_properties == kNoBound && shape.names.empty() &&
                   shape.witnesses.empty();
  if (any && any_object_) return *any_object_;
  if (shape.witnesses.size() > 4) {
    refuse(DiagnosticKind::LimitExceeded, "more than 4 negated schemas about members without a name",
           "these come from `not` or `oneOf` over additionalProperties, patternProperties or propertyNames");
  }
  Object object;
  object.all_witnesses = (1u << shape.witnesses.size()) - 1;
  add_declared(shape, object);
  add_extras(shape, object);
  if (strict() && !object.extras.empty()) {
    refuse(DiagnosticKind::Unsupported, "open object in the strict profile", "write \"additionalProperties\": false");
  }
  const auto required = static_cast<std::uint32_t>(
      std::count_if(object.declared.begin(), object.declared.end(), [](const auto& d) { return d.required; }));
  if (shape.min_properties > required) object.min = shape.min_properties;
  if (!object.extras.empty() || shape.max_properties < object.declared.size()) object.max = shape.max_properties;
  object.cap = std::max({1u, object.min, object.max == kNoBound ? 0 : object.max});
  if (object.extras.empty() && object.min > object.declared.size()) return builder_.nothing({});
  if (object.declared.empty() && object.all_witnesses == 0) object.cap = 1;  // repetitions count by themselves
  const std::size_t states =
      (object.declared.size() + 1) * (std::size_t{object.cap} + 1) * (std::size_t{object.all_witnesses} + 1);
  if (states > kMaxMemberStates && !any_order()) {
    refuse(DiagnosticKind::LimitExceeded,
           "bounds on the number of properties that need " + std::to_string(states) + " states",
           "at most " + std::to_string(kMaxMemberStates) + " are counted out");
  }
  const NodeId node = sequence({literal("{"), spaces_.after_open, members(object)});
  if (any) any_object_ = node;
  return node;
}

void Writer::add_declared(const ObjectShape& shape, Object& object) {
  const Reader& schemas = algebra_.schemas();
  // The goals of all declared keys in one pass over the schemas.
  struct Key {
    const std::string* name;
    Goal goal;
    std::size_t named_by = 0;  // number of the last schema that declares it, from 1
  };
  std::vector<Key> keys;
  std::unordered_map<std::string_view, std::size_t> index;
  const auto key_of = [&](const std::string& name) -> Key& {
    const auto [it, fresh] = index.emplace(name, keys.size());
    if (fresh) keys.push_back({&name, {}});
    return keys[it->second];
  };
  for (const SchemaId id : shape.schemas) {
    for (const auto& [name, schema] : schemas[id].properties) key_of(name);
  }
  if (!shape.negated.empty()) {
    std::unordered_set<std::string_view> known(shape.required.begin(), shape.required.end());
    for (const auto& [name, literal] : shape.values) known.insert(name);
    for (const SchemaId id : shape.negated) {
      for (const auto& [name, schema] : schemas[id].properties) {
        if (known.contains(name)) key_of(name);
      }
    }
  }
  for (const std::string& name : shape.required) key_of(name);
  for (const std::string& name : shape.forbidden) key_of(name);
  for (std::size_t i = 0; i < shape.schemas.size(); ++i) {
    const Schema& s = schemas[shape.schemas[i]];
    for (const auto& [name, schema] : s.properties) {
      Key& key = keys[index.at(name)];
      add(key.goal, Literal{schema});
      key.named_by = i + 1;
    }
    for (Key& key : keys) {
      bool named = key.named_by == i + 1;
      for (const PatternProperty& p : s.pattern_properties) {
        if (!algebra_.patterns().matches(p.pattern, *key.name)) continue;
        add(key.goal, Literal{p.schema});
        named = true;
      }
      if (!named && s.additional_properties) add(key.goal, Literal{*s.additional_properties});
    }
  }
  for (const auto& [name, literal] : shape.values) add(key_of(name).goal, literal);

  const std::unordered_set<std::string> required(shape.required.begin(), shape.required.end());
  const std::unordered_set<std::string> forbidden(shape.forbidden.begin(), shape.forbidden.end());
  for (const Key& key : keys) {
    object.mentioned.insert(*key.name);
    Object::Declared declared{{}, {}, required.contains(*key.name)};
    if (!forbidden.contains(*key.name) && name_admitted(shape.names, *key.name)) {
      std::vector<Evidence> evidence;
      for (std::size_t w = 0; w < shape.witnesses.size(); ++w) {
        const Witness& witness = shape.witnesses[w];
        const Schema& s = schemas[witness.schema];
        Goal goal;
        bool applies = false;
        if (witness.names == Witness::Names::Failing) {
          applies = !name_admitted({Literal{*s.property_names}}, *key.name);
        } else if (witness.names == Witness::Names::Pattern) {
          applies = algebra_.patterns().matches(s.pattern_properties[witness.index].pattern, *key.name);
          add(goal, Literal{s.pattern_properties[witness.index].schema, true});
        } else {
          applies = std::none_of(s.properties.begin(), s.properties.end(),
                                 [&](const auto& p) { return p.first == *key.name; }) &&
                    std::none_of(s.pattern_properties.begin(), s.pattern_properties.end(),
                                 [&](const auto& p) { return algebra_.patterns().matches(p.pattern, *key.name); });
          add(goal, Literal{*s.additional_properties, true});
        }
        if (applies) evidence.push_back({1u << w, {}, std::move(goal)});
      }
      if (any_order()) declared.name = {known_name(*key.name)};
      add_ways({}, any_order() ? after_name() : known_key(*key.name), key.goal, evidence, declared.ways);
    }
    if (declared.required || !declared.ways.empty()) object.declared.push_back(std::move(declared));
  }
}

// The names in exactly the patterns of `subset` that are not mentioned.
NodeId Writer::extra_names(const ObjectShape& shape, const Object& object, const std::vector<Pattern>& patterns,
                           std::uint32_t subset) {
  std::vector<std::string> excluded;
  for (const std::string& name : object.mentioned) {
    bool in_class = true;
    for (std::size_t i = 0; i < patterns.size() && in_class; ++i)
      in_class = algebra_.patterns().matches(patterns[i], name) == ((subset >> i & 1) != 0);
    if (in_class) excluded.push_back(name);
  }
  std::sort(excluded.begin(), excluded.end());
  std::vector<NodeId> all;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if ((subset >> i & 1) != 0) all.push_back(names_.matching(patterns[i]));
  }
  if (!shape.names.empty()) all.push_back(choice(name_contents(shape.names)));
  if (all.empty() || !excluded.empty()) all.push_back(names_.all_but(excluded, 0, kNoBound));
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if ((subset >> i & 1) == 0) all.push_back(builder_.complement(names_.matching(patterns[i]), {}));
  }
  return builder_.intersection(all, {});
}

void Writer::add_extras(const ObjectShape& shape, Object& object) {
  const Reader& schemas = algebra_.schemas();
  std::vector<Pattern> patterns;
  const auto number_of = [&](const Pattern& p) {
    const auto it = std::find(patterns.begin(), patterns.end(), p);
    if (it != patterns.end()) return static_cast<std::size_t>(it - patterns.begin());
    patterns.push_back(p);
    return patterns.size() - 1;
  };
  for (const SchemaId id : shape.schemas) {
    for (const PatternProperty& p : schemas[id].pattern_properties) number_of(p.pattern);
  }
  for (const Witness& w : shape.witnesses) {
    for (const PatternProperty& p : schemas[w.schema].pattern_properties) number_of(p.pattern);
  }
  if (std::size_t{1} << std::min<std::size_t>(patterns.size(), 30) > kMaxKeyClasses) {
    refuse(DiagnosticKind::LimitExceeded, std::to_string(patterns.size()) + " patterns for the names of one object",
           "every combination of them is a class of names of its own");
  }
  for (std::uint32_t subset = 0; subset < (1u << patterns.size()); ++subset) {
    Goal goal;
    const auto in = [&](const Pattern& p) { return (subset >> number_of(p) & 1) != 0; };
    const auto named_by = [&](const Schema& s) {
      return std::any_of(s.pattern_properties.begin(), s.pattern_properties.end(),
                         [&](const auto& p) { return in(p.pattern); });
    };
    for (const SchemaId id : shape.schemas) {
      const Schema& s = schemas[id];
      for (const PatternProperty& p : s.pattern_properties) {
        if (in(p.pattern)) add(goal, Literal{p.schema});
      }
      if (!named_by(s) && s.additional_properties) add(goal, Literal{*s.additional_properties});
    }
    if (algebra_.is_empty(goal)) continue;
    const NodeId names = extra_names(shape, object, patterns, subset);
    std::vector<Evidence> evidence;
    for (std::size_t w = 0; w < shape.witnesses.size(); ++w) {
      const Witness& witness = shape.witnesses[w];
      const Schema& s = schemas[witness.schema];
      Evidence e{1u << w, {}, {}};
      if (witness.names == Witness::Names::Failing) {
        e.names.push_back(choice(name_contents({Literal{*s.property_names, true}})));
      } else if (witness.names == Witness::Names::Pattern) {
        const PatternProperty& p = s.pattern_properties[witness.index];
        if (!in(p.pattern)) continue;
        add(e.goal, Literal{p.schema, true});
      } else {
        if (named_by(s)) continue;
        // Names that the schema declares are mentioned only when it is one of the shape's own.
        std::vector<std::string> own;
        for (const auto& [name, value_schema] : s.properties) {
          if (!object.mentioned.contains(name)) own.push_back(name);
        }
        if (!own.empty()) e.names.push_back(names_.all_but(own, 0, kNoBound));
        add(e.goal, Literal{*s.additional_properties, true});
      }
      evidence.push_back(std::move(e));
    }
    add_ways({names}, {}, goal, evidence, object.extras);
  }
}

// A member may be the witness of several negated schemas at once, so there is a way for every set of them.
// `known`: the key when there is only one, or the end of it.
void Writer::add_ways(const std::vector<NodeId>& names, const std::vector<NodeId>& known, const Goal& goal,
                      const std::vector<Evidence>& evidence, std::vector<Member>& out) {
  for (std::uint32_t set = 0; set < (1u << evidence.size()); ++set) {
    std::uint32_t witnesses = 0;
    std::vector<NodeId> in_all = names;
    Goal met = goal;
    for (std::size_t i = 0; i < evidence.size(); ++i) {
      if ((set >> i & 1) == 0) continue;
      witnesses |= evidence[i].witness;
      in_all.insert(in_all.end(), evidence[i].names.begin(), evidence[i].names.end());
      add(met, evidence[i].goal);
    }
    if (set != 0 && algebra_.is_empty(met)) continue;
    out.push_back({member(known.empty() ? key(builder_.intersection(in_all, {})) : known, met), witnesses});
  }
}

// What may follow when every declared key was passed.
std::optional<NodeId> Writer::extras(const Object& object, std::uint32_t count, std::uint32_t met,
                                     std::vector<std::optional<NodeId>>& known) {
  const bool complete = met == object.all_witnesses && count >= object.min;
  std::vector<NodeId> ways;
  if (complete) ways.push_back(close(count > 0, "}"));
  if (object.extras.empty()) return ways.empty() ? std::nullopt : std::optional(ways[0]);
  std::vector<NodeId> plain;
  for (const Member& m : object.extras) {
    if (m.witnesses == 0) plain.push_back(written(m, false, std::nullopt));
  }
  if (object.all_witnesses == 0) {
    if (count > object.max) return std::nullopt;
    const NodeId one = choice(plain);
    const NodeId next = sequence({comma_, one});
    const std::uint32_t least = object.min > count ? object.min - count : 0;
    const std::uint32_t most = object.max == kNoBound ? kUnbounded : object.max - count;
    if (count > 0) return sequence({builder_.repeat(next, least, most, {}), close(true, "}")});
    if (most == 0) return ways.empty() ? std::nullopt : std::optional(ways[0]);
    ways.push_back(
        sequence({one, builder_.repeat(next, least == 0 ? 0 : least - 1, most == kUnbounded ? most : most - 1, {}),
                  close(true, "}")}));
    return choice(ways);
  }
  // `known` holds the nodes of greater counts and of the same count with more witnesses met.
  const auto at = [&](std::uint32_t c, std::uint32_t w) {
    return known[std::size_t{c} * (object.all_witnesses + 1) + w];
  };
  const bool saturated = count == object.cap;
  if (!(saturated && object.max != kNoBound)) {
    const std::uint32_t next_count = std::min(count + 1, object.cap);
    for (const Member& m : object.extras) {
      if (saturated && m.witnesses == 0) continue;
      if ((m.witnesses & met) != 0) continue;
      if (const auto rest = at(next_count, met | m.witnesses)) ways.push_back(written(m, count > 0, *rest));
    }
  }
  if (ways.empty()) return std::nullopt;
  NodeId node = choice(ways);
  if (saturated && object.max == kNoBound && !plain.empty())
    node = sequence({builder_.repeat(sequence({comma_, choice(plain)}), 0, kUnbounded, {}), node});
  return node;
}

// Nothing is counted: after a member comes the end or a comma, and after a comma one of the keys not passed yet.
NodeId Writer::uncounted_members(const Object& object) {
  NodeId after_member = close(true, "}");
  std::optional<NodeId> next;  // a member, by what may come after it, and the rest
  if (!object.extras.empty()) {
    std::vector<NodeId> extras;
    for (const Member& m : object.extras) extras.push_back(written(m, false, std::nullopt));
    const NodeId one = choice(extras);
    after_member = sequence({builder_.repeat(sequence({comma_, one}), 0, kUnbounded, {}), after_member});
    next = sequence({one, after_member});
  }
  bool required = false;  // one of the keys from here on
  for (std::size_t k = object.declared.size(); k-- > 0;) {
    const Object::Declared& key = object.declared[k];
    if (key.ways.empty()) return builder_.nothing({});
    std::vector<NodeId> ways;
    for (const Member& m : key.ways) ways.push_back(written(m, false, after_member));
    if (!key.required && next) ways.push_back(*next);
    next = choice(ways);
    required = required || key.required;
    const NodeId more = sequence({comma_, *next});
    after_member = required ? more : choice({close(true, "}"), more});
  }
  if (required) return *next;
  return next ? choice({close(false, "}"), *next}) : close(false, "}");
}

// Which of the members are still to come is the engine's business.
NodeId Writer::unordered_members(const Object& object) {
  Unordered members;
  members.min = object.min;
  members.max = object.max == kNoBound ? kUnbounded : object.max;
  std::vector<NodeId> names;
  std::vector<NodeId> values;
  for (const Object::Declared& key : object.declared) {
    if (key.ways.empty()) return builder_.nothing({});
    for (const Member& way : key.ways) {
      members.ways.push_back({static_cast<std::uint32_t>(names.size()), way.witnesses});
      values.push_back(sequence(way.parts));
    }
    names.push_back(key.name[0]);
    members.required.push_back(key.required);
  }
  for (const Member& way : object.extras) {
    members.ways.push_back({static_cast<std::uint32_t>(names.size()), way.witnesses});
    values.push_back(sequence(way.parts));
  }
  const bool may_be_empty = object.min == 0 && object.all_witnesses == 0 &&
                            std::none_of(members.required.begin(), members.required.end(), std::identity());
  std::vector<NodeId> ways;
  if (may_be_empty) ways.push_back(close(false, "}"));
  if (!values.empty() && object.max > 0) {
    const NodeId some = builder_.unordered(comma_, names, values, std::move(members), {});
    ways.push_back(sequence({some, close(true, "}")}));
  }
  return choice(ways);
}

NodeId Writer::members(const Object& object) {
  if (any_order()) return unordered_members(object);
  if (object.cap == 1 && object.all_witnesses == 0 && object.min == 0 && object.max == kNoBound)
    return uncounted_members(object);
  const std::uint32_t sets = object.all_witnesses + 1;
  const std::size_t width = (std::size_t{object.cap} + 1) * sets;
  // By count and witnesses met: what may follow the keys passed so far, built from the last key backwards.
  std::vector<std::optional<NodeId>> after(width);
  for (std::uint32_t count = object.cap + 1; count-- > 0;) {
    for (std::uint32_t met = sets; met-- > 0;)
      after[std::size_t{count} * sets + met] = extras(object, count, met, after);
  }
  for (std::size_t k = object.declared.size(); k-- > 0;) {
    const Object::Declared& key = object.declared[k];
    std::vector<std::optional<NodeId>> now(width);
    for (std::uint32_t count = 0; count <= object.cap; ++count) {
      for (std::uint32_t met = 0; met < sets; ++met) {
        const std::size_t here = std::size_t{count} * sets + met;
        const std::uint32_t next_count = std::min(count + 1, object.cap);
        std::vector<NodeId> ways;
        std::vector<NodeId> in_passing;  // that leave the state as it is
        if (object.max == kNoBound || count < object.max) {
          for (const Member& m : key.ways) {
            if ((m.witnesses & met) != 0) continue;
            const std::size_t there = std::size_t{next_count} * sets + (met | m.witnesses);
            if (!after[there]) continue;
            if (there == here)
              in_passing.push_back(written(m, count > 0, std::nullopt));
            else
              ways.push_back(written(m, count > 0, *after[there]));
          }
        }
        if (!in_passing.empty()) {
          const NodeId one = choice(in_passing);
          ways.push_back(sequence({key.required ? one : optional(one), *after[here]}));
        } else if (!key.required && after[here]) {
          ways.push_back(*after[here]);
        }
        if (!ways.empty()) now[here] = choice(ways);
      }
    }
    after = std::move(now);
  }
  return after[0] ? *after[0] : builder_.nothing({});
}

}  // namespace glr::json_schema
