// test_differential: random small models over every operation, INTERPRETER against CPU (see judge.hpp), until the
// seconds are over or the seeds are used up. Deterministic: a model follows from its seed, which a failure prints
// together with the graph. Returns 1 when a model fails, or when an operation did not run often enough.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>

#include "ir/base/error.hpp"
#include "ir/text/printer.hpp"
#include "ops/registry.hpp"
#include "tests/differential/isa_choice.hpp"
#include "tests/differential/judge.hpp"
#include "tests/differential/recipes.hpp"
#include "tests/differential/supported.hpp"
#include "tests/support/crash_note.hpp"

namespace {

using namespace terroir;
using namespace terroir::test;

struct Options {
  uint64_t seeds = 12100, first = 0;
  bool single = false;
  double seconds = 0;
  std::string operation, isa;
  int threads = 2;
  int failures = 20;
  std::string checked_page, written_page;
};

void add_options(CLI::App& app, Options& options) {
  app.add_option("--seeds", options.seeds, "how many models, one per seed; the default: fifty per operation")
      ->capture_default_str();
  app.add_option("--first", options.first, "the first seed")->capture_default_str();
  app.add_option_function<uint64_t>(
      "--seed",
      [&options](const uint64_t& seed) {
        options.first = seed;
        options.seeds = 1;
        options.single = true;
      },
      "this seed alone: prints its graph, too");
  app.add_option("--seconds", options.seconds, "stop after so many seconds; 0: when the seeds are used up")
      ->capture_default_str();
  app.add_option("--op", options.operation, "TYPE-N: models around this operation only");
  app.add_option("--isa", options.isa, "an instruction set for all models; else another one for each");
  app.add_option("--threads", options.threads, "what is compared with one thread")->capture_default_str();
  app.add_option("--failures", options.failures, "stop after so many failures")->capture_default_str();
  app.add_option("--check-operations", options.checked_page,
                 "compare the table of operations in a Markdown page, and do nothing else");
  app.add_option("--write-operations", options.written_page, "renew that table, and do nothing else");
}

struct Tally {
  int executed = 0, refused_operands = 0, refused_models = 0, failed = 0;
};

class Runner {
 public:
  explicit Runner(Options options) : options_(std::move(options)) {
    for (const ir::OpSchema* schema : ops::builtin_registry().all())
      if (options_.operation.empty() || schema->display_name() == options_.operation)
        operations_.push_back(schema->display_name());
    std::sort(operations_.begin(), operations_.end());
    if (operations_.empty()) throw std::runtime_error("there is no operation " + options_.operation);
    isas_ = chosen_isa_names(options_.isa);
  }

  int run() {
    const auto start = std::chrono::steady_clock::now();
    for (uint64_t i = 0; i < options_.seeds && failures_ < options_.failures; ++i) {
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
      if (options_.seconds > 0 && passed.count() > options_.seconds) break;
      run_seed(options_.first + i);
    }
    return report();
  }

 private:
  /// The best instruction set for half of the models, the others in turn.
  const std::string& isa_of(uint64_t seed) const {
    const uint64_t turn = seed / operations_.size();
    return turn % 2 == 0 ? isas_.back() : isas_[turn / 2 % isas_.size()];
  }

  void run_seed(uint64_t seed) {
    const std::string& operation = operations_[seed % operations_.size()];
    const std::string& isa = isa_of(seed);
    const std::string again =
        concat("test_differential --seed ", seed, options_.operation.empty() ? "" : " --op " + operation,
               options_.isa.empty() ? "" : " --isa " + options_.isa);
    set_crash_note(operation + ": " + again);
    RandomModel model = random_model(seed, operation);
    if (options_.single) std::cout << ir::to_text(*model.graph) << '\n';
    Tally& tally = tallies_[operation];
    ++models_;
    if (!model.has_wanted) {
      ++tally.refused_operands;
      return;
    }
    const Judgement judgement = judge(model, seed, isa, options_.threads);
    switch (judgement.verdict) {
      case Verdict::agree:
        for (const std::string& name : model.operations) ++tallies_[name].executed;
        break;
      case Verdict::refused:
        ++tally.refused_models;
        if (options_.single) std::cout << "both devices refuse: " << judgement.text << '\n';
        break;
      case Verdict::differ: {
        ++tally.failed;
        ++failures_;
        std::cout << "FAILED " << operation << " on " << isa << ": " << judgement.text << '\n';
        std::cout << "  again: " << again << '\n';
        const RandomModel fewer = with_fewer_outputs(model, seed, isa, options_.threads);
        std::cout << ir::to_text(*fewer.graph) << std::endl;
      }
    }
  }

  int report() const {
    int executed = 0, refused = 0;
    for (const auto& [operation, tally] : tallies_) {
      executed += tally.executed;
      refused += tally.refused_operands + tally.refused_models;
    }
    std::cout << models_ << " models, " << failures_ << " failed, " << refused << " refused; " << executed
              << " operations ran\n";
    // The share of its models in which an operation must have run; its recipe is of no use else.
    const uint64_t rounds = models_ / operations_.size();
    const int wanted = static_cast<int>(rounds / 3);
    bool rotten = false;
    for (const std::string& operation : operations_) {
      const auto found = tallies_.find(operation);
      const Tally tally = found == tallies_.end() ? Tally{} : found->second;
      if (tally.executed >= wanted && !(rounds > 0 && options_.single)) continue;
      if (options_.single || tally.executed >= wanted) continue;
      rotten = true;
      std::cout << "RARE " << operation << " ran " << tally.executed << " times in " << rounds << " models about it ("
                << tally.refused_operands << " times its operands were refused, " << tally.refused_models
                << " times the model)\n";
    }
    return failures_ > 0 || rotten ? 1 : 0;
  }

  Options options_;
  std::vector<std::string> operations_;
  std::vector<std::string> isas_;
  std::map<std::string, Tally> tallies_;
  uint64_t models_ = 0;
  int failures_ = 0;
};

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error(path + " cannot be read");
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// 0 when the page says what is true; else prints the lines that do not.
int check_page(const std::string& path) {
  if (cpu::active_isa() < cpu::Isa::avx2) {
    std::cout << "SKIPPED: the page is that of avx2 and avx512\n";
    return 77;
  }
  const auto told = lines_of(text_of(path)), truth = lines_of(with_supported_operations(text_of(path)));
  if (told == truth) return 0;
  for (size_t i = 0; i < std::max(told.size(), truth.size()); ++i) {
    const std::string a = i < told.size() ? told[i] : "", b = i < truth.size() ? truth[i] : "";
    if (a != b) std::cout << "- " << a << "\n+ " << b << '\n';
  }
  std::cout << path << " is not true any more: test_differential --write-operations " << path << '\n';
  return 1;
}

int write_page(const std::string& path) {
  const std::string page = with_supported_operations(text_of(path));
  std::ofstream(path, std::ios::binary) << page;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Random small models over every operation, INTERPRETER against CPU."};
  Options options;
  add_options(app, options);
  CLI11_PARSE(app, argc, argv);
  try {
    note_crashes();
    if (!options.checked_page.empty()) return check_page(options.checked_page);
    if (!options.written_page.empty()) return write_page(options.written_page);
    return Runner(std::move(options)).run();
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
