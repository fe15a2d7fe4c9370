#include "glrsampler/matcher.hpp"

#include <algorithm>
#include <mutex>
#include <stdexcept>

#include "automaton/constraint.hpp"
#include "matcher/history.hpp"
#include "matcher/mask.hpp"

namespace glr {

namespace {

constexpr std::size_t kMostForcedBytes = 65'536;  // of one call: a longer forced text goes on at the next

}  // namespace

// A matcher and its forks share one stack; its mutex is held by whichever works.
struct Family {
  explicit Family(std::shared_ptr<const Constraint> made_of)
      : constraint(std::move(made_of)), engine(constraint->impl()->engine), stack(engine->machine()), reader(stack, engine->masks()) {}

  std::mutex mutex;
  std::shared_ptr<const Constraint> constraint;
  std::shared_ptr<Engine> engine;
  Stack stack;
  MaskReader reader;
  Heads heads;    // scratch of the step in progress
  Heads stepped;
};

struct Matcher::Impl {
  explicit Impl(std::shared_ptr<const Constraint> constraint) : family(std::make_shared<Family>(std::move(constraint))) { start(); }
  Impl(const Impl& other) : family(other.family), history(other.history), now(other.now), finished(other.finished) {
    family->stack.retain(now);
  }
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    const std::scoped_lock lock(family->mutex);
    history.clear(family->stack);
    family->stack.release(now);
    family->stack.collect();
  }

  const Constraint::Impl& constraint() const { return *family->constraint->impl(); }
  const Vocabulary& vocabulary() const { return *constraint().vocabulary; }
  bool in_range(TokenId token) const { return token >= 0 && static_cast<std::size_t>(token) < vocabulary().size(); }

  void start() {
    Heads root;
    family->stack.add(root, constraint().root, kBottom);
    now = family->stack.configuration(root);
    family->stack.retain(now);
    finished = false;
  }

  bool accepting() const { return family->stack.accepts(now); }

  // Steps family->heads over the bytes; the number taken, with family->heads left after that many.
  std::size_t take(std::string_view bytes) {
    Family& f = *family;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      f.stack.step(f.heads, static_cast<std::uint8_t>(bytes[i]), f.stepped);
      if (f.stepped.empty()) return i;
      f.heads.swap(f.stepped);
    }
    return bytes.size();
  }

  void move_to(const Heads& heads, std::int32_t token) {
    Stack& stack = family->stack;
    const StackId next = stack.configuration(heads);
    stack.retain(next);
    history.push(stack, {now, token});
    now = next;
  }

  bool commit(TokenId id) {
    if (finished || !in_range(id)) return false;
    Family& f = *family;
    const Token& token = vocabulary().token(id);
    if (token.end_of_generation && accepting()) {
      f.stack.retain(now);
      history.push(f.stack, {now, id});
      finished = true;
      return true;
    }
    const bool text = !token.control && !token.end_of_generation && !token.bytes.empty();
    f.stack.heads(now, f.heads);
    if (!text || take(token.bytes) != token.bytes.size()) f.heads.clear();
    if (constraint().token_literals) {
      Heads before;
      f.stack.heads(now, before);
      f.stack.token_step(before, id, text, f.stepped);
      for (const Head& h : f.stepped) f.stack.add(f.heads, h.state, h.tail);
    }
    const bool taken = !f.heads.empty();
    if (taken) move_to(f.heads, id);
    f.stack.collect();
    return taken;
  }

  // What can come next: bytes, and whether a token literal can.
  ByteSet next_bytes(const Heads& heads, bool& tokens) const {
    Machine& machine = family->engine->machine();
    Heads closed;
    family->stack.close(heads, closed);
    ByteSet set;
    for (const Head& h : closed) {
      set.insert(machine.first(h.state));
      tokens = tokens || (constraint().token_literals && machine.starts_with_token(h.state));
    }
    return set;
  }

  bool accepts(const Heads& heads) const {
    return std::any_of(heads.begin(), heads.end(), [&](const Head& h) {
      return family->engine->machine().nullable(h.state) && family->stack.accepts(h.tail);
    });
  }

  std::shared_ptr<Family> family;
  History history;
  StackId now = kBottom;
  bool finished = false;
};

