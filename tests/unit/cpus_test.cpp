// CPUs, bindings and locks of cores, and what the settings of a model make of them.
#include "runtime/parallel/cpus.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>
#include <thread>

#include "runtime/parallel/arena.hpp"
#include "runtime/plugin/threading.hpp"
#include "tests/support/file_tree.hpp"

namespace terroir {
namespace {

using parallel::affinity_mask;
using parallel::CoreLock;
using parallel::Cpu;
using parallel::ThreadBinding;
using plugin::Placement;
using Cpus = std::vector<std::vector<int>>;

/// A simulated machine's /sys.
class CpusTest : public FileTree {
 protected:
  void put_cpu(int id, const std::string& siblings) {
    put("sys/devices/system/cpu/cpu" + std::to_string(id) + "/topology/thread_siblings_list", siblings);
  }
  /// Two fast cores of two CPUs each, two efficient cores.
  parallel::Machine hybrid() {
    for (const int id : {0, 2}) put_cpu(id, std::to_string(id) + "-" + std::to_string(id + 1));
    for (const int id : {1, 3}) put_cpu(id, std::to_string(id - 1) + "-" + std::to_string(id));
    for (const int id : {4, 5}) put_cpu(id, std::to_string(id));
    put("sys/devices/cpu_atom/cpus", "4-5");
    return {{0, 1, 2, 3, 4, 5}, std::nullopt, root_};
  }
};

TEST_F(CpusTest, ListsOfNumbers) {
  EXPECT_EQ(parallel::parse_cpu_list("0-2,5"), (std::vector<int>{0, 1, 2, 5}));
  EXPECT_EQ(parallel::parse_cpu_list("7"), std::vector<int>{7});
  for (const char* text : {"", "x", "1-", "-1", "1,,2", "3-x", "0-99999999"})
    EXPECT_EQ(parallel::parse_cpu_list(text), std::vector<int>{}) << text;
  EXPECT_EQ(parallel::cpu_list({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
  EXPECT_EQ(parallel::cpu_list({}), "");
}

TEST_F(CpusTest, CoresAndTheirKinds) {
  EXPECT_EQ(hybrid().described_cpus(),
            (std::vector<Cpu>{{0, 0, false}, {1, 0, false}, {2, 2, false}, {3, 2, false}, {4, 4, true}, {5, 5, true}}));
  EXPECT_EQ(parallel::describe_cpus({3, 77}, root_), (std::vector<Cpu>{{3, 2, false}, {77, 77, false}}));
}

TEST_F(CpusTest, KindsByCapacity) {
  for (const auto& [id, capacity] : {std::pair(0, 446), {1, 446}, {2, 1024}, {3, 980}})
    put("sys/devices/system/cpu/cpu" + std::to_string(id) + "/cpu_capacity", std::to_string(capacity));
  EXPECT_EQ(parallel::describe_cpus({0, 1, 2, 3}, root_),
            (std::vector<Cpu>{{0, 0, true}, {1, 1, true}, {2, 2, false}, {3, 3, false}}));
}

TEST_F(CpusTest, BindingsEndWithTheirObjects) {
  std::thread([] {
    const std::vector<int> before = affinity_mask();
    ASSERT_FALSE(before.empty());
    {
      const ThreadBinding binding({before.back()});
      EXPECT_EQ(affinity_mask(), std::vector<int>{before.back()});
    }
    EXPECT_EQ(affinity_mask(), before);
    const ThreadBinding nowhere({});
    EXPECT_EQ(affinity_mask(), before);
    const ThreadBinding impossible({8191});
    EXPECT_EQ(affinity_mask(), before);
  }).join();
}

TEST_F(CpusTest, HelpersOfAnArenaStayWhereTheyAreTold) {
  const std::vector<int> all = affinity_mask();
  if (all.size() < 2) GTEST_SKIP() << "one CPU";
  const auto caller = std::this_thread::get_id();
  std::atomic<int> helped{0};
  std::atomic<bool> elsewhere{false};
  const parallel::Arena arena(2, {{all[0]}, {all[1]}});
  for (int round = 0; round < 1000 && helped == 0; ++round) {
    arena.parallel_for(64, [&](int64_t) {
      if (std::this_thread::get_id() == caller) return std::this_thread::yield();
      ++helped;
      if (affinity_mask() != std::vector<int>{all[1]}) elsewhere = true;
    });
  }
  EXPECT_GT(helped, 0);
  EXPECT_FALSE(elsewhere);
  EXPECT_EQ(affinity_mask(), all) << "the caller is not the arena's business";
}

TEST_F(CpusTest, OneHolderPerCore) {
  put_cpu(0, "0");
  EXPECT_FALSE(CoreLock::take(1, root_)) << "there is none";
  auto lock = CoreLock::take(0, root_);
  ASSERT_TRUE(lock);
  EXPECT_FALSE(CoreLock::take(0, root_));
  CoreLock moved = std::move(*lock);
  lock.reset();
  EXPECT_FALSE(CoreLock::take(0, root_));
  { const CoreLock ended = std::move(moved); }
  EXPECT_TRUE(CoreLock::take(0, root_));
}

TEST_F(CpusTest, LocksEndWithTheirProcessHoweverItEnds) {
  put_cpu(0, "0");
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto lock = CoreLock::take(0, root_);
    static_cast<void>(!write(pipes[1], lock ? "y" : "n", 1));
    while (true) pause();
  }
  char locked = 0;
  ASSERT_EQ(read(pipes[0], &locked, 1), 1);
  EXPECT_EQ(locked, 'y');
  EXPECT_FALSE(CoreLock::take(0, root_));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(CoreLock::take(0, root_));
  close(pipes[0]);
  close(pipes[1]);
}

plugin::Config config_of(const AnyMap& properties) {
  plugin::Config config;
  config.apply(properties, "CPU");
  return config;
}

TEST_F(CpusTest, SettingsLimitTheThreads) {
  parallel::Machine machine = hybrid();
  const auto budget = [&](const AnyMap& properties) { return plugin::thread_budget(config_of(properties), machine); };
  EXPECT_EQ(budget({}), 6);
  EXPECT_EQ(budget({{"SCHEDULING_CORE_TYPE", "PCORE_ONLY"}}), 4);
  EXPECT_EQ(budget({{"SCHEDULING_CORE_TYPE", "ECORE_ONLY"}}), 2);
  EXPECT_EQ(budget({{"ENABLE_HYPER_THREADING", "NO"}}), 4);
  EXPECT_EQ(budget({{"ENABLE_HYPER_THREADING", "NO"}, {"SCHEDULING_CORE_TYPE", "PCORE_ONLY"}}), 2);
  machine.quota = parallel::CpuQuota{3.5, "cpu.max"};
  EXPECT_EQ(budget({}), 3);
  EXPECT_EQ(budget({{"SCHEDULING_CORE_TYPE", "ECORE_ONLY"}}), 2);
  machine.cpus.resize(4);  // no efficient ones are left
  EXPECT_EQ(budget({{"SCHEDULING_CORE_TYPE", "ECORE_ONLY"}}), 3);
}

TEST_F(CpusTest, OnlyPinnedAndPickyThreadsAreBound) {
  const parallel::Machine machine = hybrid();
  const auto cpus = [&](const AnyMap& properties) {
    return Placement(config_of(properties), {1, 2}, machine).cpus_of_stream(0);
  };
  EXPECT_EQ(cpus({}), Cpus{});
  EXPECT_EQ(cpus({{"ENABLE_HYPER_THREADING", "NO"}}), Cpus{});
  EXPECT_EQ(cpus({{"SCHEDULING_CORE_TYPE", "ECORE_ONLY"}}), (Cpus{{4, 5}, {4, 5}}));
  EXPECT_EQ(cpus({{"ENABLE_CPU_PINNING", "YES"}}), (Cpus{{0}, {2}}));
  EXPECT_EQ(cpus({{"ENABLE_CPU_PINNING", "YES"}, {"SCHEDULING_CORE_TYPE", "ECORE_ONLY"}}), (Cpus{{4}, {5}}));
}

TEST_F(CpusTest, PinnedModelsShareNoCore) {
  const parallel::Machine machine = hybrid();
  const plugin::Config config = config_of({hint::enable_cpu_pinning(true)});
  const Placement first(config, {1, 1}, machine);
  EXPECT_EQ(first.cpus_of_stream(0), (Cpus{{0}}));
  {
    const Placement second(config, {2, 2}, machine);
    EXPECT_EQ(second.cpus_of_stream(0), (Cpus{{2}, {4}}));
    EXPECT_EQ(second.cpus_of_stream(1), (Cpus{{5}, {3}}));  // the second CPU of core 2 comes last
    EXPECT_NE(second.reasons().find("; pinned to CPU 2-5"), std::string::npos) << second.reasons();
    const Placement third(config, {1, 2}, machine);
    EXPECT_EQ(third.cpus_of_stream(0), Cpus{});
    EXPECT_NE(third.reasons().find("; 2 threads not pinned"), std::string::npos) << third.reasons();
  }
  EXPECT_EQ(Placement(config, {1, 6}, machine).cpus_of_stream(0), (Cpus{{2}, {4}, {5}, {3}, {}, {}}));
  const plugin::Config reserving = config_of({hint::enable_cpu_reservation(true)});
  EXPECT_TRUE(reserving.get("ENABLE_CPU_RESERVATION").as<bool>());
  EXPECT_FALSE(reserving.get("ENABLE_CPU_PINNING").as<bool>());
  const Placement reserved(reserving, {1, 1}, machine);
  EXPECT_EQ(reserved.cpus_of_stream(0), (Cpus{{2}}));
  EXPECT_EQ(Placement(config, {1, 1}, machine).cpus_of_stream(0), (Cpus{{4}}));
}

TEST_F(CpusTest, OneLineSaysWhatAndWhy) {
  parallel::Machine machine = hybrid();
  const auto reasons = [&](const AnyMap& properties) {
    const plugin::Config config = config_of(properties);
    const auto threading = config.threading(plugin::thread_budget(config, machine));
    return Placement(config, threading, machine).reasons();
  };
  EXPECT_EQ(reasons({}),
            "6 CPUs in the affinity mask (0-5): at most 6 threads; PERFORMANCE_HINT LATENCY: 1 stream of 6 threads");
  EXPECT_EQ(reasons({{"TASK_EXECUTOR", "CALLER"}, {"ENABLE_CPU_PINNING", true}}),
            "the executor runs 1 task at once; PERFORMANCE_HINT LATENCY: 1 stream of 1 thread; not pinned: the threads "
            "are the executor's");
  machine.quota = parallel::CpuQuota{1.5, "/sys/fs/cgroup/cpu.max"};
  EXPECT_EQ(reasons({{"PERFORMANCE_HINT", "THROUGHPUT"}, hint::num_requests(4), inference_num_threads(3)}),
            "6 CPUs in the affinity mask (0-5), a quota of 1.5 CPUs in /sys/fs/cgroup/cpu.max: at most 1 thread; "
            "INFERENCE_NUM_THREADS 3, PERFORMANCE_HINT THROUGHPUT for 4 requests: 1 stream of 1 thread");
  machine.quota.reset();
  machine = {{6, 7}, std::nullopt, root_};  // of which nothing is known
  EXPECT_EQ(reasons({{"SCHEDULING_CORE_TYPE", "PCORE_ONLY"}, {"ENABLE_HYPER_THREADING", "NO"}, num_streams(4)}),
            "2 CPUs in the affinity mask (6-7), SCHEDULING_CORE_TYPE PCORE_ONLY changes nothing: all cores are alike, "
            "ENABLE_HYPER_THREADING NO changes nothing: no core has two CPUs here: at most 2 threads; NUM_STREAMS 4: 4 "
            "streams of 1 thread: they take turns");
}

}  // namespace
}  // namespace terroir
