#pragma once
// What: a convolution node made ready to run: its kernel, the plan, the packed weights and the chain at the store.
#include <memory>

#include "plugins/cpu/executor.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/conv/conv.hpp"
#include "plugins/cpu/post_op_chain.hpp"
#include "plugins/cpu/weights_cache.hpp"

namespace terroir::cpu {

Layout layout_of(ConvFormat format, int rank, Isa isa);

/// The best kernel of a bucket between two formats, or null.
const ConvKernel* find_conv_kernel(const ConvProblem& problem, Isa isa, ConvFormat src, ConvFormat dst);

struct PreparedConvolution {
  PreparedConvolution(const NodeContext& context, const ConvKernel& conv_kernel, const ConvProblem& problem);

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
