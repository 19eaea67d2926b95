#pragma once
// What: positions in the order of their scores, for the ops that choose boxes.
// Cost: linear, by the digits of the scores: comparisons are guessed wrong half of the time.
// Edge cases: of equal scores the first position wins; NaN is the worst score, and above nothing.
#include <cstdint>
#include <span>
#include <vector>

namespace terroir::ops::reference {

/// Positions of the best `most` of the scores, best first; all of them where there are fewer.
std::vector<int64_t> best_first(std::span<const float> scores, int64_t most = INT64_MAX);

/// The same of those above `least`, or equal to it if `with_equal`.
template <class F>
std::vector<int64_t> best_above(std::span<const F> scores, F least, bool with_equal, int64_t most = INT64_MAX);
extern template std::vector<int64_t> best_above(std::span<const float>, float, bool, int64_t);
extern template std::vector<int64_t> best_above(std::span<const double>, double, bool, int64_t);

}  // namespace terroir::ops::reference
