#include "runtime/parallel/cpu_quota.hpp"

#include <fstream>

#include "ir/base/control_groups.hpp"

namespace terroir::parallel {
namespace {

namespace fs = std::filesystem;

std::optional<CpuQuota> v2_quota(const fs::path& group) {
  const fs::path path = group / "cpu.max";
  std::ifstream file(path);
  double quota = 0;
  double period = 0;
  if (!(file >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;  // "max" is no number
  return CpuQuota{quota / period, path};
}

std::optional<CpuQuota> v1_quota(const fs::path& group) {
  const fs::path path = group / "cpu.cfs_quota_us";
  std::ifstream quota_file(path);
  std::ifstream period_file(group / "cpu.cfs_period_us");
  double quota = 0;
  double period = 0;
  if (!(quota_file >> quota) || !(period_file >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return CpuQuota{quota / period, path};
}

}  // namespace

std::optional<CpuQuota> cpu_quota(const fs::path& root) {
  const ir::ControlGroups groups = ir::control_groups(root, "cpu");
  std::optional<CpuQuota> limit;
  const auto lower = [&](const std::vector<fs::path>& folders, auto quota) {
    for (const fs::path& folder : folders)
      if (const auto value = quota(folder); value && (!limit || value->cpus < limit->cpus)) limit = value;
  };
  lower(groups.v2, v2_quota);
  lower(groups.v1, v1_quota);
  return limit;
}

}  // namespace terroir::parallel
