#include "grammar/json_schema/numbers.hpp"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>

#include "grammar/json_schema/automaton.hpp"
#include "grammar/json_schema/error.hpp"
#include "grammar/json_schema/limits.hpp"

namespace glr::json_schema {

namespace {

// How the magnitude may compare with a magnitude of the schema's.
struct Comparison {
  Decimal with;
  bool less = false;
  bool equal = false;
  bool greater = false;
  friend bool operator==(const Comparison&, const Comparison&) = default;
};

struct Divisor {
  std::uint64_t modulus;  // the divisor times 10^scale
  std::size_t scale;      // digits after the point
  bool wanted;            // a multiple, or no multiple
  friend bool operator==(const Divisor&, const Divisor&) = default;
};

// What a magnitude must be.
struct Magnitude {
  std::vector<Comparison> comparisons;
  std::vector<Divisor> divisors;
  bool whole = false;  // digits after the point are zeros
  bool point = true;   // there may be a point
  std::uint32_t max_digits = 0;
  friend bool operator==(const Magnitude&, const Magnitude&) = default;
};

enum class Phase : std::uint8_t { Start, Zero, Integer, Point, Fraction };
enum class Order : std::uint8_t { Less, Same, Greater };

// Everything about the digits read so far that decides what may follow.
struct Progress {
  Phase phase = Phase::Start;
  std::uint32_t integer_digits = 0;       // capped where it says no more
  std::uint32_t fraction_digits = 0;      // likewise
  std::uint32_t digits = 0;               // counted only under max_digits
  std::vector<Order> orders;              // by comparison
  std::vector<std::uint64_t> remainders;  // by divisor; kNoMultiple: more digits than any multiple has
  friend auto operator<=>(const Progress&, const Progress&) = default;
};

// Under spelling="any": exponents with which a value has all its spellings (500e-2), not the one with a single digit
// before the point alone. For each of them there is an automaton, and json.dumps writes none in this range.
constexpr int kSpelledExponent = 9;

// d times 10^places.
Decimal shifted(Decimal d, int places) {
  std::string& from = places > 0 ? d.fraction : d.integer;
  for (int i = 0; i < std::abs(places); ++i) {
    if (places > 0) {
      d.integer += from.empty() ? '0' : from.front();
      if (!from.empty()) from.erase(0, 1);
    } else {
      d.fraction.insert(0, 1, from.empty() ? '0' : from.back());
      if (!from.empty()) from.pop_back();
    }
  }
  d.integer.erase(0, std::min(d.integer.find_first_not_of('0'), d.integer.size()));
  d.fraction.erase(d.fraction.find_last_not_of('0') + 1);
  return d;
}

constexpr std::uint64_t kNoMultiple = ~std::uint64_t{0};

class DigitReader {
 public:
  explicit DigitReader(const Magnitude& magnitude) : m_(magnitude) {
    for (const Comparison& c : m_.comparisons) {
      integer_cap_ = std::max(integer_cap_, static_cast<std::uint32_t>(c.with.integer.size()) + 1);
      fraction_cap_ = std::max(fraction_cap_, static_cast<std::uint32_t>(c.with.fraction.size()));
    }
    for (const Divisor& d : m_.divisors) fraction_cap_ = std::max(fraction_cap_, static_cast<std::uint32_t>(d.scale));
  }

  Progress start() const {
    Progress p;
    p.orders.assign(m_.comparisons.size(), Order::Same);
    p.remainders.assign(m_.divisors.size(), 0);
    return p;
  }

