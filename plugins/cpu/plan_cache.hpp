#pragma once
// What: the plans of one compiled model, one per set of input extents, the least recently used dropped beyond a bound.
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "ir/graph/graph.hpp"
#include "plugins/cpu/compile.hpp"

namespace terroir::cpu {

class PlanCache {
 public:
  static constexpr size_t kMaxPlans = 32;

  PlanCache(std::unique_ptr<ir::Graph> rewritten, CompileOptions options)
      : rewritten_(std::move(rewritten)), options_(options) {}

  /// The plan for these inputs, compiled on first use. Threads: any; one compiles at a time.
  std::shared_ptr<const Plan> get(const std::vector<ir::Dims>& inputs) {
    const std::lock_guard lock(mutex_);
    for (auto it = plans_.begin(); it != plans_.end(); ++it) {
      if (it->inputs != inputs) continue;
      plans_.splice(plans_.begin(), plans_, it);
      return it->plan;
    }
    std::shared_ptr<const Plan> plan = compile_plan(*rewritten_, inputs, weights_, options_);
    plans_.push_front({inputs, plan});
    if (plans_.size() > kMaxPlans) plans_.pop_back();
    return plan;
  }

  /// Frees what only further plans would need; for models whose one plan is made.
  void forget_graph() { rewritten_.reset(); }

 private:
  struct Entry {
    std::vector<ir::Dims> inputs;
    std::shared_ptr<const Plan> plan;
  };
  std::mutex mutex_;
  std::unique_ptr<ir::Graph> rewritten_;
  CompileOptions options_;
  WeightsCache weights_;
  std::list<Entry> plans_;
};

}  // namespace terroir::cpu
