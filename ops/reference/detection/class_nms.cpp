// MatrixNms and MulticlassNms: the same inputs, order and outputs around two ways to suppress.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/schema/infer_context.hpp"
#include "ops/reference/detection/best_first.hpp"
#include "ops/reference/detection/kept_boxes.hpp"
#include "ops/reference/detection/nms.hpp"
#include "ops/reference/floats.hpp"
#include "ops/reference/results.hpp"

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

bool has_better_score(const Found& a, const Found& b) { return a.score > b.score; }
bool has_smaller_label(const Found& a, const Found& b) { return a.label < b.label; }
bool in_final_order(const Found& a, const Found& b) {
  if (a.score != b.score) return a.score > b.score;
  if (a.label != b.label) return a.label < b.label;
  return a.box < b.box;
}

/// Candidates of a class above (or at) the threshold, best first, at most nms_top_k.
std::vector<int64_t> candidates(const ClassBoxes& part, const NmsParams& params, bool with_equal) {
  return best_above({part.scores, static_cast<size_t>(part.count)}, static_cast<float>(params.score_threshold),
                    with_equal, params.nms_top_k >= 0 ? params.nms_top_k : INT64_MAX);
}

SizedBox<float> read_box(const float* box, float extra) {
  return {box[0], box[1], box[2], box[3], (box[2] - box[0] + extra) * (box[3] - box[1] + extra)};
}

/// For MatrixNms: one whose end lies before its beginning has no area.
SizedBox<float> read_right_box(const float* box, float extra) {
  SizedBox<float> result = read_box(box, extra);
  if (box[2] < box[0] || box[3] < box[1]) result.area = 0;
  return result;
}

constexpr OverlapRule kMatrixRule = OverlapRule::touching_with_union;

/// The candidates of a class, best first, each with the factor that its score sinks by.
class Decays {
 public:
  Decays(const MatrixNmsParams& params, size_t count)
      : sigma_(static_cast<float>(params.gaussian_sigma)), gaussian_(params.gaussian) {
    blocks_.reserve((count + kLanes - 1) / kLanes);
  }

  /// The decay by the candidates so far, which this one then joins.
  float add(const SizedBox<float>& box, float extra) {
    const Comparison found = gaussian_ ? compare<true>(box, extra) : compare<false>(box, extra);
    const size_t lane = count_++ % kLanes;
    if (lane == 0) blocks_.emplace_back();
    Block& block = blocks_.back();
    block.x0[lane] = box.x0;
    block.y0[lane] = box.y0;
    block.x1[lane] = box.x1;
    block.y1[lane] = box.y1;
    block.area[lane] = box.area;
    block.largest[lane] = found.largest;
    return found.decay;
  }

 private:
  static constexpr size_t kLanes = 16;
  /// Boxes side by side. Those of unused lanes overlap nothing, and nothing decays by them.
  struct Block {
    float x0[kLanes], y0[kLanes], x1[kLanes], y1[kLanes], area[kLanes];
    float largest[kLanes];  // overlap with a better candidate

    Block() {
      constexpr float kInf = std::numeric_limits<float>::infinity();
      std::fill_n(x0, kLanes, kInf);
      std::fill_n(y0, kLanes, kInf);
      std::fill_n(x1, kLanes, -kInf);
      std::fill_n(y1, kLanes, -kInf);
      std::fill_n(area, kLanes, 0.0f);
      std::fill_n(largest, kLanes, 0.0f);
    }
  };
  struct Comparison {
    float largest, decay;
  };

  template <bool kGaussian>
  Comparison compare(const SizedBox<float>& box, float extra) const {
    // One maximum and minimum per lane, without a branch, so that compilers use vectors. Exponentials grow with their
    // argument, so that of the least is the least.
    float most[kLanes] = {}, least[kLanes];
    std::fill_n(least, kLanes, std::numeric_limits<float>::infinity());
    const float sigma = sigma_;
    for (const Block& b : blocks_)
      for (size_t i = 0; i < kLanes; ++i) {
        const float iou = overlap<kMatrixRule>(box, {b.x0[i], b.y0[i], b.x1[i], b.y1[i], b.area[i]}, extra);
        const float largest = b.largest[i];
        const float factor =
            kGaussian ? (largest * largest - iou * iou) * sigma : (1.0f - iou) / (1.0f - largest + 1e-10f);
        most[i] = iou > most[i] ? iou : most[i];
        least[i] = factor < least[i] ? factor : least[i];
      }
    const float factor = *std::min_element(least, least + kLanes);
    return {*std::max_element(most, most + kLanes), std::min(1.0f, kGaussian ? std::exp(factor) : factor)};
  }

  float sigma_;
  bool gaussian_;
  std::vector<Block> blocks_;
  size_t count_ = 0;
};

