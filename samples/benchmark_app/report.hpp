// The files of --report_type: benchmark_report and benchmark_..._counters_report, as CSV or JSON, under the names and
// with the fields of OpenVINO's tool. JSON has more: "machine", "warnings" and "performance_counters".
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "benchmark_app/layers.hpp"
#include "benchmark_app/options.hpp"

namespace benchmark_app {

class Report {
 public:
  using Json = nlohmann::ordered_json;
  struct Entry {
    std::string csv_name, json_name;
    Json value;
  };

  explicit Report(const Options& options) : options_(options) {}

  void add_configuration(std::vector<Entry> entries);
  void add_results(std::vector<Entry> entries);
  /// Latency of the inferences with one set of shapes.
  void add_group(const std::string& shapes, const Statistics& statistics);
  /// For JSON only, beside the sections of OpenVINO's tool.
  void add_section(const std::string& name, Json value);

  /// Writes what there is, if a report is wanted. Throws std::runtime_error that names the file.
  void write() const;
  /// Writes what layers cost, by request, if a report with counters is wanted.
  void write_counters(const std::vector<Profile>& profiles) const;

 private:
  std::string path(const std::string& name) const;
  void write_csv_report() const;
  void write_json_report() const;

  const Options& options_;
  std::vector<Entry> configuration_, results_;
  std::vector<std::pair<std::string, Statistics>> groups_;
  Json sections_ = Json::object();
};

}  // namespace benchmark_app
