#include "ir/pass/pass_manager.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ir/base/error.hpp"
#include "ir/base/log.hpp"
#include "ir/graph/verify.hpp"
#include "ir/pass/disabled_passes.hpp"
#include "ir/text/printer.hpp"

namespace terroir::ir {

std::string disabled_passes() {
  const char* text = std::getenv("TERROIR_DISABLE_PASS");
  return text != nullptr ? text : "";
}

namespace {

std::vector<std::string> separated(const std::string& text) {
  std::vector<std::string> names;
  std::istringstream list(text);
  for (std::string name; std::getline(list, name, ',');) names.push_back(name);
  return names;
}

void dump(const Graph& graph, const std::string& pass, size_t step) {
  const char* folder = std::getenv("TERROIR_DUMP");
  if (!folder) return;
  std::error_code ignored;  // the stream below tells whether the folder can be written
  std::filesystem::create_directories(folder, ignored);
  const auto path = std::filesystem::path(folder) / (std::to_string(step) + "_" + pass + ".txt");
  std::ofstream file(path);
  if (!(file << to_text(graph)))
    throw_error(ErrorCode::file_not_found, "TERROIR_DUMP: cannot write '", path.string(), "'");
}

void check(const Graph& graph, const std::string& pass) {
#ifdef TERROIR_CHECKED
  const std::vector<std::string> problems = verify(graph);
  if (!problems.empty())
    throw_error(ErrorCode::general, "internal error: pass ", pass, " left a broken graph: ", problems.front());
#else
  (void)graph;
  (void)pass;
#endif
}

PassReport run_one(const Pass& pass, Graph& graph) {
  const auto start = std::chrono::steady_clock::now();
  PassReport report{pass.name};
  Patch patch;
  pass.run(graph, patch);
  report.edits = patch.size();
  if (report.edits > 0) {
    report.erased = apply(std::move(patch), graph);
    check(graph, pass.name);
  }
  report.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace

void PassManager::add(Pass pass) { groups_.push_back({{std::move(pass)}, 0}); }

void PassManager::add_until_stable(std::vector<Pass> passes, int cap) {
  groups_.push_back({std::move(passes), std::max(cap, 1)});
}

std::vector<PassReport> PassManager::run(Graph& graph) const {
  const std::vector<std::string> disabled = separated(disabled_passes());
  std::vector<PassReport> reports;
  for (const Group& group : groups_) {
    for (int round = 0;; ++round) {
      std::string active;
      for (const Pass& pass : group.passes) {
        if (std::find(disabled.begin(), disabled.end(), pass.name) != disabled.end()) continue;
        PassReport report = run_one(pass, graph);
        if (report.edits > 0) {
          active += (active.empty() ? "" : ", ") + pass.name;
          if (log_enabled(LogCategory::pass))
            log_line(LogCategory::pass, concat(pass.name, ": ", report.edits, " edits, ", report.erased,
                                               " nodes erased, ", report.milliseconds, " ms"));
          dump(graph, pass.name, reports.size());
        }
        reports.push_back(std::move(report));
      }
      if (active.empty() || group.cap == 0) break;
      if (round + 1 < group.cap) continue;
#ifdef TERROIR_CHECKED
      throw_error(ErrorCode::general, "internal error: passes do not settle after ", group.cap, " rounds: ", active);
#else
      if (log_enabled(LogCategory::pass))
        log_line(LogCategory::pass, concat("passes do not settle after ", group.cap, " rounds: ", active));
      break;
#endif
    }
  }
  return reports;
}

}  // namespace terroir::ir
