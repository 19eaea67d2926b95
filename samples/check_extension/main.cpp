// Tries the layers of a library: random shapes, types, attributes, layouts and thread counts, and attributes that no
// model should have. Each layer is tried in a process of its own, so that one that crashes is reported like the others.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <iostream>

#include "check_extension/trial.hpp"
#include "common/arguments.hpp"
#include "common/report.hpp"

namespace {

struct Options {
  std::string library;
  int trials = 200;
  uint64_t seed = 1;
};

void print(const std::string& layer, const check::Findings& findings) {
  int refused = 0;
  for (const auto& [text, count] : findings.refusals) refused += count;
  samples::info() << layer << ": computed in " << findings.run << " trials, of these in " << findings.blocked
                  << " also between convolutions and in " << findings.dynamic << " with unknown extents; refused "
                  << refused << '\n';
  for (const auto& [text, count] : findings.refusals)
    std::cout << "         refused " << count << " x: " << text << '\n';
  for (const auto& [what, fault] : findings.faults)
    std::cout << "[ FAULT ] " << layer << ' ' << what << ", " << fault.count << " times, first with " << fault.example
              << '\n';
  if (findings.run == 0)
    std::cout << "[ FAULT ] " << layer << " has computed nothing: no trial had inputs that it takes\n";
}

/// In a process of its own; `where` receives the seed of the trial at hand. Returns whether nothing was found.
int check_layer(const Options& options, const terroir_layer& layer, int where) {
  terroir::Core core;
  core.set_property(terroir::log::level(terroir::log::Level::NO));
  core.add_extension(options.library);
  check::Findings findings;
  for (int i = 0; i < options.trials; ++i) {
    const uint64_t seed = options.seed + static_cast<uint64_t>(i);
    if (pwrite(where, &seed, sizeof seed, 0) != sizeof seed) return 1;
    check::run_trial(core, layer, seed, findings);
  }
  check::run_malformed(core, layer, options.seed, findings);
  print(layer.type, findings);
  std::cout.flush();
  return findings.sound() && findings.run > 0 ? 0 : 1;
}

bool check_apart(const Options& options, const terroir_layer& layer) {
  std::FILE* where = std::tmpfile();
  if (where == nullptr) throw std::runtime_error("cannot make a temporary file");
  std::cout.flush();
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error(std::string("cannot start a process: ") + std::strerror(errno));
  if (child == 0) _exit(check_layer(options, layer, fileno(where)));
  int status = 0;
  waitpid(child, &status, 0);
  uint64_t seed = 0;
  const bool known = pread(fileno(where), &seed, sizeof seed, 0) == sizeof seed;
  std::fclose(where);
  if (WIFEXITED(status)) return WEXITSTATUS(status) == 0;
  std::cout << "[ FAULT ] " << layer.type << " crashed (" << strsignal(WTERMSIG(status)) << ')';
  if (known) std::cout << "; again with --seed " << seed << " --trials 1";
  std::cout << '\n';
  return false;
}

int check_library(const Options& options) {
  const terroir_extension& extension = check::open_extension(options.library);
  samples::info() << options.library << ": extension '" << (extension.name != nullptr ? extension.name : "") << "', "
                  << extension.layer_count << " layers, " << options.trials << " trials each\n";
  bool sound = extension.layer_count > 0;
  for (uint32_t i = 0; i < extension.layer_count; ++i) sound = check_apart(options, *extension.layers[i]) && sound;
  std::cout << (sound ? "No fault was found.\n" : "There are faults.\n");
  return sound ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Tries the layers of an extension, and says what a user of them would complain about.",
               "terroir_check_extension");
  Options options;
  app.add_option("LIBRARY", options.library, "shared library with layers")->required();
  app.add_option("--trials", options.trials, "random trials per layer")->capture_default_str();
  app.add_option("--seed", options.seed, "of the first trial; the next ones count on")->capture_default_str();
  return samples::run_sample(app, argc, argv, [&] { return check_library(options); });
}
