// The Lark front end as a list of its stages:
//
//   syntax      text -> a syntax tree, one file at a time
//   imports     the file with all that it imports (library), names resolved
//   terminals   terminals -> regular expressions -> nodes (reluctant)
//   writer      rules, templates and %ignore -> rules of a Grammar
#pragma once

#include <memory>
#include <string_view>

#include "glrsampler/grammar.hpp"

namespace glr {

std::shared_ptr<const Grammar> read_lark(std::string_view text, std::string_view start, std::string_view file,
                                         const LarkOptions& options);

}  // namespace glr
