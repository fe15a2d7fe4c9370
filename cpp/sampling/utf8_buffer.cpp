#include "glrsampler/utf8_buffer.hpp"

#include <utility>

#include "vocabulary/utf8.hpp"

namespace glr {

std::string Utf8Buffer::take(std::string_view bytes) {
  std::string text = std::exchange(pending_, {});
  text += bytes;
  utf8::State state = utf8::Boundary;
  std::size_t begun = 0;  // where the code point being read begins
  for (std::size_t i = 0; i < text.size();) {
    state = utf8::next(state, static_cast<std::uint8_t>(text[i]));
    if (state == utf8::Boundary) {
      begun = ++i;
    } else if (state != utf8::Invalid) {
      ++i;
    } else {
      // The bytes read so far are no code point; the offending one may begin another.
      const std::size_t bad = i > begun ? i - begun : 1;
      invalid_bytes_ += bad;
      begun += bad;
      i = begun;
      state = utf8::Boundary;
    }
  }
  pending_ = text.substr(begun);
  text.resize(begun);
  return text;
}

std::string Utf8Buffer::finish() {
  invalid_bytes_ += pending_.size();
  return std::exchange(pending_, {});
}

}  // namespace glr
