#include "ir/base/error.hpp"
#include "ops/reference/detection/best_first.hpp"
#include "ops/reference/detection/box_refinement.hpp"
#include "ops/reference/detection/detectron.hpp"
#include "ops/reference/floats.hpp"
#include "ops/reference/results.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops::reference {
namespace {

/// One item: A anchors in each of rows x columns cells.
struct Item {
  const float* anchors;  // [rows, columns, A, 4]
  const float* deltas;   // [A, 4, rows, columns]
  const float* scores;   // [A, rows, columns]
  int64_t anchor_count, rows, columns;
  float image_height, image_width, least_height, least_width;
};

struct Proposed {
  ScoredBox box;
  bool large;
};

std::vector<Proposed> refine_all(const Item& item, float extra) {
  // Sizes grow to 1000 / 16 of the anchor at most.
  const auto limit = static_cast<float>(std::log(1000.0 / 16.0));
  const int64_t area = item.rows * item.columns;
  const auto inside = [](float x, float most) { return std::max(0.0f, std::min(x, most)); };
  std::vector<Proposed> proposed(static_cast<size_t>(area * item.anchor_count));
  constexpr int64_t kCellsPerTask = 1024;
  parallel_ranges(area, kCellsPerTask, [&](int64_t begin, int64_t end) {
    for (int64_t cell = begin; cell < end; ++cell) {
      for (int64_t a = 0; a < item.anchor_count; ++a) {
        const float* anchor = item.anchors + (cell * item.anchor_count + a) * 4;
        const auto delta = [&](int64_t i) { return item.deltas[(a * 4 + i) * area + cell]; };
        ScoredBox box =
            refined({anchor[0], anchor[1], anchor[2], anchor[3]}, delta(0), delta(1), delta(2), delta(3), limit, extra);
        box = {inside(box.x0, item.image_width - extra), inside(box.y0, item.image_height - extra),
               inside(box.x1, item.image_width - extra), inside(box.y1, item.image_height - extra),
               item.scores[a * area + cell]};
        const bool large = item.least_width <= box.x1 - box.x0 + extra && item.least_height <= box.y1 - box.y0 + extra;
        proposed[static_cast<size_t>(cell * item.anchor_count + a)] = {box, large};
      }
    }
  });
  return proposed;
}

std::vector<ScoredBox> choose(const std::vector<Proposed>& proposed, const GenerateProposalsParams& params, float extra,
                              bool drop_small) {
  std::vector<float> scores;
  scores.reserve(proposed.size());
  for (const Proposed& next : proposed) scores.push_back(next.box.score);
  std::vector<ScoredBox> candidates;
  std::vector<SizedBox<float>> boxes;
  for (const int64_t i : best_first(scores, params.pre_nms_count)) {
    const Proposed& next = proposed[static_cast<size_t>(i)];
    if (drop_small && !next.large) continue;
    candidates.push_back(next.box);
    boxes.push_back(sized(next.box, extra));
  }
  const Threshold<float> threshold{static_cast<float>(params.nms_threshold), static_cast<float>(params.nms_eta)};
  std::vector<ScoredBox> kept;
  for (const int64_t i : suppressed(boxes, params.post_nms_count, threshold, {OverlapRule::touching_with_union, extra}))
    kept.push_back(candidates[static_cast<size_t>(i)]);
  return kept;
}

void append(const std::vector<ScoredBox>& boxes, std::vector<float>& corners, std::vector<float>& scores) {
  for (const ScoredBox& box : boxes) {
    corners.insert(corners.end(), {box.x0, box.y0, box.x1, box.y1});
    scores.push_back(box.score);
  }
}

}  // namespace

