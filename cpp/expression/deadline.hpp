// Deadline: until when a compile may go on (Limits.max_compile_seconds).
//
// It is asked at every step of every loop of a compile, so a step costs one addition, and every kSteps of them a look
// at the clock. Steps are of a few microseconds at most (a term made, a derivative taken), so the time is kept to
// within some milliseconds. ExpressionStore carries the deadline, since whatever a compile does, it does to terms.
//
// A step may throw, so it stands where what is half done can be left: before a term is interned, never between two
// changes that belong together.
#pragma once

#include <chrono>
#include <cstdint>

namespace glr {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  Deadline() = default;  // none
  // `seconds` after `began`; none when that is further than any clock goes, or no number.
  Deadline(Clock::time_point began, double seconds);

  // Throws BudgetError.
  void step() {
    if (limited_ && ++steps_ % kSteps == 0) look();
  }
  // The same, at once.
  void look() const;

 private:
  static constexpr std::uint32_t kSteps = 256;  // a look takes 25 ns

  Clock::time_point began_;
  double seconds_ = 0;
  bool limited_ = false;
  std::uint32_t steps_ = 0;
};

}  // namespace glr
