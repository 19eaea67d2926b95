#include "plugins/cpu/kernels/reorder/reorder.hpp"

namespace terroir::cpu {

bool make_permute_plan(const int64_t* src_shape, const int64_t* order, int64_t rank, int64_t element_bytes,
                       PermutePlan& plan) noexcept {
  plan = PermutePlan{};
  plan.element_bytes = element_bytes;
  int64_t previous = -2;  // source axis of the group built last
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t axis = order[i];
    if (src_shape[axis] == 1) continue;
    // Axes of extent 1 between two others do not separate them.
    int64_t follows = previous + 1;
    while (previous >= 0 && follows < axis && src_shape[follows] == 1) ++follows;
    int64_t stride = 1;
    for (int64_t j = axis + 1; j < rank; ++j) stride *= src_shape[j];
    if (previous >= 0 && follows == axis) {
      plan.extent[plan.rank - 1] *= src_shape[axis];
      plan.src_stride[plan.rank - 1] = stride;
    } else {
      if (plan.rank == PermutePlan::kMaxRank) return false;
      plan.extent[plan.rank] = src_shape[axis];
      plan.src_stride[plan.rank] = stride;
      ++plan.rank;
    }
    previous = axis;
  }
  int64_t stride = 1;
  for (int i = plan.rank - 1; i >= 0; --i) {
    plan.dst_stride[i] = stride;
    stride *= plan.extent[i];
  }
  return true;
}

}  // namespace terroir::cpu
