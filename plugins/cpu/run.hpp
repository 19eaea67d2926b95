#pragma once
// What: one request's memory, and the walk over a plan's steps. The plans of a request take turns in one arena, so that
// memory follows the largest of them, not their number.
#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <vector>

#include "ir/base/aligned_buffer.hpp"
#include "plugins/cpu/plan.hpp"

namespace terroir::cpu {

/// Activations and scratch of whichever plan runs; grows, never shrinks. Threads: one at a time.
class ActivationMemory {
 public:
  /// At least `bytes`, without what was there before; `threads` get the pages.
  char* at_least(size_t bytes, const parallel::Arena& threads);

 private:
  AlignedBuffer buffer_;
};

/// What a request keeps for one plan: every step's pointers. Threads: one at a time of those that share a memory.
class PlanState {
 public:
  /// `threads` get the pages of the memory, by default one of its own.
  PlanState(std::shared_ptr<const Plan> plan, const parallel::Arena& threads,
            std::shared_ptr<ActivationMemory> memory = std::make_shared<ActivationMemory>());

  const Plan& plan() const { return *plan_; }
  const std::shared_ptr<const Plan>& shared_plan() const { return plan_; }
  /// Memory of the model's inputs and outputs for the next run.
  void bind_input(size_t index, const void* data);
  void bind_output(size_t index, void* data);
  /// Runs the steps in order; returns early when `cancelled` becomes true. No allocation. Exceptions of steps over
  /// reference kernels leave with the layer's name. `times`: null, or room for one entry per step.
  /// Memory that other plans made grow is found again, and grows for this one, before the first step.
  void run(const parallel::Arena& threads, const std::atomic<bool>& cancelled, std::chrono::nanoseconds* times);

 private:
  struct Patch {
    size_t pointer;  // in pointers_
    size_t offset;
  };
  void point_into(char* memory);

  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<ActivationMemory> memory_;
  std::vector<std::shared_ptr<void>> texts_;
  char* base_ = nullptr;         // where the pointers point now
  std::vector<void*> pointers_;  // inputs, then outputs, step after step
  std::vector<size_t> first_;    // of each step in pointers_
  std::vector<Patch> memory_patches_;
  std::vector<std::vector<Patch>> input_patches_, output_patches_;  // by model input and output
};

}  // namespace terroir::cpu
