// The UTF-8 decoder as a byte automaton (Unicode 15, table 3-7): which bytes may follow which.
#pragma once

#include <cstdint>

namespace glr::utf8 {

// Boundary: between code points. One..Three: so many continuation bytes are due. The others are the
// states after E0, ED, F0 and F4, whose second byte has a narrower range.
enum State : std::uint8_t { Boundary, One, Two, Three, AfterE0, AfterED, AfterF0, AfterF4, Invalid };

constexpr State next(State s, std::uint8_t b) {
  const auto within = [b](unsigned lo, unsigned hi) { return b >= lo && b <= hi; };
  switch (s) {
    case Boundary:
      if (b < 0x80) return Boundary;
      if (within(0xC2, 0xDF)) return One;
      if (b == 0xE0) return AfterE0;
      if (b == 0xED) return AfterED;
      if (within(0xE1, 0xEF)) return Two;
      if (b == 0xF0) return AfterF0;
      if (within(0xF1, 0xF3)) return Three;
      return b == 0xF4 ? AfterF4 : Invalid;
    case One:
      return within(0x80, 0xBF) ? Boundary : Invalid;
    case Two:
      return within(0x80, 0xBF) ? One : Invalid;
    case Three:
      return within(0x80, 0xBF) ? Two : Invalid;
    case AfterE0:
      return within(0xA0, 0xBF) ? One : Invalid;
    case AfterED:
      return within(0x80, 0x9F) ? One : Invalid;
    case AfterF0:
      return within(0x90, 0xBF) ? Two : Invalid;
    case AfterF4:
      return within(0x80, 0x8F) ? Two : Invalid;
    case Invalid:
      break;
  }
  return Invalid;
}

}  // namespace glr::utf8
