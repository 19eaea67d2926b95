// The eleven steps of a run.
#pragma once

#include "benchmark_app/options.hpp"

namespace benchmark_app {

/// Reads, compiles, measures, prints and writes what the options say. Throws what goes wrong, after it has written the
/// report with the error in it.
void run(const Options& options);

}  // namespace benchmark_app
