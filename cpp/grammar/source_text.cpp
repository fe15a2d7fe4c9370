#include "grammar/source_text.hpp"

#include <string>

#include "grammar/diagnostic.hpp"
#include "support/utf8.hpp"

namespace glr {

void check_source(std::string_view source, std::string_view file) {
  const auto fail = [&](DiagnosticKind kind, std::size_t at, std::string detail, std::string hint) {
    throw grammar_error(source, file, {kind, {static_cast<std::uint32_t>(at), 1}, std::move(detail), std::move(hint)});
  };
  if (source.size() > kMaxSource)
    fail(DiagnosticKind::SourceTooLong, 0, "more than " + std::to_string(kMaxSource) + " bytes", "");
  for (std::size_t i = 0; i < source.size();) {
    const DecodedCodePoint c = decode_utf8(source, i);
    if (c.length == 0)
      fail(DiagnosticKind::InvalidUtf8, i, "byte " + quoted(source.substr(i, 1)), "save the grammar as UTF-8");
    if (c.value == 0) fail(DiagnosticKind::NulByte, i, "in the text", "write \\x00 for the code point");
    i += c.length;
  }
}

}  // namespace glr
