// benchmark_app compare OLD.json NEW.json: what got slower or faster from one run to another, beyond the noise of both.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "benchmark_app/statistics.hpp"

namespace benchmark_app {

/// A cost with the range in which it may be anywhere.
struct Cost {
  double middle;  // milliseconds
  Interval range;
};

struct LayerCost {
  std::string type, implementation;
  Cost cost;
};

/// One model as it was run one way; of several reports of the same run, all together.
struct RunRecord {
  Cost latency;
  double throughput = 0;
  std::optional<double> machine;  // GFLOP/s measured in the same run
  std::map<std::string, LayerCost> layers;
  std::string error;  // instead of all that: what stopped the run
};

enum class Verdict { same, faster, slower };

struct Judgement {
  Verdict verdict;
  double ratio;  // new by old
};

/// Slower or faster: the ranges do not touch, and the middles differ by more than `threshold` (0.03: 3 %). `machine`:
/// how much slower the new run's machine was (1: the same); what that can explain is no difference.
Judgement judge(const Cost& older, const Cost& newer, double threshold, double machine);

/// Reports by what was run: model, device, way of running. A path is a report of --json_stats, or a folder of them.
/// Throws std::runtime_error that names the file.
std::map<std::string, RunRecord> read_reports(const std::string& path);

/// Between the name of the model and the way of running, in the keys of reports.
inline constexpr const char* kKeySeparator = " on ";

struct Comparison {
  std::vector<std::string> lines;
  bool is_worse = false;  // a model is slower, is missing or failed
};

Comparison compare(const std::map<std::string, RunRecord>& older, const std::map<std::string, RunRecord>& newer,
                   double threshold);

/// The program behind "benchmark_app compare": exit code 0: nothing is worse, 2: something is, 1: an error.
int compare_main(int argc, char** argv);

}  // namespace benchmark_app
