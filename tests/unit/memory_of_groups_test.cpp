// Memory limits of control groups, from simulated trees of files.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>

#include "ir/base/machine_memory.hpp"
#include "tests/support/file_tree.hpp"

namespace terroir::ir {
namespace {

constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

class MemoryOfGroups : public FileTree {
 protected:
  uint64_t limit() const { return memory_of_groups(root_); }
};

TEST_F(MemoryOfGroups, NoFilesNoLimit) { EXPECT_EQ(limit(), kUnlimited); }

TEST_F(MemoryOfGroups, V2TakesTheSmallestLimitOnTheWayUp) {
  put("proc/self/cgroup", "0::/a/b");
  put("sys/fs/cgroup/a/b/memory.max", "max");
  EXPECT_EQ(limit(), kUnlimited);
  put("sys/fs/cgroup/a/memory.max", "3000000000");
  EXPECT_EQ(limit(), 3000000000u);
  put("sys/fs/cgroup/a/b/memory.max", "9000000000");
  EXPECT_EQ(limit(), 3000000000u);
  put("sys/fs/cgroup/memory.max", "1073741824");
  EXPECT_EQ(limit(), 1073741824u);
}

TEST_F(MemoryOfGroups, V1HasAHierarchyOfItsOwn) {
  put("proc/self/cgroup", "5:memory:/docker/abc\n4:cpu,cpuacct:/docker/xyz");
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");  // what the kernel writes for none
  EXPECT_EQ(limit(), 9223372036854771712u);
  put("sys/fs/cgroup/cpu,cpuacct/docker/xyz/memory.limit_in_bytes", "1");  // of another controller
  EXPECT_EQ(limit(), 9223372036854771712u);
  put("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "536870912");
  EXPECT_EQ(limit(), 536870912u);
}

TEST_F(MemoryOfGroups, ContainersSeeTheirOwnGroupAsTheTop) {
  put("proc/self/cgroup", "4:memory:/docker/abc/inner\n0::/docker/abc");
  put("proc/self/mountinfo",
      "33 31 0:30 /docker/abc /groups/memory ro - cgroup cgroup rw,memory\n"
      "34 31 0:31 /docker/abc /groups/cpu ro - cgroup cgroup rw,cpu\n"
      "35 31 0:32 /docker/abc /groups/unified ro - cgroup2 cgroup2 rw");
  put("groups/cpu/memory.limit_in_bytes", "1");
  EXPECT_EQ(limit(), kUnlimited);
  put("groups/memory/memory.limit_in_bytes", "600000000");
  EXPECT_EQ(limit(), 600000000u);
  put("groups/memory/inner/memory.limit_in_bytes", "500000000");
  EXPECT_EQ(limit(), 500000000u);
  put("groups/unified/memory.max", "400000000");
  EXPECT_EQ(limit(), 400000000u);
}

TEST_F(MemoryOfGroups, NonsenseMeansNoLimit) {
  put("proc/self/cgroup", "nonsense\n0::/a");
  put("sys/fs/cgroup/a/memory.max", "plenty");
  put("sys/fs/cgroup/memory.max", "0");
  EXPECT_EQ(limit(), kUnlimited);
}

TEST(MachineMemory, IsTheLesserOfTheMachinesAndTheGroups) {
  const auto machine =
      static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  EXPECT_EQ(machine_memory(), std::min(machine, memory_of_groups("/")));
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // they need terabytes of addresses
TEST(MachineMemoryDeathTest, IsNoMoreThanTheAddressesThatTheProcessMayUse) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // it is looked at once in a process
  const auto run = [] {
    constexpr rlim_t kLimit = rlim_t{512} << 20;
    rlimit limit{};
    ::getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = kLimit;
    std::exit(::setrlimit(RLIMIT_AS, &limit) == 0 && machine_memory() <= kLimit ? 0 : 1);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}
#endif

}  // namespace
}  // namespace terroir::ir
