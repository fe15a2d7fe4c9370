#include "grammar/lark/lalr.hpp"

#include <algorithm>
#include <utility>

namespace glr::lark {

bool TerminalSet::insert(const TerminalSet& other) {
  bool grown = false;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    grown = grown || (other.words_[i] & ~words_[i]) != 0;
    words_[i] |= other.words_[i];
  }
  return grown;
}

TerminalSet TerminalSet::common(const TerminalSet& other) const {
  TerminalSet both = *this;
  for (std::size_t i = 0; i < words_.size(); ++i) both.words_[i] &= other.words_[i];
  return both;
}

bool TerminalSet::empty() const {
  return std::ranges::all_of(words_, [](std::uint64_t word) { return word == 0; });
}

Lalr::Lalr(std::size_t terminals, std::size_t symbols, std::vector<Production> productions, GrammarSymbol start)
    : terminals_(terminals),
      symbols_(symbols),
      productions_(std::move(productions)),
      start_(start),
      of_symbol_(symbols) {
  for (std::uint32_t p = 0; p < productions_.size(); ++p) of_symbol_[productions_[p].left].push_back(p);
  build_states();
  if (!too_large_) build_lookaheads();
}

void Lalr::build_states() {
  // Items are numbered: the place before the first symbol of production p is base[p].
  std::vector<std::uint32_t> base;
  std::vector<std::uint32_t> production_of;
  for (std::uint32_t p = 0; p < productions_.size(); ++p) {
    base.push_back(static_cast<std::uint32_t>(production_of.size()));
    production_of.resize(production_of.size() + productions_[p].right.size() + 1, p);
  }
  std::map<std::vector<std::uint32_t>, State> known;
  std::vector<std::vector<std::uint32_t>> kernels;
  const auto state_of = [&](std::vector<std::uint32_t> kernel) {
    const auto [it, fresh] = known.try_emplace(std::move(kernel), static_cast<State>(kernels.size()));
    if (fresh) kernels.push_back(it->first);
    return it->second;
  };
  state_of({base[of_symbol_[start_].front()]});
  std::size_t count = 0;                                // of items
  std::vector<std::uint32_t> entered(symbols_, kNone);  // by the state that is being closed
  for (State s = 0; s < kernels.size(); ++s) {
    if (count > kMostItems) {
      too_large_ = true;
      return;
    }
    std::vector<std::uint32_t> items = kernels[s];
    std::map<GrammarSymbol, std::vector<std::uint32_t>> next;
    auto& reductions = reductions_.emplace_back();
    for (std::size_t i = 0; i < items.size(); ++i) {
      const std::uint32_t p = production_of[items[i]];
      const auto& right = productions_[p].right;
      const std::size_t dot = items[i] - base[p];
      if (dot == right.size()) {
        if (std::ranges::find(reductions, p, &Reduction::production) == reductions.end())
          reductions.push_back({p, TerminalSet(terminals_), {}});
        continue;
      }
      const GrammarSymbol symbol = right[dot].symbol;
      next[symbol].push_back(items[i] + 1);
      if (right[dot].optional) items.push_back(items[i] + 1);
      if (symbol < terminals_ || std::exchange(entered[symbol], s) == s) continue;
      for (const std::uint32_t q : of_symbol_[symbol]) items.push_back(base[q]);
    }
    count += items.size();
    auto& moves = moves_.emplace_back();
    for (auto& [symbol, kernel] : next) {
      std::sort(kernel.begin(), kernel.end());
      kernel.erase(std::unique(kernel.begin(), kernel.end()), kernel.end());
      moves.emplace(symbol, state_of(std::move(kernel)));
    }
  }
}

std::vector<bool> Lalr::nullable() const {
  std::vector<bool> nullable(symbols_);
  for (bool grown = true; std::exchange(grown, false);) {
    for (const Production& p : productions_) {
      const auto may_be_empty = [&](const Element& e) { return e.optional || nullable[e.symbol]; };
      if (nullable[p.left] || !std::ranges::all_of(p.right, may_be_empty)) continue;
      nullable[p.left] = grown = true;
    }
  }
  return nullable;
}

