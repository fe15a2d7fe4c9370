// Compiling one body for several instruction sets of x86-64 and choosing at run time.
//
// GLR_MULTIVERSION(result, name, parameters, arguments) defines `name` as a call of the always
// inlined `name##_body`. On other processors, arm64 among them, only the plain version exists.
// Written out because target_clones needs ifunc, which musl and macOS do not have.
#pragma once

#define GLR_ALWAYS_INLINE [[gnu::always_inline]] inline

#if defined(__x86_64__)
#define GLR_MULTIVERSION(result, name, parameters, arguments)                             \
  [[gnu::target("avx2")]] result name##_avx2 parameters { return name##_body arguments; } \
  [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] result name##_avx512 parameters { \
    return name##_body arguments;                                                         \
  }                                                                                       \
  result name##_plain parameters { return name##_body arguments; }                        \
  result name parameters {                                                                \
    static const auto chosen = supports_avx512()                ? &name##_avx512          \
                               : __builtin_cpu_supports("avx2") ? &name##_avx2            \
                                                                : &name##_plain;          \
    return chosen arguments;                                                              \
  }

namespace glr::sampling {

inline bool supports_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

}  // namespace glr::sampling
#else
#define GLR_MULTIVERSION(result, name, parameters, arguments) \
  result name parameters { return name##_body arguments; }
#endif
