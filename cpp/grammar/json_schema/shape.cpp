#include "grammar/json_schema/shape.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_set>

namespace glr::json_schema {

namespace {

template <typename T>
void add_new(std::vector<T>& known, const std::vector<T>& more) {
  for (const T& one : more) {
    if (std::find(known.begin(), known.end(), one) == known.end()) known.push_back(one);
  }
}

template <typename T>
bool has_all(const std::vector<T>& all, const std::vector<T>& some) {
  return std::all_of(some.begin(), some.end(),
                     [&](const T& one) { return std::find(all.begin(), all.end(), one) != all.end(); });
}

bool overlap(const std::vector<Pattern>& x, const std::vector<Pattern>& y) {
  return std::any_of(x.begin(), x.end(),
                     [&](const Pattern& one) { return std::find(y.begin(), y.end(), one) != y.end(); });
}

}  // namespace

void add(Goal& goal, Literal literal) {
  const auto at = std::lower_bound(goal.begin(), goal.end(), literal);
  if (at == goal.end() || *at != literal) goal.insert(at, literal);
}

void add(Goal& goal, const Goal& other) {
  for (const Literal& literal : other) add(goal, literal);
}

void NumberShape::tighten_low(const Bound& bound) {
  if (!low || low->value < bound.value || (low->value == bound.value && bound.exclusive)) low = bound;
}

void NumberShape::tighten_high(const Bound& bound) {
  if (!high || bound.value < high->value || (high->value == bound.value && bound.exclusive)) high = bound;
}

void NumberShape::restrict_to(const std::vector<NumberValue>& values) {
  if (!only) {
    only = values;
    return;
  }
  std::erase_if(*only, [&](const NumberValue& v) {
    return std::none_of(values.begin(), values.end(), [&](const NumberValue& w) { return w.value == v.value; });
  });
}

bool NumberShape::admits(const Decimal& v) const {
  if (low && (v < low->value || (low->exclusive && v == low->value))) return false;
  if (high && (high->value < v || (high->exclusive && v == high->value))) return false;
  const auto multiple = [&](const Decimal& m) { return is_multiple(v, m); };
  return std::all_of(multiples.begin(), multiples.end(), multiple) &&
         std::none_of(not_multiples.begin(), not_multiples.end(), multiple) &&
         std::find(excluded.begin(), excluded.end(), v) == excluded.end();
}

bool NumberShape::unconstrained() const {
  return !low && !high && !only && multiples.empty() && not_multiples.empty() && excluded.empty();
}

void StringShape::restrict_to(const std::vector<std::string>& values) {
  if (!only) {
    only = values;
    return;
  }
  const std::unordered_set<std::string_view> known(values.begin(), values.end());
  std::erase_if(*only, [&](const std::string& v) { return !known.contains(v); });
}

bool StringShape::unconstrained() const {
  return min_length == 0 && max_length == kNoBound && matches.empty() && not_matches.empty() && !only &&
         excluded.empty() && any_of.empty() && !from_source && !not_from_source;
}

void StringShape::meet(const StringShape& other) {
  min_length = std::max(min_length, other.min_length);
  max_length = std::min(max_length, other.max_length);
  add_new(matches, other.matches);
  add_new(not_matches, other.not_matches);
  from_source = from_source || other.from_source;
  not_from_source = not_from_source || other.not_from_source;
  if (other.only) restrict_to(*other.only);
  excluded.insert(excluded.end(), other.excluded.begin(), other.excluded.end());
  add_new(any_of, other.any_of);
}

bool StringShape::implies(const StringShape& other) const {
  return !other.only && min_length >= other.min_length && max_length <= other.max_length &&
         from_source >= other.from_source && not_from_source >= other.not_from_source &&
         has_all(matches, other.matches) && has_all(not_matches, other.not_matches) &&
         has_all(excluded, other.excluded) && has_all(any_of, other.any_of);
}

bool StringShape::impossible() const {
  return (only && only->empty()) || min_length > max_length || (from_source && not_from_source) ||
         overlap(matches, not_matches);
}

bool StringShape::excludes(const StringShape& other) const {
  return other.impossible() || min_length > other.max_length || other.min_length > max_length ||
         (from_source && other.not_from_source) || (not_from_source && other.from_source) ||
         overlap(matches, other.not_matches) || overlap(not_matches, other.matches);
}

Goal& ArrayShape::at(std::size_t index) {
  while (prefix.size() <= index) prefix.push_back(rest);
  return prefix[index];
}

void ObjectShape::require(const std::string& key) {
  if (!requires_key(key)) required.push_back(key);
}

bool ObjectShape::requires_key(const std::string& key) const {
  return std::find(required.begin(), required.end(), key) != required.end();
}

bool ObjectShape::forbids(const std::string& key) const {
  return std::find(forbidden.begin(), forbidden.end(), key) != forbidden.end();
}

}  // namespace glr::json_schema
