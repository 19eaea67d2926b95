#pragma once
// What: the references of the non-maximum suppressions that give lists of boxes: NonMaxSuppression, MatrixNms,
// MulticlassNms. Types: any floating-point type, computed in f32. Equal scores: the lower index first.
// Threads: the classes of an item.
#include "ir/schema/op_schema.hpp"

namespace terroir::ops::reference {

struct NonMaxSuppressionParams {
  bool center_boxes = false;         // x, y, width, height instead of two corners
  bool rotated = false;              // x, y, width, height, angle
  bool clockwise = true;             // positive angles turn from x to y
  bool sort_across = true;           // all boxes by score, not class by class
  bool soft_keeps_overlaps = false;  // with a sigma, iou_threshold does not count
  bool fill_rest = false;            // the output has its full size: -1 after the last box
};
/// Inputs: boxes [N, B, 4 or 5], scores [N, C, B], and optionally the most boxes per class, iou_threshold,
/// score_threshold, sigma. Outputs: indices [n, 3], and optionally scores [n, 3] and the number of boxes.
void non_max_suppression(const ir::EvalContext& ctx, const NonMaxSuppressionParams& params);

enum class NmsOrder { class_id, score, none };

/// Attributes that MatrixNms and MulticlassNms have in common, with the spellings of the operation pages.
struct NmsParams {
  NmsOrder sort_result_type = NmsOrder::none;
  bool sort_result_across_batch = false;
  element::Type output_type = element::i64;
  double score_threshold = 0;
  int64_t nms_top_k = -1;
  int64_t keep_top_k = -1;
  int64_t background_class = -1;
  bool normalized = true;
};

struct MatrixNmsParams : NmsParams {
  bool gaussian = false;
  double gaussian_sigma = 2.0;
  double post_threshold = 0;
};
/// Inputs: boxes [N, B, 4], scores [N, C, B]. Outputs: (class, score, box) [n, 6], indices [n, 1], boxes per item [N].
void matrix_nms(const ir::EvalContext& ctx, const MatrixNmsParams& params);

struct MulticlassNmsParams : NmsParams {
  double iou_threshold = 0;
  double nms_eta = 1.0;
};
/// As matrix_nms, or with boxes [C, B, 4], scores [C, B] and the boxes per item [N].
void multiclass_nms(const ir::EvalContext& ctx, const MulticlassNmsParams& params);

}  // namespace terroir::ops::reference
