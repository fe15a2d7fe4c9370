#include "glrsampler/grammar.hpp"

#include <string>
#include <string_view>
#include <utility>

#include "bindings.hpp"
#include "glrsampler/constraint.hpp"

namespace glr::bindings {

namespace {

Mode mode_of(std::string_view name) {
  if (name == "lazy") return Mode::Lazy;
  if (name == "eager") return Mode::Eager;
  if (name == "background") return Mode::Background;
  throw py::value_error("mode is one of 'lazy', 'eager' and 'background', not '" + std::string(name) + "'");
}

}  // namespace

void register_grammar(py::module_& module) {
  using namespace py::literals;
  py::class_<Grammar, std::shared_ptr<Grammar>>(module, "Grammar", "A grammar as its author wrote it. Immutable.")
      .def_static(
          "from_gbnf",
          [](std::string_view text, std::string_view root, std::string_view file) {
            return holder(Grammar::from_gbnf(text, root, file));
          },
          "text"_a, "root"_a = "root", py::kw_only(), "file"_a = "grammar",
          "Reads llama.cpp's GBNF. `file` names the source in messages.\n\n"
          "GrammarError, with line, column and hint, for a text that is no grammar.")
      .def_static(
          "from_file",
          [](const py::object& path) { return py::module_::import("glrsampler.files").attr("read_grammar")(path); },
          "path"_a, "Reads a grammar file; its ending says which kind it is.")
      .def(
          "compile",
          [](std::shared_ptr<Grammar> self, std::shared_ptr<Vocabulary> vocabulary, std::string_view mode,
             const Limits& limits) {
            const Mode fill = mode_of(mode);
            const py::gil_scoped_release release;
            return holder(Constraint::compile(std::move(self), std::move(vocabulary), fill, limits));
          },
          "vocabulary"_a, "mode"_a = "lazy", "limits"_a = Limits(),
          "The constraint that this grammar puts on texts of the vocabulary's tokens.\n\n"
          "mode: when the masks are computed: 'lazy', on first use; 'eager', all of them now;\n"
          "'background', ahead of their use by a thread.\n"
          "GrammarError for a token literal that names no token, BudgetError over one of the limits.")
      .def(
          "matches", [](const Grammar& self, py::handle text) { return matches(self, text_view(text)); }, "text"_a,
          "Whether the text as a whole is a sentence of the grammar.")
      .def_property_readonly("fingerprint", &Grammar::fingerprint,
                             "SHA-256 of the source, the root's name and the reader's options, in hex.")
      .def_property_readonly("source", &Grammar::source)
      .def_property_readonly("file", &Grammar::file)
      .def("__repr__", [](const Grammar& self) {
        return "<glrsampler.Grammar " + self.file() + " of " + std::to_string(self.rules().size()) + " rules>";
      });
}

}  // namespace glr::bindings
