#pragma once
// What: positions in the order of their scores, for the ops that choose boxes.
// Edge cases: of equal scores the first position wins; NaN is the worst score.
#include <cstdint>
#include <span>
#include <vector>

namespace terroir::ops::reference {

/// Positions of the best `most` of the scores, best first; all of them where there are fewer.
std::vector<int64_t> best_first(std::span<const float> scores, int64_t most = INT64_MAX);

}  // namespace terroir::ops::reference
