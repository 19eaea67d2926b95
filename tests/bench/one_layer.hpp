// What: one layer compiled for the CPU device as it would be in a model (chosen kernel, packed weights, threads), and
// the time of its step alone, without the reorders at the model's border; and that of its reference kernel.
// Edge cases: in bytes, layers take the products that TERROIR_FORCE_ISA names when they are made.
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

/// What computes the layer "layer" of a model.
class LayerStep {
 public:
  /// `inputs`: of the Parameters, whose shapes are static. `bf16`: layers multiply such numbers.
  LayerStep(const ir::Graph& graph, std::vector<AlignedBuffer> inputs, cpu::Isa isa, int threads, bool bf16);

  /// Seconds of the step in one run.
  double run();
  const std::string& kernel() const { return state_->plan().steps[step_].kernel; }

 protected:
  explicit LayerStep(int threads) : arena_(threads) {}
  /// Once; buffers_ are the inputs.
  void compile(const ir::Graph& graph, cpu::Isa isa, bool bf16);

  cpu::WeightsCache weights_;
  std::unique_ptr<cpu::PlanState> state_;
  parallel::Arena arena_;
  std::vector<AlignedBuffer> buffers_;  // of the Parameters, then of the results
  std::vector<std::chrono::nanoseconds> times_;
  std::atomic<bool> cancelled_{false};
  size_t step_ = 0;
};

class OneLayer : public LayerStep {
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

  /// Seconds of the reference kernel in one run, on the calling thread.
  double run_reference();

 private:
  const ir::OpSchema& schema_;
  std::unique_ptr<ir::Attributes> attributes_;
  std::vector<ir::TensorView> operands_;
  std::vector<std::shared_ptr<AlignedBuffer>> constants_;
};

}  // namespace terroir::bench
