#include "grammar/json_schema/value.hpp"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "grammar/diagnostic.hpp"
#include "grammar/json_schema/error.hpp"

namespace glr::json_schema {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Where the JSON number at `begin` ends; `begin` when there is none.
std::size_t number_end(std::string_view text, std::size_t begin) {
  std::size_t at = begin;
  const auto here = [&] { return at < text.size() ? text[at] : '\0'; };
  const auto digits = [&] {
    const std::size_t first = at;
    while (is_digit(here())) ++at;
    return at > first;
  };
  if (here() == '-') ++at;
  if (here() == '0') {
    ++at;
  } else if (!digits()) {
    return begin;
  }
  if (here() == '.') {
    ++at;
    if (!digits()) return begin;
  }
  if (here() == 'e' || here() == 'E') {
    ++at;
    if (here() == '+' || here() == '-') ++at;
    if (!digits()) return begin;
  }
  return at;
}

// Behind the quote that ends the string that begins here.
std::size_t string_end(std::string_view text, std::size_t begin) {
  for (std::size_t at = begin + 1;; ++at) {
    at = text.find('"', at);
    if (at == std::string_view::npos) return text.size();
    std::size_t escapes = at;
    while (text[escapes - 1] == '\\') --escapes;  // the opening quote is none
    if ((at - escapes) % 2 == 0) return at + 1;
  }
}

// Numbers by their order in the text, as they are written.
using LongNumbers = std::unordered_map<std::size_t, std::string>;

// The parser makes doubles and refuses a number beyond them. Numbers that may be are blanked to a 0, in a text of the
// same length, and found again by their order.
std::string without_long_numbers(std::string_view text, LongNumbers& numbers) {
  // No number is beyond a double that is shorter than 1e309, or than 309 digits without an exponent.
  constexpr std::size_t kShort = 4;
  constexpr std::size_t kShortDigits = 300;
  std::string blanked;
  std::size_t seen = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      at = string_end(text, at);
    } else if (c == '-' || is_digit(c)) {
      const std::size_t end = std::max(number_end(text, at), at + 1);
      const std::string_view number = text.substr(at, end - at);
      if (end - at > kShort && (end - at > kShortDigits || number.find_first_of("eE") != std::string_view::npos)) {
        if (blanked.empty()) blanked = text;
        numbers.emplace(seen, number);
        std::fill(blanked.begin() + static_cast<std::ptrdiff_t>(at), blanked.begin() + static_cast<std::ptrdiff_t>(end),
                  ' ');
        blanked[at] = '0';
      }
      ++seen;
      at = end;
    } else {
      ++at;
    }
  }
  return blanked;
}

}  // namespace

// Receives the parser's events; the parser itself does not recurse.
class TreeBuilder {
 public:
  TreeBuilder(Document& document, const LongNumbers& numbers) : document_(document), numbers_(numbers) {}

  bool null() { return add({}); }
  bool boolean(bool value) { return add({.kind = ValueKind::Boolean, .boolean = value}); }
  bool number_integer(std::int64_t value) { return number(std::to_string(value)); }
  bool number_unsigned(std::uint64_t value) { return number(std::to_string(value)); }
  bool number_float(double, const std::string& text) { return number(text); }
  bool string(std::string& value) { return add({.kind = ValueKind::String, .text = std::move(value)}); }
  bool binary(std::vector<std::uint8_t>&) { return false; }
  bool start_object(std::size_t) { return open(ValueKind::Object); }
  bool start_array(std::size_t) { return open(ValueKind::Array); }
  bool end_array() { return close(); }
  bool key(std::string& value) {
    open_.back()->keys.push_back(std::move(value));
    return true;
  }
  bool end_object() {
    keep_last(*open_.back());
    return close();
  }
  template <typename Exception>
  bool parse_error(std::size_t position, const std::string&, const Exception& error) {
    failed_at = position;
    message = error.what();
    return false;
  }

  std::size_t failed_at = 0;
  std::string message;
  bool too_deep = false;

