#include "automaton/constraint.hpp"

#include <algorithm>
#include <chrono>

namespace glr {

Constraint::Constraint(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Constraint::~Constraint() = default;

const Grammar& Constraint::grammar() const { return *impl_->grammar; }
const Vocabulary& Constraint::vocabulary() const { return *impl_->vocabulary; }

std::shared_ptr<const Constraint> Constraint::compile(std::shared_ptr<const Grammar> grammar,
                                                      std::shared_ptr<const Vocabulary> vocabulary, Mode mode,
                                                      const Limits& limits) {
  const auto began = std::chrono::steady_clock::now();
  auto impl = std::make_shared<Impl>();
  impl->grammar = std::move(grammar);
  impl->vocabulary = std::move(vocabulary);
  impl->mode = mode;
  impl->limits = limits;
  impl->engine = impl->vocabulary->engine([&](const std::shared_ptr<Engine>& shared) {
    const bool reuse = shared && shared->bytes() < limits.max_bytes;
    return reuse ? shared : std::make_shared<Engine>(impl->vocabulary.get());
  });
  impl->root = impl->engine->lower(*impl->grammar);
  const auto& nodes = impl->grammar->nodes();
  impl->token_literals = std::any_of(nodes.begin(), nodes.end(), [](const Node& n) { return n.kind == NodeKind::Token; });
  impl->compile_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
  return std::shared_ptr<const Constraint>(new Constraint(std::move(impl)));
}

ConstraintStats Constraint::stats() const {
  Engine& engine = *impl_->engine;
  const std::scoped_lock lock(engine.machine().mutex());
  ConstraintStats stats;
  stats.states = engine.machine().states();
  stats.entries = engine.masks().entries();
  stats.bytes = engine.machine().bytes() + engine.masks().bytes();
  stats.compile_ms = impl_->compile_ms;
  return stats;
}

bool matches(const Grammar& grammar, std::string_view text) {
  Engine engine(nullptr);
  Stack stack(engine.machine());
  Heads heads;
  Heads next;
  const ExprId root = engine.lower(grammar);
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
