// test_random_models: whole random models of 5 to 60 layers, run in every way there is (see examine.hpp), until the
// seconds are over or the seeds are used up. Deterministic: a model follows from its seed. A model that fails is made
// as small as it can be while it fails (shrink.hpp), printed, and written where one asks for it. Returns 1 when a model
// fails.
#include <malloc.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <map>
#include <optional>
#include <vector>

#include "ir/base/error.hpp"
#include "ir/text/printer.hpp"
#include "tests/differential/isa_choice.hpp"
#include "tests/random_models/examine.hpp"
#include "tests/random_models/files.hpp"
#include "tests/random_models/shrink.hpp"
#include "tests/support/crash_note.hpp"

namespace {

using namespace terroir;
using namespace terroir::test;

struct Options {
  uint64_t first = 0, models = 300;
  bool single = false;
  std::optional<double> seconds;
  std::string isa, check, folder;
  double shrink_seconds = 30;
  bool lists_kernels = false, large = false;
  int failures = 10;
};

void add_options(CLI::App& app, Options& options) {
  app.add_option("--first", options.first, "the first seed")->capture_default_str();
  app.add_option("--models", options.models, "how many models, one per seed")->capture_default_str();
  app.add_option_function<uint64_t>(
      "--seed",
      [&options](const uint64_t& seed) {
        options.first = seed;
        options.models = 1;
        options.single = true;
      },
      "this seed alone: prints its graph, too");
  app.add_option("--seconds", options.seconds, "stop after so many seconds, whatever --models says");
  app.add_option("--isa", options.isa, "an instruction set for all models; else the best for half, the others in turn");
  std::vector<std::string> names;
  std::string checks = "checks, in this order:";
  for (const CheckName& check : check_names()) {
    names.emplace_back(check.name);
    checks += concat("\n  ", check.name, ": ", check.what);
  }
  app.add_option("--check", options.check, "this check alone")->check(CLI::IsMember(names));
  app.add_option("--write", options.folder, "write each model that fails as IR files, as small as it gets");
  app.add_option("--shrink", options.shrink_seconds, "seconds spent on making a model smaller; 0: leave it as it is")
      ->capture_default_str();
  app.add_flag("--large", options.large, "networks that need many megabytes; seconds each");
  app.add_flag("--list-kernels", options.lists_kernels, "list the kernels that ran, with the number of their steps");
  app.add_option("--failures", options.failures, "stop after so many failures")->capture_default_str();
  app.footer(checks);
}

class Runner {
 public:
  explicit Runner(Options options) : options_(std::move(options)), isas_(chosen_isa_names(options_.isa)) {}

  int run() {
    const auto start = std::chrono::steady_clock::now();
    for (uint64_t i = 0; i < options_.models && failures_ < options_.failures; ++i) {
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
      if (options_.seconds && passed.count() > *options_.seconds) break;
      run_seed(options_.first + i);
    }
    report();
    return failures_ > 0 ? 1 : 0;
  }

 private:
  /// The best instruction set for half of the models, the others in turn.
  const std::string& isa_of(uint64_t seed) const {
    return seed % 2 == 0 ? isas_.back() : isas_[seed / 2 % isas_.size()];
  }

  void run_seed(uint64_t seed) {
    const std::string& isa = isa_of(seed);
    const std::string again =
        concat("test_random_models --seed ", seed, options_.isa.empty() ? "" : " --isa " + options_.isa,
               options_.large ? " --large" : "");
    set_crash_note(again);
    const Subject subject = random_subject(seed, options_.large);
    if (options_.single) std::cout << ir::to_text(*subject.graph) << '\n';
    ++models_;
    layers_ += subject.layers();
    const Examination found = examine(subject, seed, isa, options_.check);
    refused_ += found.refused;
    steps_ += found.steps;
    for (const auto& [check, count] : found.made) made_[check] += count;
    for (const auto& [kernel, count] : found.kernels) kernels_[kernel] += count;
    for (const auto& [type, count] : found.reference_steps) reference_steps_[type] += count;
    if (found.check.empty()) return;
    ++failures_;
    std::cout << "FAILED " << found.check << " on " << isa << ": " << found.text << "\n  again: " << again << std::endl;
    set_crash_note(again + ", while it was made smaller");
    const auto shows_fault = [&](const Subject& smaller) {
      return examine(smaller, seed, isa, found.check).check == found.check;
    };
    const Subject small = options_.shrink_seconds > 0 ? shrunk(subject, shows_fault, options_.shrink_seconds) : subject;
    std::cout << "  " << small.layers() << " of " << subject.layers()
              << " layers: " << examine(small, seed, isa, found.check).text << '\n'
              << ir::to_text(*small.graph) << std::endl;
    if (!options_.folder.empty()) write_files(small, options_.folder, concat("seed_", seed));
  }

  void report() const {
    int slow = 0;
    std::string types;
    for (const auto& [type, count] : reference_steps_) {
      slow += count;
      types += concat(types.empty() ? ": " : ", ", type, ' ', count);
    }
    std::cout << models_ << " models of " << layers_ << " layers, " << failures_ << " failed, " << refused_
              << " refused by both devices\nchecks:";
    for (const CheckName& check : check_names())
      if (const auto made = made_.find(std::string(check.name)); made != made_.end())
        std::cout << ' ' << check.name << ' ' << made->second << ';';
    std::cout << "\nREF steps: " << slow << " of " << steps_ << types << "\n" << kernels_.size() << " kernels\n";
    if (options_.lists_kernels)
      for (const auto& [kernel, count] : kernels_) std::cout << "  " << kernel << ' ' << count << '\n';
  }

  Options options_;
  std::vector<std::string> isas_;
  std::map<std::string, int> made_, reference_steps_, kernels_;
  uint64_t models_ = 0;
  size_t layers_ = 0;
  int failures_ = 0, refused_ = 0, steps_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Random models of 5 to 60 layers, run in every way there is."};
  Options options;
  add_options(app, options);
  CLI11_PARSE(app, argc, argv);
  try {
    note_crashes();
    ::mallopt(M_PERTURB, 0x80);  // fresh memory holds 3.4e38, so that a kernel that reads what nobody wrote shows
    return Runner(std::move(options)).run();
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
