#include "benchmark_app/statistics.hpp"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <numeric>

#include "common/report.hpp"

using samples::info;
using terroir::ProfilingInfo;

Statistics statistics_of(const Measurement& measurement, int64_t batch) {
  std::vector<double> sorted = measurement.latencies;
  std::sort(sorted.begin(), sorted.end());
  const size_t n = sorted.size();
  Statistics s;
  s.iterations = n;
  s.duration = measurement.duration;
  s.median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
  s.average = std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(n);
  s.min = sorted.front();
  s.max = sorted.back();
  s.throughput = 1000 * static_cast<double>(n) * static_cast<double>(batch) / s.duration;
  return s;
}

void print(const Statistics& s) {
  info() << "Count:            " << s.iterations << " iterations\n";
  info() << "Duration:         " << s.duration << " ms\n";
  info() << "Latency:\n";
  info() << "   Median:        " << s.median << " ms\n";
  info() << "   Average:       " << s.average << " ms\n";
  info() << "   Min:           " << s.min << " ms\n";
  info() << "   Max:           " << s.max << " ms\n";
  info() << "Throughput:       " << s.throughput << " FPS" << std::endl;
}

nlohmann::ordered_json to_json(const Statistics& s) {
  return {{"iterations_num", s.iterations}, {"execution_time", s.duration}, {"latency_median", s.median},
          {"latency_avg", s.average},       {"latency_min", s.min},         {"latency_max", s.max},
          {"throughput", s.throughput}};
}

namespace {

const char* text(ProfilingInfo::Status status) {
  switch (status) {
    case ProfilingInfo::Status::EXECUTED:
      return "EXECUTED";
    case ProfilingInfo::Status::OPTIMIZED_OUT:
      return "OPTIMIZED_OUT";
    case ProfilingInfo::Status::NOT_RUN:
      break;
  }
  return "NOT_RUN";
}

double milliseconds(std::chrono::microseconds time) { return static_cast<double>(time.count()) / 1000; }

bool is_reference(const ProfilingInfo& layer) {
  return layer.status == ProfilingInfo::Status::EXECUTED && layer.exec_type.rfind("ref", 0) == 0;
}

/// A copy between two memory layouts.
bool is_reorder(const ProfilingInfo& layer) {
  return layer.status == ProfilingInfo::Status::EXECUTED && layer.node_type == "Reorder";
}

/// Some of the layers.
struct Share {
  std::vector<const ProfilingInfo*> layers;
  double time = 0;

  void add(const ProfilingInfo& layer) {
    layers.push_back(&layer);
    time += milliseconds(layer.real_time);
  }
};

void print(const char* title, const Share& share, double total) {
  std::cout << title << ": " << share.layers.size();
  if (!share.layers.empty())
    std::cout << ", " << std::setprecision(3) << share.time << " ms (" << std::setprecision(1)
              << (total > 0 ? 100 * share.time / total : 0.0) << " % of the time):";
  for (const ProfilingInfo* layer : share.layers) {
    std::cout << "\n  " << layer->node_type << " '" << layer->node_name << "'";
    if (!layer->details.empty()) std::cout << ": " << layer->details;
  }
  std::cout << "\n";
}

}  // namespace

void print(const std::vector<ProfilingInfo>& layers) {
  size_t name_width = 10, type_width = 9, exec_width = 9;
  for (const ProfilingInfo& layer : layers) {
    name_width = std::max(name_width, layer.node_name.size());
    type_width = std::max(type_width, layer.node_type.size());
    exec_width = std::max(exec_width, layer.exec_type.size());
  }
  const auto line = [&](const std::string& layer, const char* status, const std::string& type,
                        const std::string& exec) {
    std::cout << std::left << std::setw(static_cast<int>(name_width) + 2) << layer << std::setw(15) << status
              << std::setw(static_cast<int>(type_width) + 2) << type << std::setw(static_cast<int>(exec_width) + 2)
              << exec << std::right;
  };
  line("layer name", "status", "type", "exec type");
  std::cout << "real time (ms)\n";
  double total = 0;
  Share reference, reorders;
  for (const ProfilingInfo& layer : layers) {
    const double time = milliseconds(layer.real_time);
    line(layer.node_name, text(layer.status), layer.node_type, layer.exec_type);
    std::cout << std::setw(14) << std::setprecision(3) << time << '\n';
    total += time;
    if (is_reference(layer)) reference.add(layer);
    if (is_reorder(layer)) reorders.add(layer);
  }
  std::cout << "Total time: " << total << " ms\n";
  print("Layers on reference kernels", reference, total);
  print("Reorders between memory layouts", reorders, total);
  std::cout << std::setprecision(2);
}

nlohmann::ordered_json to_json(const std::vector<ProfilingInfo>& layers) {
  auto list = nlohmann::ordered_json::array();
  for (const ProfilingInfo& layer : layers) {
    list.push_back({{"name", layer.node_name},
                    {"status", text(layer.status)},
                    {"node_type", layer.node_type},
                    {"exec_type", layer.exec_type},
                    {"real_time", milliseconds(layer.real_time)},
                    {"cpu_time", milliseconds(layer.cpu_time)}});
    if (!layer.details.empty()) list.back()["details"] = layer.details;
  }
  return list;
}
