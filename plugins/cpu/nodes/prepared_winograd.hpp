#pragma once
// What: a convolution with a 3x3 kernel made ready to run by Winograd's algorithm, and whether it should be.
#include <memory>
#include <optional>
#include <variant>

#include "ir/base/function_ref.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/conv_wino/conv_wino.hpp"
#include "plugins/cpu/post_op_chain.hpp"
#include "plugins/cpu/weights_cache.hpp"

namespace terroir::cpu {

/// The bucket's kernel with so many outputs per side of a tile, for that stride, or null.
const WinoKernel* winograd_kernel(Isa isa, int64_t tile, int64_t stride);

struct WinogradOffer {
  const WinoKernel& kernel;
  /// Times the direct kernel's speed.
  double speedup;
};

/// Why a kernel of larger rounding errors that can run the problem must not, if so: the weights come with each run, the model is
/// compiled for accuracy, the direct kernel is as fast by the cost model, or the error bound of the actual weights is
/// above the tolerance. `speedup` and `error_bound` are asked about `problem` for one image; none of this looks at the
/// batch or at the threads, so one image gets the same bits alone, in a batch and on any number of threads.
std::optional<Reject> winograd_refusal(const NodeContext& context, ConvProblem problem,
                                       FunctionRef<double(const ConvProblem&)> speedup,
                                       FunctionRef<double(const ConvProblem&)> error_bound);

/// The largest `amplification`, asked about some outputs' weights at a time, on all threads of the context's reader;
/// those of a transposed problem are columns of its matrix.
double worst_amplification(const NodeContext& context, const ConvProblem& problem,
                           FunctionRef<double(const float* weights, int64_t outputs)> amplification);

/// LayoutChoice::cost of a kernel so many times as fast as the direct one, which fills the last block of channels, too.
double winograd_cost(const ConvProblem& problem, Isa isa, double speedup);

std::variant<WinogradOffer, Reject> winograd_offer(const NodeContext& context, int64_t tile);

struct PreparedWinograd {
  /// Asks for the weights to be packed.
  PreparedWinograd(const NodeContext& context, const WinoKernel& wino_kernel, const WinoPlan& wino_plan);

  /// Of each run at once.
  size_t scratch_bytes() const noexcept { return (plan.scratch_floats + 15) / 16 * 16 * sizeof(float); }

  const WinoKernel& kernel;
  WinoPlan plan;
  PostOpChain chain;  // without the leading bias
  // The packing is known by the bias's address, which nothing else may get while the packing is shared.
  std::shared_ptr<const void> bias_owner;
  PackedWeights packed;
};

/// Throws for a choice that was stored, whose kernel is not there: Exception (parse_error).
[[noreturn]] void refuse_stored_choice(const NodeContext& context);

/// Of a choice that may have been stored.
const WinoKernel& chosen_winograd_kernel(const NodeContext& context, int64_t tile, int64_t stride);

/// Runs by tiles of one size, which a stored choice knows by the name.
template <int64_t Tile, Proposal (*Propose)(const NodeContext&, int64_t),
          std::unique_ptr<const Executor> (*Make)(const NodeContext&, int64_t)>
constexpr Impl winograd_impl(const char* name) {
  return {name, [](const NodeContext& context) { return Propose(context, Tile); },
          [](const NodeContext& context, const LayoutChoice&) { return Make(context, Tile); }};
}

}  // namespace terroir::cpu
