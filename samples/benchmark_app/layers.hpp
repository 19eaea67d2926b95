// What single layers cost.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <terroir/terroir.hpp>

#include "benchmark_app/statistics.hpp"

namespace benchmark_app {

using Profile = std::vector<terroir::ProfilingInfo>;

/// A line per layer in the form of OpenVINO's tool, the sum, the name of the device, and which layers ran on reference
/// kernels or are reorders between memory layouts, and why. `order`: "" or one of --pcsort, which adds shares.
void print(const Profile& layers, const std::string& device_name, const std::string& order);

/// Share of the time that reorders between memory layouts took, 0..1.
double reorder_share(const Profile& layers);

/// The mean cost of each layer. Layers with equal names are kept apart.
Profile average(const std::vector<Profile>& profiles);

/// {"nodes": [...], "total_real_time": ..., "total_cpu_time": ...}; sorted: dearest first, with "%".
nlohmann::ordered_json to_json(const Profile& layers, bool sorted);

/// The same as lines of a table with ';' between the columns; sorted: only layers that ran.
void write_csv(std::ostream& out, const Profile& layers, bool sorted);

/// Runs the request some times more, at most about a second, and tells for each layer what it cost in the last
/// inference before (`last`), the median and the range of the middle half of the times.
nlohmann::ordered_json sample_layers(terroir::InferRequest& request, const Profile& last);

}  // namespace benchmark_app
