#include "llama/adapter.hpp"

#include <cmath>
#include <exception>
#include <limits>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace glr::llama {

std::string Report::message() const {
  const std::lock_guard lock(mutex_);
  return message_;
}

void Report::set(Status status, const char* message) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    message_ = message;
  } catch (const std::exception&) {
    // Out of memory for the text; the status alone still stops the generation.
  }
  status_.store(status, std::memory_order_release);
}

// What a shell's context points to.
class Link {
 public:
  Link(const Functions& functions, Sampler sampler, Role role, std::shared_ptr<Report> report)
      : functions_(functions), sampler_(std::move(sampler)), role_(role), report_(std::move(report)) {
    const Vocabulary& vocabulary = sampler_.matcher().constraint().vocabulary();
    mask_.resize((vocabulary.size() + 31) / 32);
    if (!vocabulary.end_tokens().empty()) end_token_ = vocabulary.end_tokens().front();
  }
  ~Link() { report_->alive_.store(false, std::memory_order_release); }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  static Link& of(const SamplerShell* shell) { return *static_cast<Link*>(shell->context); }
  static const SamplerInterface interface;

  void accept(TokenId token) {
    if (report_->status() != Status::Running) return;
    if (!sampler_.accept(token)) {
      report_->set(Status::Rejected, "a token was accepted that the grammar does not allow here");
    } else if (sampler_.matcher().finished()) {
      report_->set(Status::Finished, "");
    }
  }

  void apply(TokenDataArray& array) {
    if (report_->status() != Status::Running) {
      end_generation(array);
    } else if (role_ == Role::Full) {
      choose(array);
    } else {
      shrink(array);
    }
  }

  void reset() {
    sampler_.reset();
    report_->nan_count_.store(0, std::memory_order_relaxed);
    report_->set(Status::Running, "");
  }

  SamplerShell* clone() const {
    auto report = std::make_shared<Report>();
    report->nan_count_.store(report_->nan_count(), std::memory_order_relaxed);
    report->set(report_->status(), report_->message().c_str());
    auto link = std::make_unique<Link>(functions_, sampler_.clone(), role_, std::move(report));
    return make_shell(functions_, std::move(link));
  }

  void fail(const char* message) noexcept { report_->set(Status::Failed, message); }

  // Leaves one end-of-generation token. Nothing can be appended to an array that is not ours, so it
  // takes the first place; an array without a place stays empty.
  void end_generation(TokenDataArray& array) const noexcept {
    array.selected = -1;
    if (array.size == 0) return;
    if (end_token_ >= 0) array.data[0] = {end_token_, 0.0f, 0.0f};
    array.size = 1;
    if (role_ == Role::Full) array.selected = 0;
  }

  static SamplerShell* make_shell(const Functions& functions, std::unique_ptr<Link> link) {
    SamplerShell* shell = functions.init(&interface, link.get());
    if (shell == nullptr) throw std::bad_alloc();
    static_cast<void>(link.release());
    return shell;
  }

 private:
  void choose(TokenDataArray& array) {
    const std::span<const TokenData> candidates(array.data, array.size);
    const TokenId token = sampler_.sample(candidates);
    report_->nan_count_.store(sampler_.nan_count(), std::memory_order_relaxed);
    if (token == kDeadEnd) {
      dead_end(array);
      return;
    }
    std::size_t index = 0;
    while (index < array.size && array.data[index].id != token) ++index;
    array.data[0] = index < array.size ? array.data[index] : TokenData{token, 0.0f, 1.0f};
    array.size = 1;
    array.selected = 0;
  }

  void shrink(TokenDataArray& array) {
    const TokenSet& allowed = sampler_.allowed();
    const std::int64_t selected = std::exchange(array.selected, -1);
    const std::optional<std::size_t> few = pick_by_id(allowed, array, selected);
    const std::size_t kept = few ? *few : pick_by_mask(allowed, array, selected);
    if (kept > 0) {
      array.size = kept;
      zero_nans(array);
    } else if (array.size == 1 && allowed.count() > 0) {
      // llama.cpp asks whether one token is allowed by an array of that token, and reads the answer from
      // its logit. That others are allowed instead is no dead end.
      array.data[0].logit = -std::numeric_limits<float>::infinity();
    } else {
      dead_end(array);
    }
  }

