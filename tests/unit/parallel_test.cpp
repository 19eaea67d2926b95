#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "runtime/parallel/arena.hpp"
#include "runtime/parallel/available_threads.hpp"
#include "runtime/parallel/cpus.hpp"
#include "runtime/parallel/float_control.hpp"
#include "runtime/parallel/wake.hpp"

namespace terroir::parallel {
namespace {

TEST(Arena, RunsEveryTaskOnce) {
  for (int threads : {-1, 1, 2, 3, 8}) {
    const Arena arena(threads);
    EXPECT_EQ(arena.threads(), std::max(threads, 1));
    for (int64_t tasks : {int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{2}, int64_t{7}, int64_t{1000}}) {
      std::vector<std::atomic<int>> counts(static_cast<size_t>(std::max<int64_t>(tasks, 0)));
      arena.parallel_for(tasks, [&](int64_t i) { ++counts[static_cast<size_t>(i)]; });
      for (auto& count : counts) ASSERT_EQ(count.load(), 1) << threads << " threads, " << tasks << " tasks";
    }
  }
}

TEST(Threads, MayBeWokenAtAnyTimeAndNeedNot) {
  for (int threads : {-1, 1, 2, 5, 1000}) {
    wake_threads(threads);
    const Arena arena(threads);
    wake_threads(threads);
    wake_threads(threads);
    std::atomic<int64_t> sum{0};
    arena.parallel_for(100, [&](int64_t i) {
      wake_threads(threads);
      sum += i;
    });
    EXPECT_EQ(sum.load(), 4950) << threads;
  }
}

TEST(Arena, TasksThatRunAtOnceHaveDifferentSlots) {
  for (int threads : {1, 2, 5}) {
    const Arena arena(threads);
    std::vector<std::atomic<bool>> taken(static_cast<size_t>(threads));
    std::atomic<int> wrong{0};
    for (int round = 0; round < 200; ++round)
      arena.parallel_for_slots(64, [&](int64_t, int64_t slot) {
        if (slot < 0 || slot >= threads) {
          ++wrong;
          return;
        }
        if (taken[static_cast<size_t>(slot)].exchange(true)) ++wrong;
        std::this_thread::yield();
        taken[static_cast<size_t>(slot)] = false;
      });
    EXPECT_EQ(wrong.load(), 0) << threads << " threads";
  }
}

TEST(Arena, ManyShortLoopsInARowSeeEachOthersWrites) {
  const Arena arena(4);
  std::vector<int64_t> data(64);  // plain: the end of a loop must order its writes before the next loop
  for (int64_t round = 0; round < 5000; ++round) {
    arena.parallel_for(64, [&](int64_t i) {
      const auto from = static_cast<size_t>((i * 7 + 3) % 64);
      if (round % 2 == 0) {
        data[static_cast<size_t>(i)] = round;
      } else if (data[from] != round - 1) {
        throw std::logic_error("a write of the previous loop is missing");
      }
    });
  }
}

#if defined(TERROIR_HAS_FLOAT_CONTROL)
TEST(Arena, TasksComputeAsTheirCallerDoes) {
  const Arena arena(4);
  for (const Denormals denormals : {Denormals::zero, Denormals::kept, Denormals::zero}) {
    const FloatControl wanted(denormals);
    const FloatControlScope scope(wanted);
    std::atomic<int> others{0};
    arena.parallel_for(1000, [&](int64_t) { others += FloatControl::current() == wanted ? 0 : 1; });
    EXPECT_EQ(others.load(), 0);
  }
  EXPECT_EQ(FloatControl::current(), FloatControl(Denormals::kept));
}
#endif

TEST(Arena, UsesNoMoreThreadsThanAllowed) {
  const Arena arena(2);
  std::mutex mutex;
  for (int round = 0; round < 200; ++round) {
    std::set<std::thread::id> ids;
    arena.parallel_for(50, [&](int64_t) {
      const std::lock_guard lock(mutex);
      ids.insert(std::this_thread::get_id());
    });
    ASSERT_LE(ids.size(), 2u);
  }
}

/// Of two tasks that wait for each other, both meet the other one only on two threads.
bool helps(const Arena& arena) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::atomic<int> arrived{0}, met{0};
    arena.parallel_for(2, [&](int64_t) {
      ++arrived;
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
      while (arrived.load() < 2 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
      if (arrived.load() == 2) ++met;
    });
    if (met == 2) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

TEST(Arena, HelpersReallyHelp) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one CPU";
  EXPECT_TRUE(helps(Arena(2)));
}

#if !defined(__SANITIZE_THREAD__)
TEST(Arena, HasHelpersInAChildOfForkAsWell) {
  const std::vector<int> all = affinity_mask();
  if (all.size() < 2) GTEST_SKIP() << "one CPU";
  for (const bool pinned : {false, true}) {
    const Arena arena = pinned ? Arena(2, {{all[0]}, {all[1]}}) : Arena(2);
    ASSERT_TRUE(helps(arena));
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      const bool goes_on = helps(arena), begins = helps(Arena(2));
      _exit((goes_on ? 0 : 1) + (begins ? 0 : 2));
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << "pinned: " << pinned;
    EXPECT_TRUE(helps(arena)) << "the parent goes on";
  }
}
#endif

TEST(Arena, HelpersStayOnTheirCpus) {
  const std::vector<int> all = affinity_mask();
  if (all.size() < 2) GTEST_SKIP() << "one CPU";
  const auto masks_of = [](const Arena& arena) {
    const std::thread::id caller = std::this_thread::get_id();
    std::set<std::vector<int>> masks;
    std::mutex mutex;
    // Helpers come when they can: until one took a task.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (masks.empty() && std::chrono::steady_clock::now() < end) {
      arena.parallel_for(64, [&](int64_t) {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
        if (std::this_thread::get_id() == caller) return;
        const std::lock_guard lock(mutex);
        masks.insert(affinity_mask());
      });
    }
    return masks;
  };
  EXPECT_EQ(masks_of(Arena(2, {{all[0]}, {all[1]}})), (std::set<std::vector<int>>{{all[1]}}));
  EXPECT_EQ(affinity_mask(), all) << "the caller is not bound";
  EXPECT_EQ(masks_of(Arena(2)), (std::set<std::vector<int>>{all})) << "free where none is given";
}

TEST(Arena, NestedAndConcurrentLoopsRunOnTheirCaller) {
  const Arena arena(3);
  std::atomic<int64_t> sum{0};
  arena.parallel_for(10, [&](int64_t) {
    const auto self = std::this_thread::get_id();
    arena.parallel_for(10, [&](int64_t j) {
      if (std::this_thread::get_id() == self) sum += j;
    });
  });
  EXPECT_EQ(sum.load(), 450);
  std::vector<std::thread> callers;
  std::atomic<int64_t> total{0};
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int round = 0; round < 300; ++round) arena.parallel_for(9, [&](int64_t j) { total += j; });
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(total.load(), 4 * 300 * 36);
}

