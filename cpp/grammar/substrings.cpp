#include "grammar/substrings.hpp"

#include <vector>

namespace glr {

NodeId substrings(GrammarBuilder& builder, std::span<const std::string> chunks, Span span) {
  // The texts that begin with a chunk, last chunk first: it alone, or with what may follow it.
  std::vector<NodeId> beginning;
  for (std::size_t i = chunks.size(); i-- > 0;) {
    std::vector<NodeId> parts{builder.literal(chunks[i], span)};
    if (!beginning.empty()) parts.push_back(builder.repeat(beginning.back(), 0, 1, span));
    beginning.push_back(builder.sequence(parts, span));
  }
  if (beginning.empty()) return builder.empty(span);
  return builder.repeat(builder.choice(beginning, span), 0, 1, span);
}

}  // namespace glr
