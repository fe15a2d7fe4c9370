// The mask of a configuration: the union of what its heads allow, each read along its stack.
//
//     result, N = visit(q, root)
//     for r in stack, top to bottom, while N is not empty:  T, N = visit(r, N);  result |= T
//
// A stack is read until the residual is empty: a bounded prefix, whatever a token hides, unless frames are
// nullable one after the other; such chains are memoised per (residual, stack), so only what is new on top is
// read. The mask of a configuration is kept in its node.
#pragma once

#include "automaton/mask_automaton.hpp"
#include "automaton/stack.hpp"

namespace glr {

class MaskReader {
 public:
  MaskReader(Stack& stack, MaskAutomaton& masks, bool careful) : stack_(stack), masks_(masks), careful_(careful) {}

  // Of a configuration; the end-of-generation tokens included when it accepts.
  SetId mask(StackId configuration);
  // The same when it was computed before, else false.
  bool known(StackId configuration, SetId& out) const;

 private:
  SetId literals(const Heads& heads);
  SetId at_bottom(ResidualId residual);
  SetId tails(StackId tail, ResidualId residual);
  SetId tails_memo(StackId tail, ResidualId residual);

  // Up to here a chain is read afresh: an entry of the memo costs about as much as reading sixteen frames.
  static constexpr std::size_t kShortChain = 16;

  Stack& stack_;
  MaskAutomaton& masks_;
  bool careful_;  // the machine is
};

}  // namespace glr
