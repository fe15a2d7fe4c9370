// A Sampler, or its grammar alone, as a link of a llama.cpp sampler chain.
//
// Ownership. llama.cpp sees a shell whose context holds a Link. The context is deleted exactly once, by
// the `free` entry that llama_sampler_free calls; who calls that is whoever owns the shell: a ChainSampler
// until release(), from then on the chain it was added to. What a caller wants to know afterwards (the
// status) lives in a Report that both sides share.
//
// Failure. No exception crosses into llama.cpp. Whatever goes wrong is put into the report, and from then
// on the link ends the generation: it leaves one end-of-generation token to choose from. llama.cpp itself
// does not notice an empty candidate array: greedy sampling reads its first entry, its grammar aborts.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "glrsampler/sampler.hpp"
#include "llama/abi.hpp"

namespace glr::llama {

enum class Role : std::uint8_t {
  GrammarOnly,  // shrinks the candidates to the allowed ones; other samplers choose
  Full,         // the whole pipeline: leaves the chosen token, selected
};

enum class Status : std::uint8_t {
  Running,
  Finished,  // an end-of-generation token was accepted
  DeadEnd,   // no candidate was allowed
  Rejected,  // a token was accepted that the grammar does not allow here
  Failed,    // an exception; its text is the message
};

// Written by the thread that runs the chain, read by any thread.
class Report {
 public:
  Status status() const { return status_.load(std::memory_order_acquire); }
  std::string message() const;
  std::uint64_t nan_count() const { return nan_count_.load(std::memory_order_relaxed); }
  bool alive() const { return alive_.load(std::memory_order_acquire); }  // until llama.cpp frees the context

 private:
  friend class Link;
  void set(Status status, const char* message) noexcept;

  mutable std::mutex mutex_;  // guards message_
  std::string message_;
  std::atomic<Status> status_{Status::Running};
  std::atomic<std::uint64_t> nan_count_{0};
  std::atomic<bool> alive_{true};
};

class ChainSampler {
 public:
  // Takes the sampler as it stands; it need not be at the start of a sequence.
  ChainSampler(const Functions& functions, Sampler sampler, Role role);
  ~ChainSampler();
  ChainSampler(ChainSampler&&) noexcept;
  ChainSampler& operator=(ChainSampler&&) = delete;

  // The shell, while this object owns it; null after release().
  SamplerShell* get() const { return shell_; }
  // The shell, owned by the caller from here on (llama_sampler_chain_add takes it over).
  SamplerShell* release();

  const Report& report() const { return *report_; }

 private:
  Functions functions_;
  std::shared_ptr<Report> report_;
  SamplerShell* shell_ = nullptr;
};

}  // namespace glr::llama
