#include "glrsampler/matcher.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <stdexcept>

#include "automaton/constraint.hpp"
#include "grammar/diagnostic.hpp"
#include "matcher/expected.hpp"
#include "matcher/history.hpp"
#include "matcher/mask.hpp"

namespace glr {

namespace {

// Bytes as a person reads them: 'a'-'z', '\n', 0x80-0xBF.
std::string describe(const ByteSet& set) {
  const auto name = [](unsigned b) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    if (b == '\n') return std::string("'\\n'");
    if (b == '\t') return std::string("'\\t'");
    if (b == '\r') return std::string("'\\r'");
    if (b >= 0x20 && b < 0x7F) return std::string("'") + static_cast<char>(b) + "'";
    return std::string("0x") + kDigits[b >> 4] + kDigits[b & 15];
  };
  std::string text;
  for (unsigned b = 0; b < 256; ++b) {
    if (!set.contains(static_cast<std::uint8_t>(b))) continue;
    unsigned last = b;
    while (last < 255 && set.contains(static_cast<std::uint8_t>(last + 1))) ++last;
    if (!text.empty()) text += ", ";
    text += name(b);
    if (last > b) text += (last > b + 1 ? "-" : ", ") + name(last);
    b = last;
  }
  return text;
}

constexpr std::size_t kMostForcedBytes = 65'536;  // of one call: a longer forced text goes on at the next

}  // namespace

// A matcher and its forks share one stack; its mutex is held by whichever works.
struct Family {
  Family(std::shared_ptr<const Constraint> made_of, Ground ground)
      : constraint(std::move(made_of)),
        engine(std::move(ground.engine)),
        root(ground.root),
        stack(engine->machine()),
        masks(engine->masks()) {}

  // The mask automaton may have been dropped for its size: a fresh one then.
  MaskReader reader() {
    if (masks->full()) {
      masks = engine->masks();
      stack.forget_masks();
    }
    return MaskReader(stack, *masks, engine->machine().careful());
  }

  std::mutex mutex;
  std::shared_ptr<const Constraint> constraint;
  std::shared_ptr<Engine> engine;
  ExprId root;
  Stack stack;
  std::shared_ptr<MaskAutomaton> masks;
  Heads heads;  // scratch of the step in progress
  Heads stepped;
};

struct Matcher::Impl {
  explicit Impl(const std::shared_ptr<const Constraint>& constraint)
      : family(std::make_shared<Family>(constraint, constraint->impl()->ground_to_begin())) {
    start();
  }
  Impl(const Impl& other)
      : family(other.family), history(other.history), texts(other.texts), now(other.now), finished(other.finished) {
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
    family->stack.add(root, family->root, kBottom);
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

  // What can come next: bytes, and whether a token literal can. Under guards, those of the bytes that lead on.
  ByteSet next_bytes(const Heads& heads, bool& tokens) const {
    Machine& machine = family->engine->machine();
    Heads closed;
    family->stack.close(heads, closed);
    ByteSet set;
    bool guards = false;
    for (const Head& h : closed) {
      set.insert(machine.first(h.state));
      tokens = tokens || (constraint().token_literals && machine.starts_with_token(h.state));
      guards = guards || machine.guarded(h.state);
    }
    if (!guards && !machine.careful()) return set;
    ByteSet leading_on;
    for (unsigned b = 0; b < 256; ++b) {
      const auto byte = static_cast<std::uint8_t>(b);
      if (!set.contains(byte)) continue;
      family->stack.step(heads, byte, closed);
      if (!closed.empty()) leading_on.insert(byte);
    }
    return leading_on;
  }

  // The bytes committed so far; false when they are not all remembered.
  bool text_so_far(std::string& text) const {
    if (!history.complete()) return false;
    for (std::size_t i = 0; i < history.size(); ++i) {
      const std::int32_t token = history[i].token;
      if (token == kText)
        text += texts.at(i);
      else
        text += vocabulary().token(token).bytes;
    }
    return true;
  }

  bool accepts(const Heads& heads) const {
    return std::any_of(heads.begin(), heads.end(), [&](const Head& h) {
      return family->engine->machine().nullable(h.state) && family->stack.accepts(h.tail);
    });
  }

  std::shared_ptr<Family> family;
  History history;
  std::map<std::size_t, std::string> texts;  // of commit_bytes, by their place in the history; for explain
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
  MaskReader reader = f.reader();
  if (impl_->finished) return f.masks->set(kEmptySet);
  const TokenSet& set = f.masks->set(reader.mask(impl_->now));
  f.stack.collect();
  return set;
}

const TokenSet* Matcher::allowed_if_ready() {
  Family& f = *impl_->family;
  const std::unique_lock lock(f.mutex, std::try_to_lock);
  if (!lock) return nullptr;
  if (impl_->finished) return &f.masks->set(kEmptySet);
  SetId set;
  return MaskReader(f.stack, *f.masks, f.engine->machine().careful()).known(impl_->now, set) ? &f.masks->set(set)
                                                                                             : nullptr;
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
  if (m.finished && !text.empty())
    throw RejectedToken("the sequence is finished: an end-of-generation token was committed", 0);
  f.stack.heads(m.now, f.heads);
  const std::size_t taken = m.take(text);
  if (taken != text.size()) {
    f.stack.collect();
    throw RejectedToken("the grammar does not allow byte " + std::to_string(taken) + " of the text", taken);
  }
  if (!text.empty()) {
    m.texts[m.history.size()] = text;
    m.move_to(f.heads, kText);
  }
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
    throw std::out_of_range("cannot roll back " + std::to_string(commits) +
                            " commits: " + std::to_string(m.history.size()) + " are remembered");
  }
  if (commits == 0) return;
  Stack& stack = m.family->stack;
  const std::size_t size = m.history.size() - commits;
  const StackId back = m.history[size].configuration;
  stack.retain(back);
  m.history.truncate(stack, size);
  m.texts.erase(m.texts.lower_bound(size), m.texts.end());
  stack.release(m.now);
  m.now = back;
  m.finished = false;
  stack.collect();
}

