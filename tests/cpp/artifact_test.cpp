// Saved constraints: the same masks after a round trip, a sentence for every file that is refused, and no harm from
// any.
#include "automaton/artifact.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <system_error>
#include <vector>

#include "check.hpp"
#include "glrsampler/constraint.hpp"
#include "glrsampler/matcher.hpp"
#include "support/bytes.hpp"
#include "support/file.hpp"
#include "support/sha256.hpp"

namespace {

using namespace glr;
using Random = std::mt19937;

// Where the fields of the header stand (artifact.hpp).
constexpr std::size_t kFormatAt = 8;
constexpr std::size_t kVersionAt = 12;
constexpr std::size_t kFingerprintAt = 28;
constexpr std::size_t kLengthAt = 60;
constexpr std::size_t kDigestAt = 68;
constexpr std::size_t kPayloadAt = 100;

std::shared_ptr<const Vocabulary> vocabulary(const std::string& one_more = "zz") {
  std::vector<Token> tokens;
  for (const char* text :
       {"a",    "b",  "c",  "ab",  "abc",  "bb", "(",    ")",        "((",   "))",       "()",  "(a)", ",",
        "a,",   ",a", "\"", "\",", "\":",  "{",  "}",    "{\"",      "\"}",  "0",        "1",   "12",  "123",
        "null", "[",  "]",  "],",  "true", " ",  "\xC3", "\xC3\xA9", "\xA9", "\xE2\x82", "\xAC"}) {
    tokens.push_back({text, "", false, false});
  }
  tokens.push_back({one_more, "", false, false});
  tokens.push_back({"", "<tool>", true, false});
  tokens.push_back({"", "</s>", true, true});
  return std::make_shared<const Vocabulary>(std::move(tokens));
}

std::vector<std::shared_ptr<const Grammar>> grammars() {
  std::vector<std::shared_ptr<const Grammar>> all;
  for (const char* text : {
           "root ::= \"a\"",
           "root ::= \"a\" | root root | \"(\" root? \")\"",
           "root ::= list\nlist ::= \"(\" item (\",\" item)* \")\"\nitem ::= [a-c]+ | list",
           "root ::= ([a-c]{0,1000} \",\"){2,50} \"(\"",
           "root ::= <tool> \"a\" <tool>? | !<tool> !<[0]>* \"b\"",
           "root ::= \"\\\"\" [^\"]* \"\\\"\" (\",\" root)?",
           "root ::= a b c d\na ::= \"a\"?\nb ::= \"b\"? a\nc ::= \"c\" c | \"\"\nd ::= \"(\" d \")\" | a",
       }) {
    all.push_back(Grammar::from_gbnf(text));
  }
  all.push_back(Grammar::from_regex("(?!ab)[abc]{1,5}(,[abc]+)*"));
  JsonSchemaOptions compact;  // the white space of the others is counted
  compact.whitespace = JsonSchemaOptions::Whitespace::Compact;
  all.push_back(Grammar::from_json_schema(
      R"({"type":"object","properties":{"a":{"type":"array","items":{"type":"integer"}},"b":{"type":"string"}}})",
      compact));
  all.push_back(Grammar::from_json_schema("{}", compact));
  GrammarBuilder terminals("AB", "terminals", "test");
  const RuleId root = terminals.declare("root");
  const NodeId word = terminals.terminal(terminals.repeat(terminals.literal("ab", {0, 1}), 1, kUnbounded, {}), {0, 2});
  const NodeId parts[] = {word, terminals.literal(",", {})};
  terminals.define(root, terminals.repeat(terminals.sequence(parts, {}), 1, kUnbounded, {}), {});
  all.push_back(std::move(terminals).build(root));
  all.push_back(Grammar::from_json_schema("{}"));
  return all;
}

std::string scratch(const std::string& name) {
  const auto folder = std::filesystem::temp_directory_path() / "glrsampler_artifact_test";
  std::filesystem::create_directories(folder);
  return (folder / name).string();
}

std::vector<std::uint32_t> mask(Matcher& m) {
  std::vector<std::uint32_t> words((m.constraint().vocabulary().size() + 31) / 32);
  m.allowed().write(words);
  return words;
}

std::vector<TokenId> allowed(Matcher& m) {
  std::vector<TokenId> found;
  m.allowed().for_each([&](TokenId t) { found.push_back(t); });
  return found;
}

void walk(Random& random, Matcher m, int steps) {
  for (int i = 0; i < steps; ++i) {
    const std::vector<TokenId> next = allowed(m);
    if (next.empty()) return;
    m.try_commit(next[random() % next.size()]);
  }
}

std::string with_checksum(std::string bytes) {
  if (bytes.size() < kPayloadAt) return bytes;
  ByteWriter length;
  length.u64(bytes.size() - kPayloadAt);
  bytes.replace(kLengthAt, 8, length.bytes());
  Sha256 hash;
  hash.update(std::string_view(bytes).substr(kPayloadAt));
  const auto digest = hash.digest();
  bytes.replace(kDigestAt, 32, std::string(digest.begin(), digest.end()));
  return bytes;
}

std::shared_ptr<const Constraint> load(const std::string& bytes, std::shared_ptr<const Vocabulary> v) {
  const auto path = scratch("changed");
  std::ofstream(path, std::ios::binary) << bytes;
  return Constraint::load(path, std::move(v));
}

// The message, empty when it is loaded.
std::string refusal(const std::string& bytes, std::shared_ptr<const Vocabulary> v) {
  try {
    load(bytes, std::move(v));
    return "";
  } catch (const IncompatibleArtifact& e) {
    return e.what();
  }
}

bool says(const std::string& message, std::string_view part) {
  if (message.find(part) != std::string::npos && message.find("save it again") != std::string::npos) return true;
  std::fprintf(stderr, "not said: %s\n  but: %s\n", std::string(part).c_str(), message.c_str());
  return false;
}

// A payload written by hand: a grammar of one rule whose nodes are written by `nodes`, which returns their number.
std::string handmade(const std::string& valid, const std::function<std::uint32_t(ByteWriter&)>& nodes,
                     std::uint32_t body, std::uint32_t rules = 1) {
  ByteWriter out;
  out.text("source");
  out.text("file");
  out.raw(std::string(64, '0'));
  out.text("gbnf");
  out.u8(0);     // no document
  out.count(0);  // warnings
  out.count(rules);
  for (std::uint32_t r = 0; r < rules; ++r) {
    out.text("r" + std::to_string(r));
    out.u32(0);
    out.u32(0);
    out.u32(body);
  }
  out.u32(0);
  ByteWriter inside;
  const std::uint32_t count = nodes(inside);
  out.u32(count);
  out.raw(inside.bytes());
  out.u8(0);  // mode
  for (std::uint64_t limit : {131'072u, 524'288u, 134'217'728u}) out.u64(limit);
  out.f64(60);
  out.u32(0);
  for (int i = 0; i < 4; ++i) out.count(0);  // terms, sets, residuals, entries
  return with_checksum(valid.substr(0, kPayloadAt) + out.bytes());
}

void node(ByteWriter& out, NodeKind kind, std::initializer_list<std::uint32_t> words) {
  out.u8(static_cast<std::uint8_t>(kind));
  out.u32(0);
  out.u32(0);
  for (std::uint32_t w : words) out.u32(w);
}

void literal(ByteWriter& out, std::string_view text) {
  node(out, NodeKind::Literal, {});
  out.text(text);
}

}  // namespace

