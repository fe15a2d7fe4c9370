#include "bindings.hpp"

PYBIND11_MODULE(_core, module) {
  using namespace glr::bindings;
  module.doc() = "The compiled part of glrsampler; import glrsampler instead.";
  module.attr("__version__") = GLRSAMPLER_VERSION;
  register_errors();
  register_vocabulary(module);
  register_constraint(module);  // before what takes its Limits as a default argument
  register_grammar(module);
  register_composition(module);
  register_matcher(module);
  register_sampler(module);
  register_llama(module);
}
