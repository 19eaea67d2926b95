#pragma once
// What: the checks that all four convolutions share: element types, ranks and channels of data and weights.
#include <optional>

#include "ir/schema/infer_context.hpp"

namespace terroir::ops {

/// Where the axes of the weights are.
struct WeightsLayout {
  bool grouped = false;
  bool transposed = false;

  int64_t leading() const { return grouped ? 1 : 0; }
  int64_t in_axis() const { return leading() + (transposed ? 0 : 1); }
  int64_t out_axis() const { return leading() + (transposed ? 1 : 0); }
  /// Rank of weights less the number of spatial axes.
  int64_t outer_rank() const { return leading() + 2; }
};

/// The one element type of data and weights, which must be numeric.
element::Type conv_type(const ir::InferContext& ctx);

/// The number of spatial axes, from whatever tells it: the ranks of data and weights, else the number of strides; empty
/// when nothing does. Exception when data and weights disagree or are not 1-D, 2-D or 3-D convolutions.
std::optional<size_t> conv_spatial_rank(const ir::InferContext& ctx, const WeightsLayout& layout,
                                        const std::vector<int64_t>& strides);

/// Extent of the output's channel axis; Exception when the channels of data and weights contradict.
Dimension conv_out_channels(const ir::InferContext& ctx, const WeightsLayout& layout);

/// Spatial extent `i` of data or weights; unknown when the rank is.
Dimension spatial_extent(const PartialShape& shape, int64_t outer_rank, size_t i);

}  // namespace terroir::ops
