// The llama.cpp adapter, run by a stand-in for the library: only init and free are llama.cpp's part.
#include "llama/adapter.hpp"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "check.hpp"

namespace {

using namespace glr;
using llama::ChainSampler, llama::Role, llama::SamplerShell, llama::Status, llama::TokenData, llama::TokenDataArray;

constexpr TokenId kEnd = 40;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

int shells = 0;  // alive

SamplerShell* init(const llama::SamplerInterface* interface, void* context) {
  ++shells;
  return new SamplerShell{interface, context};
}

void free_shell(SamplerShell* shell) {
  --shells;
  shell->interface->free(shell);
  delete shell;
}

constexpr llama::Functions kFunctions{init, free_shell};

// Tokens 0 to 25 are the letters, the others empty but for the end.
Sampler sampler(std::string_view grammar) {
  std::vector<Token> tokens(kEnd + 1);
  for (int i = 0; i < 26; ++i) tokens[static_cast<std::size_t>(i)].bytes = static_cast<char>('a' + i);
  tokens[kEnd].control = tokens[kEnd].end_of_generation = true;
  SamplerParams params;
  params.temperature = 0;
  params.seed = 1;
  return Sampler(
      Constraint::compile(Grammar::from_gbnf(grammar), std::make_shared<const Vocabulary>(std::move(tokens))), params);
}

struct Candidates {
  std::vector<TokenData> data;
  TokenDataArray array{};

  explicit Candidates(std::vector<TokenData> d, std::int64_t selected = -1, bool sorted = false)
      : data(std::move(d)), array{data.data(), data.size(), selected, sorted} {}

  static Candidates in_id_order(std::size_t n = kEnd + 1) {
    std::vector<TokenData> all;
    for (std::size_t i = 0; i < n; ++i) all.push_back({static_cast<TokenId>(i), static_cast<float>(i), 0});
    return Candidates(std::move(all));
  }

  // Ids that are left, `*` behind the selected one.
  std::string left() const {
    std::string out;
    for (std::size_t i = 0; i < array.size; ++i) {
      out += (i ? " " : "") + std::to_string(array.data[i].id);
      if (array.selected == static_cast<std::int64_t>(i)) out += '*';
    }
    return out;
  }
};

// A shell as a chain uses it.
struct Link {
  ChainSampler owner;
  SamplerShell* shell;

  Link(std::string_view grammar, Role role) : owner(kFunctions, sampler(grammar), role), shell(owner.get()) {}