TEST(Arena, RethrowsTheFirstExceptionAndStaysUsable) {
  for (int threads : {1, 4}) {
    const Arena arena(threads);
    for (int round = 0; round < 100; ++round) {
      EXPECT_THROW(arena.parallel_for(100,
                                      [](int64_t i) {
                                        if (i == 41) throw std::runtime_error("x");
                                      }),
                   std::runtime_error);
      std::atomic<int> count{0};
      arena.parallel_for(100, [&](int64_t) { ++count; });
      ASSERT_EQ(count.load(), 100);
    }
  }
}

TEST(Arena, ComesAndGoesWhileHelpersSpin) {
  for (int round = 0; round < 300; ++round) {
    Arena arena(2);
    std::atomic<int> count{0};
    arena.parallel_for(4, [&](int64_t) { ++count; });
    Arena moved(std::move(arena));
    moved.parallel_for(4, [&](int64_t) { ++count; });
    ASSERT_EQ(count.load(), 8);
  }
}

TEST(Arena, LeavesNothingBehindWhereManyComeAndGo) {
  const auto round = [] {
    std::atomic<int> count{0};
    Arena(2).parallel_for(4, [&](int64_t) { ++count; });
    EXPECT_EQ(count.load(), 4);
  };
  round();  // what there is of once
  const size_t before = mallinfo2().uordblks;
  for (int i = 0; i < 5000; ++i) round();
  EXPECT_LT(mallinfo2().uordblks, before + 1'000'000);
}

TEST(ArenaDeathTest, RunsBackwardsOnOneThreadWhenAsked) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process: the variable is read once
  EXPECT_EXIT(
      {
        setenv("TERROIR_BACKWARDS", "1", 1);
        std::vector<int64_t> order;
        Arena(4).parallel_for(5, [&](int64_t i) { order.push_back(i); });
        std::exit(order == std::vector<int64_t>{4, 3, 2, 1, 0} ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(AvailableThreads, IsAtLeastOneAndNoMoreThanTheMachine) {
  EXPECT_GE(available_threads(), 1);
  EXPECT_LE(available_threads(), std::max(1L, sysconf(_SC_NPROCESSORS_CONF)));
}

}  // namespace
}  // namespace terroir::parallel
