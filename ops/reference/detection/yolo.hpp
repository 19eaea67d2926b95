#pragma once
// What: RegionYolo (squashes the predictions of a YOLO head) and ReorgYolo (space to depth in Darknet's order). Threads: images.
#include "ir/schema/op_schema.hpp"

namespace terroir::ops::reference {

struct RegionYoloParams {
  int64_t coords = 0;
  int64_t classes = 0;
  int64_t num = 0;
  bool do_softmax = true;
  std::vector<int64_t> mask;

  int64_t regions() const { return do_softmax ? num : static_cast<int64_t>(mask.size()); }
};

/// Sigmoid of the first two coordinates and of the objectness of each region; of the classes, softmax or sigmoid.
void region_yolo(const ir::EvalContext& ctx, const RegionYoloParams& params);
/// Element types: any.
void reorg_yolo(const ir::EvalContext& ctx, int64_t stride);

}  // namespace terroir::ops::reference
