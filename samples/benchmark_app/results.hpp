// What a run came to: the lines that are printed and the entries of the reports.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "benchmark_app/machine.hpp"
#include "benchmark_app/measure.hpp"
#include "benchmark_app/report.hpp"
#include "benchmark_app/statistics.hpp"

namespace benchmark_app {

struct Results {
  uint64_t iterations = 0;
  double duration = 0;    // milliseconds
  double throughput = 0;  // samples per second
  Statistics latency;
  std::vector<std::pair<std::string, Statistics>> by_shapes;  // with several sets of shapes

  double flops = 0;  // per inference, on average; 0: not known
  Conditions conditions;
  int64_t peak_memory = 0, model_memory = 0;       // KiB
  std::map<std::string, uint64_t> planned_memory;  // bytes that the compiled model says it needs, by what for
  double reorder_share = -1;                       // of the time; negative: layers were not timed

  double flops_per_second() const { return flops * static_cast<double>(iterations) / (duration / 1000); }
  /// Share of what the machine can do, measured in the same run; 0: not known.
  double peak_share() const;
};

/// `shape_names` and `flops` are by set of shapes. The measurement has at least one inference.
Results results_of(const Measurement& measurement, const std::vector<std::string>& shape_names,
                   const std::vector<double>& flops, unsigned percentile);

/// What the tools of this name do not print: percentiles, confidence, arithmetic, memory, reorders, warnings.
void print_details(const Results& results);
/// "Count:", "Duration:", "Latency:", "Throughput:".
void print(const Results& results, bool latency_per_shape);

void add_to(Report& report, const Results& results, bool latency_per_shape);

}  // namespace benchmark_app
