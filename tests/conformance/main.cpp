// test_conformance [--device NAME] [--variant as_read|rewritten|dynamic|stored] [--op TYPE-N] [--case NAME] [--root
// FOLDER]
// [--exclusions FILE] [--failures FILE] Runs every case whose operations this build knows and prints, per operation,
// how many passed, failed, are excluded and are not yet supported. Results that the specification leaves open are
// judged by what it does say (open_order.hpp, sixteen_bits.hpp). Each operation runs in a process of its own, so a
// crash is a failure of one case and not the end of the table. Returns 1 when a case fails, 77 (ctest: skipped) when
// there are no cases.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>

#include "ir/base/error.hpp"
#include "tests/conformance/conformance.hpp"
#include "tests/support/device.hpp"

namespace {

namespace fs = std::filesystem;
using namespace terroir::test;

constexpr int kSkipped = 77;
constexpr unsigned kSecondsPerOperation = 300;  // far above what any takes, sanitizers included

struct Options {
  std::string device = "INTERPRETER", variant = "as_read", operation, name, root, failures;
  std::string exclusions = TERROIR_SOURCE_DIR "/tests/conformance/exclusions.txt";
};

struct Tally {
  int passed = 0, within_rounding = 0, failed = 0, excluded = 0, unsupported = 0;
  Tally& operator+=(const Tally& other) {
    passed += other.passed, within_rounding += other.within_rounding, failed += other.failed;
    excluded += other.excluded, unsupported += other.unsupported;
    return *this;
  }
};

struct Report {
  Tally tally;
  std::vector<std::string> failures;
};

Options parse_options(int argc, char** argv) {
  Options options;
  const char* root = std::getenv("TERROIR_SHARED_DIR");
  options.root = std::string(root ? root : TERROIR_SHARED_DIR) + "/conformance";
  const std::map<std::string, std::string*> known = {
      {"--device", &options.device},    {"--variant", &options.variant}, {"--op", &options.operation},
      {"--case", &options.name},        {"--root", &options.root},       {"--exclusions", &options.exclusions},
      {"--failures", &options.failures}};
  for (int i = 1; i < argc; ++i) {
    const auto option = known.find(argv[i]);
    if (option == known.end() || i + 1 == argc) {
      std::string text;
      for (const auto& entry : known) text += " [" + entry.first + " VALUE]";
      std::cerr << "usage: " << argv[0] << text << '\n';
      std::exit(2);
    }
    *option->second = argv[++i];
  }
  return options;
}

Variant variant_of(const Options& options) {
  if (options.variant == "as_read") return Variant::as_read;
  if (options.variant == "rewritten") return Variant::rewritten;
  if (options.variant == "dynamic") return Variant::dynamic;
  if (options.variant == "stored") return Variant::stored;
  throw std::runtime_error("there is no variant '" + options.variant + "'");
}

std::vector<fs::path> sorted_folders(const fs::path& root) {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(root))
    if (entry.is_directory()) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  return folders;
}

/// Runs the cases in this process and writes one line per case: its name, a tab, and what is wrong.
void run_cases(const std::vector<fs::path>& cases, const Options& options, int pipe) {
  alarm(kSecondsPerOperation);
  for (const fs::path& folder : cases) {
    const CaseResult result = run_case(folder, options.device, variant_of(options));
    std::string line = folder.filename().string() + (result.within_rounding ? "\t~" : "\t=") + result.wrong;
    std::replace(line.begin(), line.end(), '\n', ' ');
    line += '\n';
    for (size_t done = 0; done < line.size();) {
      const ssize_t written = write(pipe, line.data() + done, line.size() - done);
      if (written <= 0) _exit(3);
      done += static_cast<size_t>(written);
    }
  }
}

/// By case name, of the cases that came to an end; how the process ended, if not well, in `crash`.
std::map<std::string, CaseResult> run_apart(const std::vector<fs::path>& cases, const Options& options,
                                            std::string& crash) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("pipe failed");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) {
    close(ends[0]);
    run_cases(cases, options, ends[1]);
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status))
    crash =
        WTERMSIG(status) == SIGALRM ? "did not end in time" : std::string("crashed: ") + strsignal(WTERMSIG(status));
  else if (WEXITSTATUS(status) != 0)
    crash = "ended with code " + std::to_string(WEXITSTATUS(status));
  std::map<std::string, CaseResult> results;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t tab = line.find('\t');
    results[line.substr(0, tab)] = {line.substr(tab + 2), line[tab + 1] == '~'};
  }
  return results;
}

