// Terms of a machine as bytes.
//
// Terms are numbered anew, operands first: 0 is nothing, 1 the empty text, and the terms written follow. Rules have
// other numbers in every machine; they are named by their hash (link.cpp). A reader makes its own machine from the
// grammar first, so rules and token literals that it does not know then are not of that grammar.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "expression/machine.hpp"
#include "expression/rules.hpp"
#include "support/bytes.hpp"

namespace glr {

// The numbers of the terms written: `terms` and what they are made of. The caller holds the machine's mutex.
std::unordered_map<ExprId, std::uint32_t> write_terms(const ExpressionStore& store, std::span<const ExprId> terms,
                                                      const RuleIndex& rules, ByteWriter& out);

// The terms by number. The caller holds the machine's mutex. Throws Malformed.
std::vector<ExprId> read_terms(ExpressionStore& store, const RuleIndex& rules, ByteReader& in);

}  // namespace glr
