// The command line of benchmark_app. --help is its manual.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace benchmark_app {

/// Words have been checked when they stand here; empty or 0 means "not given" unless a default is written.
struct Options {
  // What to run.
  std::string model;
  std::string device = "CPU";
  std::vector<std::string> inputs;  // the arguments of -i, not yet taken apart
  std::vector<std::string> extensions;
  bool load_from_file = false;
  std::string cache_dir;

  // How long.
  std::optional<uint64_t> iterations;  // 0: compile, and infer nothing
  double seconds = 0;
  double max_rate = 0;  // samples per second
  bool warm_up = true;

  // Shapes and types.
  int64_t batch = 0;
  std::string shape, data_shape, layout;
  std::string input_type, output_type, port_types;
  std::string mean_values, scale_values;

  // How.
  std::string api;   // sync, async
  std::string hint;  // latency, throughput, cumulative_throughput, none
  bool hint_given = false;
  uint32_t requests = 0;
  std::string streams, infer_precision, pin;
  std::optional<int32_t> threads;
  std::optional<bool> inference_only;

  // What to tell.
  uint32_t latency_percentile = 50;
  std::string report_type;  // no_counters, average_counters, detailed_counters, sort_detailed_counters
  std::string report_folder;
  bool json_stats = false;
  std::string json_file;  // instead of benchmark_report.json in the report folder
  std::optional<bool> counters;
  std::string counters_order;  // sort, no_sort, simple_sort
  bool latency_per_shape = false;
  std::string exec_graph_path, dump_config, load_config;

  /// Name and value of each option on the command line, for the reports.
  std::vector<std::pair<std::string, std::string>> given;

  /// Adds every option to `app`; they fill this object, which must stay where it is.
  void add_to(CLI::App& app);
  /// Sets what follows from other options. Call it after parsing. Throws std::runtime_error that names the option.
  void complete(const CLI::App& app);

  bool is_async() const { return api == "async"; }
  /// Whether the model is a file that was exported.
  bool is_compiled() const { return std::filesystem::path(model).extension() == ".blob"; }
  bool compile_only() const { return iterations && *iterations == 0; }
  /// Whether an option asks for what single layers cost.
  bool wants_counters() const;
  bool wants_report() const { return !report_type.empty(); }

 private:
  void add_run_options(CLI::App& app);
  void add_shape_options(CLI::App& app);
  void add_device_options(CLI::App& app);
  void add_report_options(CLI::App& app);

  std::string json_word_;
};

}  // namespace benchmark_app
