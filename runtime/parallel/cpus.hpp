// The CPUs of a machine: which of them share a core, what kind of core that is, and threads that stay on some of them.
//
// Words: a CPU is what the system schedules threads on; a core has one of them, or several ("hyper-threads").
// Source: <root>/sys/devices: system/cpu/cpuN/topology and cpu_capacity, cpu_atom/cpus.
// Edge cases: what the system does not tell: each CPU is a core of its own, made for speed. Beyond CPU 8191 none is
//             seen.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace terroir::parallel {

struct Cpu {
  int id;
  int core;        // the smallest id of the core's CPUs, whether or not this process may use that one
  bool efficient;  // of a core made for efficiency; the others are made for speed
  bool operator==(const Cpu&) const = default;
};

/// The CPUs of the calling thread's affinity mask, ascending. What a cpuset takes away is missing there, too.
std::vector<int> affinity_mask();

/// What is known about these CPUs. `root` is "/" but in tests.
std::vector<Cpu> describe_cpus(const std::vector<int>& ids, const std::filesystem::path& root = "/");

/// "0-2,5" as numbers; nothing of what is no list.
std::vector<int> parse_cpu_list(const std::string& text);
/// {0, 1, 2, 5} as "0-2,5".
std::string cpu_list(const std::vector<int>& ids);

/// Keeps the calling thread on some CPUs while it lives; then the thread has its former mask again. An empty list, or a
/// system that refuses: nothing happens. No allocation; three system calls, for an empty list none.
class ThreadBinding {
 public:
  explicit ThreadBinding(const std::vector<int>& cpus) noexcept;
  ~ThreadBinding();
  ThreadBinding(const ThreadBinding&) = delete;
  ThreadBinding& operator=(const ThreadBinding&) = delete;

 private:
  std::array<unsigned long, 128> former_;
  bool bound_ = false;
};

/// A core that no other holder of such a lock has, in this process or another; free again when the object or the
/// process ends, however it ends. The lock is the system's on the folder of the core in <root>/sys/devices/system/cpu:
/// it needs no rights, leaves nothing behind, and is seen by every process that sees the same folder.
class CoreLock {
 public:
  /// Nothing if another one holds it, or there is no such folder.
  static std::optional<CoreLock> take(int core, const std::filesystem::path& root = "/");
  CoreLock(CoreLock&& other) noexcept : file_(other.file_) { other.file_ = -1; }
  CoreLock& operator=(CoreLock&& other) noexcept;
  ~CoreLock();

 private:
  explicit CoreLock(int file) : file_(file) {}
  int file_;
};

}  // namespace terroir::parallel