void suppress_by_matrix(const ClassBoxes& part, const MatrixNmsParams& params, int64_t item, int64_t label,
                        std::vector<Found>& found) {
  const float extra = params.normalized ? 0.0f : 1.0f;
  const std::vector<int64_t> order = candidates(part, params, false);
  Decays decays(params, order.size());
  for (const int64_t i : order) {
    const float* box = part.boxes + i * 4;
    const float score = decays.add(read_right_box(box, extra), extra) * part.scores[i];
    if (score > static_cast<float>(params.post_threshold)) found.push_back({score, item, label, i, box});
  }
}

void suppress_by_threshold(const ClassBoxes& part, const MulticlassNmsParams& params, const BoxOverlap& overlapping,
                           int64_t item, int64_t label, std::vector<Found>& found) {
  const std::vector<int64_t> order = candidates(part, params, true);
  std::vector<SizedBox<float>> boxes;
  boxes.reserve(order.size());
  for (const int64_t i : order) boxes.push_back(read_box(part.boxes + i * 4, overlapping.extra));
  const Threshold<float> threshold{static_cast<float>(params.iou_threshold), static_cast<float>(params.nms_eta),
                                   &just_below};
  for (const int64_t position : suppressed(boxes, INT64_MAX, threshold, overlapping)) {
    const int64_t i = order[static_cast<size_t>(position)];
    found.push_back({part.scores[i], item, label, i, part.boxes + i * 4});
  }
}

/// What suppress(label, found) finds of each class but the background, in their order.
template <class Suppress>
std::vector<Found> find_all(int64_t labels, int64_t background, Suppress&& suppress) {
  std::vector<std::vector<Found>> by_label(static_cast<size_t>(labels));
  parallel_for(labels, [&](int64_t label) {
    if (label != background) suppress(label, by_label[static_cast<size_t>(label)]);
  });
  std::vector<Found> found;
  for (const std::vector<Found>& part : by_label) found.insert(found.end(), part.begin(), part.end());
  return found;
}

/// Orders and cuts the boxes of one item. MatrixNms knows an order by classes across items only.
void finish_item(std::vector<Found>& found, const NmsParams& params, bool by_class) {
  std::stable_sort(found.begin(), found.end(), &in_final_order);
  if (params.keep_top_k >= 0 && params.keep_top_k < static_cast<int64_t>(found.size()))
    found.resize(static_cast<size_t>(params.keep_top_k));
  if (by_class && !params.sort_result_across_batch && params.sort_result_type == NmsOrder::class_id)
    std::stable_sort(found.begin(), found.end(), &has_smaller_label);
}

/// Orders all items together, where that is asked for. They come item by item, and stay so when equal.
void finish_all(std::vector<Found>& found, const NmsParams& params) {
  if (!params.sort_result_across_batch) return;
  if (params.sort_result_type == NmsOrder::score)
    std::stable_sort(found.begin(), found.end(), &has_better_score);
  else if (params.sort_result_type == NmsOrder::class_id)
    std::stable_sort(found.begin(), found.end(), &has_smaller_label);
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
  settle(ctx, 0, {rows, 6});
  settle(ctx, 1, {rows, 1});
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
  const FloatElements boxes(ctx.inputs[0]), scores(ctx.inputs[1]);
  std::vector<Found> all;
  std::vector<int64_t> per_item;
  for (int64_t item = 0; item < dims[0]; ++item) {
    std::vector<Found> found = find_all(dims[1], params.background_class, [&](int64_t label, std::vector<Found>& part) {
      suppress({boxes.data() + item * dims[2] * 4, scores.data() + (item * dims[1] + label) * dims[2], dims[2]}, params,
               item, label, part);
    });
    finish_item(found, params, std::is_same_v<Params, MulticlassNmsParams>);
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
  // With pixels, boxes less than one apart have something in common.
  const BoxOverlap overlapping{OverlapRule::with_areas, params.normalized ? 0.0f : 1.0f};
  const auto suppress = [&](const ClassBoxes& part, const MulticlassNmsParams&, int64_t item, int64_t label,
                            std::vector<Found>& found) {
    suppress_by_threshold(part, params, overlapping, item, label, found);
  };
  if (ctx.inputs.size() < 3) return run_shared(ctx, params, kOp, suppress);
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
  const FloatElements boxes(ctx.inputs[0]), scores(ctx.inputs[1]);
  std::vector<Found> all;
  std::vector<int64_t> per_item;
  for (size_t item = 0; item < given.size(); ++item) {
    const int64_t start = starts[item];
    std::vector<Found> found = find_all(dims[0], params.background_class, [&](int64_t label, std::vector<Found>& part) {
      suppress({boxes.data() + (label * dims[1] + start) * 4, scores.data() + label * dims[1] + start,
                starts[item + 1] - start},
               params, static_cast<int64_t>(item), label, part);
    });
    finish_item(found, params, true);
    per_item.push_back(static_cast<int64_t>(found.size()));
    all.insert(all.end(), found.begin(), found.end());
  }
  finish_all(all, params);
  write(ctx, all, per_item, kOp,
        [&](const Found& box) { return (starts[static_cast<size_t>(box.item)] + box.box) * dims[0] + box.label; });
}

}  // namespace terroir::ops::reference