void Matcher::reset() {
  Impl& m = *impl_;
  const std::shared_ptr<Family> family = m.family;
  const std::scoped_lock lock(family->mutex);
  std::shared_ptr<Family> next = family;
  if (family.use_count() == 3) {  // no forks: it may go on elsewhere
    Ground ground = family->constraint->impl()->ground_to_begin();
    if (ground.engine != family->engine) next = std::make_shared<Family>(family->constraint, std::move(ground));
  }
  m.history.clear(family->stack);
  m.texts.clear();
  family->stack.release(m.now);
  m.family = std::move(next);
  m.start();
  family->stack.collect();
}

std::size_t Matcher::commits() const { return impl_->history.size(); }

Matcher::Explanation Matcher::explain(TokenId id) {
  Impl& m = *impl_;
  Explanation e;
  const std::string name = "token " + std::to_string(id);
  if (!m.in_range(id)) {
    e.reason = name + " is not in the vocabulary, which has ids 0 to " + std::to_string(m.vocabulary().size() - 1);
    return e;
  }
  e.allowed = allows(id);
  const Token& token = m.vocabulary().token(id);
  const std::string shown = name + " (" + quoted(token.bytes.empty() ? token.name : token.bytes) + ")";
  if (e.allowed) {
    e.reason = shown + (token.end_of_generation ? " is allowed: the text is a sentence" : " is allowed");
    return e;
  }
  Family& f = *m.family;
  const std::scoped_lock lock(f.mutex);
  if (m.finished) {
    e.reason = shown + " is not allowed: the sequence is finished, an end-of-generation token was committed";
    return e;
  }
  std::string text;
  bool complete = m.text_so_far(text);
  f.stack.heads(m.now, f.heads);
  if (token.end_of_generation) {
    e.reason = shown + " is not allowed: the text is not a sentence yet";
  } else if (token.control) {
    e.reason = shown + " is not allowed: a control token is admitted only by a token literal of the grammar";
  } else if (token.bytes.empty()) {
    e.reason = shown + " is not allowed: it has no bytes";
  } else {
    e.failed_at = m.take(token.bytes);
    text += token.bytes.substr(0, e.failed_at);
    e.reason = shown + " is not allowed: its byte " + std::to_string(e.failed_at) + ", " +
               quoted(token.bytes.substr(e.failed_at, 1)) + ", cannot come there";
  }
  bool tokens = false;
  e.expected_bytes = describe(m.next_bytes(f.heads, tokens));
  const std::uint32_t nesting = m.constraint().limits.max_nesting;
  // The terminals are read off the grammar, which knows of no budget.
  if (complete && nesting == 0) e.expected = expected_terminals(*m.constraint().grammar, text);
  if (nesting != 0 && !e.expected_bytes.empty()) e.expected.push_back(e.expected_bytes);
  if (m.accepts(f.heads)) e.expected.push_back("the end of the text");
  std::string list;
  for (const std::string& terminal : e.expected) list += (list.empty() ? "; expected " : ", or ") + terminal;
  e.reason += e.expected.empty() && !e.expected_bytes.empty() ? "; expected " + e.expected_bytes : list;
  if (nesting != 0) e.reason += "; nesting is limited to " + std::to_string(nesting) + " levels";
  f.stack.collect();
  return e;
}

}  // namespace glr
