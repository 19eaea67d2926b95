// How much processor time the process's control group grants.
//
// What: the smallest quota of the process's group and of every group above it that can be seen (control_groups.hpp):
//       cpu.max of version 2, cpu.cfs_quota_us and cpu.cfs_period_us of version 1.
// Edge cases: files that are missing, unreadable or nonsense mean no limit. CPUs a cpuset takes away are missing in the
//             affinity mask, too, and not looked at here.
#pragma once

#include <filesystem>
#include <optional>

namespace terroir::parallel {

struct CpuQuota {
  double cpus;                 // CPU seconds per second
  std::filesystem::path file;  // that says so
};

/// Below `root`, which is "/" but in tests: <root>/proc/self/cgroup and so on. Nothing if there is no quota.
std::optional<CpuQuota> cpu_quota(const std::filesystem::path& root = "/");

}  // namespace terroir::parallel
