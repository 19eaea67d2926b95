// Tries what is in a library. Layers: random shapes, types, attributes, layouts and thread counts, and attributes that
// no model should have. Devices: small models, against the reference. Each is tried in a process of its own, so that
// one that crashes is reported like the others.
#include <sys/wait.h>
#include <unistd.h>

#include <terroir/device_abi.h>
#include <csignal>
#include <cstring>
#include <iostream>

#include "check_extension/device_trial.hpp"
#include "check_extension/trial.hpp"
#include "common/arguments.hpp"
#include "common/report.hpp"

namespace {

struct Options {
  std::string library;
  int trials = 200;
  uint64_t seed = 1;
};

int count_refused(const check::Findings& findings) {
  int refused = 0;
  for (const auto& [text, count] : findings.refusals) refused += count;
  return refused;
}

/// Exit codes of the process that tries something: others are those of a library that ends it.
enum Verdict { sound = 41, faulty = 42 };

Verdict print_faults(const std::string& name, const check::Findings& findings, const char* nothing) {
  for (const auto& [text, count] : findings.refusals)
    std::cout << "         refused " << count << " x: " << text << '\n';
  for (const auto& [what, fault] : findings.faults)
    std::cout << "[ FAULT ] " << name << ' ' << what << ", " << fault.count << " times, first with " << fault.example
              << '\n';
  if (findings.run == 0) std::cout << "[ FAULT ] " << name << " has computed nothing: " << nothing << '\n';
  std::cout.flush();
  return findings.sound() && findings.run > 0 ? sound : faulty;
}

/// `where` receives the seed of the trial at hand.
Verdict check_layer(const Options& options, const terroir_layer& layer, int where) {
  terroir::Core core;
  core.set_property(terroir::log::level(terroir::log::Level::NO));
  core.add_extension(options.library);
  check::Findings findings;
  for (int i = 0; i < options.trials; ++i) {
    const uint64_t seed = options.seed + static_cast<uint64_t>(i);
    if (pwrite(where, &seed, sizeof seed, 0) != sizeof seed)
      throw std::runtime_error("cannot write to a temporary file");
    check::run_trial(core, layer, seed, findings);
  }
  check::run_malformed(core, layer, options.seed, findings);
  samples::info() << layer.type << ": computed in " << findings.run << " trials, of these in " << findings.blocked
                  << " also between convolutions and in " << findings.dynamic << " with unknown extents; refused "
                  << count_refused(findings) << '\n';
  return print_faults(layer.type, findings, "no trial had inputs that it takes");
}

Verdict check_device(const Options& options, const std::string& device) {
  terroir::Core core;
  core.set_property(terroir::log::level(terroir::log::Level::NO));
  core.add_extension(options.library);
  check::Findings findings;
  check::run_device_trials(core, device, options.seed, findings);
  samples::info() << "device " << device << ": ran " << findings.run << " models, " << findings.dynamic
                  << " of them with unknown extents; refused " << count_refused(findings) << '\n';
  return print_faults("device " + device, findings, "there was no model all of whose layers it runs");
}

/// Runs `check` in a process of its own. What it writes to the file it is given is the seed to repeat a crash with.
template <typename Check>
bool check_apart(const std::string& name, Check check) {
  std::FILE* where = std::tmpfile();
  if (where == nullptr) throw std::runtime_error("cannot make a temporary file");
  std::cout.flush();
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error(std::string("cannot start a process: ") + std::strerror(errno));
  if (child == 0) _exit(check(fileno(where)));
  int status = 0;
  waitpid(child, &status, 0);
  uint64_t seed = 0;
  const bool known = pread(fileno(where), &seed, sizeof seed, 0) == sizeof seed;
  std::fclose(where);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (code == sound || code == faulty) return code == sound;
  std::cout << "[ FAULT ] " << name;
  if (WIFEXITED(status))
    std::cout << " ended the process with exit code " << code;
  else
    std::cout << " crashed (" << strsignal(WTERMSIG(status)) << ')';
  if (known) std::cout << "; again with --seed " << seed << " --trials 1";
  std::cout << '\n';
  return false;
}

int check_library(const Options& options) {
  const terroir_extension& extension = check::open_extension(options.library);
  const uint32_t devices = extension.abi_version >= 2 ? extension.device_count : 0;
  samples::info() << options.library << ": extension '" << (extension.name != nullptr ? extension.name : "") << "', "
                  << extension.layer_count << " layers, " << devices << " devices, " << options.trials
                  << " trials each layer\n";
  bool all_sound = true;
  for (uint32_t i = 0; i < extension.layer_count; ++i) {
    const terroir_layer& layer = *extension.layers[i];
    all_sound = check_apart(layer.type, [&](int where) { return check_layer(options, layer, where); }) && all_sound;
  }
  for (uint32_t i = 0; i < devices; ++i) {
    const std::string device = extension.devices[i]->name;
    all_sound = check_apart("device " + device, [&](int) { return check_device(options, device); }) && all_sound;
  }
  if (extension.layer_count + devices == 0) {
    std::cout << "[ FAULT ] it has neither layers nor devices\n";
    all_sound = false;
  }
  std::cout << (all_sound ? "No fault was found.\n" : "There are faults.\n");
  return all_sound ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Tries the layers and devices of an extension, and says what a user of them would complain about.",
               "terroir_check_extension");
  Options options;
  app.add_option("LIBRARY", options.library, "shared library with layers or devices")->required();
  app.add_option("--trials", options.trials, "random trials per layer")->capture_default_str();
  app.add_option("--seed", options.seed, "of the first trial; the next ones count on")->capture_default_str();
  return samples::run_sample(app, argc, argv, [&] { return check_library(options); });
}
