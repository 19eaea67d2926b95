#pragma once
// What: one request's memory, and the walk over a plan's steps.
#include <atomic>
#include <chrono>
#include <span>
#include <vector>

#include "ir/base/aligned_buffer.hpp"
#include "plugins/cpu/plan.hpp"

namespace terroir::cpu {

/// What a request keeps for one plan: the arena and every step's pointers. Threads: one at a time.
class PlanState {
 public:
  /// `threads` make the arena's memory.
  PlanState(std::shared_ptr<const Plan> plan, const parallel::Arena& threads);

  const Plan& plan() const { return *plan_; }
  const std::shared_ptr<const Plan>& shared_plan() const { return plan_; }
  /// Memory of the model's inputs and outputs for the next run.
  void bind_input(size_t index, const void* data);
  void bind_output(size_t index, void* data);
  /// Runs the steps in order; returns early when `cancelled` becomes true. No allocation. Exceptions of steps over
  /// reference kernels leave with the layer's name. `times`: null, or room for one entry per step.
  void run(const parallel::Arena& threads, const std::atomic<bool>& cancelled, std::chrono::nanoseconds* times);

 private:
  struct Patch {
    size_t pointer;  // in pointers_
    size_t offset;
  };
  std::shared_ptr<const Plan> plan_;
  AlignedBuffer arena_;
  std::vector<void*> pointers_;                                     // inputs, then outputs, step after step
  std::vector<size_t> first_;                                       // of each step in pointers_
  std::vector<std::vector<Patch>> input_patches_, output_patches_;  // by model input and output
};

}  // namespace terroir::cpu
