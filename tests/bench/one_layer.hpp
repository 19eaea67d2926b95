// What: one layer compiled for the CPU device as it would be in a model (chosen kernel, packed weights, threads), and
// the time of its step alone, without the reorders at the model's border.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/base/aligned_buffer.hpp"
#include "plugins/cpu/isa.hpp"
#include "plugins/cpu/run.hpp"
#include "plugins/cpu/weights_cache.hpp"

namespace terroir::bench {

class OneLayer {
 public:
  struct Operand {
    ir::Dims dims;
    bool constant;
  };
  /// `attributes` in IR spelling; operands are filled with small fixed values.
  OneLayer(const char* type, const std::vector<std::pair<std::string, std::string>>& attributes,
           const std::vector<Operand>& operands, cpu::Isa isa, int threads);

  /// Seconds of the layer's step in one run.
  double run();
  const std::string& kernel() const { return state_->plan().steps[step_].kernel; }

 private:
  cpu::WeightsCache weights_;
  std::unique_ptr<cpu::PlanState> state_;
  parallel::Arena arena_;
  std::vector<AlignedBuffer> buffers_;
  std::vector<std::chrono::nanoseconds> times_;
  std::atomic<bool> cancelled_{false};
  size_t step_ = 0;
};

}  // namespace terroir::bench
