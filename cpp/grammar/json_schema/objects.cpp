// Objects: object shapes -> texts.
//
// The members of an object are one Members node: the declared keys, each with the ways to write its value, and the
// additional members. How many were written and which witnesses were met is counted there.

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "grammar/json_schema/error.hpp"
#include "grammar/json_schema/limits.hpp"
#include "grammar/json_schema/writer.hpp"

namespace glr::json_schema {

// A way to write a member, and the witnesses it is one of. Its parts are put straight into the sequences it stands in:
// a sequence in a sequence is concatenated twice when the grammar is compiled. A declared member's parts begin after
// its name.
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
    NodeId name;  // with its quotes
    std::vector<Member> ways;
    bool required = false;
  };
  std::vector<Declared> declared;
  std::vector<Member> extras;
  std::unordered_set<std::string> mentioned;  // names that are no additional member's
  std::uint32_t min = 0;
  std::uint32_t max = kNoBound;
  std::uint32_t all_witnesses = 0;
};

std::vector<NodeId> Writer::member(const std::vector<NodeId>& key, const Goal& goal) {
  std::vector<NodeId> parts = key;
  for (const NodeId part : {spaces_.after_colon, value(goal), spaces_.after_value}) {
    if (part != spaces_.none) parts.push_back(part);
  }
  return parts;
}

// With its quotes, and the colon when nothing can stand before it: what is one literal is one term.
NodeId Writer::known_name(const std::string& name) {
  const bool colon = spaces_.before_colon == spaces_.none;
  if (options_.spelling == JsonSchemaOptions::Spelling::Any) {
    const NodeId quoted = names_.quoted(names_.text(name));
    return colon ? sequence({quoted, literal(":")}) : quoted;
  }
  return literal(canonical_string(name) + (colon ? ":" : ""));
}

std::vector<NodeId> Writer::after_name() {
  if (spaces_.before_colon == spaces_.none) return {};
  return {spaces_.before_colon, literal(":")};
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
  if (object.extras.empty() && object.min > object.declared.size()) return builder_.nothing({});
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
    if (!forbidden.contains(*key.name) && algebra_.admits_name(shape.names, *key.name)) {
      std::vector<Evidence> evidence;
      for (std::size_t w = 0; w < shape.witnesses.size(); ++w) {
        const Witness& witness = shape.witnesses[w];
        const Schema& s = schemas[witness.schema];
        if (!algebra_.is_witness(witness, *key.name)) continue;
        Goal goal;
        if (witness.names == Witness::Names::Pattern)
          add(goal, Literal{s.pattern_properties[witness.index].schema, true});
        else if (witness.names == Witness::Names::Additional)
          add(goal, Literal{*s.additional_properties, true});
        evidence.push_back({1u << w, {}, std::move(goal)});
      }
      declared.name = known_name(*key.name);
      add_ways({}, key.goal, evidence, declared.ways);
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
    add_ways({names}, goal, evidence, object.extras);
  }
}

// A member may be the witness of several negated schemas at once, so there is a way for every set of them.
// `names`: none for a member with a name of its own.
void Writer::add_ways(const std::vector<NodeId>& names, const Goal& goal, const std::vector<Evidence>& evidence,
                      std::vector<Member>& out) {
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
    out.push_back({member(names.empty() ? after_name() : key(builder_.intersection(in_all, {})), met), witnesses});
  }
}

// What may come next, and what must, is the engine's business (expression/members.hpp).
NodeId Writer::members(const Object& object) {
  Members members;
  members.ordered = options_.property_order == JsonSchemaOptions::PropertyOrder::Schema;
  members.min = object.min;
  members.max = object.max == kNoBound ? kUnbounded : object.max;
  std::vector<NodeId> names;
  std::vector<NodeId> values;
  bool may_be_empty = object.min == 0 && object.all_witnesses == 0;
  for (const Object::Declared& key : object.declared) {
    if (key.ways.empty()) return builder_.nothing({});
    for (const Member& way : key.ways) {
      members.ways.push_back({static_cast<std::uint32_t>(names.size()), way.witnesses});
      values.push_back(sequence(way.parts));
    }
    names.push_back(key.name);
    members.required.push_back(key.required);
    may_be_empty = may_be_empty && !key.required;
  }
  for (const Member& way : object.extras) {
    members.ways.push_back({static_cast<std::uint32_t>(names.size()), way.witnesses});
    values.push_back(sequence(way.parts));
  }
  std::vector<NodeId> ways;
  if (may_be_empty) ways.push_back(close(false, "}"));
  if (!values.empty() && object.max > 0) {
    const NodeId some = builder_.members(comma_, names, values, std::move(members), {});
    ways.push_back(sequence({some, close(true, "}")}));
  }
  return choice(ways);
}

}  // namespace glr::json_schema
