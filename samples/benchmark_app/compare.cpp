#include "benchmark_app/compare.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <set>

#include "common/arguments.hpp"

namespace benchmark_app {
namespace {

constexpr int kWorse = 2;
constexpr double kSameMachine = 0.05;    // measured peaks differ that much by themselves
constexpr double kLayerThreshold = 0.1;  // times of single layers are short
constexpr double kLayerShare = 0.01;     // of the model: below, a layer is not worth a line

template <typename... Values>
std::string format(const char* pattern, Values... values) {
  char text[256];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

const char* word(Verdict verdict) {
  return verdict == Verdict::slower ? "SLOWER" : verdict == Verdict::faster ? "faster" : "same";
}

double machine_ratio(const RunRecord& older, const RunRecord& newer) {
  if (!older.machine || !newer.machine || *older.machine <= 0 || *newer.machine <= 0) return 1;
  const double ratio = *older.machine / *newer.machine;
  return std::abs(ratio - 1) <= kSameMachine ? 1 : ratio;
}

std::string cost_text(const Cost& cost) {
  return format("%.3f ms (%.3f to %.3f)", cost.middle, cost.range.low, cost.range.high);
}

/// Layers that moved, by how much, and those that run on another kernel and moved.
void compare_layers(const RunRecord& older, const RunRecord& newer, double machine, std::vector<std::string>& lines) {
  std::vector<std::pair<double, std::string>> moved;
  for (const auto& [name, before] : older.layers) {
    const auto found = newer.layers.find(name);
    if (found == newer.layers.end()) continue;
    const LayerCost& after = found->second;
    const Judgement judgement = judge(before.cost, after.cost, kLayerThreshold, machine);
    const double difference = after.cost.middle - before.cost.middle;
    if (judgement.verdict == Verdict::same || std::abs(difference) < kLayerShare * older.latency.middle) continue;
    std::string line = format("    %-6s %+.3f ms (x%.2f)  ", word(judgement.verdict), difference, judgement.ratio) +
                       after.type + " '" + name + "'";
    if (before.implementation != after.implementation) {
      line += ", was " + before.implementation + ", is " + after.implementation;
    }
    moved.emplace_back(std::abs(difference), line);
  }
  std::sort(moved.begin(), moved.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& entry : moved) lines.push_back(entry.second);
}

}  // namespace

Judgement judge(const Cost& older, const Cost& newer, double threshold, double machine) {
  const double ratio = newer.middle / older.middle;
  // On the old run's machine the new figures might lie anywhere between as they are and divided by `machine`.
  const double least = 1 / std::max(1.0, machine), most = 1 / std::min(1.0, machine);
  if (newer.range.low * least > older.range.high && ratio * least > 1 + threshold) return {Verdict::slower, ratio};
  if (newer.range.high * most < older.range.low && ratio * most < 1 / (1 + threshold)) return {Verdict::faster, ratio};
  return {Verdict::same, ratio};
}

Comparison compare(const std::map<std::string, RunRecord>& older, const std::map<std::string, RunRecord>& newer,
                   double threshold) {
  Comparison result;
  const auto tell = [&](const std::string& line) { result.lines.push_back(line); };
  const auto tell_worse = [&](const std::string& line) {
    tell(line);
    result.is_worse = true;
  };
  std::set<std::string> matched;
  size_t slower = 0, faster = 0, same = 0;
  for (const auto& [key, before] : older) {
    auto found = newer.find(key);
    // A run that failed early does not know how it was to run.
    if (found == newer.end()) found = newer.find(key.substr(0, key.find(kKeySeparator)));
    if (found == newer.end()) {
      tell_worse("MISSING " + key + ": only in the old reports");
      continue;
    }
    matched.insert(found->first);
    const RunRecord& after = found->second;
    if (!after.error.empty()) {
      before.error.empty() ? tell_worse("FAILED  " + key + ": " + after.error)
                           : tell("failed  " + key + ", as before: " + after.error);
      continue;
    }
    if (!before.error.empty()) {
      tell("runs    " + key + ", which failed before");
      continue;
    }
    const double machine = machine_ratio(before, after);
    const Judgement judgement = judge(before.latency, after.latency, threshold, machine);
    (judgement.verdict == Verdict::slower ? slower : judgement.verdict == Verdict::faster ? faster : same) += 1;
    result.is_worse = result.is_worse || judgement.verdict == Verdict::slower;
    tell(format("%-7s x%.3f  ", word(judgement.verdict), judgement.ratio) + key + ": median " +
         cost_text(before.latency) + " -> " + cost_text(after.latency) +
         format(", %.2f -> %.2f FPS", before.throughput, after.throughput));
    if (machine != 1) {
      tell(format("    the machine itself was x%.2f as fast; a difference that this explains does not count",
                  1 / machine));
    }
    compare_layers(before, after, machine, result.lines);
  }
  for (const auto& [key, after] : newer) {
    if (matched.count(key) != 0) continue;
    tell("new     " + key + ": only in the new reports" + (after.error.empty() ? "" : ", failed: " + after.error));
  }
  tell(std::to_string(slower) + " slower, " + std::to_string(faster) + " faster, " + std::to_string(same) +
       " the same");
  return result;
}

int compare_main(int argc, char** argv) {
  CLI::App app(
      "Says which models and layers got slower or faster between two runs of benchmark_app --json_stats, beyond the "
      "noise of both. Several reports of the same run in a folder are taken together: their intervals are joined. Exit "
      "code: 0 nothing is worse, 2 a model is slower, missing or failed, 1 an error.",
      "benchmark_app compare");
  std::string older, newer;
  double percent = 3;
  app.add_option("OLD", older, "a report, or a folder of reports (.json)")->required();
  app.add_option("NEW", newer, "the same after the change")->required();
  app.add_option("--threshold", percent, "percent below which a difference does not matter")
      ->check(CLI::NonNegativeNumber.description(""))
      ->capture_default_str();
  return samples::run_sample(app, argc, argv, [&] {
    const Comparison comparison = compare(read_reports(older), read_reports(newer), percent / 100);
    for (const std::string& line : comparison.lines) std::cout << line << '\n';
    return comparison.is_worse ? kWorse : 0;
  });
}

}  // namespace benchmark_app
