#include "ops/defs/pooling/pool_inputs.hpp"

namespace terroir::ops {
namespace {

void check_kernel(const std::vector<int64_t>& kernel, size_t spatial_rank) {
  if (kernel.empty())
    throw_error(ErrorCode::invalid_argument, "kernel must have one entry per spatial axis (", spatial_rank,
                "), got none");
  per_axis("kernel", kernel, spatial_rank, 1, 1);
}

}  // namespace

PartialShape pool_output(const ir::InferContext& ctx, const WindowLists& lists, const std::vector<int64_t>& kernel) {
  const PartialShape& data = ctx.shape(0);
  const bool ranked = data.rank().is_static();
  ctx.require(!ranked || (data.size() >= 3 && data.size() <= 5), "data must have rank 3 to 5, got the shape ", data);
  ctx.require(ranked || (!kernel.empty() && kernel.size() <= 3), "kernel must have 1 to 3 entries, got ", kernel);
  const size_t spatial_rank = ranked ? data.size() - 2 : kernel.size();

  check_kernel(kernel, spatial_rank);
  const WindowSteps steps = read_window(lists, spatial_rank);
  PartialShape output{ranked ? data[0] : Dimension(), ranked ? data[1] : Dimension()};
  for (size_t i = 0; i < spatial_rank; ++i)
    output.push_back(window_output(ranked ? data[static_cast<std::ptrdiff_t>(2 + i)] : Dimension(), kernel[i],
                                   steps.axes[i], steps.auto_pad, steps.rounding, i));
  return output;
}

PoolGeometry pool_geometry(const ir::Dims& data, const WindowLists& lists, const std::vector<int64_t>& kernel) {
  if (data.size() < 3 || data.size() > 5)
    throw_error(ErrorCode::shape_mismatch, "data must have rank 3 to 5, got the shape ", data);
  const size_t spatial_rank = data.size() - 2;
  check_kernel(kernel, spatial_rank);
  const WindowSteps steps = read_window(lists, spatial_rank);
  PoolGeometry geometry{data[0], data[1], {}};
  for (size_t i = 0; i < spatial_rank; ++i)
    geometry.axes.push_back(resolve_window(data[2 + i], kernel[i], steps.axes[i], steps.auto_pad, steps.rounding, i));
  return geometry;
}

}  // namespace terroir::ops
