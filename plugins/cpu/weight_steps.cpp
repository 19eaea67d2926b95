#include "plugins/cpu/weight_steps.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "ir/base/aligned_buffer.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

/// Whether all values are whole numbers of `steps` to a unit, nearly.
bool are_multiples(const float* values, int64_t count, float steps) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: sums with it have no fraction
  constexpr float kNear = 1.0f / 1024;
  constexpr int64_t kAtOnce = 256;
  for (int64_t begin = 0; begin < count; begin += kAtOnce) {
    int32_t far = 0;
    for (int64_t i = begin; i < std::min(begin + kAtOnce, count); ++i) {
      const float multiple = values[i] * steps;
      far |= std::abs(multiple - ((multiple + kRound) - kRound)) <= kNear ? 0 : 1;  // NaN is
    }
    if (far != 0) return false;
  }
  return true;
}

struct Range {
  float least, most;
};

/// Whatever it is where there is a NaN.
Range range_of(const float* values, int64_t count) {
  constexpr int64_t kAtOnce = 16;
  std::array<float, kAtOnce> least, most;
  least.fill(values[0]);
  most.fill(values[0]);
  int64_t i = 0;
  for (; i + kAtOnce <= count; i += kAtOnce)
    for (int64_t k = 0; k < kAtOnce; ++k) {
      const auto at = static_cast<size_t>(k);
      least[at] = values[i + k] < least[at] ? values[i + k] : least[at];
      most[at] = values[i + k] > most[at] ? values[i + k] : most[at];
    }
  for (; i < count; ++i) {
    least[0] = std::min(least[0], values[i]);
    most[0] = std::max(most[0], values[i]);
  }
  return {*std::min_element(least.begin(), least.end()), *std::max_element(most.begin(), most.end())};
}

/// 0: there is none.
float step_of(const float* values, int64_t count) {
  const auto [least, most] = range_of(values, count);
  if (!std::isfinite(least) || !std::isfinite(most)) return 0;
  if (least == 0 && most == 0) return are_multiples(values, count, 1) ? 1 : 0;  // not with a NaN among them
  // The largest one is some number of steps; as many as bytes can be first, as quantisers choose them.
  const float largest = std::max(-least, most);
  // There is no 128th step upwards, to which what is nearly as large would be rounded.
  for (int multiple = most < -least * (127.5f / 128) ? 128 : 127; multiple > 0; --multiple) {
    const float step = largest / static_cast<float>(multiple);
    if (step < std::numeric_limits<float>::min()) continue;
    if (are_multiples(values, count, static_cast<float>(multiple) / largest)) return step;
  }
  return 0;
}

ir::Constant steps_of(const ir::Constant& weights, int64_t rows, int64_t together, const parallel::Arena* arena) {
  const int64_t count = weights.view.count() / rows;
  const auto* const values = weights.view.as<float>();
  auto buffer = std::make_shared<AlignedBuffer>(static_cast<size_t>(rows) * sizeof(float));
  auto* const steps = buffer->as<float>();
  constexpr int64_t kAtOnce = 16;  // rows
  std::atomic<bool> all = true;
  const auto find = [&](int64_t task) {
    std::vector<float> row(together > 0 ? static_cast<size_t>(count) : 0);
    for (int64_t r = task * kAtOnce; r < std::min((task + 1) * kAtOnce, rows) && all.load(std::memory_order_relaxed);
         ++r) {
      for (int64_t i = 0; together > 0 && i < count; i += together)
        std::copy_n(values + i * rows + r * together, together, row.data() + i);
      steps[r] = step_of(together > 0 ? row.data() : values + r * count, count);
      if (steps[r] == 0) all = false;
    }
  };
  const int64_t tasks = ceil_div(rows, kAtOnce);
  if (arena)
    arena->parallel_for(tasks, find);
  else
    for (int64_t task = 0; task < tasks; ++task) find(task);
  if (!all) return {};
  return {{element::f32, {rows}, steps}, buffer};
}

}  // namespace

const ir::Constant* WeightSteps::get(const ir::Constant& weights, int64_t rows, int64_t together,
                                     const parallel::Arena* arena) {
  std::unique_lock lock(mutex_);
  const auto find = [&] {
    return std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
      return entry.data == weights.view.data && entry.rows == rows && entry.together == together;
    });
  };
  entries_.remove_if([](const Entry& entry) { return entry.owner.expired(); });
  auto known = find();
  if (known == entries_.end()) {
    // A user's executor may run another compilation in this thread meanwhile, which comes here.
    lock.unlock();
    ir::Constant steps = steps_of(weights, rows, together, arena);
    lock.lock();
    known = find();
    if (known == entries_.end())
      known = entries_.insert(entries_.end(), {weights.view.data, weights.owner, rows, together, std::move(steps)});
  }
  return known->steps.view.data ? &known->steps : nullptr;
}

}  // namespace terroir::cpu
