#include "glrsampler/utf8_buffer.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "check.hpp"
#include "support/utf8.hpp"

namespace {

using glr::Utf8Buffer;

// The pieces that come out when `pieces` go in, what finish() returns at the end.
std::vector<std::string> through(Utf8Buffer& buffer, const std::vector<std::string>& pieces) {
  std::vector<std::string> out;
  for (const std::string& piece : pieces) out.push_back(buffer.take(piece));
  out.push_back(buffer.finish());
  return out;
}

bool whole_code_points(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto decoded = glr::decode_utf8(text, i);
    if (decoded.length == 0) return false;
    i += decoded.length;
  }
  return true;
}

std::string joined(const std::vector<std::string>& pieces) {
  std::string all;
  for (const std::string& piece : pieces) all += piece;
  return all;
}

// The text cut at every set bit of `cuts`, bit i after byte i.
std::vector<std::string> cut(const std::string& text, std::uint32_t cuts) {
  std::vector<std::string> pieces{""};
  for (std::size_t i = 0; i < text.size(); ++i) {
    pieces.back() += text[i];
    if ((cuts >> i & 1) != 0) pieces.push_back("");
  }
  return pieces;
}

TEST(every_split_of_a_text_gives_whole_code_points) {
  // One to four bytes long; the first and last code points of each length, a joined emoji.
  const std::vector<std::string> texts{"a\u00e9\u6f22z",           "\U0001F600\u00e9b",
                                       "\u007f\u0080\u07ff\u0800", "\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF",
                                       "\U00010000\U0010ffff",     "\u0939\u093f\u200d"};
  for (const std::string& text : texts) {
    for (std::uint32_t cuts = 0; cuts < 1u << text.size(); ++cuts) {
      Utf8Buffer buffer;
      const auto out = through(buffer, cut(text, cuts));
      for (const std::string& piece : out) CHECK(whole_code_points(piece));
      CHECK_EQ(joined(out), text);
      CHECK_EQ(out.back(), "");
      CHECK_EQ(buffer.invalid_bytes(), 0u);
    }
  }
}

TEST(a_code_point_comes_out_as_soon_as_it_is_whole) {
  Utf8Buffer buffer;
  CHECK_EQ(buffer.take("a\xF0\x9F"), "a");
  CHECK_EQ(buffer.pending(), "\xF0\x9F");
  CHECK_EQ(buffer.take("\x98"), "");
  CHECK_EQ(buffer.take("\x80"), "\xF0\x9F\x98\x80");
  CHECK_EQ(buffer.pending(), "");
}

TEST(an_incomplete_tail_is_left_to_finish) {
  for (const char* tail : {"\xC3", "\xE6\xBC", "\xF0\x9F\x98"}) {
    Utf8Buffer buffer;
    CHECK_EQ(buffer.take(std::string("x") + tail), "x");
    CHECK_EQ(buffer.invalid_bytes(), 0u);
    CHECK_EQ(buffer.finish(), tail);
    CHECK_EQ(buffer.invalid_bytes(), std::string_view(tail).size());
    CHECK_EQ(buffer.finish(), "");
    CHECK_EQ(buffer.take("y"), "y");
  }
}

struct Invalid {
  std::string bytes;
  std::size_t invalid;  // of them
};

TEST(invalid_bytes_are_handed_on_and_counted) {
  const std::vector<Invalid> cases{
      {"\x80", 1},  // continuation without a lead
      {"a\xBF"
       "b",
       1},
      {"\xC0\xAF", 2},  // overlong
      {"\xE0\x80\x80", 3},
      {"\xF0\x8F\xBF\xBF", 4},
      {"\xED\xA0\x80", 3},      // a surrogate
      {"\xF4\x90\x80\x80", 4},  // beyond U+10FFFF
      {"\xF5\x80\xFF\xFE", 4},  // bytes that occur nowhere
      {"\xE6\xBC"
       "A",
       2},                      // cut short by ASCII
      {"\xE6\xBC\xC3\xA9", 2},  // cut short by another lead
      {"\xF0\x9F\x98\xF0\x9F\x98\x80", 3},
      {std::string("\xC3\0z", 3), 1},
  };
  for (const auto& [bytes, invalid] : cases) {
    for (std::uint32_t cuts = 0; cuts < 1u << bytes.size(); ++cuts) {
      Utf8Buffer buffer;
      const auto out = through(buffer, cut(bytes, cuts));
      CHECK_EQ(joined(out), bytes);
      CHECK_EQ(out.back(), "");
      CHECK_EQ(buffer.invalid_bytes(), invalid);
    }
  }
}

TEST(at_most_three_bytes_are_kept) {
  Utf8Buffer buffer;
  std::uint32_t random = 1;
  std::string in, out;
  for (int i = 0; i < 200'000; ++i) {
    random = random * 1664525u + 1013904223u;
    const char byte = static_cast<char>(random >> 24);
    in += byte;
    out += buffer.take(std::string_view(&byte, 1));
    CHECK(buffer.pending().size() <= 3);
  }
  out += buffer.finish();
  CHECK(in == out);
}

}  // namespace
