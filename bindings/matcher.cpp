// Masks and commits are called once for every token of every sequence: their wrappers look at nothing
// twice, convert nothing and keep the GIL unless there is something to compute.
#include "glrsampler/matcher.hpp"

#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <cstdint>

#include "bindings.hpp"

namespace glr::bindings {

const TokenSet& MatcherObject::allowed() {
  Matcher& m = use();
  if (const TokenSet* ready = m.allowed_if_ready()) return *ready;
  const OneThread::Use busy = thread.enter();
  const py::gil_scoped_release release;
  return m.allowed();
}

namespace {

py::ssize_t words_of(const MatcherObject& self) {
  return static_cast<py::ssize_t>((self.matcher.constraint().vocabulary().size() + 31) / 32);
}

// The words of a caller's array, checked: no conversion, no copy.
std::span<std::uint32_t> writable_words(py::handle out, py::ssize_t words) {
  using Flag = py::detail::npy_api::constants;
  constexpr int kNeeded = Flag::NPY_ARRAY_C_CONTIGUOUS_ | Flag::NPY_ARRAY_WRITEABLE_ | Flag::NPY_ARRAY_ALIGNED_;
  if (!py::detail::npy_api::get().PyArray_Check_(out.ptr())) {
    throw py::value_error("out: expected a numpy array of uint32");
  }
  const auto* array = py::detail::array_proxy(out.ptr());
  if (!py::dtype::of<std::uint32_t>().is(py::handle(array->descr)) &&
      !py::dtype::of<std::uint32_t>().equal(py::handle(array->descr))) {
    throw py::value_error("out: expected a numpy array of uint32");
  }
  if (array->nd != 1 || array->dimensions[0] != words) {
    throw py::value_error("out: expected a one-dimensional array of " + std::to_string(words) + " words");
  }
  if ((array->flags & kNeeded) != kNeeded) throw py::value_error("out: expected a contiguous, writable array");
  return {reinterpret_cast<std::uint32_t*>(array->data), static_cast<std::size_t>(words)};
}

py::object mask(MatcherObject& self, const py::object& out) {
  const py::ssize_t words = words_of(self);
  if (!out.is_none()) {
    const std::span<std::uint32_t> target = writable_words(out, words);
    self.allowed().write(target);
    return out;
  }
  py::array_t<std::uint32_t> made(words);
  self.allowed().write({made.mutable_data(), static_cast<std::size_t>(words)});
  return made;
}

}  // namespace

void register_matcher(py::module_& module) {
  using namespace py::literals;
  using Explanation = Matcher::Explanation;
  py::class_<Explanation>(module, "Explanation", "Why a token is or is not allowed.")
      .def_readonly("allowed", &Explanation::allowed)
      .def_readonly("reason", &Explanation::reason, "One sentence.")
      .def_readonly("failed_at", &Explanation::failed_at, "Byte of the token at which no sentence is left.")
      .def_readonly("expected_bytes", &Explanation::expected_bytes, "Classes of the bytes that could come there.")
      .def_readonly("expected", &Explanation::expected, "Terminals, with the rule and line they stand in.")
      .def("__str__", [](const Explanation& self) { return self.reason; })
      .def("__repr__", [](const Explanation& self) { return "<glrsampler.Explanation: " + self.reason + ">"; });

  py::class_<MatcherObject>(module, "Matcher",
                            "One sequence of tokens against a constraint. For one thread at a time (RuntimeError\n"
                            "otherwise); forks are independent.")
      .def("mask", &mask, "out"_a = py::none(),
           "The allowed tokens as uint32 words: token i is bit i % 32 of word i // 32.\n\n"
           "out: a contiguous, writable uint32 array of ceil(len(vocabulary) / 32) words to write into and\n"
           "return; ValueError for any other. An array of one's own allocates nothing.")
      .def(
          "allowed_tokens", [](MatcherObject& self) { return id_array(self.allowed()); },
          "The allowed token ids, ascending, as int32.")
      .def_property_readonly("allowed_count", [](MatcherObject& self) { return self.allowed().count(); })
      .def(
          "allows", [](MatcherObject& self, py::handle token) { return self.use().allows(token_id(token)); }, "token"_a,
          "Whether the token is allowed here; False for an id outside the vocabulary.")
      .def(
          "commit", [](MatcherObject& self, py::handle token) { self.use().commit(token_id(token)); }, "token"_a,
          "Takes the token in. RejectedToken, and no change, when it is not allowed.")
      .def(
          "try_commit", [](MatcherObject& self, py::handle token) { return self.use().try_commit(token_id(token)); },
          "token"_a, "Takes the token in and returns True; False, and no change, when it is not allowed.")
      .def(
          "commit_bytes", [](MatcherObject& self, py::handle data) { self.use().commit_bytes(text_view(data)); },
          "data"_a, "Takes in text that was not sampled. RejectedToken names the offset at which it fails.")
      .def_property_readonly(
          "accepting", [](MatcherObject& self) { return self.use().accepting(); },
          "The text so far is a whole sentence.")
      .def_property_readonly(
          "finished", [](MatcherObject& self) { return self.use().finished(); }, "An end token was committed.")
      .def_property_readonly(
          "commits", [](MatcherObject& self) { return self.use().commits(); }, "How many commits can be rolled back.")
      .def(
          "forced_bytes", [](MatcherObject& self) { return py::bytes(self.use().forced_bytes()); },
          "The only possible continuation, up to the first choice or the end.")
      .def(
          "forced_tokens",
          [](MatcherObject& self, const std::optional<PythonTokenizer>& tokenizer, py::handle before) {
            Matcher& m = self.use();
            const Tokenizer& own = m.constraint().vocabulary().tokenizer();
            return m.forced_tokens(tokenizer ? in_bytes(*tokenizer) : own, text_view(before));
          },
          "tokenizer"_a = py::none(), "before"_a = py::bytes(),
          "The tokens of the only possible continuation that no later text can change.\n\n"
          "tokenizer: cuts the continuation, from bytes to token ids; the vocabulary's own (a vocabulary from_llama "
          "has\n"
          "one, while its model is loaded) when None. Without any, the steps at which a single token is allowed.\n"
          "before: the last bytes of the text so far, which can change how a tokenizer cuts what follows.")
      .def(
          "rollback",
          [](MatcherObject& self, const Integer& commits) {
            self.use().rollback(commits.at_most<std::size_t>("commits"));
          },
          "commits"_a, "Undoes the last commits; IndexError when there are fewer.")
      .def(
          "fork", [](MatcherObject& self) { return std::make_unique<MatcherObject>(self.use().fork()); },
          "An independent matcher at the same place, in constant time.")
      .def(
          "reset", [](MatcherObject& self) { self.use().reset(); }, "Back to the start of a text.")
      .def(
          "explain", [](MatcherObject& self, py::handle token) { return self.use().explain(token_id(token)); },
          "token"_a, "Why the token is or is not allowed.");
}

}  // namespace glr::bindings