Matcher::Matcher(std::shared_ptr<const Constraint> constraint) : impl_(std::make_unique<Impl>(std::move(constraint))) {}
Matcher::Matcher(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Matcher::~Matcher() = default;
Matcher::Matcher(Matcher&&) noexcept = default;
Matcher& Matcher::operator=(Matcher&&) noexcept = default;

Matcher Matcher::fork() const {
  const std::scoped_lock lock(impl_->family->mutex);
  return Matcher(std::make_unique<Impl>(*impl_));
}

const Constraint& Matcher::constraint() const { return *impl_->family->constraint; }

const TokenSet& Matcher::allowed() {
  Family& f = *impl_->family;
  const std::scoped_lock lock(f.mutex);
  MaskAutomaton& masks = f.engine->masks();
  if (impl_->finished) return masks.set(kEmptySet);
  const TokenSet& set = masks.set(f.reader.mask(impl_->now));
  f.stack.collect();
  return set;
}

const TokenSet* Matcher::allowed_if_ready() {
  Family& f = *impl_->family;
  const std::unique_lock lock(f.mutex, std::try_to_lock);
  if (!lock) return nullptr;
  if (impl_->finished) return &f.engine->masks().set(kEmptySet);
  SetId set;
  return f.reader.known(impl_->now, set) ? &f.engine->masks().set(set) : nullptr;
}

bool Matcher::allows(TokenId token) { return impl_->in_range(token) && allowed().contains(token); }

bool Matcher::try_commit(TokenId token) {
  const std::scoped_lock lock(impl_->family->mutex);
  return impl_->commit(token);
}

void Matcher::commit(TokenId token) {
  if (try_commit(token)) return;
  const Explanation why = explain(token);
  throw RejectedToken(why.reason, why.failed_at);
}

void Matcher::commit_bytes(std::string_view text) {
  Impl& m = *impl_;
  Family& f = *m.family;
  const std::scoped_lock lock(f.mutex);
  if (m.finished && !text.empty()) throw RejectedToken("the sequence is finished: an end-of-generation token was committed", 0);
  f.stack.heads(m.now, f.heads);
  const std::size_t taken = m.take(text);
  if (taken != text.size()) {
    f.stack.collect();
    throw RejectedToken("the grammar does not allow byte " + std::to_string(taken) + " of the text", taken);
  }
  if (!text.empty()) m.move_to(f.heads, kText);
  f.stack.collect();
}

bool Matcher::accepting() const {
  const std::scoped_lock lock(impl_->family->mutex);
  return impl_->accepting();
}

bool Matcher::finished() const { return impl_->finished; }

std::string Matcher::forced_bytes() {
  Impl& m = *impl_;
  Family& f = *m.family;
  const std::scoped_lock lock(f.mutex);
  std::string forced;
  if (m.finished) return forced;
  f.stack.heads(m.now, f.heads);
  while (forced.size() < kMostForcedBytes && !m.accepts(f.heads)) {
    bool tokens = false;
    const ByteSet next = m.next_bytes(f.heads, tokens);
    if (tokens || next.count() != 1) break;
    unsigned byte = 0;
    while (!next.contains(static_cast<std::uint8_t>(byte))) ++byte;
    f.stack.step(f.heads, static_cast<std::uint8_t>(byte), f.stepped);
    f.heads.swap(f.stepped);
    forced += static_cast<char>(static_cast<std::uint8_t>(byte));
  }
  f.stack.collect();
  return forced;
}

void Matcher::rollback(std::size_t commits) {
  Impl& m = *impl_;
  const std::scoped_lock lock(m.family->mutex);
  if (commits > m.history.size()) {
    throw std::out_of_range("cannot roll back " + std::to_string(commits) + " commits: " + std::to_string(m.history.size()) +
                            " are remembered");
  }
  if (commits == 0) return;
  Stack& stack = m.family->stack;
  const std::size_t size = m.history.size() - commits;
  const StackId back = m.history[size].configuration;
  stack.retain(back);
  m.history.truncate(stack, size);
  stack.release(m.now);
  m.now = back;
  m.finished = false;
  stack.collect();
}

void Matcher::reset() {
  Impl& m = *impl_;
  const std::scoped_lock lock(m.family->mutex);
  Stack& stack = m.family->stack;
  m.history.clear(stack);
  stack.release(m.now);
  m.start();
  stack.collect();
}

std::size_t Matcher::commits() const { return impl_->history.size(); }

Matcher::Explanation Matcher::explain(TokenId id) {
  Explanation e;
  Impl& m = *impl_;
  if (!m.in_range(id)) {
    e.reason = "token " + std::to_string(id) + " is not in the vocabulary, which has ids 0 to " + std::to_string(m.vocabulary().size() - 1);
    return e;
  }
  e.allowed = allows(id);
  e.reason = e.allowed ? "allowed" : "not allowed";
  return e;
}

}  // namespace glr
