// Utf8Buffer: token bytes in, whole code points out.
//
// A token may end inside a code point. What could still become one is kept (at most 3 bytes);
// everything else is handed on at once. Nothing is lost and nothing is replaced: all that take()
// and finish() return, in order, is what went in. A byte that can be part of no code point (a lone
// continuation byte, an overlong form, a surrogate, a cut sequence) is handed on as it is and
// counted, so that the caller can say so and choose how to show it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace glr {

class Utf8Buffer {
 public:
  // Everything up to the last place where no code point is half read. O(bytes).
  std::string take(std::string_view bytes);
  // What is left, empty or an incomplete code point, which then counts as invalid. The buffer starts anew.
  std::string finish();

  std::string_view pending() const { return pending_; }         // kept for now
  std::size_t invalid_bytes() const { return invalid_bytes_; }  // handed on so far

 private:
  std::string pending_;  // a proper prefix of a valid code point
  std::size_t invalid_bytes_ = 0;
};

}  // namespace glr
