#include "automaton/artifact.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "automaton/fill.hpp"
#include "expression/saved_terms.hpp"
#include "grammar/saved_grammar.hpp"
#include "support/sha256.hpp"

namespace glr {

namespace {

constexpr std::string_view kMagic("\x89glr\r\n\x1a\n", 8);
constexpr std::uint32_t kFormat = 3;
constexpr std::size_t kVersionBytes = 16;
constexpr std::string_view kVersion = GLRSAMPLER_VERSION;
static_assert(kVersion.size() <= kVersionBytes);

// Reading 10 MB of entries takes about 0.1 s; only a file made against the hash tables takes this long.
constexpr double kMostSeconds = 60;

constexpr const char* kWayOut = "; compile the grammar for this vocabulary and save it again";

[[noreturn]] void refuse(const std::string& what) { throw IncompatibleArtifact(what + kWayOut); }

std::string padded_version() {
  std::string version(kVersion);
  version.resize(kVersionBytes);
  return version;
}

std::string digest_of(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes);
  const Sha256::Digest digest = hash.digest();
  return {digest.begin(), digest.end()};
}

std::string from_hex(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(digit(hex[i]) << 4 | digit(hex[i + 1])));
  return bytes;
}

void write(const Limits& limits, ByteWriter& out) {
  out.u64(limits.max_states);
  out.u64(limits.max_transitions);
  out.u64(limits.max_bytes);
  out.f64(limits.max_compile_seconds);
  out.u32(limits.max_nesting);
}

Limits read_limits(ByteReader& in) {
  Limits limits;
  limits.max_states = in.u64();
  limits.max_transitions = in.u64();
  limits.max_bytes = in.u64();
  limits.max_compile_seconds = in.f64();
  limits.max_nesting = in.u32();
  in.require(!std::isnan(limits.max_compile_seconds), "a limit is no number");
  return limits;
}

// The states and frames that the constraint can come to, as far as its limits let them be looked for.
std::unordered_set<ExprId> states_of(const Constraint::Impl& constraint, const Ground& ground, MaskAutomaton& masks) {
  Filler filler(ground.engine->machine(), masks, ground.root,
                static_cast<std::uint32_t>(constraint.vocabulary->longest_token()));
  const Limits& limits = constraint.limits;
  try {
    while (filler.states() <= limits.max_states && filler.transitions() <= limits.max_transitions &&
           filler.explore_next()) {
    }
  } catch (const BudgetError&) {
    // Of an intersection whose emptiness is not found out: a matcher that comes there gets the same error.
  }
  return filler.found();
}

std::string payload_of(const Constraint::Impl& constraint) {
  ByteWriter out;
  SavedGrammar::write(*constraint.grammar, out);
  out.u8(static_cast<std::uint8_t>(constraint.mode));
  write(constraint.limits, out);

  const Ground ground = constraint.ground();
  const std::shared_ptr<MaskAutomaton> masks = ground.engine->masks();
  const std::unordered_set<ExprId> states = states_of(constraint, ground, *masks);
  const Machine& machine = ground.engine->machine();
  const auto lock = machine.lock_now();
  const std::vector<MaskAutomaton::Entry> entries = masks->entries_of(states);
  std::vector<ExprId> terms;
  for (const MaskAutomaton::Entry& e : entries) {
    terms.push_back(e.state);
    masks->add_guards(e.residual, terms);
    masks->add_guards(e.visit.residual, terms);
  }
  const auto numbers = write_terms(machine.store(), terms, ground.engine->rules(), out);
  masks->write(entries, numbers, out);
  return std::move(out).take();
}

}  // namespace

std::string write_artifact(const Constraint::Impl& constraint) {
  const std::string payload = payload_of(constraint);
  ByteWriter out;
  out.raw(kMagic);
  out.u32(kFormat);
  out.raw(padded_version());
  out.raw(from_hex(constraint.vocabulary->fingerprint()));
  out.u64(payload.size());
  out.raw(digest_of(payload));
  out.raw(payload);
  return std::move(out).take();
}

std::shared_ptr<Constraint::Impl> read_artifact(std::string_view bytes, std::shared_ptr<const Vocabulary> vocabulary) {
  auto impl = std::make_shared<Constraint::Impl>();
  impl->vocabulary = std::move(vocabulary);
  if (!bytes.starts_with(kMagic)) {
    refuse(bytes.empty() || kMagic.starts_with(bytes) ? "a saved constraint that is cut short" : "no saved constraint");
  }
  try {
    ByteReader in(bytes.substr(kMagic.size()), kMostSeconds);
    if (const std::uint32_t format = in.u32(); format != kFormat) {
      refuse("a saved constraint of format " + std::to_string(format) + ", where " + std::to_string(kFormat) +
             " is what this version reads");
    }
    if (const std::string_view version = in.raw(kVersionBytes); version != padded_version()) {
      std::string shown(version.substr(0, version.find('\0')));
      std::ranges::replace_if(shown, [](char c) { return c < 0x20 || c > 0x7E; }, '?');
      refuse("a constraint saved by glrsampler " + shown + ", and this is " + std::string(kVersion));
    }
    if (in.raw(32) != from_hex(impl->vocabulary->fingerprint()))
      refuse("a constraint saved for another vocabulary than " + impl->vocabulary->fingerprint().substr(0, 12));
    const std::uint64_t length = in.u64();
    const std::string_view digest = in.raw(32);
    if (length != in.left()) {
      refuse("a saved constraint that is damaged: its length is " + std::to_string(in.left()) + " bytes instead of " +
             std::to_string(length));
    }
    if (digest != digest_of(bytes.substr(bytes.size() - in.left())))
      refuse("a saved constraint that is damaged: its checksum is another");

    impl->grammar = SavedGrammar::read(in);
    const std::uint8_t mode = in.u8();
    in.require(mode <= static_cast<std::uint8_t>(Mode::Background), "its mode is none");
    impl->mode = static_cast<Mode>(mode);
    impl->limits = read_limits(in);
    const Ground ground = lower(*impl->grammar, impl->vocabulary, impl->limits,
                                std::make_shared<Engine>(impl->vocabulary.get(), impl->limits.max_bytes),
                                Deadline(Deadline::Clock::now(), impl->limits.max_compile_seconds));
    impl->set_ground(ground);
    Machine& machine = ground.engine->machine();
    const std::shared_ptr<MaskAutomaton> masks = ground.engine->masks();
    const auto lock = machine.lock_now();
    const std::vector<ExprId> terms = read_terms(machine.store(), ground.engine->rules(), in);
    masks->read(terms, in);
    in.require(in.left() == 0, "something follows its end");
  } catch (const Malformed& e) {
    refuse(std::string("a saved constraint that is damaged: ") + e.what());
  } catch (const IncompatibleArtifact&) {
    throw;
  } catch (const Error& e) {
    refuse(std::string("a saved constraint whose grammar cannot be compiled: ") + e.what());
  }
  return impl;
}

}  // namespace glr
