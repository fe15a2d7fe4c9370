#include "glrsampler/constraint.hpp"

#include <pybind11/stl/filesystem.h>

#include <array>
#include <filesystem>
#include <string>
#include <string_view>

#include "bindings.hpp"

namespace glr::bindings {

namespace {

constexpr std::array<const char*, 5> kStats = {"states", "frames", "entries", "bytes", "compile_ms"};

std::string repr(const Limits& l) {
  return "Limits(max_states=" + std::to_string(l.max_states) +
         ", max_transitions=" + std::to_string(l.max_transitions) + ", max_bytes=" + std::to_string(l.max_bytes) +
         ", max_compile_seconds=" + py::cast<std::string>(py::repr(py::float_(l.max_compile_seconds))) +
         ", max_nesting=" + std::to_string(l.max_nesting) + ")";
}

}  // namespace

void register_constraint(py::module_& module) {
  using namespace py::literals;
  const Limits standard;
  py::class_<Limits>(module, "Limits",
                     "Budgets of a compile; over one of them is a BudgetError, never unconstrained text.")
      .def(py::init([](const Integer& states, const Integer& transitions, const Integer& bytes, double seconds,
                       const Integer& nesting) {
             return Limits{
                 states.in_range<std::uint64_t>("max_states"), transitions.in_range<std::uint64_t>("max_transitions"),
                 bytes.in_range<std::uint64_t>("max_bytes"), seconds, nesting.in_range<std::uint32_t>("max_nesting")};
           }),
           py::kw_only(), "max_states"_a = standard.max_states, "max_transitions"_a = standard.max_transitions,
           "max_bytes"_a = standard.max_bytes, "max_compile_seconds"_a = standard.max_compile_seconds,
           "max_nesting"_a = standard.max_nesting)
      .def_readonly("max_states", &Limits::max_states)
      .def_readonly("max_transitions", &Limits::max_transitions)
      .def_readonly("max_bytes", &Limits::max_bytes)
      .def_readonly("max_compile_seconds", &Limits::max_compile_seconds)
      .def_readonly("max_nesting", &Limits::max_nesting,
                    "Brackets open at once: uses of a recursive rule inside its own cycle with something on both "
                    "sides; 0: unlimited.")
      .def("__repr__", &repr);

  py::class_<ConstraintStats>(module, "ConstraintStats", "Counters of a constraint at the moment they were asked for.")
      .def_readonly("states", &ConstraintStats::states, "Expressions the machine has been in.")
      .def_readonly("frames", &ConstraintStats::frames, "Expressions that were pushed.")
      .def_readonly("entries", &ConstraintStats::entries, "Entries of the mask automaton.")
      .def_readonly("bytes", &ConstraintStats::bytes, "All that the constraint keeps alive.")
      .def_readonly("compile_ms", &ConstraintStats::compile_ms)
      .def("keys",
           [](const ConstraintStats&) {
             py::list names;
             for (const char* name : kStats) names.append(name);
             return names;
           })
      .def("__getitem__", [](const py::object& self, const std::string& key) -> py::object {
        for (const char* name : kStats) {
          if (key == name) return self.attr(name);
        }
        throw py::key_error(key);
      });

  py::class_<Constraint, std::shared_ptr<Constraint>>(
      module, "Constraint", "A grammar compiled for a vocabulary. Immutable, shared by any number of threads.")
      .def(
          "matcher",
          [](std::shared_ptr<Constraint> self) { return std::make_unique<MatcherObject>(Matcher(std::move(self))); },
          "A matcher at the start of a text.")
      .def(
          "save",
          [](const Constraint& self, const std::filesystem::path& path) {
            with_files([&] { self.save(path.string()); });
          },
          "path"_a,
          "Writes the grammar and what has been computed of the masks: everything, after an eager compile.\n\n"
          "The file appears whole or not at all. OSError when it cannot be written.")
      .def_static(
          "load",
          [](const std::filesystem::path& path, std::shared_ptr<Vocabulary> vocabulary) {
            return with_files([&] { return holder(Constraint::load(path.string(), std::move(vocabulary))); });
          },
          "path"_a, "vocabulary"_a,
          "A saved constraint, for the vocabulary that it was made for.\n\n"
          "IncompatibleArtifact for a file that is damaged, of another version or of another vocabulary. Load only\n"
          "files that you would take a grammar from.")
      .def_property_readonly("vocabulary", &Constraint::vocabulary, py::return_value_policy::reference_internal)
      .def_property_readonly("grammar", &Constraint::grammar, py::return_value_policy::reference_internal)
      .def_property_readonly("stats", &Constraint::stats);
}

}  // namespace glr::bindings
