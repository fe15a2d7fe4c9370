// Unicode: the properties that \p{...} names, and case folding. The tables are made when the library is built, from the
// Python interpreter's unicodedata (unicode_tables.py).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "glrsampler/grammar.hpp"

namespace glr {

// The code points of a property written as in \p{...}: "Lu", "Letter", "gc=Nd", "Script=Greek", "White_Space". Case,
// '_', '-' and blanks in names count for nothing. Sorted and disjoint; nothing when there is no such property here.
std::optional<std::vector<CodePointRange>> unicode_property(std::string_view name);

// Of the tables, such as "15.1.0".
std::string_view unicode_version();

// Whether \p{Script=...} is known: it needs a package when the library is built.
bool has_unicode_scripts();

// The ranges and all code points that simple case folding makes equal to one in them. Sorted, disjoint.
std::vector<CodePointRange> with_case_variants(const std::vector<CodePointRange>& ranges);

}  // namespace glr
