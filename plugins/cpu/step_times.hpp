#pragma once
// What: how long each step took on the average of the inferences of all requests of a compiled model.
// Threads: any.
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "plugins/cpu/plan.hpp"

namespace terroir::cpu {

class StepTimes {
 public:
  void add(const std::shared_ptr<const Plan>& plan, std::span<const std::chrono::nanoseconds> times) {
    const std::lock_guard lock(mutex_);
    std::erase_if(sums_, [](const Sum& sum) { return sum.plan.expired(); });
    for (Sum& sum : sums_) {
      if (sum.plan.lock() != plan) continue;
      ++sum.runs;
      for (size_t i = 0; i < times.size(); ++i) sum.times[i] += times[i];
      return;
    }
    sums_.push_back({plan, 1, {times.begin(), times.end()}});
  }

  /// Nothing if the plan has not run.
  std::optional<std::chrono::nanoseconds> mean(const Plan& plan, size_t step) const {
    const std::lock_guard lock(mutex_);
    for (const Sum& sum : sums_)
      if (sum.plan.lock().get() == &plan) return sum.times[step] / sum.runs;
    return std::nullopt;
  }

 private:
  struct Sum {
    std::weak_ptr<const Plan> plan;
    int64_t runs = 0;
    std::vector<std::chrono::nanoseconds> times;  // by step
  };
  mutable std::mutex mutex_;
  std::vector<Sum> sums_;
};

}  // namespace terroir::cpu
