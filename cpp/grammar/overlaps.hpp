// Overlaps: how the texts of terminals stand to each other. The reader of a grammar asks, and derivatives answer:
// expression/overlaps.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "glrsampler/grammar.hpp"

namespace glr {

class Overlaps {
 public:
  ~Overlaps();
  // Of terminals, each the body of a rule; those without a rule overlap with none. Of two whose automata are too large
  // to look through (expression/overlaps.cpp) all is said to be so.
  Overlaps(const Grammar& grammar, std::span<const std::optional<RuleId>> terminals);

  bool nullable(std::uint32_t terminal) const { return nullable_[terminal]; }
  // Whether both match some text, not the empty one.
  bool same(std::uint32_t x, std::uint32_t y) const { return at(x, y).same; }
  // Whether y matches a text that is longer than one of x and begins with it.
  bool longer(std::uint32_t x, std::uint32_t y) const { return at(x, y).longer; }
  // Whether, wherever a text is that y may still match and that begins with one of x, z may match something longer.
  bool covers(std::uint32_t x, std::uint32_t y, std::uint32_t z) const;
  // Whether that is so of one more byte than x has: then y has matched, or cannot. Each letter makes a longer name.
  bool settled_at_once(std::uint32_t x, std::uint32_t y) const { return !at(x, y).open; }

 private:
  struct Pair {
    bool same = false;
    bool longer = false;
    bool open = false;
  };
  const Pair& at(std::uint32_t x, std::uint32_t y) const { return pairs_[x * nullable_.size() + y]; }

  struct Automata;
  std::unique_ptr<Automata> automata_;
  std::vector<bool> nullable_;
  std::vector<Pair> pairs_;
};

}  // namespace glr
