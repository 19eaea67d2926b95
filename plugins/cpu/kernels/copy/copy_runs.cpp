#include "plugins/cpu/kernels/copy/copy_runs.hpp"

#include <algorithm>
#include <iterator>

namespace terroir::cpu {
namespace {

/// Whether `next` goes on where `last` ends, which has the step of both then. Any two single places are evenly spaced.
bool joins(CopyRun& last, const CopyRun& next) {
  if (last.src == kFill || next.src == kFill) return last.src == next.src;
  const int64_t step = last.count > 1 ? last.src_step : next.count > 1 ? next.src_step : next.src - last.src;
  if ((next.count > 1 && next.src_step != step) || next.src != last.src + last.count * step) return false;
  last.src_step = step;
  return true;
}

}  // namespace

void append_run(CopyRuns& runs, int64_t count, int64_t src, int64_t src_step) {
  if (count <= 0) return;
  const CopyRun next{runs.empty() ? 0 : runs.back().begin + runs.back().count, count, src, src_step};
  if (!runs.empty() && joins(runs.back(), next))
    runs.back().count += count;
  else
    runs.push_back(next);
}

CopyRuns runs_within(int64_t count, int64_t first, int64_t step, int64_t extent) {
  // Indices below whose places are before 0, before `extent`.
  const auto below = [&](int64_t place) {
    return std::clamp<int64_t>(place <= first ? 0 : (place - first - 1) / step + 1, 0, count);
  };
  const int64_t begin = below(0), end = below(extent);
  CopyRuns runs;
  append_run(runs, begin, kFill);
  append_run(runs, end - begin, first + begin * step, step);
  append_run(runs, count - end, kFill);
  return runs;
}

bool has_fill(const CopyRuns& runs) {
  return std::any_of(runs.begin(), runs.end(), [](const CopyRun& run) { return run.src == kFill; });
}

CopyRuns scaled(CopyRuns runs, int64_t by) {
  for (CopyRun& run : runs) {
    if (run.src == kFill) continue;
    run.src *= by;
    run.src_step *= by;
  }
  return runs;
}

std::vector<int64_t> sources_of(const CopyRuns& runs) {
  std::vector<int64_t> sources;
  if (!runs.empty()) sources.reserve(static_cast<size_t>(runs.back().begin + runs.back().count));
  for (const CopyRun& run : runs)
    for (int64_t i = run.begin; i < run.begin + run.count; ++i) sources.push_back(run.at(i));
  return sources;
}

const CopyRun* run_at(const CopyRuns& runs, int64_t index) {
  const auto behind =
      std::upper_bound(runs.begin(), runs.end(), index, [](int64_t at, const CopyRun& run) { return at < run.begin; });
  return &*std::prev(behind);
}

}  // namespace terroir::cpu
