#pragma once
// What: Concat and Split along channels that lie in blocks, where a part does not begin with a block: each block of a
// destination gets lanes of several blocks of the sources. One pass, where else every part would be reordered.
// Layouts: all tensors in the same channel blocks, of up to 64 bytes. Threads: tasks are some positions of one
// destination block.
#include <memory>
#include <vector>

#include "plugins/cpu/executor.hpp"
#include "plugins/cpu/layout/layout.hpp"

namespace terroir::cpu {

/// `parts` side by side along axis 1 are `joined`.
std::unique_ptr<const Executor> create_lane_concat(const TensorDesc& joined, const std::vector<TensorDesc>& parts);
std::unique_ptr<const Executor> create_lane_split(const TensorDesc& joined, const std::vector<TensorDesc>& parts);

}  // namespace terroir::cpu
