#pragma once
// What: a convolution node as its kernels describe it.
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/conv/conv_types.hpp"

namespace terroir::cpu {

/// Extents, strides and pads in effect of Convolution, GroupConvolution and their BackpropData forms, fused or not.
/// Axes of one position and tap come first: an image one pixel wide is a row.
ConvProblem conv_problem(const NodeContext& context);

/// Whether the problem's rows are those of the tensors, as steps want that hand on some rows at a time.
bool has_own_rows(const NodeContext& context);

/// A 1x1 convolution of stride 1, without groups, padding or depth: each position of the result reads its own alone.
bool is_pointwise(const ConvProblem& problem);

/// The bias at the head of the fused chain, which kernels add for nothing, or null.
const ir::Constant* leading_bias(const NodeContext& context);

/// add_chain_inputs() for a result in `result`'s layout, which may lie in the memory of an operand that is added first:
/// kernels read its elements before they store sums in their places. What stands further back in the chain they read
/// when partial sums are there.
void add_convolution_chain(const NodeContext& context, const Layout& result, LayoutChoice& choice);

}  // namespace terroir::cpu
