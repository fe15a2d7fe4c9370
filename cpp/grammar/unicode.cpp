#include "grammar/unicode.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace glr {
namespace {

struct PropertyRange {
  std::string_view property;
  char32_t first;
  char32_t last;
};
struct Fold {
  char32_t from;
  char32_t to;
};

#include "unicode_tables.inc"

using Ranges = std::vector<CodePointRange>;

// General categories, Unicode Standard Annex 44, table 12: the short name and the long one.
constexpr std::array<std::pair<std::string_view, std::string_view>, 38> kCategoryNames = {{
    {"Lu", "Uppercase_Letter"},
    {"Ll", "Lowercase_Letter"},
    {"Lt", "Titlecase_Letter"},
    {"LC", "Cased_Letter"},
    {"Lm", "Modifier_Letter"},
    {"Lo", "Other_Letter"},
    {"L", "Letter"},
    {"Mn", "Nonspacing_Mark"},
    {"Mc", "Spacing_Mark"},
    {"Me", "Enclosing_Mark"},
    {"M", "Mark"},
    {"Nd", "Decimal_Number"},
    {"Nl", "Letter_Number"},
    {"No", "Other_Number"},
    {"N", "Number"},
    {"Pc", "Connector_Punctuation"},
    {"Pd", "Dash_Punctuation"},
    {"Ps", "Open_Punctuation"},
    {"Pe", "Close_Punctuation"},
    {"Pi", "Initial_Punctuation"},
    {"Pf", "Final_Punctuation"},
    {"Po", "Other_Punctuation"},
    {"P", "Punctuation"},
    {"Sm", "Math_Symbol"},
    {"Sc", "Currency_Symbol"},
    {"Sk", "Modifier_Symbol"},
    {"So", "Other_Symbol"},
    {"S", "Symbol"},
    {"Zs", "Space_Separator"},
    {"Zl", "Line_Separator"},
    {"Zp", "Paragraph_Separator"},
    {"Z", "Separator"},
    {"Cc", "Control"},
    {"Cf", "Format"},
    {"Cs", "Surrogate"},
    {"Co", "Private_Use"},
    {"Cn", "Unassigned"},
    {"C", "Other"},
}};

std::string loose(std::string_view name) {
  std::string out;
  for (char c : name) {
    if (c == '_' || c == '-' || c == ' ') continue;
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

bool same(std::string_view x, std::string_view y) { return loose(x) == loose(y); }

Ranges join(std::initializer_list<Ranges> parts) {
  Ranges all;
  for (const Ranges& part : parts) all.insert(all.end(), part.begin(), part.end());
  return normalised(std::move(all));
}

Ranges category(std::string_view name) {
  if (name == "Cn") {
    Ranges assigned;
    for (const PropertyRange& r : kCategories) assigned.push_back({r.first, r.last});
    return complement(assigned);
  }
  if (name == "C") return join({category("Cc"), category("Cf"), category("Co"), category("Cn")});
  if (name == "LC") return join({category("Lu"), category("Ll"), category("Lt")});
  Ranges found;
  for (const PropertyRange& r : kCategories) {
    if (r.property.starts_with(name)) found.push_back({r.first, r.last});
  }
  return normalised(std::move(found));
}

std::optional<Ranges> general_category(std::string_view name) {
  for (const auto& [brief, full] : kCategoryNames) {
    if (same(name, brief) || same(name, full)) return category(brief);
  }
  if (same(name, "punct")) return category("P");
  if (same(name, "digit")) return category("Nd");
  return std::nullopt;
}

// A property that has a table of its own; empty when there is none.
Ranges table(std::string_view name) {
  Ranges found;
  for (const PropertyRange& r : kProperties) {
    if (same(r.property, name)) found.push_back({r.first, r.last});
  }
  return found;
}

std::optional<Ranges> found(Ranges ranges) {
  if (ranges.empty()) return std::nullopt;
  return normalised(std::move(ranges));
}

std::optional<Ranges> script(std::string_view name) { return found(table("Script=" + std::string(name))); }

// ID_Start is XID_Start and the letters whose normal form begins with something else (Unicode Standard Annex 31). Of
// Other_ID_Start only two code points are not in XID_Start; of Pattern_Syntax one is a letter.
Ranges id_start() {
  Ranges all = join({category("L"), category("Nl"), table("XID_Start"), {{0x309B, 0x309C}}});
  Ranges others = complement(all);
  others.push_back({0x2E2F, 0x2E2F});
  return complement(others);
}

std::optional<Ranges> binary(std::string_view name) {
  if (same(name, "Any")) return Ranges{{0, 0xD7FF}, {0xE000, kMaxCodePoint}};
  if (same(name, "ASCII")) return Ranges{{0, 0x7F}};
  if (same(name, "Assigned")) return complement(category("Cn"));
  if (same(name, "ASCII_Hex_Digit") || same(name, "AHex")) return Ranges{{'0', '9'}, {'A', 'F'}, {'a', 'f'}};
  if (same(name, "White_Space") || same(name, "space")) return join({{{'\t', '\r'}, {0x85, 0x85}}, category("Z")});
  if (same(name, "ID_Start") || same(name, "IDS")) return id_start();
  if (same(name, "ID_Continue") || same(name, "IDC"))
    return join({id_start(), category("Mn"), category("Mc"), category("Nd"), category("Pc"), table("XID_Continue")});
  if (same(name, "Lower")) return table("Lowercase");
  if (same(name, "Upper")) return table("Uppercase");
  if (same(name, "XIDS")) return table("XID_Start");
  if (same(name, "XIDC")) return table("XID_Continue");
  return found(table(name));
}

}  // namespace

std::optional<std::vector<CodePointRange>> unicode_property(std::string_view name) {
  const std::size_t sign = name.find('=');
  if (sign != std::string_view::npos) {
    const std::string_view property = name.substr(0, sign);
    const std::string_view value = name.substr(sign + 1);
    if (same(property, "General_Category") || same(property, "gc")) return general_category(value);
    if (same(property, "Script") || same(property, "sc")) return script(value);
    return std::nullopt;
  }
  if (auto found = general_category(name)) return found;
  if (auto found = binary(name)) return found;
  return script(name);
}

bool has_unicode_scripts() { return script("Latin").has_value(); }

std::vector<CodePointRange> with_case_variants(const std::vector<CodePointRange>& ranges) {
  const Ranges sorted = normalised(ranges);
  const auto contains = [&](char32_t c) {
    const auto it = std::ranges::upper_bound(sorted, c, {}, &CodePointRange::first);
    return it != sorted.begin() && c <= std::prev(it)->last;
  };
  // Folded forms that something in the ranges has; then whatever has them.
  std::map<char32_t, bool> folded;
  for (const Fold& f : kFolds) {
    if (contains(f.from) || contains(f.to)) folded[f.to] = true;
  }
  Ranges all = sorted;
  for (const Fold& f : kFolds) {
    if (!folded.contains(f.to)) continue;
    all.push_back({f.from, f.from});
    all.push_back({f.to, f.to});
  }
  return normalised(std::move(all));
}

std::string_view unicode_version() { return kUnicodeVersion; }

}  // namespace glr
