#include "glrsampler/vocabulary.hpp"

#include <pybind11/functional.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "glrsampler/constraint.hpp"

namespace glr::bindings {

namespace {

constexpr TokenId kLargestId = 1 << 24;  // far beyond any model; a larger one is a mistake, not a vocabulary

using Names = std::map<Integer, std::string>;

Token& place(std::vector<Token>& tokens, const char* argument, const Integer& id) {
  const auto index = static_cast<std::size_t>(id.in_range<TokenId>(argument, 0, kLargestId));
  if (index >= tokens.size()) tokens.resize(index + 1);
  return tokens[index];
}

std::shared_ptr<Vocabulary> make(const py::sequence& token_bytes, const std::vector<Integer>& end_tokens,
                                 const Names& special_tokens, const Names& named_tokens,
                                 const std::optional<PythonTokenizer>& tokenizer) {
  std::vector<Token> tokens;
  tokens.reserve(token_bytes.size());
  for (const py::handle bytes : token_bytes) tokens.emplace_back().bytes = text_view(bytes);
  for (const auto& [id, name] : named_tokens) place(tokens, "named_tokens", id).name = name;
  for (const auto& [id, name] : special_tokens) {
    Token& token = place(tokens, "special_tokens", id);
    token.bytes.clear();
    token.name = name;
    token.control = true;
  }
  for (const Integer& id : end_tokens) {
    Token& token = place(tokens, "end_tokens", id);
    token.bytes.clear();
    token.control = token.end_of_generation = true;
  }
  const py::gil_scoped_release release;
  return std::make_shared<Vocabulary>(std::move(tokens), tokenizer ? in_bytes(*tokenizer) : Tokenizer());
}

const Token& at(const Vocabulary& vocabulary, py::handle token) {
  const TokenId id = token_id(token);
  if (id < 0 || static_cast<std::size_t>(id) >= vocabulary.size()) throw py::index_error("no such token");
  return vocabulary.token(id);
}

// Readers of foreign formats are written in Python.
py::object read(const char* module, const py::object& source) {
  return py::module_::import(module).attr("read_vocabulary")(source);
}

}  // namespace

// Strings would be converted to str, and need not be UTF-8.
Tokenizer in_bytes(PythonTokenizer tokenizer) {
  return [tokenizer = std::move(tokenizer)](std::string_view text) {
    const py::gil_scoped_acquire held;
    const py::object answer = tokenizer(py::bytes(text.data(), text.size()));
    py::detail::make_caster<std::vector<Integer>> integers;
    if (!integers.load(answer, true)) throw py::type_error("tokenizer: expected a list of token ids in return");
    std::vector<TokenId> tokens;
    for (const Integer& id : py::detail::cast_op<std::vector<Integer>&>(integers)) tokens.push_back(id.token());
    return tokens;
  };
}

void register_vocabulary(py::module_& module) {
  using namespace py::literals;
  py::class_<Vocabulary, std::shared_ptr<Vocabulary>>(module, "Vocabulary",
                                                      "The bytes and kinds of a model's tokens.\n\n"
                                                      "Immutable, and shared by any number of threads and grammars.")
      .def(py::init(&make), "tokens"_a, "end_tokens"_a = py::tuple(), "special_tokens"_a = py::dict(),
           "named_tokens"_a = py::dict(), "tokenizer"_a = py::none(),
           "tokens: the bytes each token adds to the text, by id.\n"
           "end_tokens: ids that end the generation; allowed exactly when the text is a whole sentence.\n"
           "special_tokens: names of control tokens, which no bytes reach, only a token literal of that name.\n"
           "named_tokens: names of tokens that bytes reach too.\n"
           "tokenizer: the model's own, from bytes to token ids; Matcher.forced_tokens() cuts text with it.\n"
           "Ids beyond the tokens given extend the vocabulary. ValueError for an id that is out of range.")
      .def_static(
          "from_tokens",
          [](const py::sequence& tokens, const std::vector<Integer>& end_tokens, const Names& special_tokens) {
            return make(tokens, end_tokens, special_tokens, {}, std::nullopt);
          },
          "tokens"_a, "end_tokens"_a = py::tuple(), "special_tokens"_a = py::dict(),
          "A vocabulary from token bytes; see the constructor.")
      .def_static(
          "from_gguf", [](const py::object& path) { return read("glrsampler.gguf", path); }, "path"_a,
          "The vocabulary of a GGUF file, as llama.cpp reads it; needs no llama.cpp.\n\n"
          "glr.Error for a file that is damaged, holds no vocabulary, or one of a kind that is not supported.")
      .def_static(
          "from_llama", [](const py::object& llm) { return read("glrsampler.llama_vocabulary", llm); }, "llm"_a,
          "The vocabulary of a loaded llama_cpp.Llama, vocab_only or not.")
      .def("__len__", &Vocabulary::size)
      .def(
          "token_bytes", [](const Vocabulary& self, py::handle token) { return py::bytes(at(self, token).bytes); },
          "token"_a, "What the token adds to the text; empty for control tokens. IndexError for no token.")
      .def(
          "token_name", [](const Vocabulary& self, py::handle token) { return at(self, token).name; }, "token"_a,
          "The text by which a token literal names it, empty when it has none.")
      .def(
          "is_control", [](const Vocabulary& self, py::handle token) { return at(self, token).control; }, "token"_a,
          "Whether only a token literal, or the end of the text, admits it.")
      .def(
          "find", [](const Vocabulary& self, std::string_view text) { return self.find(text); }, "text"_a,
          "The token that a literal such as <think> names, or None.")
      .def(
          "beginning_with",
          [](const Vocabulary& self, py::handle text) { return self.beginning_with(text_view(text)); }, "text"_a,
          "The text tokens whose bytes begin with `text`, that of exactly these bytes first.")
      .def_property_readonly("end_tokens",
                             [](const Vocabulary& self) {
                               const auto ids = self.end_tokens();
                               return std::vector<TokenId>(ids.begin(), ids.end());
                             })
      .def_property_readonly("longest_token", &Vocabulary::longest_token, "Bytes of the longest token.")
      .def_property_readonly("fingerprint", &Vocabulary::fingerprint,
                             "SHA-256 over every token's bytes, name and kind, in hex.")
      .def(
          "warm",
          [](std::shared_ptr<Vocabulary> self, const std::optional<std::filesystem::path>& folder) {
            with_files([&] { warm(self, folder ? folder->string() : ""); });
          },
          "folder"_a = py::none(),
          "Computes ahead what most grammars have in common: JSON strings, numbers, white space.\n\n"
          "With a folder it is kept there, in a file named by this version and the vocabulary, and read from it the\n"
          "next time, if no grammar was compiled before. Only its user should be able to write to the folder: a "
          "hostile\n"
          "file could change masks. OSError when it cannot be written.")
      .def("__repr__", [](const Vocabulary& self) {
        return "<glrsampler.Vocabulary of " + std::to_string(self.size()) + " tokens, " +
               self.fingerprint().substr(0, 12) + ">";
      });
}

}  // namespace glr::bindings
