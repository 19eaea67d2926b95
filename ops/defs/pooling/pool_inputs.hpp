#pragma once
// What: what all windowed poolings share: the check of data, the extents of the output, the concrete geometry.
#include "ir/schema/infer_context.hpp"
#include "ops/shape/pool_geometry.hpp"

namespace terroir::ops {

/// Shape of the output; Exception for wrong ranks, types, attributes.
PartialShape pool_output(const ir::InferContext& ctx, const WindowLists& lists, const std::vector<int64_t>& kernel);

PoolGeometry pool_geometry(const ir::Dims& data, const WindowLists& lists, const std::vector<int64_t>& kernel);

}  // namespace terroir::ops
