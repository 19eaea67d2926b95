// The command line of benchmark_app.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

struct Options {
  enum class Api { sync, async };
  enum class Hint { latency, throughput, none };

  std::string model;
  std::string device = "CPU";
  std::vector<std::string> extensions;  // libraries with layers of their own
  int64_t batch = 0;                    // 0: as in the model
  uint64_t iterations = 0;              // 0: no such limit
  double seconds = 0;                   // 0: no such limit
  uint32_t requests = 0;                // 0: as many as the compiled model wants
  std::string streams;                  // empty: as the hint says
  std::optional<int32_t> threads;
  Api api = Api::async;
  Hint hint = Hint::none;
  std::string shape, data_shape;
  bool counters = false;
  std::string json_file;  // empty: none is written

  /// Adds every option to `app`; they fill this object, which must stay where it is.
  void add_to(CLI::App& app);
  /// What is not on the command line: 60 seconds if nothing limits the run; throughput for the asynchronous interface
  /// and latency for the other, unless streams are given. Call it after parsing.
  void complete(const CLI::App& app);

 private:
  std::string api_word_ = "async", hint_word_, report_folder_ = ".";
};

const char* to_string(Options::Api api);
const char* to_string(Options::Hint hint);
