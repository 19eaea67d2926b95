#pragma once
// What: the windows of a MaxPool or AvgPool node, as its kernels take them.
#include "ops/defs/pooling/avg_pool.hpp"
#include "ops/defs/pooling/max_pool.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/pool/pool.hpp"

namespace terroir::cpu {

bool is_max_pool(const NodeContext& context);

ops::PoolGeometry pool_geometry_of(const NodeContext& context);

/// Extents and windows; one channel, no memory yet.
PoolArgs pool_args(const ops::PoolGeometry& geometry);

}  // namespace terroir::cpu
