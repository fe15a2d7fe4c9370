#include "grammar/json_schema/value.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "grammar/diagnostic.hpp"

namespace glr::json_schema {

// Receives the parser's events; the parser itself does not recurse.
class TreeBuilder {
 public:
  explicit TreeBuilder(Document& document) : document_(document) {}

  bool null() { return add({}); }
  bool boolean(bool value) { return add({.kind = ValueKind::Boolean, .boolean = value}); }
  bool number_integer(std::int64_t value) { return add({.kind = ValueKind::Number, .text = std::to_string(value)}); }
  bool number_unsigned(std::uint64_t value) { return add({.kind = ValueKind::Number, .text = std::to_string(value)}); }
  bool number_float(double, const std::string& text) { return add({.kind = ValueKind::Number, .text = text}); }
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
  static void keep_last(Value& object) {
    std::unordered_map<std::string_view, std::size_t> first;
    first.reserve(object.keys.size());
    std::size_t kept = 0;
    for (std::size_t i = 0; i < object.keys.size(); ++i) {
      const auto [it, fresh] = first.emplace(object.keys[i], kept);
      object.children[it->second] = object.children[i];
      if (!fresh) continue;
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
  std::vector<Value*> open_;
};

Document::Document(std::string_view source, std::size_t begin, std::string_view file) {
  TreeBuilder builder(*this);
  const std::string_view text = source.substr(begin);
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
