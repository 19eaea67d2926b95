#include "runtime/parallel/available_threads.hpp"

#include <algorithm>
#include <numeric>
#include <thread>

namespace terroir::parallel {

namespace {
std::filesystem::path& machine_root() {
  static std::filesystem::path root = "/";
  return root;
}
}  // namespace

int Machine::within_quota(size_t count) const {
  const double limit = quota ? std::clamp(quota->cpus, 1.0, 1e6) : 1e6;
  return std::clamp(static_cast<int>(count), 1, static_cast<int>(limit));
}

Machine read_machine(const std::filesystem::path& root) {
  std::vector<int> ids = affinity_mask();
  if (ids.empty()) {
    ids.resize(std::max(1u, std::thread::hardware_concurrency()));
    std::iota(ids.begin(), ids.end(), 0);
  }
  return {std::move(ids), cpu_quota(root), root};
}

const Machine& machine() {
  static const Machine value = read_machine(machine_root());
  return value;
}

void simulate_machine(const std::filesystem::path& root) { machine_root() = root; }

int available_threads() { return machine().within_quota(machine().cpus.size()); }

}  // namespace terroir::parallel