Report run_operation(const fs::path& folder, const Options& options,
                     const std::map<std::string, std::string>& exclusions) {
  Report report;
  std::vector<fs::path> cases;
  for (const fs::path& path : sorted_folders(folder)) {
    if (!options.name.empty() && path.filename() != options.name) continue;
    if (unknown_operations(path / "model.xml").empty())
      cases.push_back(path);
    else
      ++report.tally.unsupported;
  }
  // After a crash the rest of the cases goes on in a new process.
  for (auto next = cases.begin(); next != cases.end();) {
    std::string crash;
    auto results = run_apart({next, cases.end()}, options, crash);
    for (; next != cases.end(); ++next) {
      const std::string name = folder.filename().string() + '/' + next->filename().string();
      const auto result = results.find(next->filename().string());
      const bool crashed = result == results.end();
      const std::string wrong = !crashed ? result->second.wrong : crash.empty() ? "gave no result" : crash;
      const auto exclusion = exclusions.find(name);
      if (exclusion != exclusions.end() && !wrong.empty()) {
        ++report.tally.excluded;
      } else if (exclusion != exclusions.end()) {
        ++report.tally.failed;
        report.failures.push_back(name + ": is excluded (" + exclusion->second + "), but passes");
      } else if (wrong.empty()) {
        ++report.tally.passed;
        if (result->second.within_rounding) ++report.tally.within_rounding;
      } else {
        ++report.tally.failed;
        report.failures.push_back(name + ": " + wrong);
      }
      if (crashed) {
        ++next;
        break;
      }
    }
  }
  return report;
}

void print_row(const std::string& name, const Tally& tally) {
  std::printf("%-52s %6d %6d %8d %17d\n", name.c_str(), tally.passed, tally.failed, tally.excluded, tally.unsupported);
  std::fflush(stdout);
}

int run(const Options& options) {
  const auto devices = device_names();
  if (std::find(devices.begin(), devices.end(), options.device) == devices.end()) {
    std::cout << "SKIPPED: this build has no device " << options.device << '\n';
    return kSkipped;
  }
  if (!fs::is_directory(options.root)) {
    std::cout << "SKIPPED: there are no conformance cases at '" << options.root << "' (TERROIR_SHARED_DIR)\n";
    return kSkipped;
  }
  variant_of(options);
  const auto exclusions = read_exclusions(options.exclusions);
  for (const auto& [name, reason] : exclusions)
    if (!fs::is_directory(fs::path(options.root) / name))
      throw std::runtime_error(options.exclusions + ": there is no case " + name);
  std::printf("%-52s %6s %6s %8s %17s\n", ("operation on " + options.device + ", " + options.variant).c_str(), "passed",
              "failed", "excluded", "not yet supported");
  Tally total;
  std::vector<std::string> failures;
  for (const fs::path& folder : sorted_folders(options.root)) {
    if (!options.operation.empty() && folder.filename() != options.operation) continue;
    const Report report = run_operation(folder, options, exclusions);
    print_row(folder.filename().string(), report.tally);
    total += report.tally;
    failures.insert(failures.end(), report.failures.begin(), report.failures.end());
  }
  print_row("total", total);
  std::printf("%d of the passed ones lie beyond their tolerance, within what rounding to 16 bits explains\n",
              total.within_rounding);
  for (const std::string& failure : failures) std::printf("FAILED %s\n", failure.c_str());
  if (!options.failures.empty()) {
    std::ofstream out(options.failures);
    for (const std::string& failure : failures) out << failure << '\n';
  }
  if (total.passed + total.failed + total.excluded + total.unsupported == 0) {
    std::cerr << "no case matches\n";
    return 2;
  }
  return total.failed > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(parse_options(argc, argv));
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
