#include "benchmark_app/layers.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <map>
#include <sstream>

using nlohmann::ordered_json;
using terroir::ProfilingInfo;

namespace benchmark_app {
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

bool has_run(const ProfilingInfo& layer) { return layer.status == ProfilingInfo::Status::EXECUTED; }
bool is_reference(const ProfilingInfo& layer) { return has_run(layer) && layer.exec_type.rfind("ref", 0) == 0; }
/// A copy between two memory layouts.
bool is_reorder(const ProfilingInfo& layer) { return has_run(layer) && layer.node_type == "Reorder"; }

struct Total {
  double real = 0, cpu = 0;  // milliseconds
};

Total total_of(const Profile& layers) {
  Total total;
  for (const ProfilingInfo& layer : layers) {
    total.real += milliseconds(layer.real_time);
    total.cpu += milliseconds(layer.cpu_time);
  }
  return total;
}

Profile dearest_first(Profile layers) {
  std::stable_sort(layers.begin(), layers.end(),
                   [](const auto& a, const auto& b) { return a.real_time > b.real_time; });
  return layers;
}

std::string fixed(double value, int digits) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(digits) << value;
  return out.str();
}

void print_some(const char* title, const Profile& layers, bool (*chosen)(const ProfilingInfo&), double total) {
  std::ostringstream lines;
  size_t count = 0;
  double time = 0;
  for (const ProfilingInfo& layer : layers) {
    if (!chosen(layer)) continue;
    ++count;
    time += milliseconds(layer.real_time);
    lines << "\n  " << layer.node_type << " '" << layer.node_name << "'";
    if (!layer.details.empty()) lines << ": " << layer.details;
  }
  std::cout << title << ": " << count;
  if (count != 0) {
    std::cout << ", " << fixed(time, 3) << " ms (" << fixed(total > 0 ? 100 * time / total : 0, 1)
              << " % of the time):";
  }
  std::cout << lines.str() << '\n';
}

void print_line(const ProfilingInfo& layer, const std::array<size_t, 3>& widths, const std::string& share) {
  const auto field = [](const std::string& value, size_t width) {
    std::cout << std::left << std::setw(static_cast<int>(width)) << value << ' ';
  };
  field(layer.node_name, widths[0]);
  field(text(layer.status), 14);
  field("layerType: " + layer.node_type, widths[1] + 11);
  field("execType: " + layer.exec_type, widths[2] + 10);
  field("realTime (ms): " + fixed(milliseconds(layer.real_time), 3), 24);
  std::cout << "cpuTime (ms): " << fixed(milliseconds(layer.cpu_time), 3);
  if (!share.empty()) std::cout << "  proportion: " << share << '%';
  std::cout << '\n';
}

ordered_json to_json(const ProfilingInfo& layer) {
  ordered_json item{{"name", layer.node_name},
                    {"status", text(layer.status)},
                    {"node_type", layer.node_type},
                    {"exec_type", layer.exec_type},
                    {"real_time", milliseconds(layer.real_time)},
                    {"cpu_time", milliseconds(layer.cpu_time)}};
  if (!layer.details.empty()) item["details"] = layer.details;
  return item;
}

}  // namespace

void print(const Profile& layers, const std::string& device_name, const std::string& order) {
  std::array<size_t, 3> widths{10, 10, 10};
  for (const ProfilingInfo& layer : layers) {
    widths[0] = std::max(widths[0], layer.node_name.size());
    widths[1] = std::max(widths[1], layer.node_type.size());
    widths[2] = std::max(widths[2], layer.exec_type.size());
  }
  const Total total = total_of(layers);
  const bool sorted = order == "sort" || order == "simple_sort";
  for (const ProfilingInfo& layer : sorted ? dearest_first(layers) : layers) {
    if (order == "simple_sort" && !has_run(layer)) continue;
    std::string share;
    if (!order.empty()) {
      share = fixed(total.real > 0 ? 100 * milliseconds(layer.real_time) / total.real : 0, 2);
      if (share == "0.00") share = "N/A";
    }
    print_line(layer, widths, share);
  }
  std::cout << std::left << std::setw(25) << "Total time: " + fixed(total.real, 6)
            << " milliseconds\n\nFull device name: " << device_name << "\n\n";
  print_some("Layers on reference kernels", layers, is_reference, total.real);
  print_some("Reorders between memory layouts", layers, is_reorder, total.real);
}

