// Functions of the user's that get the lines of the log.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "ir/base/log.hpp"
#include "terroir/log.hpp"

namespace terroir {
namespace {

class LogCallback : public testing::Test {
 protected:
  ~LogCallback() override { terroir::util::reset_log_callback(); }
  static void line(const std::string& text) { log_line(LogCategory::warning, text); }
};

/// What it does may not return: in a process of its own, which an alarm ends.
template <typename F>
void run_alone(const F& function) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [&] {
    alarm(30);
    function();
    std::exit(testing::Test::HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

using LogCallbackDeathTest = LogCallback;

TEST_F(LogCallbackDeathTest, MayReplaceItself) {
  run_alone([] {
    std::vector<std::string> first, second;
    terroir::util::set_log_callback(
        [&first, &second, name = std::string("a name too long for a string in place")](auto text) {
          terroir::util::set_log_callback([&second](std::string_view later) { second.emplace_back(later); });
          first.push_back(name + std::string(text));
        });
    line("one");
    line("two");
    EXPECT_EQ(first, std::vector<std::string>{"a name too long for a string in placeterroir: warning: one"});
    EXPECT_EQ(second, std::vector<std::string>{"terroir: warning: two"});
  });
}

TEST_F(LogCallbackDeathTest, CausesNoLines) {
  run_alone([] {
    int lines = 0;
    terroir::util::set_log_callback([&](std::string_view) {
      ++lines;
      line("from the callback");
    });
    line("one");
    line("two");
    EXPECT_EQ(lines, 2);
  });
}

TEST_F(LogCallback, ItsExceptionsGoNowhere) {
  int lines = 0;
  terroir::util::set_log_callback([&](std::string_view) {
    ++lines;
    throw std::runtime_error("from the callback");
  });
  EXPECT_NO_THROW(line("one"));
  EXPECT_NO_THROW(line("two"));
  EXPECT_EQ(lines, 2);
}

TEST_F(LogCallback, IsCalledByOneThreadAtATimeAndNotAfterItsEnd) {
  for (int round = 0; round < 50; ++round) {
    int inside = 0, lines = 0;  // not atomic
    terroir::util::set_log_callback([&](std::string_view) {
      EXPECT_EQ(++inside, 1);
      ++lines;
      std::this_thread::yield();
      --inside;
    });
    std::vector<std::thread> threads;
    std::promise<void> some;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 20; ++i) line("many");
        if (t == 0) some.set_value();
        for (int i = 0; i < 20; ++i) line("many");
      });
    }
    some.get_future().wait();
    terroir::util::set_log_callback({});
    const int seen = lines;
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(lines, seen);
    EXPECT_GE(seen, 20);
    EXPECT_EQ(inside, 0);
  }
}

}  // namespace
}  // namespace terroir
