// Filling a mask automaton ahead of use: every (state, residual) pair that a matcher can come to.
//
// Which states can lie directly below which is found first by exploring the machine: a transition at one level
// leaves what is below as it was; a push puts a frame below its targets, and what was below the state below the
// frame. Then residuals flow down: each state is visited with the root; what is left, if anything,
// arrives at each frame that can lie below, is visited there, and flows on. A state that ends under a guard makes a
// state of each frame below it, that frame under the guard. Both are least fixed points over
// finite sets: of states, since counters are explored near their bounds only (Machine::near_bounds), and of
// residuals, since trie nodes are finite.
//
// The relation is per pair of neighbours, not per whole stack, so a few pairs may be filled that no sentence
// needs; none that a mask needs is left out.
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "automaton/engine.hpp"

namespace glr {

class Filler {
 public:
  Filler(Machine& machine, MaskAutomaton& masks, ExprId root, std::uint32_t longest_token);

  enum class Progress : std::uint8_t { Done, More, GaveWay };
  // One state explored or one entry filled. With `give_way` an entry is given up, to be tried again, when
  // somebody waits for the machine.
  Progress step(bool give_way);

  // Explores one state and fills nothing. False: all are explored.
  bool explore_next();
  std::unordered_set<ExprId> found() const;  // states and frames

  std::uint64_t states() const { return explored_; }
  std::uint64_t transitions() const { return transitions_; }

 private:
  static constexpr ExprId kNothingBelow = kNothing;  // the bottom

  struct Place {
    std::set<ExprId> below;          // frames that can lie directly below
    std::vector<ExprId> same_level;  // states and frames with the same below
    std::vector<ResidualId> arrived;
    std::vector<ResidualId> left;  // by the visits of `arrived` made so far, those not empty
  };
  struct Pair {
    ExprId state;
    ResidualId residual;
  };

  void discover(ExprId state);
  void explore(ExprId state);
  void put_below(ExprId state, ExprId frame);
  bool at_same_level(ExprId from, ExprId to);
  void share_below(ExprId from, ExprId to);
  void arrive(ExprId state, ResidualId residual);

  Machine& machine_;
  MaskAutomaton& masks_;
  std::uint32_t longest_token_;
  std::unordered_map<ExprId, Place> places_;
  std::deque<ExprId> to_explore_;
  std::deque<Pair> to_visit_;
  std::uint64_t explored_ = 0;
  std::uint64_t transitions_ = 0;
};

}  // namespace glr
