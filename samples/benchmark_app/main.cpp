// Measures latency and throughput of a model, in the eleven steps and with the options of OpenVINO's tool of this name,
// and compares two such measurements.
#include <cstring>

#include "benchmark_app/compare.hpp"
#include "benchmark_app/options.hpp"
#include "benchmark_app/session.hpp"
#include "common/arguments.hpp"

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "compare") == 0) {
    return benchmark_app::compare_main(argc - 1, argv + 1);
  }
  CLI::App app("Measures the latency and the throughput of a model. Options of several letters take one dash or two.",
               "benchmark_app");
  app.footer("benchmark_app compare OLD.json NEW.json says what got slower between two reports of --json_stats.");
  benchmark_app::Options options;
  options.add_to(app);
  constexpr int kError = 3;  // as OpenVINO's
  const auto body = [&] {
    options.complete(app);
    benchmark_app::run(options);
    return 0;
  };
  return samples::run_sample(app, argc, argv, body, kError);
}
