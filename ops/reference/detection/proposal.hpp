#pragma once
// What: Proposal: boxes from anchors, class probabilities and box corrections of a region proposal network.
// Threads: rows of cells; candidates of a suppression.
#include "ir/schema/op_schema.hpp"

namespace terroir::ops::reference {

/// Attributes of Proposal, with the spellings of the operation page.
struct ProposalParams {
  int64_t base_size = 0, pre_nms_topn = 0, post_nms_topn = 0, feat_stride = 0, min_size = 0;
  double nms_thresh = 0;
  std::vector<double> ratio, scale;
  bool clip_before_nms = true;
  bool clip_after_nms = false;
  bool normalize = false;
  double box_size_scale = 1;
  double box_coordinate_scale = 1;
  std::string framework;  // "" or "tensorflow"
};

/// With a second output, the scores go there.
void proposal(const ir::EvalContext& ctx, const ProposalParams& params);

}  // namespace terroir::ops::reference
