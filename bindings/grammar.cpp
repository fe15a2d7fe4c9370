#include "glrsampler/grammar.hpp"

#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

// A choice given by name, or ValueError that lists the names.
template <typename Choice>
Choice choice_of(const char* option, std::string_view name,
                 std::initializer_list<std::pair<std::string_view, Choice>> known) {
  std::string names;
  for (const auto& [text, choice] : known) {
    if (text == name) return choice;
    names += (names.empty() ? "'" : ", '") + std::string(text) + "'";
  }
  throw py::value_error(std::string(option) + " is one of " + names + ", not '" + std::string(name) + "'");
}

std::shared_ptr<const Grammar> grammar_of_schema(const py::object& schema, std::string_view whitespace,
                                                 std::string_view property_order,
                                                 const std::optional<std::string>& profile, std::string_view spelling,
                                                 std::string_view on_unsupported,
                                                 const std::optional<Integer>& max_digits, const py::object& source,
                                                 std::string_view file) {
  using O = JsonSchemaOptions;
  O options;
  options.whitespace = choice_of<O::Whitespace>(
      "whitespace", whitespace,
      {{"bounded", O::Whitespace::Bounded}, {"any", O::Whitespace::Any}, {"compact", O::Whitespace::Compact}});
  options.property_order = choice_of<O::PropertyOrder>(
      "property_order", property_order, {{"schema", O::PropertyOrder::Schema}, {"any", O::PropertyOrder::Any}});
  if (profile) options.profile = choice_of<O::Profile>("profile", *profile, {{"strict", O::Profile::Strict}});
  options.spelling =
      choice_of<O::Spelling>("spelling", spelling, {{"canonical", O::Spelling::Canonical}, {"any", O::Spelling::Any}});
  options.on_unsupported = choice_of<O::Unsupported>(
      "on_unsupported", on_unsupported, {{"error", O::Unsupported::Error}, {"warn", O::Unsupported::Warn}});
  if (max_digits) options.max_digits = max_digits->in_range<std::uint32_t>("max_digits", 1);
  if (!source.is_none()) options.source = text_view(source);
  py::object text = schema;
  if (!py::isinstance<py::str>(schema) && !py::isinstance<py::bytes>(schema))
    text = py::module_::import("glrsampler.schemas").attr("schema_text")(schema);
  const std::string_view view = text_view(text);
  const py::gil_scoped_release release;
  return Grammar::from_json_schema(view, options, file);
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
          "from_json_schema",
          [](const py::object& schema, std::string_view whitespace, std::string_view property_order,
             const std::optional<std::string>& profile, std::string_view spelling, std::string_view on_unsupported,
             const std::optional<Integer>& max_digits, const py::object& source, std::string_view file) {
            return holder(grammar_of_schema(schema, whitespace, property_order, profile, spelling, on_unsupported,
                                            max_digits, source, file));
          },
          "schema"_a, py::kw_only(), "whitespace"_a = "bounded", "property_order"_a = "schema",
          "profile"_a = py::none(), "spelling"_a = "canonical", "on_unsupported"_a = "error",
          "max_digits"_a = py::none(), "source"_a = py::none(), "file"_a = "schema",
          "The JSON texts whose value meets a JSON Schema: its text, a dict, or a pydantic model class.\n\n"
          "whitespace: 'bounded', what json.dumps writes; 'any', what JSON allows; 'compact', none.\n"
          "property_order: 'schema', as declared, additional ones after them; 'any', every order.\n"
          "profile: 'strict' has no open objects, no more than 16 arrays and objects in each other, numbers of at most "
          "17\n"
          "digits, and in strings no escapes but those that JSON demands.\n"
          "spelling: of keys and enumerated values: 'canonical', or 'any' that JSON has for the same value.\n"
          "on_unsupported: 'warn' admits more than the schema where it cannot be enforced, and says so in `warnings`.\n"
          "max_digits: of a number, before and after the point together.\n"
          "source: the document of which strings marked \"x-source-span\": true are pieces.\n"
          "SchemaError, with the JSON pointer, for what is no schema, cannot be enforced exactly or is met by no "
          "value.")
      .def_static(
          "from_regex",
          [](std::string_view pattern, std::string_view flags, std::string_view file) {
            const py::gil_scoped_release release;
            return holder(Grammar::from_regex(pattern, flags, file));
          },
          "pattern"_a, "flags"_a = "", py::kw_only(), "file"_a = "pattern",
          "The texts that a regular expression (ECMA-262) matches as a whole.\n\n"
          "flags: any of 'i' (ignore case), 'm' (^ and $ at lines), 's' (dot matches line ends).\n"
          "GrammarError, with line, column and hint, for what is no pattern, and for back-references and the like.")
      .def_static(
          "from_choices",
          [](const std::vector<std::string>& choices) { return holder(Grammar::from_choices(choices)); }, "choices"_a,
          "Exactly these texts. GrammarError when there is none.")
      .def_static(
          "from_lark",
          [](std::string_view text, std::string_view start, std::string_view lexing,
             const std::vector<std::filesystem::path>& import_paths, const std::optional<std::filesystem::path>& folder,
             std::string_view file) {
            using L = LarkOptions::Lexing;
            LarkOptions options;
            options.lexing = choice_of<L>("lexing", lexing,
                                          {{"longest", L::Longest}, {"contextual", L::Contextual}, {"all", L::All}});
            for (const std::filesystem::path& path : import_paths) options.import_paths.push_back(path.string());
            if (folder) options.folder = folder->string();
            const py::gil_scoped_release release;
            return holder(Grammar::from_lark(text, start, file, options));
          },
          "text"_a, "start"_a = "start", "lexing"_a = "longest",
          "import_paths"_a = std::vector<std::filesystem::path>(), py::kw_only(), "folder"_a = py::none(),
          "file"_a = "grammar",
          "Reads Lark's notation, with llguidance's additions. `start` is the rule that a text has to match.\n\n"
          "lexing: 'longest' lets no terminal be cut short; 'contextual' reads as Lark's LALR parser does, keywords\n"
          "before names; 'all' takes every reading of the text.\n"
          "import_paths: folders that %import looks in before the library of terminals.\n"
          "folder: where relative imports of this text look after those.\n"
          "GrammarError, with line, column and hint, for a text that is no grammar; SchemaError for what %json holds.")
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
      .def("to_gbnf", &Grammar::to_gbnf,
           "The grammar as GBNF, for llama.cpp and other readers; its root is called root.\n\n"
           "GrammarError for what GBNF has no means for: intersections and complements, members in any order, bounds "
           "on\nthe number of properties.")
      .def_property_readonly("kind", &Grammar::kind, "What read it: 'gbnf', 'json_schema', 'regex', 'choices'...")
      .def_property_readonly("document", &Grammar::document,
                             "The `source` of a JSON Schema with strings that are pieces of a document, or None.")
      .def_property_readonly("fingerprint", &Grammar::fingerprint,
                             "SHA-256 of the source, the root's name and the reader's options, in hex.")
      .def_property_readonly("warnings", &Grammar::warnings,
                             "Where the grammar departs from its source, a sentence each; empty when it is exact.")
      .def_property_readonly("source", &Grammar::source)
      .def_property_readonly("file", &Grammar::file)
      .def("__repr__", [](const Grammar& self) {
        return "<glrsampler.Grammar " + self.file() + " of " + std::to_string(self.rules().size()) + " rules>";
      });
}

}  // namespace glr::bindings
