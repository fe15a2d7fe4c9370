// A question that is asked while llama.cpp computes, and that can end the computation.
//
// llama.cpp calls its abort callback between two nodes of a graph, on the thread that called llama_decode (the first of
// its workers; the others wait for it). The question may be slow: it may need an interpreter's lock that other threads
// hold. So the callback reads a clock and asks once in kInterval. A call that does not ask takes 25 ns, and a model of
// 135M parameters calls 605 times a token: 0.2% of its 7.9 ms. Backends without the callback compute to the end; the
// answer is the same, and later.
//
// When llama_decode gives up it has removed the unfinished part of the batch from its memory. Parts that were finished
// (n_ubatch tokens each) stay there: the caller takes them back.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <utility>

namespace glr::llama {

// ggml_abort_callback: true ends the computation.
using AbortCallback = bool (*)(void* data);

class Interruption {
 public:
  using Ask = std::function<bool()>;  // may throw, which is a yes
  static constexpr std::chrono::milliseconds kInterval{10};

  // `earlier`, if any, is the callback that this one takes the place of. It is called as often as llama.cpp would.
  Interruption(Ask ask, AbortCallback earlier, void* earlier_data)
      : ask_(std::move(ask)), earlier_(earlier), earlier_data_(earlier_data) {}

  // What llama.cpp is given, with the object as `data`. The first question comes kInterval after the object was made.
  static bool callback(void* data) noexcept;

  // The question was answered with yes, or with an exception, which is thrown here.
  bool stopped() const;

 private:
  bool stop() noexcept;

  Ask ask_;
  AbortCallback earlier_;
  void* earlier_data_;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + kInterval;
  std::exception_ptr error_;
  bool stopped_ = false;
};

}  // namespace glr::llama
