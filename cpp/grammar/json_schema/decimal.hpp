// Decimal: an exact decimal number, written out without an exponent.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace glr::json_schema {

struct Decimal {
  bool negative = false;  // never for zero
  std::string integer;    // digits without leading zeros; empty for 0
  std::string fraction;   // digits without trailing zeros

  // Reads a JSON number; nothing when it has more than kMaxDigits digits written out.
  static constexpr std::size_t kMaxDigits = 1200;  // beyond the range of IEEE 754 double, 1.8e308 to 5e-324
  static std::optional<Decimal> parse(std::string_view text);

  bool is_zero() const { return integer.empty() && fraction.empty(); }
  bool is_integer() const { return fraction.empty(); }
  Decimal negated() const;
  std::string text() const;  // shortest without an exponent

  friend bool operator==(const Decimal&, const Decimal&) = default;
  friend std::strong_ordering operator<=>(const Decimal& x, const Decimal& y);
};

// Whether x is an integer times m; m is not zero. Exact for any length.
bool is_multiple(const Decimal& x, const Decimal& m);

}  // namespace glr::json_schema
