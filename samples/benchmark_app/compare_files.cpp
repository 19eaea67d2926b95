// Reports of --json_stats as records to compare.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "benchmark_app/compare.hpp"

namespace fs = std::filesystem;

namespace benchmark_app {
namespace {

using nlohmann::json;

std::vector<std::string> files_of(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(path)) {
    if (entry.is_regular_file() && entry.path().extension() == ".json") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) throw std::runtime_error("the folder '" + path + "' has no .json files");
  return files;
}

json parse(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open the report '" + path + "'");
  try {
    return json::parse(file);
  } catch (const std::exception& error) {  // of the JSON, or of reading what is no file
    throw std::runtime_error("'" + path + "' is no report: " + error.what());
  }
}

/// What was run, for people. A run that failed early knows only the command line.
std::string key_of(const json& report) {
  const json setup = report.value("configuration_setup", json::object());
  const json command = report.value("cmd_options", json::object());
  const std::string model = fs::path(setup.value("model", command.value("m", "?"))).filename().string();
  if (!setup.contains("target_device")) return model;
  const auto text = [&](const char* field) {
    const json value = setup.value(field, json());
    return value.is_string() ? value.get<std::string>() : value.dump();
  };
  return model + kKeySeparator + text("target_device") + " (" + text("api") + ", " + text("data_shapes") +
         ", requests " + text("nireq") + ", threads " + text("nthreads") + ")";
}

std::map<std::string, LayerCost> layers_of(const json& report) {
  std::map<std::string, LayerCost> layers;
  std::map<std::string, int> seen;
  for (const json& layer : report.value("performance_counters", json::array())) {
    if (layer.value("status", "") != "EXECUTED" || !layer.contains("real_time_median")) continue;
    std::string name = layer.at("name");
    const int count = ++seen[name];
    if (count > 1) name += " #" + std::to_string(count);
    layers[name] = {layer.value("node_type", "?"),
                    layer.value("exec_type", "?"),
                    {layer.at("real_time_median"), {layer.at("real_time_low"), layer.at("real_time_high")}}};
  }
  return layers;
}

RunRecord record_of(const json& report) {
  const json& results = report.at("execution_results");
  RunRecord record;
  if (results.contains("error")) {
    record.error = results.at("error");
    return record;
  }
  record.latency.middle = results.at("latency_p50");
  record.latency.range = {results.value("latency_p50_low", results.at("latency_min").get<double>()),
                          results.value("latency_p50_high", results.at("latency_max").get<double>())};
  record.throughput = results.at("throughput");
  if (report.contains("machine")) {
    const json& machine = report.at("machine");
    record.machine = (machine.at("peak_gflops_begin").get<double>() + machine.at("peak_gflops_end").get<double>()) / 2;
  }
  record.layers = layers_of(report);
  return record;
}

double middle_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return percentile_of(values, 50);
}

Cost joined(const std::vector<Cost>& costs) {
  Cost all = costs.front();
  std::vector<double> middles;
  for (const Cost& cost : costs) {
    middles.push_back(cost.middle);
    all.range = {std::min(all.range.low, cost.range.low), std::max(all.range.high, cost.range.high)};
  }
  all.middle = middle_of(middles);
  return all;
}

/// Several runs of the same: their ranges together, the medians of the rest. One that failed means failure.
RunRecord joined(const std::vector<RunRecord>& records) {
  RunRecord all = records.front();
  std::vector<Cost> latencies;
  std::vector<double> throughputs, machines;
  for (const RunRecord& record : records) {
    if (!record.error.empty()) return record;
    latencies.push_back(record.latency);
    throughputs.push_back(record.throughput);
    if (record.machine) machines.push_back(*record.machine);
  }
  all.latency = joined(latencies);
  all.throughput = middle_of(throughputs);
  if (!machines.empty()) all.machine = middle_of(machines);
  for (auto& [name, layer] : all.layers) {
    std::vector<Cost> costs;
    for (const RunRecord& record : records) {
      const auto found = record.layers.find(name);
      if (found != record.layers.end()) costs.push_back(found->second.cost);
    }
    layer.cost = joined(costs);
  }
  return all;
}

}  // namespace

std::map<std::string, RunRecord> read_reports(const std::string& path) {
  std::map<std::string, std::vector<RunRecord>> by_key;
  for (const std::string& file : files_of(path)) {
    const json report = parse(file);
    try {
      by_key[key_of(report)].push_back(record_of(report));
    } catch (const json::exception& error) {
      throw std::runtime_error("'" + file + "' is no report of benchmark_app --json_stats: " + error.what());
    }
  }
  std::map<std::string, RunRecord> result;
  for (const auto& [key, records] : by_key) result.emplace(key, joined(records));
  return result;
}

}  // namespace benchmark_app
