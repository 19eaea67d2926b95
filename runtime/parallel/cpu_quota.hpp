// How much processor time the process's control group grants.
//
// What: the smallest quota of the group the process is in and of every group above it that can be seen: cpu.max of
//       version 2, cpu.cfs_quota_us and cpu.cfs_period_us of version 1; a machine may have both.
// How: /proc/self/cgroup names the groups, /proc/self/mountinfo the folders where they are. A container often sees its
//      own group as the top of a mount while its path is the host's: then the part of the path above the mount does not
//      count. Where no mount shows the path, the top of the mount stands for the process's group.
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
