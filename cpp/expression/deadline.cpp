#include "expression/deadline.hpp"

#include <algorithm>
#include <string>

#include "glrsampler/error.hpp"

namespace glr {

Deadline::Deadline(Clock::time_point began, double seconds)
    : began_(began), seconds_(seconds), limited_(seconds < 1e9) {}

void Deadline::look() const {
  if (!limited_) return;
  const double passed = std::chrono::duration<double>(Clock::now() - began_).count();
  if (passed <= seconds_) return;
  std::string most = std::to_string(std::max(seconds_, 0.0));
  most.erase(most.find_last_not_of('0') + 1);
  if (most.back() == '.') most.pop_back();
  const auto limit = static_cast<std::uint64_t>(std::max(seconds_, 0.0));
  throw BudgetError("it takes longer than max_compile_seconds (" + most +
                        "); raise it in Limits, or look for what makes the grammar so large: bounds within bounds, "
                        "intersections, look-ahead and reluctant quantifiers multiply",
                    "max_compile_seconds", limit, std::max(static_cast<std::uint64_t>(passed), limit + 1), "");
}

}  // namespace glr