TEST(masks_are_the_same_after_a_round_trip) {
  Random random(1);
  const auto all = grammars();
  for (const auto& grammar : all) {
    for (const Mode mode : {Mode::Lazy, Mode::Eager, Mode::Background}) {
      const auto v = vocabulary();
      Limits limits;
      limits.max_states = 100'000;
      const auto original = Constraint::compile(grammar, v, mode, limits);
      for (int i = 0; i < 3; ++i) walk(random, Matcher(original), 10);
      const auto path = scratch("saved");
      original->save(path);
      const auto loaded = Constraint::load(path, v);
      CHECK_EQ(loaded->grammar().fingerprint(), grammar->fingerprint());
      CHECK_EQ(loaded->grammar().source(), grammar->source());
      CHECK_EQ(loaded->grammar().nodes().size(), grammar->nodes().size());
      CHECK(loaded->impl()->mode == mode);
      CHECK_EQ(loaded->impl()->limits.max_states, 100'000u);
      CHECK(loaded->impl()->ground().engine != original->impl()->ground().engine);
      const auto entries = loaded->stats().entries;
      CHECK(entries > 0);
      for (int i = 0; i < 20; ++i) {
        Matcher a(original);
        Matcher b(loaded);
        for (int step = 0; step < 15; ++step) {
          if (mask(a) != mask(b)) {
            check::fail(__FILE__, __LINE__, grammar->source() + ": masks differ at step " + std::to_string(step));
            break;
          }
          const std::vector<TokenId> next = allowed(a);
          if (next.empty()) break;
          const TokenId token = next[random() % next.size()];
          CHECK(a.try_commit(token));
          CHECK(b.try_commit(token));
          CHECK_EQ(b.accepting(), a.accepting());
        }
      }
      // Everything was there, but for counters far from their bounds, which are put into relaxed form first.
      const bool counted = grammar->source().find("1000") != std::string::npos || grammar == all.back();
      if (mode == Mode::Eager && !counted && loaded->stats().entries != entries) {
        check::fail(__FILE__, __LINE__, grammar->source() + ": entries were missing");
      }
    }
  }
}

TEST(a_saved_constraint_saves_the_same_again) {
  for (const auto& grammar : grammars()) {
    const auto v = vocabulary();
    const auto original = Constraint::compile(grammar, v, Mode::Eager);
    const std::string first = write_artifact(*original->impl());
    const std::string second = write_artifact(*load(first, v)->impl());
    CHECK_EQ(second.size(), first.size());
    const std::string third = write_artifact(*load(second, v)->impl());
    CHECK_EQ(third.size(), first.size());
  }
}

TEST(other_grammars_of_the_vocabulary_are_not_saved) {
  const auto v = vocabulary();
  const auto grammar = Grammar::from_gbnf("root ::= \"(\" root \")\" | \"a\"");
  const std::string alone = write_artifact(*Constraint::compile(grammar, v, Mode::Eager)->impl());
  const auto shared = vocabulary();
  Constraint::compile(Grammar::from_json_schema("{}"), shared, Mode::Eager);
  CHECK_EQ(write_artifact(*Constraint::compile(grammar, shared, Mode::Eager)->impl()).size(), alone.size());
}

TEST(what_is_not_this_constraint_is_refused) {
  const auto v = vocabulary();
  const std::string good = write_artifact(
      *Constraint::compile(Grammar::from_gbnf("root ::= \"(\" root \")\" | \"a\""), v, Mode::Eager)->impl());
  CHECK_EQ(refusal(good, v), "");
  CHECK(says(refusal("", v), "cut short"));
  CHECK(says(refusal("root ::= \"a\"", v), "no saved constraint"));
  CHECK(says(refusal(good, vocabulary("zzz")), "another vocabulary"));
  const auto with = [&](std::size_t at, char c) {
    std::string bytes = good;
    bytes[at] = c;
    return bytes;
  };
  CHECK(says(refusal(with(0, 'g'), v), "no saved constraint"));
  CHECK(says(refusal(with(kFormatAt, 7), v), "format 7"));
  CHECK(says(refusal(with(kVersionAt, '9'), v), "saved by glrsampler 9"));
  CHECK(says(refusal(with(kVersionAt, '\x1B'), v), "saved by glrsampler ?"));
  CHECK(says(refusal(with(kVersionAt + 15, '1'), v), "saved by glrsampler"));
  CHECK(says(refusal(with(kFingerprintAt, static_cast<char>(good[kFingerprintAt] ^ 1)), v), "another vocabulary"));
  CHECK(says(refusal(with(kLengthAt, static_cast<char>(good[kLengthAt] ^ 1)), v), "its length"));
  CHECK(says(refusal(with(kDigestAt, static_cast<char>(good[kDigestAt] ^ 1)), v), "checksum"));
  CHECK(says(refusal(with(good.size() - 1, static_cast<char>(good.back() ^ 1)), v), "checksum"));
  CHECK(says(refusal(good + "x", v), "its length"));
  CHECK(says(refusal(with_checksum(good + "x"), v), "follows its end"));
  for (std::size_t n = 0; n < good.size(); ++n) {
    CHECK(says(refusal(good.substr(0, n), v), ""));
    if (n >= kPayloadAt) CHECK(says(refusal(with_checksum(good.substr(0, n)), v), "damaged"));
  }
}

TEST(what_no_front_end_makes_is_refused) {
  const auto v = vocabulary();
  const std::string good = write_artifact(*Constraint::compile(Grammar::from_gbnf("root ::= \"a\""), v)->impl());
  const auto one = [&](const std::function<void(ByteWriter&)>& write) {
    return refusal(handmade(
                       good,
                       [&](ByteWriter& out) {
                         literal(out, "a");
                         write(out);
                         return 2u;
                       },
                       1),
                   v);
  };
  CHECK_EQ(one([](ByteWriter& out) { literal(out, "b"); }), "");
  CHECK_EQ(one([](ByteWriter& out) { node(out, NodeKind::Sequence, {2, 0, 0}); }), "");
  CHECK(says(one([](ByteWriter& out) { node(out, static_cast<NodeKind>(99), {}); }), "no known kind"));
  CHECK(says(one([](ByteWriter& out) { node(out, NodeKind::Sequence, {2, 0, 1}); }), "does not come before"));
  CHECK(says(one([](ByteWriter& out) { node(out, NodeKind::Sequence, {1, 0}); }), "too few children"));
  CHECK(says(one([](ByteWriter& out) { node(out, NodeKind::Intersection, {0}); }), "too few children"));
  CHECK(says(one([](ByteWriter& out) { node(out, NodeKind::Sequence, {0xFFFFFFFF, 0}); }), "beyond the end"));
  CHECK(says(one([](ByteWriter& out) { node(out, NodeKind::RuleRef, {1}); }), "a rule is not there"));
  CHECK(says(one([](ByteWriter& out) { node(out, NodeKind::RuleRef, {0}); }), "cannot be compiled"));
  CHECK(says(one([](ByteWriter& out) { node(out, NodeKind::Repeat, {0, 3, 2}); }), "bounds of a repetition"));
  CHECK(says(one([](ByteWriter& out) { node(out, NodeKind::Repeat, {0, 0, 0}); }), "bounds of a repetition"));
  CHECK(says(one([](ByteWriter& out) { node(out, NodeKind::CodePoints, {2, 'b', 'c', 'a', 'a'}); }), "not sorted"));
  CHECK(says(one([](ByteWriter& out) { node(out, NodeKind::CodePoints, {1, 0xD800, 0xD800}); }), "not sorted"));
  CHECK(says(one([](ByteWriter& out) { node(out, NodeKind::CodePoints, {1, 'a', 0x110000}); }), "not sorted"));
  CHECK(says(one([](ByteWriter& out) {
               out.u8(0);
               out.u32(6);
               out.u32(1);
               out.text("a");
             }),
             "outside the grammar's source"));
  // Two members in any order, one of them required, and additional ones. Every child is "a".
  const auto unordered = [](std::uint32_t second_way, std::uint8_t witnesses, std::uint32_t min, std::uint32_t max) {
    return [=](ByteWriter& out) {
      node(out, NodeKind::Members, {2});
      out.u8(1);
      out.u8(0);
      out.u32(3);
      for (const auto& [way, bits] : {std::pair{0u, std::uint8_t{0}}, {second_way, witnesses}, {2u, std::uint8_t{0}}}) {
        out.u32(way);
        out.u8(bits);
      }
      out.u8(0);
      out.u32(min);
      out.u32(max);
      for (int child = 0; child < 7; ++child) out.u32(0);
    };
  };
  CHECK_EQ(one(unordered(1, 0, 0, 2)), "");
  CHECK_EQ(one(unordered(0, 15, 3, 0xFFFFFFFF)), "");
  CHECK(says(one(unordered(3, 0, 0, 2)), "way to write a member"));
  CHECK(says(one(unordered(1, 16, 0, 2)), "way to write a member"));
  CHECK(says(one(unordered(1, 0, 3, 2)), "bounds of members"));
  CHECK(says(one([](ByteWriter& out) { node(out, NodeKind::Members, {0xFFFFFFFF}); }), "beyond the end"));
  // 2^100 nodes as a tree, in a few hundred bytes.
  const auto doubled = [](ByteWriter& out) {
    literal(out, "a");
    for (std::uint32_t i = 1; i <= 100; ++i) node(out, NodeKind::Sequence, {2, i - 1, i - 1});
    return 101u;
  };
  CHECK(says(refusal(handmade(good, doubled, 100), v), "too large"));
  // Distributed, 2^40 alternatives.
  const auto distributed = [](ByteWriter& out) {
    literal(out, "a");
    node(out, NodeKind::RuleRef, {0});
    node(out, NodeKind::Choice, {2, 0, 1});
    node(out, NodeKind::Intersection, {40});
    for (int i = 0; i < 40; ++i) out.u32(2);
    return 4u;
  };
  CHECK(says(refusal(handmade(good, distributed, 3), v), "too many rules are intersected"));
  // 100,000 levels: no recursion.
  const auto deep = [](ByteWriter& out) {
    literal(out, "a");
    for (std::uint32_t i = 1; i <= 100'000; ++i) node(out, NodeKind::Complement, {i - 1});
    return 100'001u;
  };
  CHECK_EQ(refusal(handmade(good, deep, 100'000), v), "");
}

// Changed bytes whose checksum is right: refused or loaded, and what is loaded can be used.
TEST(no_damage_does_harm) {
  Random random(7);
  int refused = 0;
  int loaded = 0;
  for (const auto& grammar : grammars()) {
    const auto v = vocabulary();
    const std::string good = write_artifact(*Constraint::compile(grammar, v, Mode::Eager)->impl());
    const std::size_t payload = good.size() - kPayloadAt;
    for (int i = 0; i < 400; ++i) {
      std::string bytes = good;
      for (std::size_t changes = 1 + random() % 3; changes > 0; --changes) {
        const std::size_t at = std::min(bytes.size() - 1, kPayloadAt + random() % payload);
        switch (random() % 6) {
          case 0:
            bytes[at] = static_cast<char>(bytes[at] ^ 1 << random() % 8);
            break;
          case 1:
            bytes[at] = static_cast<char>(random());
            break;
          case 2:
            bytes.resize(std::max(at, kPayloadAt + 1));
            break;
          case 3:
            bytes.insert(at, 1 + random() % 8, static_cast<char>(random()));
            break;
          case 4:
            bytes.erase(at, std::min<std::size_t>(1 + random() % 8, bytes.size() - kPayloadAt - 1));
            break;
          default:  // a length or a number of its most awkward values
            for (std::size_t k = at; k < std::min(at + 4, bytes.size()); ++k)
              bytes[k] = random() % 2 == 0 ? '\xFF' : '\0';
        }
      }
      try {
        const auto constraint = load(with_checksum(bytes), v);
        ++loaded;
        Matcher m(constraint);
        for (TokenId t : allowed(m)) CHECK(t >= 0 && static_cast<std::size_t>(t) < v->size());
        walk(random, std::move(m), 8);
      } catch (const IncompatibleArtifact&) {
        ++refused;
      } catch (const BudgetError&) {
        ++loaded;  // a number in the grammar is larger now
      }
    }
  }
  CHECK(refused > 1000);
  CHECK(loaded > 50);
}

TEST(files_appear_whole_or_not_at_all) {
  const auto v = vocabulary();
  const auto constraint = Constraint::compile(Grammar::from_gbnf("root ::= \"a\""), v);
  const auto folder = scratch("folder");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  constraint->save(folder + "/one");
  constraint->save(folder + "/one");
  CHECK_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  const auto error_of = [](const std::function<void()>& run) {
    try {
      run();
    } catch (const std::system_error& e) {
      return e.code();
    }
    return std::error_code();
  };
  CHECK(error_of([&] { constraint->save(folder + "/no/such"); }) == std::errc::no_such_file_or_directory);
  CHECK(error_of([&] { constraint->save(folder); }) == std::errc::is_a_directory);
  CHECK(error_of([&] { Constraint::load(folder + "/none", v); }) == std::errc::no_such_file_or_directory);
  CHECK(error_of([&] { Constraint::load(folder, v); }) == std::errc::is_a_directory);
  CHECK(error_of([&] { Constraint::load("/dev/zero", v); }) == std::errc::invalid_argument);
  CHECK_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  std::filesystem::remove_all(folder);
}
