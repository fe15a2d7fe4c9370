#include "grammar/other_format.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "grammar/diagnostic.hpp"

namespace glr {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const std::size_t begin = text.find_first_not_of(kSpace);
  return begin == std::string_view::npos ? "" : text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

// No grammar begins with a brace, and none with a bracket that holds a value.
bool looks_like_json(std::string_view text) {
  if (text == "true" || text == "false" || text == "null") return true;
  if (text.empty() || (text.front() != '{' && text.front() != '[')) return false;
  const std::size_t second = text.find_first_not_of(kSpace, 1);
  if (second == std::string_view::npos) return false;
  const std::string_view next = text.front() == '{' ? "\"}" : "\"{[]";
  return next.find(text[second]) != std::string_view::npos;
}

bool looks_like_path(std::string_view text) {
  constexpr std::size_t longest_path = 4096;
  if (text.empty() || text.size() > longest_path) return false;
  if (text.find_first_of("\r\n\"") != std::string_view::npos) return false;
  if (text.front() == '#' || text.find("::=") != std::string_view::npos) return false;
  static constexpr std::array<std::string_view, 7> endings = {".gbnf", ".ebnf", ".bnf", ".lark", ".json", ".txt", ".g"};
  if (std::any_of(endings.begin(), endings.end(), [&](auto ending) { return text.ends_with(ending); })) return true;
  return text.find_first_of(" \t':=|()[]{}*+?") == std::string_view::npos && text.find('/') != std::string_view::npos;
}

}  // namespace

void refuse_other_formats(std::string_view source, std::string_view file) {
  const std::string_view text = trimmed(source);
  const auto offset = static_cast<std::uint32_t>(text.empty() ? 0 : text.data() - source.data());
  const Span first_byte{offset, 1};
  if (looks_like_json(text)) {
    throw grammar_error(
        source, file,
        {DiagnosticKind::OtherFormat, first_byte, "this is JSON", "a JSON Schema is read by from_json_schema"});
  }
  if (looks_like_path(text)) {
    throw grammar_error(source, file,
                        {DiagnosticKind::OtherFormat,
                         {offset, static_cast<std::uint32_t>(text.size())},
                         "this looks like the path of a file",
                         "a file is read by from_file"});
  }
}

}  // namespace glr
