#include "glrsampler/sampler.hpp"

#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "bindings.hpp"
#include "glrsampler/utf8_buffer.hpp"

namespace glr::bindings {

namespace {

std::unique_ptr<SamplerObject> make(std::shared_ptr<Constraint> constraint, SamplerParams params) {
  Sampler sampler(constraint, std::move(params));
  return std::make_unique<SamplerObject>(std::move(constraint), std::move(sampler));
}

// At the start of a sequence, with the seed of `self` or another one.
std::unique_ptr<SamplerObject> restarted(SamplerObject& self, const std::optional<Integer>& seed) {
  SamplerParams params = self.use().params();
  params.seed = seed ? seed->in_range<std::uint64_t>("seed") : self.sampler.seed();
  return std::make_unique<SamplerObject>(self.constraint, Sampler(self.constraint, std::move(params)));
}

using Row =
    py::array_t<float, py::array::c_style | py::array::forcecast | py::detail::npy_api::constants::NPY_ARRAY_ALIGNED_>;

// Numbers of any kind as floats. numpy would make floats of dates, records and None as well.
Row row_of(const py::object& given) {
  constexpr int kAligned = py::detail::npy_api::constants::NPY_ARRAY_ALIGNED_;
  if (Row::check_(given) && (py::detail::array_proxy(given.ptr())->flags & kAligned) != 0) {
    return py::reinterpret_borrow<Row>(given);
  }
  const py::array array = py::array::ensure(given);
  if (!array) throw py::type_error("logits: expected an array of float32");
  const char kind = array.dtype().kind();
  if (std::string_view("fiub").find(kind) == std::string_view::npos) {
    throw py::type_error("logits: expected an array of float32, not of " + py::str(array.dtype()).cast<std::string>());
  }
  const Row row = Row::ensure(array);
  if (!row) throw py::type_error("logits: expected an array of float32");
  return row;
}

TokenId sample(SamplerObject& self, const py::object& given) {
  const Row logits = row_of(given);
  if (logits.ndim() != 1) throw py::value_error("logits: expected a one-dimensional array");
  const std::span<const float> row(logits.data(), static_cast<std::size_t>(logits.size()));
  const OneThread::Use busy = self.thread.enter();
  const py::gil_scoped_release release;
  return self.sampler.sample(row);
}

TokenId sample_at(SamplerObject& self, std::uintptr_t address, std::size_t count) {
  const std::span<const float> row(reinterpret_cast<const float*>(address), count);
  const OneThread::Use busy = self.thread.enter();
  const py::gil_scoped_release release;
  return self.sampler.sample(row);
}

py::dict settings(SamplerObject& self) {
  const SamplerParams& p = self.use().params();
  py::dict out;
  out["temperature"] = p.temperature;
  out["top_k"] = p.top_k;
  out["top_p"] = p.top_p;
  out["min_p"] = p.min_p;
  out["repeat_penalty"] = p.repeat_penalty;
  out["frequency_penalty"] = p.frequency_penalty;
  out["presence_penalty"] = p.presence_penalty;
  out["penalty_last_n"] = p.penalty_last_n;
  out["forbidden_tokens"] = p.forbidden_tokens;
  out["forced_tokens"] = p.forced_tokens;
  return out;
}

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

const char* dead_end_name(DeadEnd reason) {
  switch (reason) {
    case DeadEnd::None:
      return "";
    case DeadEnd::Finished:
      return "finished";
    case DeadEnd::NothingAllowed:
      return "nothing_allowed";
    case DeadEnd::AllForbidden:
      return "all_forbidden";
    case DeadEnd::NoCandidateAllowed:
      return "no_candidate_allowed";
  }
  return "";
}

// What can be told of a run without its text.
py::dict evidence(SamplerObject& self) {
  const Evidence& run = self.use().evidence();
  py::list allowed;
  for (const Evidence::Step& step : run.steps) allowed.append(step.allowed);
  py::dict out;
  py::dict shown = settings(self);
  // Ids of forbidden tokens would tell words.
  shown["forbidden_tokens"] = self.sampler.params().forbidden_tokens.size();
  out["version"] = GLRSAMPLER_VERSION;
  out["compiler"] = compiler();
  out["grammar"] = self.constraint->grammar().fingerprint();
  out["vocabulary"] = self.constraint->vocabulary().fingerprint();
  out["seed"] = self.sampler.seed();
  out["settings"] = shown;
  out["tokens"] = run.steps.size();
  out["forced"] = run.forced();
  out["allowed"] = allowed;
  out["nan_count"] = run.nan_logits;
  out["mask_ms"] = static_cast<double>(run.mask_ns) / 1e6;
  out["sample_ms"] = static_cast<double>(run.sample_ns) / 1e6;
  out["commit_ms"] = static_cast<double>(run.commit_ns) / 1e6;
  return out;
}

}  // namespace

void register_sampler(py::module_& module) {
  using namespace py::literals;
  const SamplerParams standard;
  py::class_<SamplerObject>(module, "Sampler",
                            "From logits to a token, under a constraint.\n\n"
                            "The order is the contract: grammar mask; forbidden tokens; repetition, frequency and\n"
                            "presence penalties; temperature; top-k; top-p; min-p; normalise and draw.\n"
                            "For one thread at a time (RuntimeError otherwise); clones are independent.")
      .def(py::init([](std::shared_ptr<Constraint> constraint, float temperature, const Integer& top_k, float top_p,
                       float min_p, float repeat_penalty, float frequency_penalty, float presence_penalty,
                       const Integer& penalty_last_n, const std::vector<Integer>& forbidden_tokens,
                       const std::optional<Integer>& seed, bool forced_tokens) {
             SamplerParams params;
             params.temperature = temperature;
             params.top_k = top_k.in_range<std::int32_t>("top_k");
             params.top_p = top_p;
             params.min_p = min_p;
             params.repeat_penalty = repeat_penalty;
             params.frequency_penalty = frequency_penalty;
             params.presence_penalty = presence_penalty;
             params.penalty_last_n = penalty_last_n.in_range<std::int32_t>("penalty_last_n");
             for (const Integer& token : forbidden_tokens) {
               params.forbidden_tokens.push_back(token.in_range<TokenId>("forbidden_tokens"));
             }
             if (seed) params.seed = seed->in_range<std::uint64_t>("seed");
             params.forced_tokens = forced_tokens;
             return make(std::move(constraint), std::move(params));
           }),
           "constraint"_a, py::kw_only(), "temperature"_a = standard.temperature, "top_k"_a = standard.top_k,
           "top_p"_a = standard.top_p, "min_p"_a = standard.min_p, "repeat_penalty"_a = standard.repeat_penalty,
           "frequency_penalty"_a = standard.frequency_penalty, "presence_penalty"_a = standard.presence_penalty,
           "penalty_last_n"_a = standard.penalty_last_n, "forbidden_tokens"_a = py::tuple(), "seed"_a = py::none(),
           "forced_tokens"_a = standard.forced_tokens,
           "temperature: 0 takes the best token, the lowest id on a tie.\n"
           "top_k: 0 or less is off. top_p: 1 is off. min_p: 0 is off.\n"
           "penalty_last_n: how many tokens the penalties look back at; 0 none, -1 all.\n"
           "seed: None draws one from the operating system; see .seed.\n"
           "ValueError names the parameter that is out of its range.")
      .def("sample", &sample, "logits"_a,
           "Chooses a token of a row of logits without accepting it; -1 when none is allowed.\n\n"
           "The row may be longer than the vocabulary, the rest is never chosen.")
      .def("sample_at", &sample_at, "address"_a, "count"_a,
           "The same for `count` floats at an address, such as llama_get_logits_ith returns.")
      .def(
          "forced_tokens",
          [](SamplerObject& self, const PythonTokenizer& tokenizer, py::handle before, py::handle given) {
            return self.use().forced_tokens(in_bytes(tokenizer), text_view(before), text_view(given));
          },
          "tokenizer"_a, "before"_a = py::bytes(), "given"_a = py::bytes(),
          "Matcher.forced_tokens() up to the first forbidden token; none when the setting of this name is off.\n\n"
          "given: the beginning of the continuation where it is known from elsewhere.")
      .def(
          "accept", [](SamplerObject& self, py::handle token) { return self.use().accept(token_id(token)); }, "token"_a,
          "Takes the token in; False, and no change, when it is not allowed.")
      .def(
          "reset", [](SamplerObject& self) { self.use().reset(); }, "Back to the start, with the same seed.")
      .def(
          "clone",
          [](SamplerObject& self) { return std::make_unique<SamplerObject>(self.constraint, self.use().clone()); },
          "An independent sampler at the same place.")
      .def("restarted", &restarted, "seed"_a = py::none(),
           "An independent sampler at the start of a sequence, with the same seed unless another is given.")
      .def_property_readonly("constraint", [](const SamplerObject& self) { return holder(self.constraint); })
      .def_property_readonly("seed", [](SamplerObject& self) { return self.use().seed(); })
      .def_property_readonly("nan_count", [](SamplerObject& self) { return self.use().nan_count(); })
      .def_property_readonly(
          "accepting", [](SamplerObject& self) { return self.use().matcher().accepting(); },
          "The text so far is a whole sentence.")
      .def_property_readonly(
          "finished", [](SamplerObject& self) { return self.use().matcher().finished(); }, "An end token was accepted.")
      .def_property_readonly(
          "allowed_count", [](SamplerObject& self) { return self.use().allowed().count(); },
          "How many tokens the grammar allows here.")
      .def_property_readonly(
          "dead_end", [](SamplerObject& self) { return dead_end_name(self.use().dead_end()); },
          "Why the last sample() found no token: '' when it did, 'finished', 'nothing_allowed',\n"
          "'all_forbidden' or 'no_candidate_allowed'.")
      .def(
          "rollback",
          [](SamplerObject& self, const Integer& tokens) {
            self.use().rollback(tokens.at_most<std::size_t>("tokens"));
          },
          "tokens"_a, "Undoes the last accepted tokens; IndexError when there are fewer.")
      .def(
          "commit_bytes",
          [](SamplerObject& self, py::handle data) { self.use().matcher().commit_bytes(text_view(data)); }, "data"_a,
          "Takes in text that was not sampled. RejectedToken names the offset at which it fails.")
      .def_property_readonly("settings", &settings)
      .def_property_readonly("evidence", &evidence,
                             "Operational facts of the run so far; never prompts, text or paths.");

  py::class_<Utf8Buffer>(module, "Utf8Buffer",
                         "Token bytes in, whole code points out. What take() and finish() return, in order, is what\n"
                         "went in.")
      .def(py::init<>())
      .def(
          "take", [](Utf8Buffer& self, py::handle data) { return py::bytes(self.take(text_view(data))); }, "data"_a,
          "Everything up to the last place where no code point is half read.")
      .def(
          "finish", [](Utf8Buffer& self) { return py::bytes(self.finish()); },
          "What is left: empty, or an incomplete code point. The buffer starts anew.")
      .def_property_readonly("pending", [](const Utf8Buffer& self) { return py::bytes(std::string(self.pending())); })
      .def_property_readonly("invalid_bytes", &Utf8Buffer::invalid_bytes,
                             "Bytes handed on that are part of no code point.");
}

}  // namespace glr::bindings
