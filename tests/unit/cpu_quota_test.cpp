// Quotas of control groups, from simulated trees of files.
#include "runtime/parallel/cpu_quota.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "runtime/parallel/available_threads.hpp"
#include "terroir/terroir.hpp"
#include "tests/support/file_tree.hpp"

namespace terroir::parallel {
namespace {

class CpuQuotaTest : public FileTree {
 protected:
  void put_v1(const std::string& folder, const std::string& quota) {
    put(folder + "/cpu.cfs_quota_us", quota);
    put(folder + "/cpu.cfs_period_us", "100000");
  }
  /// CPUs, -1 for no quota.
  double quota() const {
    const auto found = cpu_quota(root_);
    return found ? found->cpus : -1;
  }
};

TEST_F(CpuQuotaTest, NoFilesNoLimit) { EXPECT_EQ(quota(), -1); }

TEST_F(CpuQuotaTest, V2TakesTheSmallestQuotaOnTheWayUp) {
  put("proc/self/cgroup", "0::/a/b");
  put("sys/fs/cgroup/a/b/cpu.max", "max 100000");
  EXPECT_EQ(quota(), -1);
  put("sys/fs/cgroup/a/cpu.max", "350000 100000");
  EXPECT_EQ(quota(), 3.5);
  put("sys/fs/cgroup/a/b/cpu.max", "900000 100000");
  EXPECT_EQ(quota(), 3.5);
  EXPECT_EQ(cpu_quota(root_)->file, root_ / "sys/fs/cgroup/a/cpu.max");
  put("sys/fs/cgroup/cpu.max", "50000 100000");
  EXPECT_EQ(quota(), 0.5);
}

TEST_F(CpuQuotaTest, V1) {
  put("proc/self/cgroup", "5:memory:/x\n4:cpu,cpuacct:/docker/abc");
  put_v1("sys/fs/cgroup/cpu,cpuacct", "-1");
  EXPECT_EQ(quota(), -1);
  put_v1("sys/fs/cgroup/cpu,cpuacct/docker/abc", "250000");
  EXPECT_EQ(quota(), 2.5);
}

TEST_F(CpuQuotaTest, MountsSayWhereTheGroupsAre) {
  put("proc/self/cgroup", "0::/user/job");
  put("proc/self/mountinfo",
      "22 1 0:20 / /proc rw - proc proc rw\n"
      "30 1 0:26 / /control\\040groups rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate");
  put("sys/fs/cgroup/cpu.max", "10000 100000");  // nothing is mounted there
  EXPECT_EQ(quota(), -1);
  put("control groups/user/cpu.max", "200000 100000");
  EXPECT_EQ(quota(), 2);
}

TEST_F(CpuQuotaTest, BothVersionsOnOneMachine) {
  put("proc/self/cgroup", "3:cpuset:/\n2:cpu,cpuacct:/batch\n1:name=systemd:/\n0::/slice");
  put("proc/self/mountinfo",
      "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
      "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
      "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw");
  put_v1("sys/fs/cgroup/cpuset/batch", "100000");  // of another controller
  EXPECT_EQ(quota(), -1);
  put_v1("sys/fs/cgroup/cpu,cpuacct/batch", "400000");
  EXPECT_EQ(quota(), 4);
  put("sys/fs/cgroup/unified/slice/cpu.max", "300000 100000");
  EXPECT_EQ(quota(), 3);
}

TEST_F(CpuQuotaTest, ContainersSeeTheirOwnGroupAsTheTop) {
  // The path is the host's, the mount shows the container's part of it.
  put("proc/self/cgroup", "4:cpu,cpuacct:/docker/abc/inner");
  put("proc/self/mountinfo", "33 31 0:30 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct");
  put_v1("sys/fs/cgroup/cpu,cpuacct", "600000");
  EXPECT_EQ(quota(), 6);
  put_v1("sys/fs/cgroup/cpu,cpuacct/inner", "500000");
  EXPECT_EQ(quota(), 5);
}

TEST_F(CpuQuotaTest, NamespacesOfGroups) {
  // The process was moved out of its namespace's top; the mount is that of an outer namespace.
  put("proc/self/cgroup", "0::/../other");
  put("proc/self/mountinfo", "41 31 0:38 /../.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw");
  put("sys/fs/cgroup/cpu.max", "150000 100000");
  put("sys/fs/other/cpu.max", "50000 100000");  // where ".." would lead
  EXPECT_EQ(quota(), 1.5);
}

TEST_F(CpuQuotaTest, MountsOfOtherGroupsDoNotCount) {
  put("proc/self/cgroup", "0::/ours");
  put("proc/self/mountinfo",
      "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
      "42 31 0:38 /theirs /mnt/theirs rw - cgroup2 cgroup2 rw\n"
      "43 31 0:38 /our /mnt/our rw - cgroup2 cgroup2 rw");
  put("mnt/theirs/cpu.max", "100000 100000");
  put("mnt/our/cpu.max", "100000 100000");
  put("sys/fs/cgroup/ours/cpu.max", "700000 100000");
  EXPECT_EQ(quota(), 7);
}

TEST_F(CpuQuotaTest, NonsenseMeansNoLimit) {
  put("proc/self/cgroup", "nonsense\n0::/a");
  put("sys/fs/cgroup/a/cpu.max", "many few");
  put("sys/fs/cgroup/cpu.max", "100000 0");
  EXPECT_EQ(quota(), -1);
  put("proc/self/mountinfo", "nonsense\n\n1 2 3\n4 5 6 7 8 9 -\n4 5 6 / \\400 9 - cgroup2 cgroup2 rw");
  EXPECT_EQ(quota(), -1);
}

TEST_F(CpuQuotaTest, RoundsDownButNotToNothing) {
  Machine machine{{0, 1, 2, 3, 4, 5, 6, 7}, std::nullopt, root_};
  EXPECT_EQ(machine.within_quota(8), 8);
  for (const auto& [cpus, threads] : {std::pair(0.2, 1), {1.0, 1}, {1.99, 1}, {2.0, 2}, {7.9, 7}, {64.0, 8}}) {
    machine.quota = CpuQuota{cpus, "cpu.max"};
    EXPECT_EQ(machine.within_quota(8), threads) << cpus;
  }
}

using CpuQuotaDeathTest = CpuQuotaTest;

// From the files of the system to the threads of an inference.
TEST_F(CpuQuotaDeathTest, AQuotaOfOneCpuMeansOneThread) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process: the machine is looked at once
  const auto threads_of = [&](const char* quota, const AnyMap& properties) {
    put("proc/self/cgroup", "0::/limited");
    put("sys/fs/cgroup/limited/cpu.max", quota);
    simulate_machine(root_);
    ModelBuilder b("m");
    b.result(b.op("ReLU", "opset1", {b.parameter(element::f32, {1, 64, 64, 64}, "x")}, {}, "y"), "z");
    CompiledModel compiled = Core().compile_model(b.build(), "CPU", properties);
    for (int i = 0; i < 20; ++i) compiled.create_infer_request().infer();
    const auto running = std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
    std::filesystem::remove_all(root_);  // TearDown() is the parent's
    std::fprintf(stderr, "%d threads, %d requests, %d running;", compiled.get_property(inference_num_threads),
                 static_cast<int>(compiled.get_property(optimal_number_of_infer_requests)), static_cast<int>(running));
    std::exit(0);
  };
  for (const char* quota : {"100000 100000", "199999 100000", "20000 100000"}) {
    EXPECT_EXIT(threads_of(quota, {}), testing::ExitedWithCode(0), "^1 threads, 1 requests, 1 running;$") << quota;
    EXPECT_EXIT(threads_of(quota, {{"PERFORMANCE_HINT", "THROUGHPUT"}, {"INFERENCE_NUM_THREADS", 2}}),
                testing::ExitedWithCode(0), "^1 threads, 1 requests, 1 running;$")
        << quota;
  }
  if (affinity_mask().size() < 2) GTEST_SKIP() << "one CPU";
  EXPECT_EXIT(threads_of("200000 100000", {}), testing::ExitedWithCode(0), "^2 threads, 1 requests");
}

}  // namespace
}  // namespace terroir::parallel
