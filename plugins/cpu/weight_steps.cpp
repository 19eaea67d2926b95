#include "plugins/cpu/weight_steps.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/base/aligned_buffer.hpp"

namespace terroir::cpu {
namespace {

/// Whether all values are whole numbers of `steps` to a unit, nearly.
bool are_multiples(const float* values, int64_t count, float steps) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: sums with it have no fraction
  constexpr float kNear = 1.0f / 1024;
  constexpr int64_t kAtOnce = 256;
  for (int64_t begin = 0; begin < count; begin += kAtOnce) {
    bool near = true;
    for (int64_t i = begin; i < std::min(begin + kAtOnce, count); ++i) {
      const float multiple = values[i] * steps;
      near &= std::abs(multiple - ((multiple + kRound) - kRound)) <= kNear;  // no NaN is
    }
    if (!near) return false;
  }
  return true;
}

/// 0: there is none.
float step_of(const float* values, int64_t count) {
  const auto [least, most] = std::minmax_element(values, values + count);
  if (!std::isfinite(*least) || !std::isfinite(*most)) return 0;
  if (*least == 0 && *most == 0) return 1;
  // The largest one is some number of steps; as many as bytes can be first, as quantisers choose them.
  const float largest = std::max(-*least, *most);
  // There is no 128th step upwards, to which what is nearly as large would be rounded.
  for (int multiple = *most < -*least * (127.5f / 128) ? 128 : 127; multiple > 0; --multiple) {
    const float step = largest / static_cast<float>(multiple);
    if (step < std::numeric_limits<float>::min()) continue;
    if (are_multiples(values, count, static_cast<float>(multiple) / largest)) return step;
  }
  return 0;
}

ir::Constant steps_of(const ir::Constant& weights, int64_t rows, bool columns) {
  const int64_t count = weights.view.count() / rows;
  const auto* const values = weights.view.as<float>();
  std::vector<float> column(columns ? static_cast<size_t>(count) : 0);
  auto buffer = std::make_shared<AlignedBuffer>(static_cast<size_t>(rows) * sizeof(float));
  auto* const steps = buffer->as<float>();
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; columns && i < count; ++i) column[static_cast<size_t>(i)] = values[i * rows + r];
    steps[r] = step_of(columns ? column.data() : values + r * count, count);
    if (steps[r] == 0) return {};
  }
  return {{element::f32, {rows}, steps}, buffer};
}

}  // namespace

const ir::Constant* WeightSteps::get(const ir::Constant& weights, int64_t rows, bool columns) {
  const std::lock_guard lock(mutex_);
  entries_.remove_if([](const Entry& entry) { return entry.owner.expired(); });
  const auto known = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.data == weights.view.data && entry.rows == rows && entry.columns == columns;
  });
  const Entry& entry = known != entries_.end()
                           ? *known
                           : entries_.emplace_back(Entry{weights.view.data, weights.owner, rows, columns,
                                                         steps_of(weights, rows, columns)});
  return entry.steps.view.data ? &entry.steps : nullptr;
}

}  // namespace terroir::cpu