  // False: nothing can follow so.
  bool read(Progress& p, char c) const {
    if (c == '.') {
      if (!m_.point || (p.phase != Phase::Zero && p.phase != Phase::Integer)) return false;
      for (std::size_t i = 0; i < p.orders.size(); ++i) p.orders[i] = integer_order(p, i);
      p.integer_digits = 0;
      p.phase = Phase::Point;
      return true;
    }
    if (p.phase == Phase::Zero) return false;
    if (m_.max_digits != 0 && p.digits++ == m_.max_digits) return false;
    const bool integer = p.phase == Phase::Start || p.phase == Phase::Integer;
    if (!integer && m_.whole && c != '0') return false;
    for (std::size_t i = 0; i < p.orders.size(); ++i) {
      const Decimal& with = m_.comparisons[i].with;
      const std::string& digits = integer ? with.integer : with.fraction;
      const std::uint32_t at = integer ? p.integer_digits : p.fraction_digits;
      const char other = at < digits.size() ? digits[at] : '0';
      if (p.orders[i] == Order::Same && c != other && !(integer && at >= digits.size()))
        p.orders[i] = c < other ? Order::Less : Order::Greater;
    }
    for (std::size_t i = 0; i < p.remainders.size(); ++i) {
      const Divisor& d = m_.divisors[i];
      std::uint64_t& r = p.remainders[i];
      if (r == kNoMultiple) continue;
      if (integer || p.fraction_digits < d.scale)
        r = (r * 10 + static_cast<std::uint64_t>(c - '0')) % d.modulus;
      else if (c != '0')
        r = kNoMultiple;
    }
    if (p.phase == Phase::Start && c == '0') {
      p.phase = Phase::Zero;
    } else if (integer) {
      p.phase = Phase::Integer;
      p.integer_digits = std::min(p.integer_digits + 1, integer_cap_);
    } else {
      p.phase = Phase::Fraction;
      p.fraction_digits = std::min(p.fraction_digits + 1, fraction_cap_);
    }
    return true;
  }

  bool accepts(const Progress& p) const {
    if (p.phase == Phase::Start || p.phase == Phase::Point) return false;
    for (std::size_t i = 0; i < p.orders.size(); ++i) {
      const Comparison& c = m_.comparisons[i];
      Order order = p.phase == Phase::Fraction ? p.orders[i] : integer_order(p, i);
      const std::size_t read = p.phase == Phase::Fraction ? p.fraction_digits : 0;
      // A fraction has no zeros at its end, so digits of it that were not read make it the greater one.
      if (order == Order::Same && read < c.with.fraction.size()) order = Order::Less;
      if (!(order == Order::Less ? c.less : order == Order::Same ? c.equal : c.greater)) return false;
    }
    for (std::size_t i = 0; i < p.remainders.size(); ++i) {
      const Divisor& d = m_.divisors[i];
      std::uint64_t r = p.remainders[i];
      if (r != kNoMultiple) {
        for (std::size_t f = p.phase == Phase::Fraction ? p.fraction_digits : 0; f < d.scale; ++f)
          r = r * 10 % d.modulus;
      }
      if ((r == 0) != d.wanted) return false;
    }
    return true;
  }

 private:
  // The order of the integer parts, when the one that is read has ended.
  Order integer_order(const Progress& p, std::size_t i) const {
    const std::size_t other = m_.comparisons[i].with.integer.size();
    if (p.integer_digits != other) return p.integer_digits < other ? Order::Less : Order::Greater;
    return p.orders[i];
  }

  const Magnitude& m_;
  std::uint32_t integer_cap_ = 1;
  std::uint32_t fraction_cap_ = 0;
};

class NumberWriter {
 public:
  NumberWriter(GrammarBuilder& builder, const JsonSchemaOptions& options, std::string_view file,
               const std::string& pointer)
      : builder_(builder), options_(options), file_(file), pointer_(pointer) {
    if (options.max_digits != 0)
      max_digits_ = options.max_digits;
    else if (options.profile == JsonSchemaOptions::Profile::Strict)
      max_digits_ = kStrictDigits;
  }

  NodeId known(const std::vector<NumberValue>& values);
  NodeId numbers(const NumberShape& shape, TypeSet types);

 private:
  struct Ray {  // one sign of a shape
    std::optional<Bound> low;
    std::optional<Bound> high;
    bool empty = false;
    bool zero = false;  // admits zero
  };
  static Ray ray(const std::optional<Bound>& low, const std::optional<Bound>& high);
  std::vector<Divisor> divisors(const NumberShape& shape, TypeSet types);
  NodeId plain(const Magnitude& magnitude);
  NodeId signed_numbers(const NumberShape& shape, TypeSet types, bool negative, const std::vector<Divisor>& divisors);
  NodeId scientific(const Ray& ray);
  NodeId with_exponent(Magnitude magnitude, int exponent);
  NodeId mantissas(std::vector<Comparison> comparisons);
  NodeId exponents(std::optional<long> low, std::optional<long> high);
  NodeId whole_magnitudes(std::optional<long> low, std::optional<long> high);
  NodeId unlimited(bool whole);
  NodeId digits(std::uint32_t min, std::uint32_t max) {
    return builder_.repeat(builder_.code_points({{'0', '9'}}, {}), min, max, {});
  }
  NodeId sequence(const std::vector<NodeId>& nodes) { return builder_.sequence(nodes, {}); }
  NodeId optional(NodeId node) { return builder_.repeat(node, 0, 1, {}); }
  NodeId literal(std::string_view text) { return builder_.literal(text, {}); }
  NodeId any_of(std::string_view characters) {
    std::vector<CodePointRange> ranges;
    for (const char c : characters) ranges.push_back({static_cast<char32_t>(c), static_cast<char32_t>(c)});
    return builder_.code_points(ranges, {});
  }