 private:
  bool add(Value value) {
    document_.values_.push_back(std::move(value));
    const Value* added = &document_.values_.back();
    if (open_.empty())
      document_.root_ = added;
    else
      open_.back()->children.push_back(added);
    return true;
  }
  bool number(std::string text) {
    const auto it = numbers_.find(numbers_read_++);
    return add({.kind = ValueKind::Number, .text = it == numbers_.end() ? std::move(text) : it->second});
  }
  bool open(ValueKind kind) {
    if (open_.size() == Document::kMaxDepth) {
      too_deep = true;
      return false;
    }
    add({.kind = kind});
    open_.push_back(&document_.values_.back());
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }
  // Of the innermost object.
  std::string pointer() const {
    std::string out = "#";
    for (std::size_t i = 0; i + 1 < open_.size(); ++i) {
      const Value& around = *open_[i];
      out =
          step(out, around.kind == ValueKind::Object ? around.keys.back() : std::to_string(around.children.size() - 1));
    }
    return out;
  }
  void keep_last(Value& object) {
    std::unordered_map<std::string_view, std::size_t> first;
    first.reserve(object.keys.size());
    std::size_t kept = 0;
    for (std::size_t i = 0; i < object.keys.size(); ++i) {
      const auto [it, fresh] = first.emplace(object.keys[i], kept);
      object.children[it->second] = object.children[i];
      if (!fresh) {
        document_.repeated_keys_.push_back(step(pointer(), object.keys[i]));
        continue;
      }
      if (kept != i) {
        // The key in the map must be the one that stays.
        object.keys[kept] = object.keys[i];
        first.erase(it);
        first.emplace(object.keys[kept], kept);
      }
      ++kept;
    }
    object.keys.resize(kept);
    object.children.resize(kept);
  }

  Document& document_;
  const LongNumbers& numbers_;
  std::size_t numbers_read_ = 0;
  std::vector<Value*> open_;
};

Document::Document(std::string_view source, std::size_t begin, std::string_view file) {
  std::string_view text = source.substr(begin);
  LongNumbers numbers;
  const std::string blanked = without_long_numbers(text, numbers);
  if (!numbers.empty()) text = blanked;
  TreeBuilder builder(*this, numbers);
  if (nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) return;
  const auto where = Span{static_cast<std::uint32_t>(begin + (builder.failed_at == 0 ? 0 : builder.failed_at - 1)), 1};
  if (builder.too_deep) {
    throw grammar_error(file, {DiagnosticKind::LimitExceeded,
                               {},
                               "nesting of more than " + std::to_string(kMaxDepth) + " levels",
                               "put the inner levels into $defs and refer to them"});
  }
  // "[json.exception.parse_error.101] parse error at line 1, column 2: reason": the place is ours to say.
  std::string reason = builder.message;
  if (const std::size_t colon = reason.find(": "); colon != std::string::npos) reason.erase(0, colon + 2);
  throw grammar_error(source, file,
                      {DiagnosticKind::Unexpected, where, "text in JSON: " + reason, "a schema is a JSON text"});
}

const Value* Value::find(std::string_view key) const {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] == key) return children[i];
  }
  return nullptr;
}

std::string canonical_string(std::string_view content) {
  std::string out = "\"";
  for (const char c : content) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (byte < 0x20) {
          out += "\\u00";
          out += "0123456789abcdef"[byte >> 4];
          out += "0123456789abcdef"[byte & 15];
        } else {
          out += c;
        }
    }
  }
  return out + '"';
}

std::string canonical_text(const Value& value) {
  switch (value.kind) {
    case ValueKind::Null:
      return "null";
    case ValueKind::Boolean:
      return value.boolean ? "true" : "false";
    case ValueKind::Number:
      return value.text;
    case ValueKind::String:
      return canonical_string(value.text);
    case ValueKind::Array:
    case ValueKind::Object:
      break;
  }
  const bool object = value.kind == ValueKind::Object;
  std::string out(1, object ? '{' : '[');
  for (std::size_t i = 0; i < value.children.size(); ++i) {
    if (i > 0) out += ',';
    if (object) out += canonical_string(value.keys[i]) + ':';
    out += canonical_text(*value.children[i]);
  }
  return out + (object ? '}' : ']');
}

}  // namespace glr::json_schema
