// Lalr: which terminals a parser could take, by what it has read so far.
//
// The LR(0) automaton of a grammar and, of its reductions, the LALR(1) lookaheads (DeRemer and Pennello 1982). No table
// for parsing comes of it, so that two actions are possible somewhere does no harm.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace glr::lark {

// Terminals below terminals(), then nonterminals.
using GrammarSymbol = std::uint32_t;

// A set of terminals. The one past the last is the end of the text.
class TerminalSet {
 public:
  explicit TerminalSet(std::size_t terminals = 0) : words_((terminals + 64) / 64) {}
  bool contains(std::uint32_t t) const { return (words_[t / 64] >> (t % 64) & 1) != 0; }
  void insert(std::uint32_t t) { words_[t / 64] |= std::uint64_t{1} << (t % 64); }
  bool insert(const TerminalSet& other);  // whether it has become larger
  TerminalSet common(const TerminalSet& other) const;
  bool empty() const;
  friend bool operator==(const TerminalSet&, const TerminalSet&) = default;
  friend auto operator<=>(const TerminalSet&, const TerminalSet&) = default;

 private:
  std::vector<std::uint64_t> words_;
};

// Of what may be left out there is no reduction to nothing: a parser that leaves it out is in the state that it was in.
struct Element {
  GrammarSymbol symbol;
  bool optional = false;
};

struct Production {
  GrammarSymbol left;
  std::vector<Element> right;
};

class Lalr {
 public:
  using State = std::uint32_t;
  static constexpr State kStart = 0;
  static constexpr State kNone = 0xFFFFFFFF;

  // Nonterminals are numbered from `terminals` up to `symbols`. `start` has one production and stands in none: a text
  // is its right side. Over kMostItems items in its states the automaton is not finished: see too_large().
  Lalr(std::size_t terminals, std::size_t symbols, std::vector<Production> productions, GrammarSymbol start);

  bool too_large() const { return too_large_; }
  std::size_t states() const { return moves_.size(); }
  // The state after a symbol; kNone when it cannot come.
  State after(State state, GrammarSymbol symbol) const {
    const auto it = moves_[state].find(symbol);
    return it == moves_[state].end() ? kNone : it->second;
  }
  const std::map<GrammarSymbol, State>& moves(State state) const { return moves_[state]; }
  // The terminals that can come in a state, those after which reductions come before them included.
  const TerminalSet& accepts(State state) const { return accepts_[state]; }
  // Where a terminal is taken by a parser that has it in `state` for the next one: the states that reductions lead to,
  // each with the terminals that are still possible there.
  std::map<State, TerminalSet> reductions(State state) const;

 private:
  static constexpr std::size_t kMostItems = 200'000;  // some seconds; those of SQL or Go have some 50,000

  struct Reduction {
    std::uint32_t production;
    TerminalSet lookahead;
    std::vector<State> from;  // where its first symbol was read
  };
  void build_states();
  void build_lookaheads();
  std::vector<bool> nullable() const;

  std::size_t terminals_;
  std::size_t symbols_;
  std::vector<Production> productions_;
  GrammarSymbol start_;
  std::vector<std::vector<std::uint32_t>> of_symbol_;  // productions
  bool too_large_ = false;
  std::vector<std::map<GrammarSymbol, State>> moves_;
  std::vector<std::vector<Reduction>> reductions_;  // by state
  std::vector<TerminalSet> accepts_;
};

}  // namespace glr::lark