  GrammarBuilder& builder_;
  const JsonSchemaOptions& options_;
  std::string file_;
  const std::string& pointer_;
  std::uint32_t max_digits_ = 0;
  std::vector<std::pair<Magnitude, NodeId>> plain_;  // written so far: both signs of a shape are often the same
};

NodeId NumberWriter::known(const std::vector<NumberValue>& values) {
  std::vector<NodeId> ways;
  for (const NumberValue& v : values) {
    if (options_.spelling == JsonSchemaOptions::Spelling::Any) {
      NumberShape same;
      same.low = same.high = Bound{v.value, false};
      ways.push_back(numbers(same, kNumber));
      continue;
    }
    // The author's spelling, and the shortest one when that is another; not the hundreds of zeros of 1e300.
    ways.push_back(literal(v.text));
    const std::string shortest = v.value.text();
    if (shortest != v.text && shortest.size() <= 40) ways.push_back(literal(shortest));
  }
  return builder_.choice(ways, {});
}

// What of [low, high] has the sign of the positive numbers, zero included.
NumberWriter::Ray NumberWriter::ray(const std::optional<Bound>& low, const std::optional<Bound>& high) {
  Ray r;
  const bool low_open = low && !low->value.negative && !(low->value.is_zero() && !low->exclusive);
  if (low_open) r.low = low;  // else every magnitude is above it
  if (high) {
    if (high->value.negative || (high->value.is_zero() && high->exclusive)) r.empty = true;
    r.high = high;
  }
  r.zero = !r.empty && !r.low;
  return r;
}

std::vector<Divisor> NumberWriter::divisors(const NumberShape& shape, TypeSet types) {
  std::vector<Divisor> out;
  const auto divide = [&](const Decimal& m, bool wanted) {
    std::string digits = m.integer + m.fraction;
    digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
    if (digits.size() > 9 || m.fraction.size() > 60) {
      fail(file_, pointer_, DiagnosticKind::LimitExceeded, "multipleOf " + quoted(m.text()), "it may have nine digits");
    }
    out.push_back({std::stoull(digits), m.fraction.size(), wanted});
  };
  for (const Decimal& m : shape.multiples) divide(m, true);
  for (const Decimal& m : shape.not_multiples) divide(m, false);
  if (types == kFractional) out.push_back({1, 0, false});
  return out;
}

NodeId NumberWriter::plain(const Magnitude& magnitude) {
  const auto same = std::ranges::find(plain_, magnitude, &std::pair<Magnitude, NodeId>::first);
  if (same != plain_.end()) return same->second;
  const DigitReader reader(magnitude);
  Automaton automaton;
  std::map<Progress, Automaton::State> known;
  std::deque<const Progress*> todo;
  const auto state_of = [&](const Progress& p) {
    const auto [it, fresh] = known.emplace(p, 0);
    if (fresh) {
      if (known.size() > kMaxNumberStates) {
        fail(file_, pointer_, DiagnosticKind::LimitExceeded,
             "more than " + std::to_string(kMaxNumberStates) + " states for the number",
             "a multipleOf with fewer digits needs fewer");
      }
      it->second = automaton.add(reader.accepts(p));
      todo.push_back(&it->first);
    }
    return it->second;
  };
  state_of(reader.start());
  while (!todo.empty()) {
    const Progress& p = *todo.front();
    todo.pop_front();
    const Automaton::State from = known.at(p);
    for (const char c : std::string_view("0123456789.")) {
      Progress next = p;
      if (reader.read(next, c)) automaton.connect(from, c, state_of(next));
    }
  }
  plain_.emplace_back(magnitude, automaton.write(builder_));
  return plain_.back().second;
}

// -?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?
NodeId NumberWriter::unlimited(bool whole) {
  const NodeId integer = builder_.choice(
      std::vector{literal("0"), sequence({builder_.code_points({{'1', '9'}}, {}), digits(0, kUnbounded)})}, {});
  if (whole) return integer;
  const NodeId fraction = sequence({literal("."), digits(1, kUnbounded)});
  const NodeId exponent = sequence({any_of("eE"), optional(any_of("+-")), digits(1, kUnbounded)});
  return sequence({integer, optional(fraction), optional(exponent)});
}

NodeId NumberWriter::signed_numbers(const NumberShape& shape, TypeSet types, bool negative,
                                    const std::vector<Divisor>& divisors) {
  const auto mirrored = [](const std::optional<Bound>& b) {
    return b ? std::optional(Bound{b->value.negated(), b->exclusive}) : std::nullopt;
  };
  const Ray r = negative ? ray(mirrored(shape.high), mirrored(shape.low)) : ray(shape.low, shape.high);
  if (r.empty) return builder_.nothing({});
  const bool whole = types == kInteger;
  const bool any_spelling = options_.spelling == JsonSchemaOptions::Spelling::Any;
  Magnitude m;
  m.divisors = divisors;
  m.whole = whole;
  m.point = !whole || any_spelling;
  m.max_digits = max_digits_;
  if (r.low) m.comparisons.push_back({r.low->value, false, !r.low->exclusive, true});
  if (r.high) m.comparisons.push_back({r.high->value, true, !r.high->exclusive, false});
  for (const Decimal& d : shape.excluded) {
    if (d.is_zero() || d.negative == negative) m.comparisons.push_back({negative ? d.negated() : d, true, false, true});
  }
  const bool free = m.comparisons.empty() && m.divisors.empty() && m.max_digits == 0;
  std::vector<NodeId> ways;
  if (free && (!whole || !any_spelling)) {
    ways.push_back(unlimited(whole));
  } else {
    ways.push_back(plain(m));
    if (!whole && m.divisors.empty() && shape.excluded.empty()) ways.push_back(scientific(r));
    if (whole && any_spelling && free) {
      // 1e2, 1.0E+2 with any exponent: zeros added, never digits taken away.
      ways.push_back(sequence({unlimited(true),
                               optional(sequence({literal("."), builder_.repeat(literal("0"), 1, kUnbounded, {})})),
                               any_of("eE"), optional(literal("+")), digits(1, kUnbounded)}));
    }
    for (int e = -kSpelledExponent; any_spelling && e <= kSpelledExponent; ++e) {
      // With a negative exponent a divisor would be a multiple of a power of ten: too many remainders.
      if (e >= 0 || m.divisors.empty()) ways.push_back(with_exponent(m, e));
    }
  }
  const NodeId magnitudes = builder_.choice(ways, {});
  return negative ? sequence({literal("-"), magnitudes}) : magnitudes;
}

// The numbers that are of the magnitude once they are multiplied with 10^exponent.
NodeId NumberWriter::with_exponent(Magnitude m, int exponent) {
  for (Comparison& c : m.comparisons) c.with = shifted(c.with, -exponent);
  for (Divisor& d : m.divisors) d.scale += static_cast<std::size_t>(std::max(exponent, 0));
  const bool whole = m.whole;
  m.whole = whole && exponent <= 0;
  if (whole && exponent > 0) m.divisors.push_back({1, static_cast<std::size_t>(exponent), true});
  NodeId mantissa = plain(m);
  const NodeId zeros = builder_.repeat(literal("0"), 0, kUnbounded, {});
  if (whole && exponent < 0) {
    // Zeros at the end of the integer part, or nothing but zeros.
    const auto taken = static_cast<std::uint32_t>(-exponent);
    const NodeId ends = sequence({digits(1, kUnbounded), builder_.repeat(literal("0"), taken, taken, {})});
    const NodeId integer = builder_.choice(std::vector{ends, literal("0")}, {});
    mantissa = builder_.intersection(
        std::vector{mantissa, sequence({integer, optional(sequence({literal("."), zeros}))})}, {});
  }
  NodeId sign = exponent < 0 ? literal("-") : optional(literal("+"));
  if (exponent == 0) sign = optional(any_of("+-"));
  return sequence({mantissa, any_of("eE"), sign, zeros, literal(std::to_string(std::abs(exponent)))});
}

// d(.d+)?e..., d not 0: the exponent orders before the mantissa does.
NodeId NumberWriter::scientific(const Ray& r) {
  if (r.high && r.high->value.is_zero()) return builder_.nothing({});
  struct Scaled {
    Decimal mantissa;  // [1, 10)
    long exponent;
  };
  const auto scaled = [](const Decimal& d) {
    std::string all = d.integer + d.fraction;
    const std::size_t leading = all.find_first_not_of('0');
    const long exponent = static_cast<long>(d.integer.size()) - static_cast<long>(leading) - 1;
    all.erase(0, leading);
    Decimal mantissa{false, all.substr(0, 1), all.substr(1)};
    mantissa.fraction.erase(mantissa.fraction.find_last_not_of('0') + 1);
    return Scaled{mantissa, exponent};
  };
  std::optional<Scaled> low;
  std::optional<Scaled> high;
  if (r.low && !r.low->value.is_zero()) low = scaled(r.low->value);
  if (r.high) high = scaled(r.high->value);
  std::vector<NodeId> ways;
  // Mantissas on either side of each bound's mantissa, each with the exponents that then fit.
  for (const bool reaches_low : {true, false}) {
    if (!low && !reaches_low) continue;
    for (const bool within_high : {true, false}) {
      if (!high && !within_high) continue;
      std::vector<Comparison> comparisons;
      if (low) comparisons.push_back({low->mantissa, !reaches_low, reaches_low != r.low->exclusive, reaches_low});
      if (high) comparisons.push_back({high->mantissa, within_high, within_high != r.high->exclusive, !within_high});
      const auto from = low ? std::optional(low->exponent + (reaches_low ? 0 : 1)) : std::nullopt;
      const auto to = high ? std::optional(high->exponent - (within_high ? 0 : 1)) : std::nullopt;
      if (from && to && *from > *to) continue;
      ways.push_back(sequence({mantissas(std::move(comparisons)), any_of("eE"), exponents(from, to)}));
    }
  }
  return builder_.choice(ways, {});
}

NodeId NumberWriter::mantissas(std::vector<Comparison> comparisons) {
  Magnitude m;
  m.max_digits = max_digits_;
  comparisons.push_back({*Decimal::parse("1"), false, true, true});
  comparisons.push_back({*Decimal::parse("10"), true, false, false});
  m.comparisons = std::move(comparisons);
  return plain(m);
}

// Whole numbers of an interval, with either sign, leading zeros allowed.
NodeId NumberWriter::exponents(std::optional<long> low, std::optional<long> high) {
  std::vector<NodeId> ways;
  if (!high || *high >= 0)
    ways.push_back(sequence({optional(literal("+")), whole_magnitudes(low && *low > 0 ? low : std::nullopt, high)}));
  if (!low || *low <= 0) {
    std::optional<long> least;
    std::optional<long> most;
    if (high && *high < 0) least = -*high;
    if (low) most = -*low;
    ways.push_back(sequence({literal("-"), whole_magnitudes(least, most)}));
  }
  return builder_.choice(ways, {});
}

NodeId NumberWriter::whole_magnitudes(std::optional<long> low, std::optional<long> high) {
  if (!low && !high) return digits(1, max_digits_ == 0 ? kUnbounded : 3);
  Magnitude m;
  m.whole = true;
  m.point = false;
  m.max_digits = max_digits_ == 0 ? 0 : 3;
  if (low) m.comparisons.push_back({*Decimal::parse(std::to_string(*low)), false, true, true});
  if (high) m.comparisons.push_back({*Decimal::parse(std::to_string(*high)), true, true, false});
  return sequence({builder_.repeat(literal("0"), 0, max_digits_ == 0 ? kUnbounded : 2, {}), plain(m)});
}

NodeId NumberWriter::numbers(const NumberShape& shape, TypeSet types) {
  const std::vector<Divisor> all = divisors(shape, types);
  return builder_.choice(std::vector{signed_numbers(shape, types, false, all), signed_numbers(shape, types, true, all)},
                         {});
}

}  // namespace

NodeId write_numbers(GrammarBuilder& builder, const NumberShape& shape, TypeSet types, const JsonSchemaOptions& options,
                     std::string_view file, const std::string& pointer) {
  NumberWriter writer(builder, options, file, pointer);
  return shape.only ? writer.known(*shape.only) : writer.numbers(shape, types);
}

}  // namespace glr::json_schema
