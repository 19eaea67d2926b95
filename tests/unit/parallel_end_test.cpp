// The end of a team of threads of its own, while a helper stands between any two instructions of its search for work.
#include <gtest/gtest.h>

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // they delay signals

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "runtime/parallel/arena.hpp"
#include "runtime/parallel/cpus.hpp"

namespace terroir::parallel {
namespace {

constexpr greg_t kTrapFlag = 0x100;

std::atomic<int> steps_left{0};
std::atomic<bool> stopped{false};

greg_t& flags_of(void* context) { return static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL]; }

void begin_stepping(int, siginfo_t*, void* context) { flags_of(context) |= kTrapFlag; }

/// After each instruction.
void step(int, siginfo_t*, void* context) {
  if (--steps_left > 0) return;
  flags_of(context) &= ~kTrapFlag;
  stopped = true;
  usleep(300);  // meanwhile the team ends, and the helper has been idle for long
}

void handle(int signal, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(signal, &action, nullptr);
}

/// A team whose helper stands still after some instructions when the team ends.
void end_a_team(int cpu, int steps) {
  const Arena arena(2, {{cpu}, {cpu}});
  const pthread_t caller = pthread_self();
  std::atomic<pthread_t> helper{caller};
  while (pthread_equal(helper, caller)) {
    arena.parallel_for(2, [&](int64_t) {
      if (!pthread_equal(pthread_self(), caller))
        helper = pthread_self();
      else
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    });
  }
  stopped = false;
  steps_left = steps;
  pthread_kill(helper, SIGUSR1);
  // One that slept already sleeps on.
  for (int i = 0; i < 20 && !stopped; ++i) std::this_thread::sleep_for(std::chrono::microseconds(20));
}

TEST(TeamDeathTest, EndsWhereverAHelperIs) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [] {
    alarm(100);
    handle(SIGUSR1, begin_stepping);
    handle(SIGTRAP, step);
    const int cpu = affinity_mask().back();
    for (int i = 0; i < 1500; ++i) end_a_team(cpu, 3 + i % 7);
    std::exit(0);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace terroir::parallel

#endif
