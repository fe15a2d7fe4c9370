// GrammarBuilder for Python: nodes are their numbers. python/glrsampler/composition.py is its only user.
#include <pybind11/stl.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "bindings.hpp"
#include "glrsampler/grammar.hpp"

namespace glr::bindings {

namespace {

class Composer {
 public:
  std::uint32_t literal(py::handle text) { return number(builder().literal(text_view(text), {})); }
  std::uint32_t code_points(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& ranges) {
    std::vector<CodePointRange> own;
    for (const auto& [first, last] : ranges) own.push_back({first, last});
    return number(builder().code_points(std::move(own), {}));
  }
  std::uint32_t sequence(const std::vector<std::uint32_t>& parts) {
    return number(builder().sequence(nodes(parts), {}));
  }
  std::uint32_t choice(const std::vector<std::uint32_t>& parts) { return number(builder().choice(nodes(parts), {})); }
  std::uint32_t intersection(const std::vector<std::uint32_t>& parts) {
    return number(builder().intersection(nodes(parts), {}));
  }
  std::uint32_t complement(std::uint32_t part) { return number(builder().complement(node(part), {})); }
  std::uint32_t repeat(std::uint32_t part, const Integer& min, const std::optional<Integer>& max) {
    const auto bound = [](const Integer& value, const char* name) {
      return value.in_range<std::uint32_t>(name, 0, kUnbounded - 1);
    };
    return number(builder().repeat(node(part), bound(min, "min"), max ? bound(*max, "max") : kUnbounded, {}));
  }
  std::uint32_t token(const std::variant<Integer, std::string>& name, bool negated) {
    TokenLiteral literal;
    literal.negated = negated;
    if (const auto* text = std::get_if<std::string>(&name))
      literal.text = *text;
    else
      literal.id = std::get<Integer>(name).in_range<std::uint32_t>("token");
    return number(builder().token(std::move(literal), {}));
  }
  std::uint32_t substrings(const std::vector<std::string>& chunks) { return number(builder().substrings(chunks, {})); }
  std::uint32_t include(const Grammar& grammar) { return number(builder().include(grammar, {})); }
  std::uint32_t declare(std::string_view name) {
    const auto rule = static_cast<std::uint32_t>(builder().declare(name));
    rules_ = rule + 1;
    return rule;
  }
  std::uint32_t rule_ref(std::uint32_t rule) { return number(builder().rule_ref(known(rule), {})); }
  void define(std::uint32_t rule, std::uint32_t body) { builder().define(known(rule), node(body), {}); }
  std::shared_ptr<Grammar> build(std::uint32_t root) {
    const RuleId rule = known(root);
    GrammarBuilder spent = std::move(builder());
    builder_.reset();
    return holder(std::move(spent).build(rule));
  }

 private:
  GrammarBuilder& builder() {
    if (!builder_) throw py::value_error("the grammar is built already");
    return *builder_;
  }
  std::uint32_t number(NodeId id) {
    nodes_ = std::max(nodes_, static_cast<std::uint32_t>(id) + 1);
    return static_cast<std::uint32_t>(id);
  }
  NodeId node(std::uint32_t id) const {
    if (id >= nodes_) throw py::index_error("no node " + std::to_string(id));
    return NodeId{id};
  }
  RuleId known(std::uint32_t id) const {
    if (id >= rules_) throw py::index_error("no rule " + std::to_string(id));
    return RuleId{id};
  }
  std::vector<NodeId> nodes(const std::vector<std::uint32_t>& ids) const {
    std::vector<NodeId> own;
    for (std::uint32_t id : ids) own.push_back(node(id));
    return own;
  }

  std::optional<GrammarBuilder> builder_ = GrammarBuilder("", "composition", "composition");
  std::uint32_t nodes_ = 0;  // made so far: numbers below are nodes
  std::uint32_t rules_ = 0;
};

}  // namespace

void register_composition(py::module_& module) {
  using namespace py::literals;
  py::class_<Composer>(module, "Composer", "Puts a grammar together bottom up; nodes and rules are numbers.")
      .def(py::init<>())
      .def("literal", &Composer::literal, "text"_a)
      .def("code_points", &Composer::code_points, "ranges"_a, "One code point of inclusive ranges.")
      .def("sequence", &Composer::sequence, "parts"_a)
      .def("choice", &Composer::choice, "parts"_a)
      .def("intersection", &Composer::intersection, "parts"_a)
      .def("complement", &Composer::complement, "part"_a, "Among all byte strings.")
      .def("repeat", &Composer::repeat, "part"_a, "min"_a, "max"_a)
      .def("token", &Composer::token, "name"_a, "negated"_a, "A whole model token, by its text or its id.")
      .def("substrings", &Composer::substrings, "chunks"_a, "Some of the chunks in a row, or nothing.")
      .def("include", &Composer::include, "grammar"_a, "The sentences of another grammar.")
      .def("declare", &Composer::declare, "name"_a, "A rule to be defined later.")
      .def("rule_ref", &Composer::rule_ref, "rule"_a)
      .def("define", &Composer::define, "rule"_a, "body"_a)
      .def("build", &Composer::build, "root"_a,
           "The grammar; the composer is spent. ValueError for an undefined rule.");
}

}  // namespace glr::bindings
