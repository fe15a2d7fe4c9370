// Automaton: a deterministic automaton over ASCII characters, minimised and written as grammar nodes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "glrsampler/grammar.hpp"

namespace glr::json_schema {

class Automaton {
 public:
  using State = std::uint32_t;

  State add(bool accepting);
  void connect(State from, char c, State to) { states_[from].moves[c] = to; }
  std::size_t size() const { return states_.size(); }

  // What is accepted from state 0. States that lead to acceptance nowhere are dropped, equal ones merged
  // (Moore's refinement, O(states^2) at worst). A state whose only cycle is itself becomes a repetition; states of a
  // longer cycle become right-linear rules.
  NodeId write(GrammarBuilder& builder) const;

 private:
  struct Entry {
    bool accepting = false;
    std::map<char, State> moves;
  };
  Automaton minimised() const;
  std::vector<std::vector<State>> components() const;  // strongly connected, those reached later first
  NodeId write_minimal(GrammarBuilder& builder) const;

  std::vector<Entry> states_;
};

}  // namespace glr::json_schema
