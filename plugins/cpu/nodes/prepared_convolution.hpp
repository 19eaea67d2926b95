#pragma once
// What: a convolution node made ready to run: its kernel, the plan, the packed weights and the chain at the store.
#include <memory>

#include "ir/base/function_ref.hpp"
#include "plugins/cpu/executor.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/conv/conv.hpp"
#include "plugins/cpu/post_op_chain.hpp"
#include "plugins/cpu/weights_cache.hpp"

namespace terroir::cpu {

Layout layout_of(ConvFormat format, int rank, Isa isa);

/// The best kernel of a bucket between two formats, or null.
const ConvKernel* find_conv_kernel(const ConvProblem& problem, Isa isa, ConvFormat src, ConvFormat dst);

/// Likewise of a first layer: a convolution of an image of so few channels that it is plain for its own sake.
const ConvKernel* find_image_kernel(const ConvProblem& problem, Isa isa);

/// Floats, rounded to cache lines, so that threads do not write to each other's.
constexpr size_t whole_lines(size_t floats) { return (floats + 15) / 16 * 16; }

struct PreparedConvolution {
  PreparedConvolution(const NodeContext& context, const ConvKernel& conv_kernel, const ConvProblem& problem);

  /// Calls `run` for every slice of the units of output channels from `first_unit` on, on all threads, with `whole`
  /// made that slice's. The kernel's scratch memory comes first in the slot's: of slot_need().
  void for_each_slice(const RunArgs& args, const ConvArgs& whole,
                      FunctionRef<void(ConvArgs& conv, const ConvTile& box, int64_t slot)> run,
                      int64_t first_unit = 0) const noexcept;
  /// As many slots as slices that may run at once.
  SlotNeed slot_need(int threads) const noexcept;

  /// Of a loop over all slices; see Executor.
  FirstConstants first_constants(int threads, int64_t slice) const noexcept;

  /// What a run over this box of the grid reads first: all its weights where there is one position, else a unit's.
  FirstConstants first_constants(const ConvTile& box) const noexcept;

  const ConvKernel& kernel;
  ConvPlan plan{};
  PostOpChain chain;            // without the leading bias
  PackedWeights packed;         // null: the weights come with each run
  const float* bias = nullptr;  // then this goes with them
  // The packing is known by the bias's address, which nothing else may get while the packing is shared.
  std::shared_ptr<const void> bias_owner;
};

}  // namespace terroir::cpu
