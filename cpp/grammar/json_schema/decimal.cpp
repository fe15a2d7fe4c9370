#include "grammar/json_schema/decimal.hpp"

#include <algorithm>
#include <charconv>

namespace glr::json_schema {

namespace {

std::strong_ordering compare_magnitudes(const Decimal& x, const Decimal& y) {
  if (x.integer.size() != y.integer.size()) return x.integer.size() <=> y.integer.size();
  if (const auto c = x.integer <=> y.integer; c != 0) return c;
  return x.fraction <=> y.fraction;  // without trailing zeros the order of text is the order of fractions
}

// a -= b for digit strings of equal length with a >= b.
void subtract(std::string& a, const std::string& b) {
  int borrow = 0;
  for (std::size_t i = a.size(); i-- > 0;) {
    int d = a[i] - b[i] - borrow;
    borrow = d < 0 ? 1 : 0;
    if (d < 0) d += 10;
    a[i] = static_cast<char>('0' + d);
  }
}

}  // namespace

std::optional<Decimal> Decimal::parse(std::string_view text) {
  Decimal d;
  if (text.starts_with('-')) {
    d.negative = true;
    text.remove_prefix(1);
  }
  long exponent = 0;
  if (const std::size_t e = text.find_first_of("eE"); e != std::string_view::npos) {
    std::string_view digits = text.substr(e + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
    text = text.substr(0, e);
  }
  const std::size_t dot = std::min(text.find('.'), text.size());
  std::string digits(text.substr(0, dot));
  long point = static_cast<long>(dot);
  if (dot < text.size()) digits += text.substr(dot + 1);
  const std::size_t leading = std::min(digits.find_first_not_of('0'), digits.size());
  digits.erase(0, leading);
  point -= static_cast<long>(leading);
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.empty()) return Decimal{};
  constexpr auto most = static_cast<long>(kMaxDigits);
  if (exponent > most || exponent < -most) return std::nullopt;
  point += exponent;
  if (point > most || point < -most || digits.size() > kMaxDigits) return std::nullopt;
  if (point <= 0) {
    d.fraction = std::string(static_cast<std::size_t>(-point), '0') + digits;
  } else if (static_cast<std::size_t>(point) >= digits.size()) {
    d.integer = digits + std::string(static_cast<std::size_t>(point) - digits.size(), '0');
  } else {
    d.integer = digits.substr(0, static_cast<std::size_t>(point));
    d.fraction = digits.substr(static_cast<std::size_t>(point));
  }
  return d;
}

Decimal Decimal::negated() const {
  Decimal d = *this;
  if (!is_zero()) d.negative = !negative;
  return d;
}

std::string Decimal::text() const {
  std::string out = negative ? "-" : "";
  out += integer.empty() ? "0" : integer;
  if (!fraction.empty()) out += '.' + fraction;
  return out;
}

std::strong_ordering operator<=>(const Decimal& x, const Decimal& y) {
  if (x.negative != y.negative) return x.negative ? std::strong_ordering::less : std::strong_ordering::greater;
  return x.negative ? compare_magnitudes(y, x) : compare_magnitudes(x, y);
}

bool is_multiple(const Decimal& x, const Decimal& m) {
  // Schoolbook long division of the two as integers of a common scale.
  const std::size_t scale = std::max(x.fraction.size(), m.fraction.size());
  const auto scaled = [&](const Decimal& d) {
    std::string s = d.integer + d.fraction + std::string(scale - d.fraction.size(), '0');
    s.erase(0, std::min(s.find_first_not_of('0'), s.size()));
    return s;
  };
  const std::string divisor = scaled(m);
  std::string remainder;
  for (const char digit : scaled(x)) {
    if (!remainder.empty() || digit != '0') remainder += digit;
    for (;;) {
      if (remainder.size() < divisor.size() || (remainder.size() == divisor.size() && remainder < divisor)) break;
      subtract(remainder, std::string(remainder.size() - divisor.size(), '0') + divisor);
      remainder.erase(0, std::min(remainder.find_first_not_of('0'), remainder.size()));
    }
  }
  return remainder.empty();
}

}  // namespace glr::json_schema
