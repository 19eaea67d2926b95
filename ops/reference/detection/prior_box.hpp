#pragma once
// What: the boxes of PriorBox and PriorBoxClustered: for every cell of a grid the same set of boxes around its centre,
// in fractions of the image, then as many rows of variances. Threads: rows of cells.
#include <vector>

#include "ir/schema/op_schema.hpp"

namespace terroir::ops::reference {

/// Attributes of PriorBox, with the spellings of the operation page.
struct PriorBoxParams {
  std::vector<double> min_size, max_size, aspect_ratio, density, fixed_ratio, fixed_size, variance;
  bool clip = false;
  bool flip = false;
  double step = 0;
  double offset = 0;
  bool scale_all_sizes = true;
  bool min_max_aspect_ratios_order = true;
};

/// Boxes per cell.
int64_t prior_count(const PriorBoxParams& params);
void prior_box(const ir::EvalContext& ctx, const PriorBoxParams& params);

struct PriorBoxClusteredParams {
  std::vector<double> width{1.0}, height{1.0}, variance;
  bool clip = true;
  double step = 0, step_w = 0, step_h = 0;
  double offset = 0;
};

void prior_box_clustered(const ir::EvalContext& ctx, const PriorBoxClusteredParams& params);

}  // namespace terroir::ops::reference
