// Value: a JSON text as a tree, numbers as they are written.
//
// A schema's numbers are kept as text because a bound such as 0.1 or 9007199254740993 has no double that equals it.
// Of an object's equal keys the last one counts, at the place of the first, as Python and ECMAScript have it; the
// document knows where there are some.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace glr::json_schema {

enum class ValueKind : std::uint8_t { Null, Boolean, Number, String, Array, Object };

struct Value {
  ValueKind kind = ValueKind::Null;
  bool boolean = false;
  std::string text{};                    // Number: its spelling; String: its content, UTF-8
  std::vector<std::string> keys{};       // Object
  std::vector<const Value*> children{};  // Object, Array

  // The value of a key, or null; null for what is no object. O(keys).
  const Value* find(std::string_view key) const;
};

// Owns the values of one text.
class Document {
 public:
  // Throws GrammarError with line and column for a text that is not JSON or nests deeper than kMaxDepth.
  Document(std::string_view text, std::string_view file) : Document(text, 0, file) {}
  // The text from `begin` to the end of a larger one; messages speak of that.
  Document(std::string_view source, std::size_t begin, std::string_view file);
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

  // Deeper schemas are refused: what reads a schema may recurse on its nesting.
  static constexpr std::size_t kMaxDepth = 400;

  const Value& root() const { return *root_; }
  // JSON pointers of keys that an object has twice, "#/...".
  const std::vector<std::string>& repeated_keys() const { return repeated_keys_; }

 private:
  friend class TreeBuilder;
  std::deque<Value> values_;
  const Value* root_ = nullptr;
  std::vector<std::string> repeated_keys_;
};

// The one spelling of a string that canonical text uses: UTF-8, escapes only where JSON demands them, the short
// ones where there are some. With the quotes.
std::string canonical_string(std::string_view content);

// A value as compact canonical text, for messages and comparisons.
std::string canonical_text(const Value& value);

}  // namespace glr::json_schema
