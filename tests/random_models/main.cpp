// test_random_models: whole random models of 5 to 60 layers, run in every way there is (see examine.hpp), until the
// seconds are over or the seeds are used up. Deterministic: a model follows from its seed. A model that fails is made
// as small as it can be while it fails (shrink.hpp), printed, and written where one asks for it. Returns 1 when a model
// fails.
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <optional>
#include <vector>

#include "ir/base/error.hpp"
#include "ir/text/printer.hpp"
#include "tests/random_models/examine.hpp"
#include "tests/random_models/files.hpp"
#include "tests/random_models/shrink.hpp"
#include "tests/support/crash_note.hpp"

namespace {

using namespace terroir;
using namespace terroir::test;

constexpr const char* kUsage =
    "usage: test_random_models [options]\n"
    "  --first N      the first seed (default: 0)\n"
    "  --models N     how many models, one per seed (default: 300)\n"
    "  --seed N       this seed alone: prints its graph, too\n"
    "  --seconds S    stop after so many seconds, whatever --models says\n"
    "  --isa NAME     an instruction set for all models (default: the best for half of them, the others in turn)\n"
    "  --check NAME   this check alone\n"
    "  --write FOLDER write each model that fails as IR files, as small as it gets\n"
    "  --shrink S     spend so many seconds on making a model smaller (default: 30; 0: leave it as it is)\n"
    "  --size large   networks that need many megabytes; seconds each\n"
    "  --kernels all  list the kernels that ran, with the number of their steps\n"
    "  --failures N   stop after so many failures (default: 10)\n"
    "checks, in this order:\n";

struct Options {
  uint64_t first = 0, models = 300;
  bool single = false;
  std::optional<double> seconds;
  std::string isa, check, folder;
  double shrink_seconds = 30;
  bool lists_kernels = false, large = false;
  int failures = 10;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) throw std::runtime_error(name + " needs a value");
    const std::string value = argv[i + 1];
    if (name == "--first")
      options.first = std::stoull(value);
    else if (name == "--models")
      options.models = std::stoull(value);
    else if (name == "--seed")
      options.first = std::stoull(value), options.models = 1, options.single = true;
    else if (name == "--seconds")
      options.seconds = std::stod(value);
    else if (name == "--isa")
      options.isa = value;
    else if (name == "--check")
      options.check = value;
    else if (name == "--write")
      options.folder = value;
    else if (name == "--shrink")
      options.shrink_seconds = std::stod(value);
    else if (name == "--size")
      options.large = value == "large";
    else if (name == "--kernels")
      options.lists_kernels = value == "all";
    else if (name == "--failures")
      options.failures = std::stoi(value);
    else
      throw std::runtime_error("there is no option " + name);
  }
  const auto names = check_names();
  if (!options.check.empty() &&
      std::none_of(names.begin(), names.end(), [&](const CheckName& check) { return check.name == options.check; }))
    throw std::runtime_error("there is no check " + options.check);
  return options;
}

class Runner {
 public:
  explicit Runner(Options options) : options_(std::move(options)), isas_(cpu::available_isas()) {
    if (const char* forced = std::getenv("TERROIR_FORCE_ISA"); forced && *forced && options_.isa.empty())
      options_.isa = forced;
    if (options_.isa.empty()) return;
    const auto isa = cpu::parse_isa(options_.isa);
    if (!isa || !cpu::isa_available(*isa)) throw std::runtime_error("there is no instruction set " + options_.isa);
    isas_ = {*isa};
  }

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
  cpu::Isa isa_of(uint64_t seed) const { return seed % 2 == 0 ? isas_.back() : isas_[seed / 2 % isas_.size()]; }

  void run_seed(uint64_t seed) {
    const cpu::Isa isa = isa_of(seed);
    const std::string again =
        concat("test_random_models --seed ", seed, options_.isa.empty() ? "" : " --isa " + options_.isa,
               options_.large ? " --size large" : "");
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
    std::cout << "FAILED " << found.check << " on " << cpu::isa_name(isa) << ": " << found.text
              << "\n  again: " << again << std::endl;
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
  std::vector<cpu::Isa> isas_;
  std::map<std::string, int> made_, reference_steps_, kernels_;
  uint64_t models_ = 0;
  size_t layers_ = 0;
  int failures_ = 0, refused_ = 0, steps_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    note_crashes();
    ::mallopt(M_PERTURB, 0x80);  // fresh memory holds 3.4e38, so that a kernel that reads what nobody wrote shows
    return Runner(parse(argc, argv)).run();
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n' << kUsage;
    for (const CheckName& check : check_names()) std::cerr << "  " << check.name << ": " << check.what << '\n';
    return 2;
  }
}
