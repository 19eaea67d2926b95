// MatrixNms and MulticlassNms: the same inputs, order and outputs around two ways to suppress.
#include <algorithm>
#include <cmath>

#include "ir/schema/infer_context.hpp"
#include "ops/reference/detection/nms.hpp"
#include "ops/reference/floats.hpp"

namespace terroir::ops::reference {
namespace {

struct Found {
  float score;
  int64_t item, label, box;
  const float* corners;  // x0, y0, x1, y1
};

/// One class of one item: where its boxes and scores begin and how many there are.
struct ClassBoxes {
  const float* boxes;
  const float* scores;
  int64_t count;
};

bool best_first(const Found& a, const Found& b) {
  if (a.score != b.score) return a.score > b.score;
  if (a.label != b.label) return a.label < b.label;
  return a.box < b.box;
}

/// Candidates of a class above (or at) the threshold, best first, at most nms_top_k.
std::vector<int64_t> candidates(const ClassBoxes& part, const NmsParams& params, bool with_equal) {
  const auto threshold = static_cast<float>(params.score_threshold);
  std::vector<int64_t> order;
  for (int64_t i = 0; i < part.count; ++i)
    if (part.scores[i] > threshold || (with_equal && part.scores[i] == threshold)) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&part](int64_t a, int64_t b) { return part.scores[a] > part.scores[b]; });
  if (params.nms_top_k >= 0 && params.nms_top_k < static_cast<int64_t>(order.size()))
    order.resize(static_cast<size_t>(params.nms_top_k));
  return order;
}

/// Intersection over union; boxes in pixels include their last row and column.
float overlap(const float* a, const float* b, bool normalized) {
  const float extra = normalized ? 0.0f : 1.0f;
  const auto area = [extra](const float* box) {
    return box[2] < box[0] || box[3] < box[1] ? 0.0f : (box[2] - box[0] + extra) * (box[3] - box[1] + extra);
  };
  if (b[0] > a[2] || b[2] < a[0] || b[1] > a[3] || b[3] < a[1]) return 0;
  const float width = std::max(std::min(a[2], b[2]) - std::max(a[0], b[0]) + extra, 0.0f);
  const float height = std::max(std::min(a[3], b[3]) - std::max(a[1], b[1]) + extra, 0.0f);
  const float both = area(a) + area(b) - width * height;
  return both > 0 ? width * height / both : 0.0f;
}

void suppress_by_matrix(const ClassBoxes& part, const MatrixNmsParams& params, int64_t item, int64_t label,
                        std::vector<Found>& found) {
  const std::vector<int64_t> order = candidates(part, params, false);
  const auto sigma = static_cast<float>(params.gaussian_sigma);
  std::vector<float> largest;  // largest overlap of each candidate with a better one
  for (size_t i = 0; i < order.size(); ++i) {
    const float* box = part.boxes + order[i] * 4;
    float decay = 1;
    float most = 0;
    for (size_t j = 0; j < i; ++j) {
      const float iou = overlap(box, part.boxes + order[j] * 4, params.normalized);
      most = std::max(most, iou);
      const float factor = params.gaussian ? std::exp((largest[j] * largest[j] - iou * iou) * sigma)
                                           : (1.0f - iou) / (1.0f - largest[j] + 1e-10f);
      decay = std::min(decay, factor);
    }
    largest.push_back(most);
    const float score = decay * part.scores[order[i]];
    if (score > static_cast<float>(params.post_threshold)) found.push_back({score, item, label, order[i], box});
  }
}

void suppress_by_threshold(const ClassBoxes& part, const MulticlassNmsParams& params, int64_t item, int64_t label,
                           std::vector<Found>& found) {
  auto threshold = static_cast<float>(params.iou_threshold);
  std::vector<int64_t> kept;
  for (const int64_t i : candidates(part, params, true)) {
    const bool dropped = std::any_of(kept.begin(), kept.end(), [&](int64_t other) {
      return overlap(part.boxes + i * 4, part.boxes + other * 4, params.normalized) > threshold;
    });
    if (dropped) continue;
    if (params.nms_eta < 1 && threshold > 0.5f) threshold *= static_cast<float>(params.nms_eta);
    kept.push_back(i);
    found.push_back({part.scores[i], item, label, i, part.boxes + i * 4});
  }
}

/// Orders and cuts the boxes of one item.
void finish_item(std::vector<Found>& found, const NmsParams& params) {
  std::stable_sort(found.begin(), found.end(), &best_first);
  if (params.keep_top_k >= 0 && params.keep_top_k < static_cast<int64_t>(found.size()))
    found.resize(static_cast<size_t>(params.keep_top_k));
  if (!params.sort_result_across_batch && params.sort_result_type == NmsOrder::class_id)
    std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.label < b.label; });
}

/// Orders all items together, where that is asked for. They come item by item, and stay so when equal.
void finish_all(std::vector<Found>& found, const NmsParams& params) {
  if (!params.sort_result_across_batch) return;
  if (params.sort_result_type == NmsOrder::score)
    std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.score > b.score; });
  else if (params.sort_result_type == NmsOrder::class_id)
    std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.label < b.label; });
}

