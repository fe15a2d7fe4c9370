// Forced tokens: the only possible continuation, cut as the model's tokenizer would cut it.
//
// Two seams decide what may be handed out. At the front the cut must fall where the text so far ends: a tokenizer
// that would rather join the two has no say about tokens that are committed already, and is asked without them. At
// the end a token is final only when no continuation that the grammar allows can change it. A token that begins
// inside the forced text and reaches beyond its end would; so everything from the first place where such a token is
// allowed is held back. What is left depends on later text only through the rules by which tokenizers split text into
// words before they merge (white space goes to the word that follows, say); that is tried with continuations of
// several kinds, and what any of them changes is held back too.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "glrsampler/matcher.hpp"
#include "support/utf8.hpp"

namespace glr {

namespace {

constexpr std::size_t kMostTokens = 4096;  // of one call without a tokenizer

struct Piece {
  TokenId token;
  std::size_t end;  // bytes of the text up to here
};

// The longest beginning of `text` that is whole code points; npos when it does not begin with one.
std::size_t whole_code_points(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = decode_utf8(text, at).length;
    if (length == 0) return text.size() - at < 4 ? at : std::string_view::npos;
    at += length;
  }
  return at;
}

bool continues_code_point(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// The tokens of `text` after `before`, or nothing when the tokenizer does not cut between the two. A tokenizer of the
// SentencePiece kind puts a space of its own in front.
std::vector<Piece> cut(const Vocabulary& vocabulary, const Tokenizer& tokenize, std::string_view before,
                       std::string_view text) {
  const std::string whole = std::string(before) + std::string(text);
  const std::vector<TokenId> tokens = tokenize(whole);
  std::string spelled;
  for (const TokenId token : tokens) {
    if (token < 0 || static_cast<std::size_t>(token) >= vocabulary.size()) return {};
    spelled += vocabulary.token(token).bytes;
  }
  const bool space = spelled.size() == whole.size() + 1 && spelled.front() == ' ';
  if (std::string_view(spelled).substr(space ? 1 : 0) != whole) return {};
  const std::size_t seam = before.size() + (space ? 1 : 0);
  std::vector<Piece> pieces;
  std::size_t at = 0;
  bool met = seam == 0;
  for (const TokenId token : tokens) {
    at += vocabulary.token(token).bytes.size();
    if (at > seam && !met) return {};
    if (at > seam) pieces.push_back({token, at - seam});
    met = met || at == seam;
  }
  return pieces;
}

// Where a token that reaches beyond the end of `text` may begin; its size when none may.
std::size_t undecided_from(Matcher at, std::string_view text) {
  const Vocabulary& vocabulary = at.constraint().vocabulary();
  const std::size_t reach = std::max<std::size_t>(vocabulary.longest_token(), 1) - 1;
  std::size_t from = text.size() - std::min(text.size(), reach);
  at.commit_bytes(text.substr(0, from));
  for (; from < text.size(); ++from) {
    bool beyond = false;
    at.allowed().for_each([&](TokenId token) { beyond |= vocabulary.token(token).bytes.size() > text.size() - from; });
    if (beyond) return from;
    at.commit_bytes(text.substr(from, 1));
  }
  return from;
}

// A way to go on for each kind of text that tokenizers tell apart.
std::vector<std::string> continuations(const Vocabulary& vocabulary, const TokenSet& allowed) {
  enum Kind : std::uint8_t { Letter, Digit, Space, Line, Sign, Other, kKinds };
  const auto kind_of = [](unsigned char c) {
    if (c >= 0x80) return Other;
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return Letter;
    if (c >= '0' && c <= '9') return Digit;
    if (c == ' ' || c == '\t') return Space;
    return c == '\n' || c == '\r' ? Line : Sign;
  };
  std::array<std::string, kKinds> found;
  allowed.for_each([&](TokenId token) {
    const std::string& bytes = vocabulary.token(token).bytes;
    if (bytes.empty()) return;
    std::string& place = found[kind_of(static_cast<unsigned char>(bytes[0]))];
    if (place.empty() && whole_code_points(bytes) == bytes.size()) place = bytes;
  });
  std::vector<std::string> out;
  std::copy_if(found.begin(), found.end(), std::back_inserter(out), [](const std::string& s) { return !s.empty(); });
  return out;
}

// Steps at which one token is allowed and no other: forced whatever the tokenizer.
std::vector<TokenId> only_tokens(Matcher at) {
  std::vector<TokenId> out;
  while (out.size() < kMostTokens) {
    const TokenSet& allowed = at.allowed();
    if (allowed.count() != 1) break;
    TokenId only = 0;
    allowed.for_each([&](TokenId token) { only = token; });
    if (at.constraint().vocabulary().token(only).end_of_generation) break;
    out.push_back(only);
    at.commit(only);
  }
  return out;
}

// What the tokenizer makes of the continuation and no later text can change.
std::vector<TokenId> certain_tokens(Matcher& matcher, const Tokenizer& tokenize, std::string_view before,
                                    std::string_view given) {
  const Vocabulary& vocabulary = matcher.constraint().vocabulary();
  Matcher end = matcher.fork();
  end.commit_bytes(given);
  const std::string text = std::string(given) + end.forced_bytes();
  if (text.empty()) return {};
  while (!before.empty() && continues_code_point(before.front())) before.remove_prefix(1);
  std::size_t whole = whole_code_points(std::string(before) + text);
  if (whole == std::string_view::npos || whole <= before.size()) return {};
  whole -= before.size();

  // Without the text before: an empty one, or, for tokenizers that put a space in front, a line end.
  std::vector<Piece> pieces;
  std::string_view context;
  for (const std::string_view tried : {before, std::string_view(), std::string_view("\n")}) {
    if (tried.data() != before.data() && continues_code_point(text.front())) continue;
    context = tried;
    pieces = cut(vocabulary, tokenize, context, std::string_view(text).substr(0, whole));
    if (!pieces.empty()) break;
  }
  if (pieces.empty()) return {};

  end.commit_bytes(std::string_view(text).substr(given.size()));
  const bool last = end.accepting() && end.allowed().count() == vocabulary.end_tokens().size();
  std::size_t kept = pieces.size();
  if (!last) {
    const std::size_t decided = std::min(whole, undecided_from(matcher.fork(), text));
    while (kept > 0 && pieces[kept - 1].end > decided) --kept;
    if (kept > 0 && whole == text.size()) {
      for (const std::string& next : continuations(vocabulary, end.allowed())) {
        const std::vector<Piece> other = cut(vocabulary, tokenize, context, text + next);
        std::size_t same = 0;
        while (same < std::min(kept, other.size()) && other[same].token == pieces[same].token) ++same;
        kept = same;
      }
    }
  }
  std::vector<TokenId> out(kept);
  std::transform(pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(kept), out.begin(),
                 [](const Piece& piece) { return piece.token; });
  return out;
}

}  // namespace

std::vector<TokenId> Matcher::forced_tokens(const Tokenizer& tokenize, std::string_view before,
                                            std::string_view given) {
  if (finished()) return {};
  std::vector<TokenId> out;
  if (tokenize) out = certain_tokens(*this, tokenize, before, given);
  if (out.empty() && given.empty()) out = only_tokens(fork());
  return out;
}

}  // namespace glr
