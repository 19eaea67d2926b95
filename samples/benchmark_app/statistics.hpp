// Results of a run, as lines, table and JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "benchmark_app/measure.hpp"

struct Statistics {
  uint64_t iterations = 0;
  double duration = 0;                               // milliseconds
  double median = 0, average = 0, min = 0, max = 0;  // latencies, milliseconds
  double throughput = 0;                             // samples per second
};

/// `batch`: samples per inference. The measurement has at least one latency.
Statistics statistics_of(const Measurement& measurement, int64_t batch);

/// "Count:", "Duration:", "Latency:", "Throughput:".
void print(const Statistics& statistics);
nlohmann::ordered_json to_json(const Statistics& statistics);

/// What each layer cost, slowest kernels named with their implementation, and which of them ran on reference kernels.
void print(const std::vector<terroir::ProfilingInfo>& layers);
nlohmann::ordered_json to_json(const std::vector<terroir::ProfilingInfo>& layers);
