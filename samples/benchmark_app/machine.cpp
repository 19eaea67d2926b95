#include "benchmark_app/machine.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <sstream>

namespace benchmark_app {
namespace {

// Shares from which on a reader should know.
constexpr double kClockDrop = 0.1, kDrift = 0.1, kSteal = 0.02, kThrottled = 0.01, kTooMany = 0.25;

/// The text behind "key" at the begin of a line; empty if there is none.
std::string line_of(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key, 0) == 0) return line.substr(key.size());
  }
  return {};
}

double number_of(const char* path, const std::string& key) {
  const std::string text = line_of(path, key);
  return text.empty() ? 0 : std::strtod(text.c_str(), nullptr);
}

std::string percent(double share) { return std::to_string(std::lround(100 * share)) + " %"; }

std::string rounded(double value) {
  std::ostringstream text;
  text.precision(1);
  text << std::fixed << value;
  return text.str();
}

}  // namespace

Counters Counters::now() {
  Counters counters;
  std::istringstream ticks(line_of("/proc/stat", "cpu "));
  double tick = 0;
  for (int column = 0; column < 8 && ticks >> tick; ++column) {  // user nice system idle iowait irq softirq steal
    counters.all_ticks += tick;
    if (column == 7) counters.steal_ticks = tick;
  }
  counters.throttled_seconds = 1e-6 * number_of("/sys/fs/cgroup/cpu.stat", "throttled_usec ");
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0) counters.involuntary_switches = usage.ru_nivcsw;
  return counters;
}

RunnableThreads::RunnableThreads()
    : thread_([this] {
        while (!ends_.load(std::memory_order_relaxed)) {
          const double running = number_of("/proc/stat", "procs_running ");
          if (running > 0) {
            sum_ += running - 1;
            ++count_;
          }
          std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
      }) {}

RunnableThreads::~RunnableThreads() { mean(); }

std::optional<double> RunnableThreads::mean() {
  ends_ = true;
  if (thread_.joinable()) thread_.join();
  if (count_ == 0) return std::nullopt;
  return sum_ / count_;
}

Memory Memory::now() {
  const char* path = "/proc/self/status";
  const auto kibibytes = [path](const char* key) { return static_cast<int64_t>(number_of(path, key)); };
  return {kibibytes("VmRSS:"), kibibytes("VmHWM:"), kibibytes("VmPeak:")};
}

Conditions conditions_between(const Counters& begin, const Counters& end) {
  Conditions conditions;
  conditions.processors = static_cast<unsigned>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  const double ticks = end.all_ticks - begin.all_ticks;
  if (ticks > 0) conditions.steal = (end.steal_ticks - begin.steal_ticks) / ticks;
  conditions.throttled_seconds = end.throttled_seconds - begin.throttled_seconds;
  conditions.involuntary_switches = end.involuntary_switches - begin.involuntary_switches;
  return conditions;
}

std::vector<std::string> warnings(const Conditions& c) {
  std::vector<std::string> texts;
  if (c.peak_begin > 0 && c.peak_end < (1 - kClockDrop) * c.peak_begin) {
    texts.push_back("throttling: the processor computes " + percent(1 - c.peak_end / c.peak_begin) +
                    " slower at the end of the run than at its begin");
  }
  if (c.latency_drift && *c.latency_drift > 1 + kDrift) {
    texts.push_back("drift: inferences at the end take " + percent(*c.latency_drift - 1) +
                    " longer than those at the begin");
  }
  if (c.threads > c.processors) {
    texts.push_back("oversubscription: the model uses " + std::to_string(c.threads) + " threads, the machine has " +
                    std::to_string(c.processors) + " processors");
  }
  if (c.runnable && *c.runnable > (1 + kTooMany) * c.processors) {
    texts.push_back("oversubscription: " + rounded(*c.runnable) + " threads wanted to run on " +
                    std::to_string(c.processors) + " processors; other programs take time from this one");
  }
  if (c.steal > kSteal) {
    texts.push_back("oversubscription: the hypervisor gave " + percent(c.steal) +
                    " of the processors' time to other machines");
  }
  if (c.seconds > 0 && c.throttled_seconds > kThrottled * c.seconds) {
    texts.push_back("throttling: the control group's limit stopped this process for " + rounded(c.throttled_seconds) +
                    " s");
  }
  return texts;
}

}  // namespace benchmark_app
