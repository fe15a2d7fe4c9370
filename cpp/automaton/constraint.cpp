#include "automaton/constraint.hpp"

#include <algorithm>
#include <chrono>

#include "automaton/artifact.hpp"
#include "automaton/fill.hpp"
#include "expression/never_stuck.hpp"
#include "grammar/diagnostic.hpp"
#include "support/file.hpp"

#ifdef __linux__
#include <sched.h>
#endif

namespace glr {

namespace {

using Clock = Deadline::Clock;

double seconds_since(Clock::time_point began) { return std::chrono::duration<double>(Clock::now() - began).count(); }

[[noreturn]] void over(const char* budget, std::uint64_t limit, std::uint64_t value, const Grammar& grammar) {
  const std::string& rule = grammar.rule(grammar.root()).name;
  throw BudgetError("compiling " + quoted(rule) + " exceeds the budget " + budget + ": " + std::to_string(value) +
                        " is more than " + std::to_string(limit) +
                        "; raise it in Limits, or compile lazily, which needs no exploration",
                    budget, limit, value, rule);
}

// Everything a mask can need, or a BudgetError.
void fill_eagerly(Constraint::Impl& impl, const Deadline& deadline) {
  const Limits& limits = impl.limits;
  const auto [engine, root] = impl.ground();
  const std::shared_ptr<MaskAutomaton> masks = engine->masks();
  const std::size_t before = engine->bytes();
  Filler filler(engine->machine(), *masks, root, static_cast<std::uint32_t>(impl.vocabulary->longest_token()));
  for (std::uint64_t n = 0;; ++n) {
    {
      const TimedLock lock(engine->machine(), deadline);
      if (filler.step(false) == Filler::Progress::Done) return;
    }
    if (filler.states() > limits.max_states) over("max_states", limits.max_states, filler.states(), *impl.grammar);
    if (filler.transitions() > limits.max_transitions)
      over("max_transitions", limits.max_transitions, filler.transitions(), *impl.grammar);
    if (n % 16 != 0) continue;
    deadline.look();
    const std::size_t bytes = engine->machine().bytes() + masks->bytes();
    if (bytes > before && bytes - before > limits.max_bytes)
      over("max_bytes", limits.max_bytes, bytes - before, *impl.grammar);
  }
}

// The body of the background thread. Over a budget it stops: what is missing is computed when it is needed.
void fill_in_background(Constraint::Impl& impl) {
#ifdef __linux__
  const sched_param idle{};
  sched_setscheduler(0, SCHED_IDLE, &idle);  // of this thread; inference comes first
#endif
  try {
    const auto [engine, root] = impl.ground();
    const std::shared_ptr<MaskAutomaton> masks = engine->masks();
    Filler filler(engine->machine(), *masks, root, static_cast<std::uint32_t>(impl.vocabulary->longest_token()));
    while (!impl.stop && !masks->full() && filler.states() <= impl.limits.max_states &&
           filler.transitions() <= impl.limits.max_transitions) {
      switch (filler.step(true)) {
        case Filler::Progress::Done:
          return;
        case Filler::Progress::GaveWay:
          std::this_thread::yield();
          break;
        case Filler::Progress::More:
          break;
      }
    }
  } catch (const Error&) {
    // A budget inside the machine: whoever needs the entry hears of it.
  }
}

std::size_t bytes_of(Machine& machine) {
  const auto lock = machine.lock_now();
  return machine.bytes();
}

// Freeing a full engine takes a tenth of a second, which is nobody's to wait for.
void release_later(std::shared_ptr<Engine> engine) {
  if (engine.use_count() == 1) std::thread([gone = std::move(engine)] {}).detach();
}

// The engine of the vocabulary, or a new one in its place when it has no room.
std::shared_ptr<Engine> engine_with_room(const Vocabulary& vocabulary, const Limits& limits) {
  std::shared_ptr<Engine> replaced;
  std::shared_ptr<Engine> engine = vocabulary.engine([&](const std::shared_ptr<Engine>& shared) {
    const bool reuse = shared && shared->max_bytes() == limits.max_bytes && shared->bytes() < limits.max_bytes;
    if (reuse) return shared;
    replaced = shared;
    return std::make_shared<Engine>(&vocabulary, limits.max_bytes);
  });
  release_later(std::move(replaced));
  return engine;
}

}  // namespace

Ground lower(const Grammar& grammar, const std::shared_ptr<const Vocabulary>& vocabulary, const Limits& limits,
             std::shared_ptr<Engine> engine, const Deadline& deadline) {
  const ExprId root = engine->lower(grammar, limits, deadline);
  const auto& nodes = grammar.nodes();
  if (std::ranges::none_of(nodes, [](const Node& n) { return n.kind == NodeKind::Terminal; })) return {engine, root};
  {
    const TimedLock lock(engine->machine(), deadline);
    if (never_stuck(engine->machine(), root)) return {engine, root};
  }
  const auto careful = std::make_shared<Engine>(vocabulary.get(), limits.max_bytes, true);
  const Ground ground{careful, careful->lower(grammar, limits, deadline)};
  const TimedLock lock(careful->machine(), deadline);
  if (careful->machine().ends(ground.root).empty()) {
    const Rule& rule = grammar.rule(grammar.root());
    throw grammar_error(
        grammar.source(), grammar.file(),
        {DiagnosticKind::NoSentence, rule.span, "no text is a sentence of the rule " + quoted(rule.name),
         "terminals match longest: whatever ends one here makes it longer"});
  }
  return ground;
}

void Constraint::Impl::set_ground(Ground ground) {
  const std::size_t bytes = bytes_of(ground.engine->machine());
  const std::scoped_lock lock(ground_mutex_);
  ground_ = std::move(ground);
  bytes_at_first_ = bytes;
}

Ground Constraint::Impl::ground_to_begin() {
  const auto full = [&] {
    const std::size_t bytes = ground_.engine->machine().noted_bytes();
    // Twice what it began with: a machine that is too large from the beginning would be made again for nothing.
    return mode == Mode::Lazy && bytes > limits.max_bytes && bytes / 2 > bytes_at_first_;
  };
  std::unique_lock lock(ground_mutex_);
  if (!full()) return ground_;
  lock.unlock();
  Ground fresh;
  try {
    fresh = lower(*grammar, vocabulary, limits, engine_with_room(*vocabulary, limits), Deadline());
  } catch (const Error&) {  // it was compiled before; rather a large engine than a sequence that cannot begin
    return ground();
  }
  const std::size_t bytes = bytes_of(fresh.engine->machine());
  lock.lock();
  if (!full()) return ground_;  // somebody else was faster
  std::swap(ground_, fresh);
  bytes_at_first_ = bytes;
  const Ground now = ground_;
  lock.unlock();
  release_later(std::move(fresh.engine));
  return now;
}

Constraint::Constraint(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Constraint::~Constraint() = default;

// What is the same for a compiled and a loaded one.
std::shared_ptr<const Constraint> Constraint::ready(std::shared_ptr<Impl> impl,
                                                    std::chrono::steady_clock::time_point began) {
  const auto& nodes = impl->grammar->nodes();
  impl->token_literals =
      std::any_of(nodes.begin(), nodes.end(), [](const Node& n) { return n.kind == NodeKind::Token; });
  if (impl->mode == Mode::Background) impl->filler = std::thread(fill_in_background, std::ref(*impl));
  impl->compile_ms = seconds_since(began) * 1e3;
  return std::shared_ptr<const Constraint>(new Constraint(std::move(impl)));
}

const Grammar& Constraint::grammar() const { return *impl_->grammar; }
const Vocabulary& Constraint::vocabulary() const { return *impl_->vocabulary; }

std::shared_ptr<const Constraint> Constraint::compile(std::shared_ptr<const Grammar> grammar,
                                                      std::shared_ptr<const Vocabulary> vocabulary, Mode mode,
                                                      const Limits& limits) {
  const auto began = Clock::now();
  auto impl = std::make_shared<Impl>();
  impl->grammar = std::move(grammar);
  impl->vocabulary = std::move(vocabulary);
  impl->mode = mode;
  impl->limits = limits;
  const Deadline deadline(began, limits.max_compile_seconds);
  try {
    const auto engine = engine_with_room(*impl->vocabulary, limits);
    impl->set_ground(lower(*impl->grammar, impl->vocabulary, limits, engine, deadline));
    if (mode == Mode::Eager) fill_eagerly(*impl, deadline);
  } catch (const BudgetError& e) {
    if (!e.rule.empty()) throw;
    const std::string& rule = impl->grammar->rule(impl->grammar->root()).name;
    throw BudgetError("compiling " + quoted(rule) + ": " + e.what(), e.budget, e.limit, e.value, rule);
  }
  return ready(std::move(impl), began);
}

std::shared_ptr<const Constraint> Constraint::load(const std::string& path,
                                                   std::shared_ptr<const Vocabulary> vocabulary) {
  const auto began = Clock::now();
  const std::string bytes = read_file(path);
  try {
    return ready(read_artifact(bytes, std::move(vocabulary)), began);
  } catch (const IncompatibleArtifact& e) {
    throw IncompatibleArtifact(path + ": " + e.what());
  }
}

void Constraint::save(const std::string& path) const { replace_file(path, write_artifact(*impl_)); }

ConstraintStats Constraint::stats() const {
  const Ground ground = impl_->ground();
  Engine& engine = *ground.engine;
  const std::shared_ptr<MaskAutomaton> masks = engine.masks();
  const std::scoped_lock lock(engine.machine().mutex());
  ConstraintStats stats;
  stats.states = engine.machine().states();
  stats.frames = engine.machine().frames();
  stats.entries = masks->entries();
  stats.bytes = engine.machine().bytes() + masks->bytes();
  stats.compile_ms = impl_->compile_ms;
  return stats;
}

bool matches(const Grammar& grammar, std::string_view text) {
  Engine engine(nullptr, 0);
  Stack stack(engine.machine());
  Heads heads;
  Heads next;
  const Limits limits;
  const ExprId root = engine.lower(grammar, limits, Deadline(Clock::now(), limits.max_compile_seconds));
  if (root == kNothing) return false;
  stack.add(heads, root, kBottom);
  StackId held = kBottom;
  for (char c : text) {
    stack.step(heads, static_cast<std::uint8_t>(c), next);
    heads.swap(next);
    if (heads.empty()) return false;
    const StackId now = stack.configuration(heads);
    stack.retain(now);
    if (held != kBottom) stack.release(held);
    held = now;
    stack.collect();
  }
  return std::any_of(heads.begin(), heads.end(),
                     [&](const Head& h) { return engine.machine().nullable(h.state) && stack.accepts(h.tail); });
}

}  // namespace glr
