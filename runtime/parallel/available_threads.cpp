#include "runtime/parallel/available_threads.hpp"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace terroir::parallel {

namespace {

int affinity_count() {
  // The kernel refuses a mask smaller than its own, so grow until it fits.
  for (int cpus = 1024; cpus <= (1 << 20); cpus *= 2) {
    cpu_set_t* const set = CPU_ALLOC(static_cast<size_t>(cpus));
    if (set == nullptr) break;
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(cpus));
    CPU_ZERO_S(bytes, set);
    const bool known = sched_getaffinity(0, bytes, set) == 0;
    const int count = known ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (count > 0) return count;
  }
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::optional<double> v2_quota(const std::filesystem::path& group) {
  std::ifstream file(group / "cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return std::nullopt;
  try {
    return std::stod(quota) / period;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::optional<double> v1_quota(const std::filesystem::path& group) {
  double quota = 0;
  double period = 0;
  std::ifstream quota_file(group / "cpu.cfs_quota_us");
  std::ifstream period_file(group / "cpu.cfs_period_us");
  if (!(quota_file >> quota) || !(period_file >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

// Smallest quota of `group` and its ancestors below `mount`.
template <typename Quota>
void lower(std::optional<double>& limit, const std::filesystem::path& mount, std::string group, Quota quota) {
  while (true) {
    const auto value = quota(mount / std::filesystem::path(group).relative_path());
    if (value && (!limit || *value < *limit)) limit = value;
    const size_t slash = group.rfind('/');
    if (slash == std::string::npos || group == "/" || group.empty()) break;
    group.resize(slash);
  }
}

}  // namespace

std::optional<int> cgroup_cpu_limit(const std::filesystem::path& root) {
  std::optional<double> limit;
  const std::filesystem::path mount = root / "sys/fs/cgroup";
  std::ifstream list(root / "proc/self/cgroup");
  for (std::string line; std::getline(list, line);) {
    // hierarchy-ID:controllers:path, where v2 has the ID 0 and no controllers
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      lower(limit, mount, group, v2_quota);
      continue;
    }
    const std::string framed = "," + controllers + ",";
    if (framed.find(",cpu,") == std::string::npos) continue;
    for (const std::string& name : {controllers, std::string("cpu"), std::string("cpu,cpuacct")}) {
      lower(limit, mount / name, group, v1_quota);
      // Inside a container the path is the host's, while the mount shows the group itself.
      lower(limit, mount / name, "/", v1_quota);
    }
  }
  lower(limit, mount, "/", v2_quota);
  if (!limit) return std::nullopt;
  return static_cast<int>(std::clamp(*limit, 1.0, 1e6));
}

int available_threads() {
  static const int value = std::min(affinity_count(), cgroup_cpu_limit("/").value_or(1 << 20));
  return value;
}

}  // namespace terroir::parallel
