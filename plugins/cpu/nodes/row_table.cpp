#include "plugins/cpu/nodes/row_table.hpp"
#include "plugins/cpu/rounding.hpp"

#include <algorithm>

namespace terroir::cpu {

RowTable::RowTable(int64_t outputs, int64_t taps, int64_t lanes)
    : outputs_(outputs),
      taps_(taps),
      lanes_(lanes),
      stride_(round_up(outputs, lanes)),
      index_(static_cast<size_t>(taps_ * stride_), 0),
      near_(index_.size() / static_cast<size_t>(lanes), -1),
      weight_(index_.size(), 0.0f) {}

void RowTable::set(int64_t tap, int64_t output, int64_t index, float weight) {
  const auto at = static_cast<size_t>(tap * stride_ + output);
  index_[at] = static_cast<int32_t>(index);
  weight_[at] = weight;
}

void RowTable::finish(int64_t readable) {
  share_weights();
  find_near(readable);
}

/// Outputs of fewer taps than others have their last one several times, with a part of its weight each: then no tap
/// weighs 0, of which NaN and infinities would have to be kept away. Halves are exact.
void RowTable::share_weights() {
  for (int64_t output = 0; output < outputs_; ++output) {
    for (int64_t tap = 0; tap < taps_; ++tap) {
      const auto at = static_cast<size_t>(tap * stride_ + output);
      if (weight_[at] != 0) continue;
      if (tap == 0) {
        has_holes_ = true;
        break;
      }
      const size_t before = at - static_cast<size_t>(stride_);
      index_[at] = index_[before];
      weight_[at] = weight_[before] /= 2;
    }
  }
}

void RowTable::find_near(int64_t readable) {
  for (size_t vector = 0; vector < near_.size(); ++vector) {
    const size_t begin = vector * static_cast<size_t>(lanes_), end = begin + static_cast<size_t>(lanes_);
    int64_t low = readable, high = -1;
    for (size_t i = begin; i < end; ++i) {
      if (weight_[i] == 0) continue;
      low = std::min<int64_t>(low, index_[i]);
      high = std::max<int64_t>(high, index_[i]);
    }
    const int64_t from = std::min(low, readable - lanes_);
    if (from < 0 || high - from >= lanes_) continue;
    near_[vector] = static_cast<int32_t>(from);
    for (size_t i = begin; i < end; ++i) index_[i] = weight_[i] == 0 ? 0 : index_[i] - near_[vector];
  }
}

size_t RowTable::bytes() const {
  return (index_.size() + near_.size()) * sizeof(int32_t) + weight_.size() * sizeof(float);
}

}  // namespace terroir::cpu
