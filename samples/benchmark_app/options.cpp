#include "benchmark_app/options.hpp"

#include <cmath>
#include <cstdlib>

const char* to_string(Options::Api api) { return api == Options::Api::sync ? "sync" : "async"; }

const char* to_string(Options::Hint hint) {
  switch (hint) {
    case Options::Hint::latency:
      return "latency";
    case Options::Hint::throughput:
      return "throughput";
    case Options::Hint::none:
      break;
  }
  return "none";
}

namespace {

constexpr const char* kJsonStats = "--json_stats";

CLI::Validator at_least(double least, const std::string& words) {
  return CLI::Validator(
      [least, words](std::string& text) {
        char* end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        const bool fits = !text.empty() && *end == '\0' && std::isfinite(value) && value >= least;
        return fits ? std::string() : "must be " + words + ", got '" + text + "'";
      },
      "");
}

}  // namespace

void Options::add_to(CLI::App& app) {
  const CLI::Validator positive = at_least(1, "a number of at least 1");
  app.add_option("-m,--model", model, "IR model, .xml")->required();
  app.add_option("-d,--device", device, "device to run on")->capture_default_str();
  app.add_option("--extensions", extensions, "libraries with layers of the model, separated by commas")->delimiter(',');
  app.add_option(
         "-b,--batch", batch,
         "batch size: the extent of axis N of the inputs (the first axis if the model has no layouts); default: "
         "as in the model")
      ->check(positive);
  app.add_option("--shape", shape, "shapes of the inputs: \"[1,3,224,224]\" or \"data[1,3,?,?],mask[1,10]\"");
  app.add_option("--data_shape", data_shape,
                 "shapes of the tensors given to inputs whose shape is dynamic, written as for --shape");
  app.add_option("--api", api_word_, "sync or async")
      ->check(CLI::IsMember({"sync", "async"}).description(""))
      ->capture_default_str();
  app.add_option("--hint", hint_word_,
                 "latency, throughput or none; default: throughput for async, latency for sync, none with --nstreams")
      ->check(CLI::IsMember({"latency", "throughput", "none"}).description(""));
  app.add_option("--niter", iterations, "least number of iterations")->check(positive);
  app.add_option("-t,--time", seconds, "least duration in seconds; default: 60 if there is no --niter")
      ->check(at_least(1e-3, "a number of seconds above 0"));
  app.add_option("--nireq", requests, "number of inference requests; default: what the compiled model asks for")
      ->check(positive);
  app.add_option("--nstreams", streams, "number of streams, or AUTO");
  app.add_option("--nthreads", threads, "number of threads of all streams together; 0: as many as there are")
      ->check(at_least(0, "a number of at least 0"));
  app.add_flag("--pc", counters, "print what each layer of the last inference cost");
  app.add_option(kJsonStats, json_file,
                 "write the results as JSON, to this file or to benchmark_report.json in the report folder")
      ->expected(0, 1);
  app.add_option("--report_folder", report_folder_, "folder for the JSON file")->capture_default_str();
}

void Options::complete(const CLI::App& app) {
  if (iterations == 0 && seconds == 0) seconds = 60;
  api = api_word_ == "sync" ? Api::sync : Api::async;
  if (hint_word_.empty()) hint_word_ = !streams.empty() ? "none" : api == Api::sync ? "latency" : "throughput";
  hint = hint_word_ == "latency" ? Hint::latency : hint_word_ == "throughput" ? Hint::throughput : Hint::none;
  if (app.count(kJsonStats) == 0) {
    json_file.clear();
  } else if (json_file.empty()) {
    json_file = report_folder_ + "/benchmark_report.json";
  }
}