  std::string apply(Candidates c) const {
    shell->interface->apply(shell, &c.array);
    return c.left();
  }
  void accept(TokenId token) const { shell->interface->accept(shell, token); }
  Status status() const { return owner.report().status(); }
};

TEST(few_tokens_of_an_array_in_id_order) {
  const Link link("root ::= [bdz]", Role::GrammarOnly);
  CHECK_EQ(link.apply(Candidates::in_id_order()), "1 3 25");
  CHECK_EQ(link.apply(Candidates::in_id_order(26)), "1 3 25");
  CHECK_EQ(link.apply(Candidates::in_id_order(4)), "1 3");
}

TEST(order_sorted_flag_and_selection_are_kept) {
  const Link link("root ::= [bdz]", Role::GrammarOnly);
  Candidates c({{25, 9, 0}, {0, 8, 0}, {3, 7, 0}, {99, 6, 0}, {1, 5, 0}, {-3, 4, 0}}, 2, true);
  link.shell->interface->apply(link.shell, &c.array);
  CHECK_EQ(c.left(), "25 3* 1");
  CHECK(c.array.sorted);
  CHECK_EQ(c.array.data[1].logit, 7.0f);
  CHECK_EQ(link.apply(Candidates({{25, 9, 0}, {0, 8, 0}, {3, 7, 0}}, 1)), "25 3");
}

TEST(apply_changes_nothing_but_the_array) {
  for (const Role role : {Role::GrammarOnly, Role::Full}) {
    const Link link("root ::= \"ab\"", role);
    const std::string first = link.apply(Candidates::in_id_order());
    for (int i = 0; i < 3; ++i) CHECK_EQ(link.apply(Candidates::in_id_order()), first);
    link.accept(0);
    CHECK_EQ(link.apply(Candidates::in_id_order()), role == Role::Full ? "1*" : "1");
    CHECK_EQ(static_cast<int>(link.status()), static_cast<int>(Status::Running));
  }
}

TEST(nan_logits_are_zeroed_and_counted) {
  const Link link("root ::= [ab]", Role::GrammarOnly);
  Candidates c({{0, std::nanf(""), 0}, {1, 2, 0}, {2, std::nanf(""), 0}}, -1, true);
  link.shell->interface->apply(link.shell, &c.array);
  CHECK_EQ(c.array.data[0].logit, 0.0f);
  CHECK(!c.array.sorted);
  CHECK_EQ(link.owner.report().nan_count(), 1u);
}

TEST(one_refused_candidate_cannot_be_selected) {
  const Link link("root ::= [ab]", Role::GrammarOnly);
  Candidates c({{7, 1, 0}});
  link.shell->interface->apply(link.shell, &c.array);
  CHECK_EQ(c.data[0].logit, -kInfinity);
  CHECK(link.status() == Status::Running);
  CHECK_EQ(link.apply(Candidates({{1, 1, 0}})), "1");
}

TEST(nothing_left_ends_the_generation) {
  for (const Role role : {Role::GrammarOnly, Role::Full}) {
    const Link link("root ::= [ab]", role);
    const std::string end = role == Role::Full ? "40*" : "40";
    CHECK_EQ(link.apply(Candidates({{7, 1, 0}, {8, 1, 0}}, 1)), end);
    CHECK(link.status() == Status::DeadEnd);
    CHECK_EQ(link.apply(Candidates::in_id_order()), end);
    link.accept(kEnd);
    CHECK(link.status() == Status::DeadEnd);
    link.shell->interface->reset(link.shell);
    CHECK(link.status() == Status::Running);
    CHECK_EQ(link.apply(Candidates(std::vector<TokenData>{})), "");
  }
}

TEST(a_foreign_token_is_a_status_and_ends_the_generation) {
  const Link link("root ::= [ab]+", Role::GrammarOnly);
  link.accept(7);
  CHECK(link.status() == Status::Rejected);
  CHECK(!link.owner.report().message().empty());
  CHECK_EQ(link.apply(Candidates::in_id_order()), "40");
}

TEST(a_whole_text_then_its_end) {
  const Link link("root ::= \"hi\"", Role::Full);
  for (const TokenId token : {7, 8, kEnd}) {
    CHECK_EQ(link.apply(Candidates::in_id_order()), std::to_string(token) + "*");
    link.accept(token);
  }
  CHECK(link.status() == Status::Finished);
  CHECK_EQ(link.apply(Candidates::in_id_order()), "40*");
}

TEST(clones_go_their_own_way_and_everything_is_freed_once) {
  CHECK_EQ(shells, 0);
  {
    Link link("root ::= \"ab\" | \"ac\"", Role::GrammarOnly);
    link.accept(0);
    SamplerShell* copy = link.shell->interface->clone(link.shell);
    link.accept(1);
    Candidates c = Candidates::in_id_order();
    copy->interface->apply(copy, &c.array);
    CHECK_EQ(c.left(), "1 2");
    CHECK_EQ(link.apply(Candidates::in_id_order()), "40");
    CHECK_EQ(shells, 2);
    free_shell(copy);
    CHECK_EQ(shells, 1);

    SamplerShell* given = link.owner.release();
    CHECK(link.owner.get() == nullptr);
    CHECK(link.owner.report().alive());
    free_shell(given);
    CHECK(!link.owner.report().alive());
  }
  CHECK_EQ(shells, 0);
}

}  // namespace
