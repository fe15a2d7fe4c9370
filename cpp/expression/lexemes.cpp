// Lexemes: what a terminal is among terms.
//
// A terminal with which no text and a longer one begin alike never has a longer reading: it is its operand (keywords,
// strings, comments that end at a bracket). The others stay lexemes (ExprKind::Longest).
#include <unordered_map>

#include "expression/rules.hpp"

namespace glr {

namespace {

// Whether of two different texts of a term none begins with the other, as far as that shows by first bytes: where
// there is a choice, the next byte decides. Operands come before the terms they stand in, so one loop does it.
bool prefix_free(const ExpressionStore& t, ExprId root) {
  struct Known {
    ByteSet first;
    bool free = false;  // and not nullable
    bool loop = false;  // any number of texts, none included, of such a term: it ends where something else begins
  };
  std::unordered_map<ExprId, Known> known;
  const ExprId roots[1] = {root};
  for (ExprId id : t.reachable(roots)) {
    const Expr& e = t[id];
    Known& k = known[id];
    switch (e.kind) {
      case ExprKind::Bytes:
        k = {t.byte_set(e), true, false};
        break;
      case ExprKind::Concat: {
        const Known& a = known.at(e.a);
        const Known& b = known.at(e.b);
        k.first = a.first;
        if (t[e.a].nullable) k.first.insert(b.first);
        k.free = b.free && (a.free || (a.loop && !a.first.intersects(b.first)));
        break;
      }
      case ExprKind::Alternation: {
        bool apart = true;
        for (ExprId m : t.operands(e)) {
          if (m == kEmpty) continue;
          const Known& x = known.at(m);
          apart = apart && x.free && !k.first.intersects(x.first);
          k.first.insert(x.first);
        }
        (e.nullable ? k.loop : k.free) = apart;
        break;
      }
      case ExprKind::Star:
      case ExprKind::Repeat: {
        const Known& x = known.at(e.a);
        k.first = x.first;
        k.free = x.free && e.kind == ExprKind::Repeat && e.min == e.max;
        k.loop = x.free;
        break;
      }
      case ExprKind::Nothing:
      case ExprKind::Empty:
        break;
      default:
        return false;
    }
  }
  return known.at(root).free;
}

}  // namespace

ExprId lexeme(ExpressionStore& t, ExprId x) {
  const bool settled = !t[x].calls;
  return settled && prefix_free(t, x) ? x : t.longest(x);
}

}  // namespace glr