void generate_proposals_single_image(const ir::EvalContext& ctx, const GenerateProposalsParams& params) {
  constexpr const char* kOp = "ExperimentalDetectronGenerateProposalsSingleImage";
  const ir::Dims& dims = ctx.inputs[3].dims;
  const std::vector<float> image = to_floats(ctx.inputs[0]);
  if (dims.size() != 3 || image.size() < 2 || ctx.inputs[2].dims != ir::Dims{dims[0] * 4, dims[1], dims[2]} ||
      ctx.inputs[1].count() != ir::element_count(dims) * 4)
    throw_error(ErrorCode::shape_mismatch, kOp, ": anchors ", ctx.inputs[1].dims, " and deltas ", ctx.inputs[2].dims,
                " do not fit scores ", dims);
  require_dims(ctx.outputs[0], {params.post_nms_count, 4}, kOp);
  const FloatElements anchors(ctx.inputs[1]), deltas(ctx.inputs[2]), scores(ctx.inputs[3]);
  const auto least = static_cast<float>(params.min_size);
  std::vector<Proposed> proposed = refine_all(
      {anchors.data(), deltas.data(), scores.data(), dims[0], dims[1], dims[2], image[0], image[1], least, least},
      1.0f);
  // Boxes that are too small stay, with the worst score.
  for (Proposed& next : proposed)
    if (!next.large) next.box.score = 0;
  std::vector<float> corners, best;
  append(choose(proposed, params, 0.0f, false), corners, best);
  corners.resize(static_cast<size_t>(params.post_nms_count) * 4, 0.0f);
  best.resize(static_cast<size_t>(params.post_nms_count), 0.0f);
  from_floats(corners, ctx.outputs[0], kOp);
  from_floats(best, ctx.outputs[1], kOp);
}

void generate_proposals(const ir::EvalContext& ctx, const GenerateProposalsParams& params) {
  constexpr const char* kOp = "GenerateProposals";
  const ir::Dims& dims = ctx.inputs[3].dims;
  const ir::Dims& image_dims = ctx.inputs[0].dims;
  if (dims.size() != 4 || image_dims.size() != 2 || image_dims[0] != dims[0] || image_dims[1] < 3 ||
      image_dims[1] > 4 || ctx.inputs[2].dims != ir::Dims{dims[0], dims[1] * 4, dims[2], dims[3]} ||
      ctx.inputs[1].dims != ir::Dims{dims[2], dims[3], dims[1], 4})
    throw_error(ErrorCode::shape_mismatch, kOp, ": im_info ", image_dims, ", anchors ", ctx.inputs[1].dims,
                " and deltas ", ctx.inputs[2].dims, " do not fit scores ", dims);
  const std::vector<float> images = to_floats(ctx.inputs[0]);
  const FloatElements anchors(ctx.inputs[1]), deltas(ctx.inputs[2]), scores(ctx.inputs[3]);
  const float extra = params.normalized ? 0.0f : 1.0f;
  const auto least = static_cast<float>(params.min_size);
  const int64_t per_item = dims[1] * dims[2] * dims[3];
  std::vector<float> corners, best;
  std::vector<int64_t> counts;
  for (int64_t n = 0; n < dims[0]; ++n) {
    const float* image = images.data() + n * image_dims[1];
    const Item item{anchors.data(),
                    deltas.data() + n * per_item * 4,
                    scores.data() + n * per_item,
                    dims[1],
                    dims[2],
                    dims[3],
                    image[0],
                    image[1],
                    least * image[2],
                    least * image[image_dims[1] - 1]};
    const auto kept = choose(refine_all(item, extra), params, extra, true);
    counts.push_back(static_cast<int64_t>(kept.size()));
    append(kept, corners, best);
  }
  const auto rows = static_cast<int64_t>(best.size());
  if (ctx.outputs[0].count() < rows * 4 || ctx.outputs[1].count() < rows || ctx.outputs[2].count() != dims[0])
    throw_error(ErrorCode::shape_mismatch, kOp, ": the outputs have no room for ", rows, " boxes");
  settle(ctx, 0, {rows, 4});
  settle(ctx, 1, {rows});
  from_floats(corners, ctx.outputs[0], kOp);
  from_floats(best, ctx.outputs[1], kOp);
  from_indices(counts, ctx.outputs[2]);
}

}  // namespace terroir::ops::reference
