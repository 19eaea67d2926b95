#include "runtime/parallel/cpus.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <string_view>

namespace terroir::parallel {

namespace {

namespace fs = std::filesystem;

using MaskWords = std::array<unsigned long, 128>;
constexpr int kWordBits = 8 * sizeof(unsigned long);
constexpr int kMaskCpus = static_cast<int>(MaskWords().size()) * kWordBits;

void add(MaskWords& mask, int cpu) {
  if (cpu >= 0 && cpu < kMaskCpus) mask[static_cast<size_t>(cpu / kWordBits)] |= 1UL << (cpu % kWordBits);
}

bool has(const MaskWords& mask, int cpu) {
  return (mask[static_cast<size_t>(cpu / kWordBits)] >> (cpu % kWordBits) & 1) != 0;
}

bool get_mask(MaskWords& mask) noexcept {
  mask.fill(0);
  return sched_getaffinity(0, sizeof mask, reinterpret_cast<cpu_set_t*>(mask.data())) == 0;
}

bool set_mask(const MaskWords& mask) noexcept {
  return sched_setaffinity(0, sizeof mask, reinterpret_cast<const cpu_set_t*>(mask.data())) == 0;
}

std::string first_line(const fs::path& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

fs::path cpu_folder(const fs::path& root, int cpu) {
  return root / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu));
}

}  // namespace

std::vector<int> affinity_mask() {
  MaskWords mask;
  std::vector<int> ids;
  if (!get_mask(mask)) return ids;
  for (int cpu = 0; cpu < kMaskCpus; ++cpu)
    if (has(mask, cpu)) ids.push_back(cpu);
  return ids;
}

std::vector<Cpu> describe_cpus(const std::vector<int>& ids, const fs::path& root) {
  const std::vector<int> efficient = parse_cpu_list(first_line(root / "sys/devices/cpu_atom/cpus"));
  std::vector<Cpu> cpus;
  std::vector<int> capacities;
  for (const int id : ids) {
    const std::vector<int> siblings =
        parse_cpu_list(first_line(cpu_folder(root, id) / "topology/thread_siblings_list"));
    const bool listed = std::find(efficient.begin(), efficient.end(), id) != efficient.end();
    cpus.push_back({id, siblings.empty() ? id : *std::min_element(siblings.begin(), siblings.end()), listed});
    capacities.push_back(number(first_line(cpu_folder(root, id) / "cpu_capacity")).value_or(0));
  }
  if (!efficient.empty() || capacities.empty()) return cpus;
  // Cores of one kind differ by some per cent where the maker sorts them; other kinds, by half.
  const int64_t most = *std::max_element(capacities.begin(), capacities.end());
  for (size_t i = 0; i < cpus.size(); ++i) cpus[i].efficient = int64_t{capacities[i]} * 5 < most * 4;
  return cpus;
}

std::vector<int> parse_cpu_list(const std::string& text) {
  std::vector<int> ids;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t comma = rest.find(',');
    const std::string_view range = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    const size_t dash = range.find('-');
    const auto first = number(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number(range.substr(dash + 1));
    if (!first || !last || *last >= kMaskCpus) return {};
    for (int id = *first; id <= *last; ++id) ids.push_back(id);
  }
  return ids;
}

std::string cpu_list(const std::vector<int>& ids) {
  std::string text;
  for (size_t i = 0; i < ids.size();) {
    size_t end = i + 1;
    while (end < ids.size() && ids[end] == ids[end - 1] + 1) ++end;
    text += (text.empty() ? "" : ",") + std::to_string(ids[i]);
    if (end > i + 1) text += "-" + std::to_string(ids[end - 1]);
    i = end;
  }
  return text;
}

ThreadBinding::ThreadBinding(const std::vector<int>& cpus) noexcept {
  if (cpus.empty() || !get_mask(former_)) return;
  MaskWords mask{};
  for (const int cpu : cpus) add(mask, cpu);
  bound_ = set_mask(mask);
}

ThreadBinding::~ThreadBinding() {
  if (bound_) static_cast<void>(set_mask(former_));
}

std::optional<CoreLock> CoreLock::take(int core, const fs::path& root) {
  CoreLock lock(::open(cpu_folder(root, core).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (lock.file_ < 0 || ::flock(lock.file_, LOCK_EX | LOCK_NB) != 0) return std::nullopt;
  return lock;
}

CoreLock& CoreLock::operator=(CoreLock&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}

CoreLock::~CoreLock() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace terroir::parallel
