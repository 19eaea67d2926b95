#include "ops/reference/detection/best_first.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace terroir::ops::reference {

std::vector<int64_t> best_first(std::span<const float> scores, int64_t most) {
  // A total order of pairs, so a part of them can be found without sorting the rest.
  struct Scored {
    float score;
    int64_t position;
  };
  std::vector<Scored> all(scores.size());
  for (size_t i = 0; i < scores.size(); ++i)
    all[i] = {std::isnan(scores[i]) ? -std::numeric_limits<float>::infinity() : scores[i], static_cast<int64_t>(i)};
  const auto better = [](const Scored& a, const Scored& b) {
    return a.score > b.score || (a.score == b.score && a.position < b.position);
  };
  if (most < static_cast<int64_t>(all.size())) {
    std::nth_element(all.begin(), all.begin() + most, all.end(), better);
    all.resize(static_cast<size_t>(most));
  }
  std::sort(all.begin(), all.end(), better);
  std::vector<int64_t> order(all.size());
  for (size_t i = 0; i < all.size(); ++i) order[i] = all[i].position;
  return order;
}

}  // namespace terroir::ops::reference