/// `flat(box)` is the index that output 1 wants.
template <class Flat>
void write(const ir::EvalContext& ctx, const std::vector<Found>& found, const std::vector<int64_t>& per_item,
           const char* op, Flat&& flat) {
  const auto rows = static_cast<int64_t>(found.size());
  if (ctx.outputs[0].count() < rows * 6 || ctx.outputs[1].count() < rows ||
      ctx.outputs[2].count() != static_cast<int64_t>(per_item.size()))
    throw_error(ErrorCode::shape_mismatch, op, ": the outputs have no room for ", rows, " boxes of ", per_item.size(),
                " items");
  std::vector<float> values;
  std::vector<int64_t> indices;
  for (const Found& box : found) {
    values.insert(values.end(), {static_cast<float>(box.label), box.score});
    values.insert(values.end(), box.corners, box.corners + 4);
    indices.push_back(flat(box));
  }
  ctx.outputs[0].dims = {rows, 6};
  ctx.outputs[1].dims = {rows, 1};
  from_floats(values, ctx.outputs[0], op);
  from_indices(indices, ctx.outputs[1]);
  from_indices(per_item, ctx.outputs[2]);
}

void check_shared(const ir::Dims& boxes, const ir::Dims& scores, const char* op) {
  if (boxes.size() != 3 || scores.size() != 3 || boxes[2] != 4 || boxes[0] != scores[0] || boxes[1] != scores[2])
    throw_error(ErrorCode::shape_mismatch, op, ": boxes ", boxes, " and scores ", scores, " do not fit");
}

/// Boxes [N, B, 4] that serve all classes, scores [N, C, B].
template <class Params, class Suppress>
void run_shared(const ir::EvalContext& ctx, const Params& params, const char* op, Suppress&& suppress) {
  const ir::Dims& dims = ctx.inputs[1].dims;
  check_shared(ctx.inputs[0].dims, dims, op);
  const std::vector<float> boxes = to_floats(ctx.inputs[0]);
  const std::vector<float> scores = to_floats(ctx.inputs[1]);
  std::vector<Found> all;
  std::vector<int64_t> per_item;
  for (int64_t item = 0; item < dims[0]; ++item) {
    std::vector<Found> found;
    for (int64_t label = 0; label < dims[1]; ++label)
      if (label != params.background_class)
        suppress({boxes.data() + item * dims[2] * 4, scores.data() + (item * dims[1] + label) * dims[2], dims[2]},
                 params, item, label, found);
    finish_item(found, params);
    per_item.push_back(static_cast<int64_t>(found.size()));
    all.insert(all.end(), found.begin(), found.end());
  }
  finish_all(all, params);
  write(ctx, all, per_item, op, [&](const Found& box) { return box.item * dims[2] + box.box; });
}

}  // namespace

void matrix_nms(const ir::EvalContext& ctx, const MatrixNmsParams& params) {
  run_shared(ctx, params, "MatrixNms", &suppress_by_matrix);
}

void multiclass_nms(const ir::EvalContext& ctx, const MulticlassNmsParams& params) {
  constexpr const char* kOp = "MulticlassNms";
  if (ctx.inputs.size() < 3) return run_shared(ctx, params, kOp, &suppress_by_threshold);
  // Boxes [C, B, 4] of their own for each class, scores [C, B]; the items' boxes follow each other.
  const ir::Dims& box_dims = ctx.inputs[0].dims;
  const ir::Dims& dims = ctx.inputs[1].dims;
  const std::vector<int64_t> given = ir::to_integers(ctx.inputs[2]);
  if (box_dims.size() != 3 || dims.size() != 2 || box_dims[2] != 4 || box_dims[0] != dims[0] || box_dims[1] != dims[1])
    throw_error(ErrorCode::shape_mismatch, kOp, ": boxes ", box_dims, " and scores ", dims, " do not fit");
  std::vector<int64_t> starts{0};
  for (const int64_t count : given) {
    const int64_t boxes = std::max<int64_t>(0, count);
    if (boxes > dims[1] - starts.back())
      throw_error(ErrorCode::invalid_argument, kOp, ": roisnum ", given, " exceeds the ", dims[1], " boxes there are");
    starts.push_back(starts.back() + boxes);
  }
  const std::vector<float> boxes = to_floats(ctx.inputs[0]);
  const std::vector<float> scores = to_floats(ctx.inputs[1]);
  std::vector<Found> all;
  std::vector<int64_t> per_item;
  for (size_t item = 0; item < given.size(); ++item) {
    std::vector<Found> found;
    const int64_t start = starts[item];
    for (int64_t label = 0; label < dims[0]; ++label)
      if (label != params.background_class)
        suppress_by_threshold({boxes.data() + (label * dims[1] + start) * 4, scores.data() + label * dims[1] + start,
                               starts[item + 1] - start},
                              params, static_cast<int64_t>(item), label, found);
    finish_item(found, params);
    per_item.push_back(static_cast<int64_t>(found.size()));
    all.insert(all.end(), found.begin(), found.end());
  }
  finish_all(all, params);
  write(ctx, all, per_item, kOp,
        [&](const Found& box) { return (starts[static_cast<size_t>(box.item)] + box.box) * dims[0] + box.label; });
}

}  // namespace terroir::ops::reference