double reorder_share(const Profile& layers) {
  double reorders = 0, all = 0;
  for (const ProfilingInfo& layer : layers) {
    all += milliseconds(layer.real_time);
    if (is_reorder(layer)) reorders += milliseconds(layer.real_time);
  }
  return all > 0 ? reorders / all : 0;
}

Profile average(const std::vector<Profile>& profiles) {
  Profile result;
  std::map<std::pair<std::string, size_t>, size_t> places;  // name and how often it came before in the profile
  for (const Profile& profile : profiles) {
    std::map<std::string, size_t> seen;
    for (const ProfilingInfo& layer : profile) {
      const auto [place, is_new] = places.emplace(std::pair(layer.node_name, seen[layer.node_name]++), result.size());
      if (is_new) {
        result.push_back(layer);
      } else {
        result[place->second].real_time += layer.real_time;
        result[place->second].cpu_time += layer.cpu_time;
      }
    }
  }
  for (ProfilingInfo& layer : result) {
    layer.real_time /= static_cast<int64_t>(profiles.size());
    layer.cpu_time /= static_cast<int64_t>(profiles.size());
  }
  return result;
}

ordered_json to_json(const Profile& layers, bool sorted) {
  const Total total = total_of(layers);
  ordered_json nodes = ordered_json::array();
  for (const ProfilingInfo& layer : sorted ? dearest_first(layers) : layers) {
    nodes.push_back(to_json(layer));
    if (sorted) {
      const double percent = total.real > 0 ? 100 * milliseconds(layer.real_time) / total.real : 0;
      nodes.back()["%"] = std::round(100 * percent) / 100;
    }
  }
  return {{"nodes", nodes}, {"total_real_time", total.real}, {"total_cpu_time", total.cpu}};
}

void write_csv(std::ostream& out, const Profile& layers, bool sorted) {
  const Total total = total_of(layers);
  out << "layerName;execStatus;layerType;execType;realTime (ms);cpuTime (ms);" << (sorted ? " %;" : "") << '\n';
  for (const ProfilingInfo& layer : sorted ? dearest_first(layers) : layers) {
    if (sorted && !has_run(layer)) continue;
    const double real = milliseconds(layer.real_time);
    out << layer.node_name << ';' << text(layer.status) << ';' << layer.node_type << ';' << layer.exec_type << ';'
        << fixed(real, 6) << ';' << fixed(milliseconds(layer.cpu_time), 6) << ';';
    if (sorted) out << fixed(total.real > 0 ? 100 * real / total.real : 0, 3) << ';';
    out << '\n';
  }
  out << "Total;;;;" << fixed(total.real, 3) << ';' << fixed(total.cpu, 3) << ';' << (sorted ? "100.000;" : "")
      << "\n\n";
}

ordered_json sample_layers(terroir::InferRequest& request, const Profile& last) {
  constexpr int kLeast = 5, kMost = 25;
  constexpr std::chrono::seconds kLongest{1};
  std::vector<std::vector<double>> times(last.size());
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kMost && (i < kLeast || std::chrono::steady_clock::now() - start < kLongest); ++i) {
    request.infer();
    const Profile layers = request.get_profiling_info();
    if (layers.size() != last.size()) break;  // sizes that depend on data
    for (size_t l = 0; l < layers.size(); ++l) times[l].push_back(milliseconds(layers[l].real_time));
  }
  ordered_json list = ordered_json::array();
  for (size_t l = 0; l < last.size(); ++l) {
    list.push_back(to_json(last[l]));
    if (times[l].empty()) continue;
    std::sort(times[l].begin(), times[l].end());
    list.back()["real_time_median"] = percentile_of(times[l], 50);
    list.back()["real_time_low"] = percentile_of(times[l], 25);
    list.back()["real_time_high"] = percentile_of(times[l], 75);
  }
  return list;
}

}  // namespace benchmark_app
