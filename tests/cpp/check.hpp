// The whole test framework: one executable per test file, which includes this header once.
//
//   TEST(name) { CHECK(condition); CHECK_EQ(actual, expected); CHECK_THROWS_GRAMMAR(expression, line, column, text); }
//
// A failed check prints its place and the test goes on; an exception ends the test. main() runs every
// test, or only those whose name contains the first argument, and returns 1 when any check failed.
#pragma once

#include <cstdio>
#include <deque>
#include <exception>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

#include "glrsampler/error.hpp"

namespace check {

using Test = std::pair<const char*, void (*)()>;

inline std::deque<Test>& tests() {
  static std::deque<Test> all;
  return all;
}

inline int failures = 0;
inline void fail(const char* file, int line, const std::string& what) {
  ++failures;
  std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
}

template <typename T>
std::string shown(const T& value) {
  std::ostringstream out;
  if constexpr (std::is_enum_v<T>)
    out << static_cast<long long>(value);
  else
    out << value;
  return out.str();
}

// `text` must occur in what(); a line of 0 means "no one place".
template <typename F>
void expect_grammar_error(const char* file, int line, std::size_t at_line, std::size_t at_column,
                          const std::string& text, F&& run) {
  try {
    run();
    fail(file, line, "no GrammarError, due: " + text);
  } catch (const glr::GrammarError& e) {
    if (e.line == at_line && e.column == at_column && std::string(e.what()).find(text) != std::string::npos) return;
    fail(file, line, "due at " + shown(at_line) + ":" + shown(at_column) + ": " + text + "\n" + e.what());
  }
}

}  // namespace check

#define TEST(name)                                                                                           \
  static void test_##name();                                                                                 \
  [[maybe_unused]] static const check::Test& added_##name = check::tests().emplace_back(#name, test_##name); \
  static void test_##name()

#define CHECK(condition) ((condition) ? void() : check::fail(__FILE__, __LINE__, "CHECK(" #condition ")"))

#define CHECK_EQ(actual, expected)                                                                                  \
  do {                                                                                                              \
    const auto actual_ = (actual); /* a copy: a reference might point into a temporary */                           \
    const auto& expected_ = (expected);                                                                             \
    if (!(actual_ == expected_))                                                                                    \
      check::fail(__FILE__, __LINE__, #actual " is " + check::shown(actual_) + ", not " + check::shown(expected_)); \
  } while (false)

#define CHECK_THROWS_GRAMMAR(expression, at_line, at_column, text) \
  check::expect_grammar_error(__FILE__, __LINE__, at_line, at_column, text, [&] { (void)(expression); })

int main(int argc, char** argv) {
  for (const auto& [name, run] : check::tests()) {
    if (argc > 1 && std::string(name).find(argv[1]) == std::string::npos) continue;
    const int before = check::failures;
    try {
      run();
    } catch (const std::exception& e) {
      check::fail(name, 0, std::string("uncaught: ") + e.what());
    }
    std::printf("%s %s\n", check::failures == before ? "ok  " : "FAIL", name);
  }
  return check::failures == 0 ? 0 : 1;
}
