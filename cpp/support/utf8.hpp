// UTF-8: one code point at a time, strict (no overlong forms, no surrogates, nothing beyond U+10FFFF).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace glr {

// A Unicode scalar value: what a text can hold.
constexpr bool is_scalar_value(char32_t c) { return c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF); }

struct DecodedCodePoint {
  char32_t value;
  std::size_t length;  // bytes; 0: no valid code point begins here
};

// Reads the code point that begins at `offset`. O(1).
constexpr DecodedCodePoint decode_utf8(std::string_view text, std::size_t offset) {
  if (offset >= text.size()) return {0, 0};
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[offset + i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() - offset < length) return {0, 0};
  char32_t value = lead & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {0, 0};
    value = (value << 6) | (byte(i) & 0x3Fu);
  }
  const bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
  if (overlong || !is_scalar_value(value)) return {0, 0};
  return {value, length};
}

// Appends a scalar value.
inline void append_utf8(std::string& text, char32_t c) {
  const auto put = [&](char32_t byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xC0 | (c >> 6));
  } else {
    if (c < 0x10000) {
      put(0xE0 | (c >> 12));
    } else {
      put(0xF0 | (c >> 18));
      put(0x80 | ((c >> 12) & 0x3F));
    }
    put(0x80 | ((c >> 6) & 0x3F));
  }
  put(0x80 | (c & 0x3F));
}

}  // namespace glr