void Lalr::build_lookaheads() {
  // For each move by a nonterminal the terminals that can follow it.
  std::map<std::pair<State, GrammarSymbol>, std::uint32_t> number;
  std::vector<std::pair<State, GrammarSymbol>> moves;
  std::vector<TerminalSet> follow;
  for (State s = 0; s < moves_.size(); ++s) {
    for (const auto& [symbol, to] : moves_[s]) {
      if (symbol < terminals_) continue;
      number.emplace(std::pair(s, symbol), static_cast<std::uint32_t>(moves.size()));
      moves.emplace_back(s, symbol);
      follow.emplace_back(terminals_);
    }
  }
  using Edges = std::vector<std::vector<std::uint32_t>>;  // by move: those that get what it has
  const auto spread = [&](const Edges& edges) {
    std::vector<std::uint32_t> todo;
    std::vector<bool> waiting(moves.size(), true);
    for (std::uint32_t m = 0; m < moves.size(); ++m) todo.push_back(m);
    while (!todo.empty()) {
      const std::uint32_t m = todo.back();
      todo.pop_back();
      waiting[m] = false;
      for (const std::uint32_t other : edges[m]) {
        if (!follow[other].insert(follow[m]) || waiting[other]) continue;
        waiting[other] = true;
        todo.push_back(other);
      }
    }
  };
  // Those that are read next, behind what may be empty too.
  const std::vector<bool> nullable = this->nullable();
  Edges read_before(moves.size());
  for (std::uint32_t m = 0; m < moves.size(); ++m) {
    const State to = moves_[moves[m].first].at(moves[m].second);
    for (const auto& [next, unused] : moves_[to]) {
      if (next < terminals_)
        follow[m].insert(next);
      else if (nullable[next])
        read_before[number.at({to, next})].push_back(m);
    }
  }
  for (State s = 0; s < moves_.size(); ++s) {
    for (Reduction& r : reductions_[s]) {
      if (productions_[r.production].left == start_) r.lookahead.insert(static_cast<std::uint32_t>(terminals_));
    }
  }
  spread(read_before);
  // What follows a nonterminal follows what it can end with. The end of the text follows what a text can end with.
  struct Lookback {
    State state;
    std::size_t reduction;
    std::uint32_t move;
  };
  std::vector<Lookback> lookbacks;
  Edges ends_with(moves.size());
  const auto walk = [&](State from, std::uint32_t production, auto&& at_end_part) {
    const auto& right = productions_[production].right;
    std::vector<State> at{from};
    std::size_t rest = right.size();  // of which all may be empty
    while (rest > 0 && (right[rest - 1].optional || nullable[right[rest - 1].symbol])) --rest;
    for (std::size_t i = 0; i < right.size(); ++i) {
      const auto [symbol, optional] = right[i];
      std::vector<State> next;
      for (const State s : at) {
        if (symbol >= terminals_ && i + 1 >= rest) at_end_part(number.at({s, symbol}));
        next.push_back(moves_[s].at(symbol));
        if (optional) next.push_back(s);
      }
      std::ranges::sort(next);
      next.erase(std::unique(next.begin(), next.end()), next.end());
      at = std::move(next);
    }
    return at;
  };
  for (std::uint32_t m = 0; m < moves.size(); ++m) {
    for (const std::uint32_t p : of_symbol_[moves[m].second]) {
      for (const State at : walk(moves[m].first, p, [&](std::uint32_t part) { ends_with[m].push_back(part); })) {
        for (std::size_t r = 0; r < reductions_[at].size(); ++r) {
          if (reductions_[at][r].production == p) lookbacks.push_back({at, r, m});
        }
      }
    }
  }
  walk(kStart, of_symbol_[start_].front(),
       [&](std::uint32_t part) { follow[part].insert(static_cast<std::uint32_t>(terminals_)); });
  spread(ends_with);
  for (const Lookback& l : lookbacks) {
    Reduction& r = reductions_[l.state][l.reduction];
    r.lookahead.insert(follow[l.move]);
    r.from.push_back(moves[l.move].first);
  }
  for (State s = 0; s < moves_.size(); ++s) {
    TerminalSet& set = accepts_.emplace_back(terminals_);
    for (const auto& [symbol, to] : moves_[s]) {
      if (symbol < terminals_) set.insert(symbol);
    }
    for (const Reduction& r : reductions_[s]) set.insert(r.lookahead);
  }
}

std::map<Lalr::State, TerminalSet> Lalr::reductions(State state) const {
  std::map<State, TerminalSet> reached{{state, accepts_[state]}};
  std::vector<State> todo{state};
  while (!todo.empty()) {
    const State at = todo.back();
    todo.pop_back();
    const TerminalSet now = reached.at(at);
    for (const Reduction& r : reductions_[at]) {
      const TerminalSet left = now.common(r.lookahead);
      if (left.empty()) continue;
      for (const State from : r.from) {
        const State to = moves_[from].at(productions_[r.production].left);
        const auto [it, fresh] = reached.try_emplace(to, terminals_);
        if (it->second.insert(left) || fresh) todo.push_back(to);
      }
    }
  }
  return reached;
}

}  // namespace glr::lark
