#include "benchmark_app/results.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>

#include "common/report.hpp"

using samples::info;

namespace benchmark_app {

double Results::peak_share() const {
  const double peak = std::max(conditions.peak_begin, conditions.peak_end);
  return peak > 0 ? flops_per_second() / peak : 0;
}

Results results_of(const Measurement& measurement, const std::vector<std::string>& shape_names,
                   const std::vector<double>& flops, unsigned percentile) {
  Results r;
  std::vector<double> all;
  std::vector<std::vector<double>> by_set(shape_names.size());
  double work = 0;
  for (const Inference& inference : measurement.inferences) {
    all.push_back(inference.latency);
    by_set[inference.shape_set].push_back(inference.latency);
    if (!flops.empty()) work += flops[inference.shape_set];
  }
  r.iterations = all.size();
  r.duration = measurement.duration;
  r.throughput = 1000 * static_cast<double>(measurement.samples) / r.duration;
  r.latency = statistics_of(all, percentile);
  r.flops = work / static_cast<double>(all.size());
  for (size_t set = 0; shape_names.size() > 1 && set < shape_names.size(); ++set) {
    if (!by_set[set].empty()) r.by_shapes.emplace_back(shape_names[set], statistics_of(by_set[set], percentile));
  }
  // Sets of shapes take different times, in turn: that is no drift, and no interval holds the median of their mixture.
  if (shape_names.size() > 1) {
    r.latency.drift.reset();
    r.latency.median_interval.reset();
  }
  return r;
}

namespace {

/// What MEMORY_FOOTPRINT says beside what was measured.
void print_plan(const std::map<std::string, uint64_t>& bytes) {
  if (bytes.empty()) return;
  info() << "   Planned:      ";
  const char* separator = " ";
  for (const auto& [use, words] : {std::pair("weights", "of weights"), std::pair("packed", "of packed weights"),
                                   std::pair("arena_per_request", "a request"), std::pair("peak", "at most")}) {
    const auto found = bytes.find(use);
    if (found == bytes.end()) continue;
    std::cout << separator << static_cast<double>(found->second) / (1 << 20) << " MiB " << words;
    separator = ", ";
  }
  std::cout << '\n';
}

}  // namespace

void print_details(const Results& r) {
  const Statistics& s = r.latency;
  info() << "Details:\n";
  info() << "   Percentiles:   90 %: " << s.p90 << " ms, 95 %: " << s.p95 << " ms, 99 %: " << s.p99 << " ms\n";
  if (s.median_interval) {
    std::cout.precision(3);
    info() << "   Confidence:    the median is between " << s.median_interval->low << " and " << s.median_interval->high
           << " ms (95 %)\n";
    std::cout.precision(2);
  }
  if (r.flops > 0) {
    info() << "   Arithmetic:    " << r.flops * 1e-9 << " GFLOP per inference, " << r.flops_per_second() * 1e-9
           << " GFLOP/s, " << 100 * r.peak_share() << " % of the multiply-add peak of "
           << std::max(r.conditions.peak_begin, r.conditions.peak_end) * 1e-9 << " GFLOP/s measured on "
           << r.conditions.threads << (r.conditions.threads == 1 ? " thread\n" : " threads\n");
  }
  info() << "   Memory:        " << static_cast<double>(r.peak_memory) / 1024 << " MiB at most, "
         << static_cast<double>(r.model_memory) / 1024 << " MiB by the model\n";
  print_plan(r.planned_memory);
  if (r.reorder_share >= 0) info() << "   Reorders:      " << 100 * r.reorder_share << " % of the time\n";
  for (const std::string& text : warnings(r.conditions)) samples::warning() << text << '\n';
}

void print(const Results& r, bool latency_per_shape) {
  info() << "Count:               " << r.iterations << " iterations\n";
  info() << "Duration:            " << r.duration << " ms\n";
  info() << "Latency:\n";
  print_latency(r.latency);
  if (latency_per_shape && !r.by_shapes.empty()) {
    info() << "Latency for each data shape group:\n";
    for (size_t i = 0; i < r.by_shapes.size(); ++i) {
      info() << i + 1 << ". " << r.by_shapes[i].first << '\n';
      print_latency(r.by_shapes[i].second);
    }
  }
  info() << "Throughput:          " << r.throughput << " FPS" << std::endl;
}

void add_to(Report& report, const Results& r, bool latency_per_shape) {
  const Statistics& s = r.latency;
  const std::string percentile = std::to_string(s.percentile);
  report.add_results({{"total execution time (ms)", "execution_time", r.duration},
                      {"total number of iterations", "iterations_num", r.iterations},
                      {s.percentile == 50 ? "Median latency (ms)" : "latency (" + percentile + " percentile) (ms)",
                       "latency_median", s.chosen},
                      {"Percentile boundary", "percentile_boundary", s.percentile},
                      {"Average latency (ms)", "latency_avg", s.average},
                      {"Min latency (ms)", "latency_min", s.min},
                      {"Max latency (ms)", "latency_max", s.max},
                      {"throughput", "throughput", r.throughput},
                      {"latency (50 percentile) (ms)", "latency_p50", s.median},
                      {"latency (90 percentile) (ms)", "latency_p90", s.p90},
                      {"latency (95 percentile) (ms)", "latency_p95", s.p95},
                      {"latency (99 percentile) (ms)", "latency_p99", s.p99}});
  if (s.median_interval) {
    report.add_results({{"median, lower end of its interval (ms)", "latency_p50_low", s.median_interval->low},
                        {"median, upper end of its interval (ms)", "latency_p50_high", s.median_interval->high}});
  }
  report.add_results({{"peak memory (KiB)", "peak_memory", r.peak_memory},
                      {"memory of the model (KiB)", "model_memory", r.model_memory}});
  for (const auto& [use, bytes] : r.planned_memory) {
    report.add_results({{"planned memory, " + use + " (KiB)", "planned_memory_" + use, bytes / 1024}});
  }
  if (r.flops > 0) {
    report.add_results({{"GFLOP per inference", "gflop", r.flops * 1e-9},
                        {"GFLOP/s", "gflops", r.flops_per_second() * 1e-9},
                        {"share of the measured peak", "peak_share", r.peak_share()}});
  }
  if (r.reorder_share >= 0) report.add_results({{"share of reorders", "reorder_share", r.reorder_share}});
  for (const auto& [shapes, statistics] : r.by_shapes) {
    if (latency_per_shape) report.add_group(shapes, statistics);
  }
  const Conditions& c = r.conditions;
  const auto optional = [](const std::optional<double>& value) {
    return value ? Report::Json(*value) : Report::Json();
  };
  report.add_section("machine", {{"processors", c.processors},
                                 {"threads", c.threads},
                                 {"peak_gflops_begin", c.peak_begin * 1e-9},
                                 {"peak_gflops_end", c.peak_end * 1e-9},
                                 {"runnable_threads", optional(c.runnable)},
                                 {"steal_share", c.steal},
                                 {"throttled_seconds", c.throttled_seconds},
                                 {"involuntary_switches", c.involuntary_switches},
                                 {"latency_drift", optional(c.latency_drift)}});
  report.add_section("warnings", warnings(c));
}

}  // namespace benchmark_app
