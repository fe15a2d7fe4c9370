// The abort callback as llama.cpp calls it: over and over, from C.
#include "llama/interruption.hpp"

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include "check.hpp"

namespace {

using glr::llama::Interruption;

void wait() { std::this_thread::sleep_for(Interruption::kInterval + std::chrono::milliseconds(1)); }

bool count(void* data) {
  ++*static_cast<int*>(data);
  return false;
}

bool yes(void*) { return true; }

TEST(is_asked_once_in_an_interval) {
  int asked = 0;
  Interruption never([&] { return ++asked < 0; }, nullptr, nullptr);
  wait();
  for (int i = 0; i < 100; ++i) CHECK(!Interruption::callback(&never));
  CHECK(asked >= 1);
  CHECK(asked < 100);
  CHECK(!never.stopped());
}

TEST(is_not_asked_at_once) {
  Interruption at_once([] { return true; }, nullptr, nullptr);
  CHECK(!Interruption::callback(&at_once));
  wait();
  CHECK(Interruption::callback(&at_once));
}

TEST(a_yes_stays_a_yes) {
  int asked = 0;
  Interruption once([&] { return ++asked == 1; }, nullptr, nullptr);
  wait();
  CHECK(Interruption::callback(&once));
  wait();
  CHECK(Interruption::callback(&once));
  CHECK_EQ(asked, 1);
  CHECK(once.stopped());
}

TEST(an_exception_ends_the_computation_and_comes_out_afterwards) {
  Interruption failing([]() -> bool { throw std::runtime_error("no answer"); }, nullptr, nullptr);
  wait();
  CHECK(Interruption::callback(&failing));
  std::string what;
  try {
    static_cast<void>(failing.stopped());
  } catch (const std::runtime_error& e) {
    what = e.what();
  }
  CHECK_EQ(what, "no answer");
}

TEST(the_earlier_callback_goes_on_being_called) {
  int calls = 0;
  Interruption never([] { return false; }, count, &calls);
  for (int i = 0; i < 5; ++i) CHECK(!Interruption::callback(&never));
  CHECK_EQ(calls, 5);
  Interruption ended_by_it([] { return false; }, yes, nullptr);
  CHECK(Interruption::callback(&ended_by_it));
  CHECK(!ended_by_it.stopped());
}

}  // namespace
