// How many threads this process may keep busy.
//
// Formula: min(CPUs in the affinity mask, floor(quota of the control group)), at least 1. A fraction of a CPU rounds
//          down: one more thread would be throttled, which costs more than it gives.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/parallel/cpu_quota.hpp"
#include "runtime/parallel/cpus.hpp"

namespace terroir::parallel {

/// What the system lets this process use.
struct Machine {
  std::vector<int> cpus;  // of the affinity mask; never empty
  std::optional<CpuQuota> quota;
  std::filesystem::path root = "/";  // where the system's files are

  /// Reads files for each CPU: for those who need to know.
  std::vector<Cpu> described_cpus() const { return describe_cpus(cpus, root); }

  /// How many of `count` CPUs the quota allows.
  int within_quota(size_t count) const;
};

Machine read_machine(const std::filesystem::path& root = "/");

/// Read once, on first use.
const Machine& machine();
/// For tests, before the first use: machine() is what the files below `root` say.
void simulate_machine(const std::filesystem::path& root);

int available_threads();

}  // namespace terroir::parallel
