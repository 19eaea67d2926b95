#pragma once
// What: DetectionOutput: decodes boxes from offsets to priors, suppresses overlapping ones per class, and lists the
// best. Threads: classes, ranges of priors.
#include "ir/schema/op_schema.hpp"

namespace terroir::ops::reference {

enum class BoxCode { corner, center_size };

/// Attributes of DetectionOutput, with the spellings of the operation page.
struct DetectionOutputParams {
  int64_t background_label_id = 0;
  int64_t top_k = -1;
  bool variance_encoded_in_target = false;
  std::vector<int64_t> keep_top_k;
  BoxCode code_type = BoxCode::corner;
  bool share_location = true;
  double nms_threshold = 0;
  double confidence_threshold = 0;
  bool clip_after_nms = false;
  bool clip_before_nms = false;
  bool decrease_label_id = false;
  bool normalized = false;
  int64_t input_height = 1;
  int64_t input_width = 1;
  double objectness_score = 0;

  int64_t prior_size() const { return normalized ? 4 : 5; }
};

/// `num_classes` 0: from the extents of class predictions and priors.
void detection_output(const ir::EvalContext& ctx, const DetectionOutputParams& params, int64_t num_classes);

}  // namespace terroir::ops::reference
