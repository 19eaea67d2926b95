// What the machine can do and what it was busy with.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace benchmark_app {

/// Multiply-adds of single precision per second, times 2, of this many threads that compute at the same time, each with
/// the widest vectors of the processor. Counted by the time on a processor, so programs beside us do not lower it, but
/// clock and shared cores do. Takes about 30 ms.
double measure_peak_flops(unsigned threads);

/// Counters of the system and of this process; those that the system does not show stay 0.
struct Counters {
  double steal_ticks = 0, all_ticks = 0;  // of all processors; steal: taken by the hypervisor
  double throttled_seconds = 0;           // of the control group
  int64_t involuntary_switches = 0;       // times a thread of ours had to make room

  static Counters now();
};

/// Looks every tenth of a second how many threads want to run on the machine.
class RunnableThreads {
 public:
  RunnableThreads();
  ~RunnableThreads();
  RunnableThreads(const RunnableThreads&) = delete;
  RunnableThreads& operator=(const RunnableThreads&) = delete;

  /// Stops, and gives the mean without the looking thread itself; none if the system does not show it.
  std::optional<double> mean();

 private:
  std::atomic<bool> ends_{false};
  double sum_ = 0;
  unsigned count_ = 0;
  std::thread thread_;
};

/// Memory of this process in KiB, from /proc; 0 where there is none.
struct Memory {
  int64_t resident = 0;       // now, with mapped files
  int64_t peak_resident = 0;  // so far
  int64_t peak_virtual = 0;   // so far, with what was never touched

  static Memory now();
};

/// What happened between begin and end of a run.
struct Conditions {
  unsigned processors = 1;              // of the machine
  unsigned threads = 1;                 // that the model uses
  double peak_begin = 0, peak_end = 0;  // measure_peak_flops()
  double seconds = 0;
  double steal = 0;  // share of all processor time
  double throttled_seconds = 0;
  int64_t involuntary_switches = 0;
  std::optional<double> runnable;  // threads, on average
  std::optional<double> latency_drift;
};

Conditions conditions_between(const Counters& begin, const Counters& end);

/// What a reader of the figures should know, in sentences; none if all was quiet.
std::vector<std::string> warnings(const Conditions& conditions);

}  // namespace benchmark_app
