#include "llama/interruption.hpp"

namespace glr::llama {

bool Interruption::callback(void* data) noexcept {
  auto& self = *static_cast<Interruption*>(data);
  // A graph may be split, and is asked about in each part: a yes stays one.
  if (self.stopped_ || self.stop()) return true;
  return self.earlier_ != nullptr && self.earlier_(self.earlier_data_);
}

bool Interruption::stop() noexcept {
  if (std::chrono::steady_clock::now() < next_) return false;
  try {
    stopped_ = ask_();
  } catch (...) {
    error_ = std::current_exception();
    stopped_ = true;
  }
  next_ = std::chrono::steady_clock::now() + kInterval;
  return stopped_;
}

bool Interruption::stopped() const {
  if (error_) std::rethrow_exception(error_);
  return stopped_;
}

}  // namespace glr::llama
