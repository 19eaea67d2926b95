#pragma once
// What: the sources of an axis of a copy as runs: neighbouring indices whose places in the source are evenly spaced, or
// that have none. A pad is three runs at most and a roll two, of whatever length; a table of indices is cut into runs.
// Cost: of what an axis is made of, not of its length.
#include <cstdint>
#include <vector>

namespace terroir::cpu {

/// No place in the source: the fill value.
inline constexpr int64_t kFill = INT64_MIN;

struct CopyRun {
  int64_t begin, count;  // indices [begin, begin + count)
  int64_t src;           // of the first; kFill: of none
  int64_t src_step;      // from index to index

  int64_t at(int64_t index) const { return src == kFill ? kFill : src + (index - begin) * src_step; }
};

/// In order, without gaps, from index 0.
using CopyRuns = std::vector<CopyRun>;

/// Puts `count` indices behind the last one, in its run where they go on; none where `count` is not positive.
void append_run(CopyRuns& runs, int64_t count, int64_t src, int64_t src_step = 0);

/// Indices i < count have the place first + i * step (step > 0) where that is in [0, extent), none elsewhere.
CopyRuns runs_within(int64_t count, int64_t first, int64_t step, int64_t extent);

bool has_fill(const CopyRuns& runs);

/// The same in units of another size.
CopyRuns scaled(CopyRuns runs, int64_t by);

/// The source of each index.
std::vector<int64_t> sources_of(const CopyRuns& runs);

/// The run that an index belongs to.
const CopyRun* run_at(const CopyRuns& runs, int64_t index);

}  // namespace terroir::cpu