  // The array as llama.cpp fills it holds token i at place i: few allowed tokens are picked out without
  // looking at the others. No value: the array is of another kind (nothing was moved).
  static std::optional<std::size_t> pick_by_id(const TokenSet& allowed, TokenDataArray& array, std::int64_t selected) {
    if (allowed.form() != TokenSet::Form::List || allowed.count() >= array.size) return std::nullopt;
    for (const std::uint32_t id : allowed.data()) {
      if (id >= array.size || array.data[id].id != static_cast<TokenId>(id)) return std::nullopt;
    }
    std::size_t kept = 0;
    for (const std::uint32_t id : allowed.data()) {
      if (static_cast<std::int64_t>(id) == selected) array.selected = static_cast<std::int64_t>(kept);
      array.data[kept++] = array.data[id];
    }
    return kept;
  }

  std::size_t pick_by_mask(const TokenSet& allowed, TokenDataArray& array, std::int64_t selected) {
    allowed.write(mask_);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < array.size; ++i) {
      const auto id = static_cast<std::uint32_t>(array.data[i].id);
      if (id / 32 >= mask_.size() || ((mask_[id / 32] >> (id % 32)) & 1u) == 0) continue;
      if (static_cast<std::int64_t>(i) == selected) array.selected = static_cast<std::int64_t>(kept);
      array.data[kept++] = array.data[i];
    }
    return kept;
  }

  void zero_nans(TokenDataArray& array) {
    std::uint64_t found = 0;
    for (TokenData& candidate : std::span(array.data, array.size)) {
      if (!std::isnan(candidate.logit)) continue;
      candidate.logit = 0.0f;
      ++found;
    }
    if (found == 0) return;
    array.sorted = false;
    report_->nan_count_.fetch_add(found, std::memory_order_relaxed);
  }

  void dead_end(TokenDataArray& array) {
    report_->set(Status::DeadEnd, "no candidate is allowed by the grammar");
    end_generation(array);
  }

  Functions functions_;
  Sampler sampler_;
  Role role_;
  std::shared_ptr<Report> report_;
  std::vector<std::uint32_t> mask_;  // scratch of pick_by_mask
  TokenId end_token_ = -1;
};

namespace {

// The boundary: runs `action` on the link; an exception becomes its report.
template <typename Action>
void guarded(Link& link, Action&& action) noexcept {
  try {
    action();
  } catch (const std::exception& error) {
    link.fail(error.what());
  } catch (...) {
    link.fail("an unknown exception");
  }
}

const char* on_name(const SamplerShell*) noexcept { return "glrsampler"; }

void on_accept(SamplerShell* shell, TokenId token) noexcept {
  Link& link = Link::of(shell);
  guarded(link, [&] { link.accept(token); });
}

void on_apply(SamplerShell* shell, TokenDataArray* array) noexcept {
  Link& link = Link::of(shell);
  bool done = false;
  guarded(link, [&] {
    link.apply(*array);
    done = true;
  });
  if (!done) link.end_generation(*array);
}

void on_reset(SamplerShell* shell) noexcept {
  Link& link = Link::of(shell);
  guarded(link, [&] { link.reset(); });
}

SamplerShell* on_clone(const SamplerShell* shell) noexcept {
  Link& link = Link::of(shell);
  SamplerShell* copy = nullptr;
  guarded(link, [&] { copy = link.clone(); });
  return copy;
}

void on_free(SamplerShell* shell) noexcept { delete &Link::of(shell); }

}  // namespace

const SamplerInterface Link::interface = {on_name, on_accept, on_apply, on_reset, on_clone, on_free, {}};

ChainSampler::ChainSampler(const Functions& functions, Sampler sampler, Role role)
    : functions_(functions), report_(std::make_shared<Report>()) {
  shell_ = Link::make_shell(functions_, std::make_unique<Link>(functions_, std::move(sampler), role, report_));
}

ChainSampler::ChainSampler(ChainSampler&& other) noexcept
    : functions_(other.functions_), report_(other.report_), shell_(std::exchange(other.shell_, nullptr)) {}

ChainSampler::~ChainSampler() {
  if (shell_ != nullptr) functions_.free(shell_);
}

SamplerShell* ChainSampler::release() { return std::exchange(shell_, nullptr); }

}  // namespace glr::llama
