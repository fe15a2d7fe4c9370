#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "bindings.hpp"
#include "llama/adapter.hpp"
#include "llama/interruption.hpp"

namespace glr::bindings {

namespace {

using llama::ChainSampler;
using llama::Interruption;
using llama::Role;
using llama::Status;

Role role_of(std::string_view name) {
  if (name == "full") return Role::Full;
  if (name == "grammar") return Role::GrammarOnly;
  throw py::value_error("role is one of 'full' and 'grammar', not '" + std::string(name) + "'");
}

const char* status_name(Status status) {
  switch (status) {
    case Status::Running:
      return "running";
    case Status::Finished:
      return "finished";
    case Status::DeadEnd:
      return "dead_end";
    case Status::Rejected:
      return "rejected";
    case Status::Failed:
      return "failed";
  }
  return "failed";
}

std::uintptr_t address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

std::unique_ptr<ChainSampler> make(SamplerObject& sampler, std::string_view role, std::uintptr_t init,
                                   std::uintptr_t free) {
  if (init == 0 || free == 0) throw py::value_error("a function's address is null");
  llama::Functions functions{};
  functions.init = reinterpret_cast<decltype(functions.init)>(init);
  functions.free = reinterpret_cast<decltype(functions.free)>(free);
  return std::make_unique<ChainSampler>(functions, sampler.use().clone(), role_of(role));
}

std::unique_ptr<Interruption> ask_meanwhile(py::function ask, std::uintptr_t earlier, std::uintptr_t earlier_data) {
  // llama.cpp computes without the GIL.
  auto answer = [ask = std::move(ask)] {
    const py::gil_scoped_acquire acquire;
    const int truth = PyObject_IsTrue(ask().ptr());
    if (truth < 0) throw py::error_already_set();
    return truth != 0;
  };
  return std::make_unique<Interruption>(std::move(answer), reinterpret_cast<llama::AbortCallback>(earlier),
                                        reinterpret_cast<void*>(earlier_data));
}

py::dict layout() {
  using llama::SamplerInterface, llama::TokenData, llama::TokenDataArray;
  py::dict out;
  out["llama_token_data"] =
      py::make_tuple(sizeof(TokenData), offsetof(TokenData, id), offsetof(TokenData, logit), offsetof(TokenData, p));
  out["llama_token_data_array"] =
      py::make_tuple(sizeof(TokenDataArray), offsetof(TokenDataArray, data), offsetof(TokenDataArray, size),
                     offsetof(TokenDataArray, selected), offsetof(TokenDataArray, sorted));
  out["llama_sampler"] = py::make_tuple(sizeof(llama::SamplerShell), offsetof(llama::SamplerShell, interface),
                                        offsetof(llama::SamplerShell, context));
  out["llama_sampler_i"] =
      py::make_tuple(sizeof(SamplerInterface), offsetof(SamplerInterface, name), offsetof(SamplerInterface, accept),
                     offsetof(SamplerInterface, apply), offsetof(SamplerInterface, reset),
                     offsetof(SamplerInterface, clone), offsetof(SamplerInterface, free));
  return out;
}

}  // namespace

void register_llama(py::module_& module) {
  using namespace py::literals;
  module.def("llama_layout", &layout,
             "Of each mirrored struct of llama.h its size and the offsets of its fields, in their order.");
  py::class_<Interruption>(module, "Interruption",
                           "Asks a callable, about every 10 ms while llama.cpp computes, whether to stop.\n\n"
                           "earlier, earlier_data: addresses of the abort callback that it takes the place of; 0 for\n"
                           "none.")
      .def(py::init(&ask_meanwhile), "ask"_a, "earlier"_a, "earlier_data"_a)
      .def_property_readonly(
          "callback", [](const Interruption&) { return reinterpret_cast<std::uintptr_t>(&Interruption::callback); },
          "The address that llama_set_abort_callback takes.")
      .def_property_readonly(
          "data", [](const Interruption& self) { return address(&self); }, "Its argument.")
      .def("stopped", &Interruption::stopped, "Did the callable say so? What it raised is raised here.");
  py::class_<ChainSampler>(module, "ChainSampler",
                           "A copy of a sampler as a llama_sampler.\n\n"
                           "role: 'full', the whole pipeline, or 'grammar', which shrinks the candidates and leaves\n"
                           "the choice to the samplers after it. init, free: addresses of llama_sampler_init and\n"
                           "llama_sampler_free of the library that will run it.")
      .def(py::init(&make), "sampler"_a, "role"_a, "init"_a, "free"_a)
      .def_property_readonly(
          "address", [](const ChainSampler& self) { return address(self.get()); },
          "Of the llama_sampler; 0 once it was released.")
      .def(
          "release", [](ChainSampler& self) { return address(self.release()); },
          "Gives the llama_sampler away (llama_sampler_chain_add frees it) and returns its address.")
      .def_property_readonly(
          "status", [](const ChainSampler& self) { return status_name(self.report().status()); },
          "'running', 'finished', 'dead_end', 'rejected' or 'failed'.")
      .def_property_readonly("message", [](const ChainSampler& self) { return self.report().message(); })
      .def_property_readonly("nan_count", [](const ChainSampler& self) { return self.report().nan_count(); })
      .def_property_readonly(
          "alive", [](const ChainSampler& self) { return self.report().alive(); }, "Until llama.cpp has freed it.");
}

}  // namespace glr::bindings
