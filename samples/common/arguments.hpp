// The command line and the end of a sample: OpenVINO's spellings of options, one line for an error.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace samples {

/// Parses, with long options in one dash or two: "-niter 10" and "--niter 10" are the same.
/// Throws CLI::ParseError.
void parse_arguments(CLI::App& app, int argc, char** argv);

/// Runs `body` and returns the exit code: what `body` returns, 0 after --help, or `after_error` after any error, whose
/// text goes to the standard error stream as one line "[ ERROR ] ...".
int run_sample(CLI::App& app, int argc, char** argv, const std::function<int()>& body, int after_error = 1);

}  // namespace samples
