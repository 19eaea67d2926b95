// What: one layer compiled for the CPU device as it would be in a model (chosen kernel, packed weights, threads), and
// the time of its step alone, without the reorders at the model's border; and that of its reference kernel.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
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
    element::Type type = element::f32;  // or i32, i64, or one of at most a byte
    std::optional<double> value = {};   // of every element; else f32 has small fixed values and others any bits
  };
  /// Whether a pointwise convolution stands before the layer, and one behind it. There the layer reads and stores the
  /// layout that convolutions want, as in the middle of a network, not that of a model's ends.
  struct Place {
    bool before, behind;
  };
  static constexpr int64_t kChannelsBefore = 8, kChannelsBehind = 16;  // that those begin and end with
  /// Of a convolution: channels as few as those of an image are a model's input, of an image or a mask its result.
  static constexpr Place place_of(int64_t in_channels, int64_t out_channels) {
    return {.before = in_channels > 4, .behind = out_channels > 3};
  }
  /// `attributes` in IR spelling.
  OneLayer(const char* type, const std::vector<std::pair<std::string, std::string>>& attributes,
           const std::vector<Operand>& operands, cpu::Isa isa, int threads, const char* opset = "opset16",
           Place place = {false, false});

  /// Seconds of the layer's step in one run.
  double run();
  /// Seconds of the reference kernel in one run, on the calling thread.
  double run_reference();
  const std::string& kernel() const { return state_->plan().steps[step_].kernel; }

 private:
  cpu::WeightsCache weights_;
  std::unique_ptr<cpu::PlanState> state_;
  parallel::Arena arena_;
  std::vector<AlignedBuffer> buffers_;  // of the inputs that are not constant, then of the output
  const ir::OpSchema& schema_;
  std::unique_ptr<ir::Attributes> attributes_;
  std::vector<ir::TensorView> operands_;
  std::vector<std::shared_ptr<AlignedBuffer>> constants_;
  std::vector<std::chrono::nanoseconds> times_;
  std::atomic<bool> cancelled_{false};
  size_t step_ = 0;
};

}  // namespace terroir::bench
