// What this library shares with llama.cpp in memory: the sampler interface of llama.h, restated.
//
// llama.cpp promises no stable ABI, and its library name stays the same over incompatible versions. So
// nothing here is taken on trust: before first use glrsampler._abi compares these layouts with those of
// the library that llama-cpp-python has loaded and runs a sampler through it once.
//
// Functions of llama.cpp are never linked nor looked up by name. Two copies of the library may live in
// one process; their addresses come from the handle that the caller uses, through `Functions`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "glrsampler/sampler.hpp"

namespace glr::llama {

// llama_token_data. The same type as the Sampler's, so that a candidate array is read in place.
using TokenData = Candidate;

// llama_token_data_array. Its owner is whoever called apply; a sampler may reorder and shrink it.
struct TokenDataArray {
  TokenData* data;
  std::size_t size;
  std::int64_t selected;  // an index into data, -1 for none
  bool sorted;            // by descending logit
};

struct SamplerInterface;

// llama_sampler. Made by init(), which allocates it, and deleted by llama_sampler_free() after that has
// called SamplerInterface::free; the context is ours to delete there, the shell is not.
struct SamplerShell {
  const SamplerInterface* interface;
  void* context;
};

// llama_sampler_i. llama.cpp keeps a pointer to it, never a copy: ours is one static constant.
// The interface grows from version to version by experimental entries at its end; a null entry means
// that a sampler does not take part, so the table ends in room for more of them than exist today.
struct SamplerInterface {
  // Called without a null check by some versions.
  const char* (*name)(const SamplerShell*);
  void (*accept)(SamplerShell*, TokenId);
  // May be called any number of times before accept, on any subset of the tokens in any order; the
  // token accepted afterwards need not be one that it left.
  void (*apply)(SamplerShell*, TokenDataArray*);
  void (*reset)(SamplerShell*);
  // Returns a shell of its own, made by init(), that the caller owns.
  SamplerShell* (*clone)(const SamplerShell*);
  // Deletes the context only.
  void (*free)(SamplerShell*);
  std::array<void (*)(), 26> later;  // version 0.3.36 of llama-cpp-python uses six
};

// The functions of the loaded library that samplers need.
struct Functions {
  // llama_sampler_init. Keeps the interface pointer; the shell it returns belongs to the caller until a
  // chain takes it over.
  SamplerShell* (*init)(const SamplerInterface*, void* context);
  // llama_sampler_free. For shells that no chain owns.
  void (*free)(SamplerShell*);
};

static_assert(std::is_standard_layout_v<TokenData> && sizeof(TokenData) == 12);
static_assert(offsetof(TokenData, logit) == 4 && offsetof(TokenData, p) == 8);
static_assert(std::is_standard_layout_v<TokenDataArray> && std::is_standard_layout_v<SamplerInterface>);

}  // namespace glr::llama
