// How many threads this process may keep busy.
//
// Formula: min(CPUs in the affinity mask, floor(cgroup quota / period)), at least 1. The quota of every level from the
//          process's cgroup up to the root counts, v2 (cpu.max) and v1 (cpu.cfs_quota_us / cpu.cfs_period_us).
// Edge cases: files that are missing or unreadable mean no limit. A fraction of a CPU rounds down, since one more
// thread
//             would be throttled, which costs more than it gives.
#pragma once

#include <filesystem>
#include <optional>

namespace terroir::parallel {

/// Read once, on first use.
int available_threads();

/// CPUs that the quota allows, rounded down, at least 1; nothing if there is no quota. `root` is "/" but in tests: the
/// files are <root>/proc/self/cgroup and <root>/sys/fs/cgroup/...
std::optional<int> cgroup_cpu_limit(const std::filesystem::path& root);

}  // namespace terroir::parallel
