#include "ops/reference/detection/proposal.hpp"

#include <algorithm>
#include <cmath>

#include "ir/base/error.hpp"
#include "ops/reference/detection/best_first.hpp"
#include "ops/reference/detection/kept_boxes.hpp"
#include "ops/reference/floats.hpp"

namespace terroir::ops::reference {
namespace {

struct Box {
  float x0, y0, x1, y1, score = 0;
};

/// What differs between the two frameworks.
struct Convention {
  bool tensorflow;
  float extra;  // 1 where a box includes its last row and column
};

std::vector<Box> make_anchors(const ProposalParams& params, const Convention& convention) {
  const auto base = static_cast<float>(params.base_size);
  const float center = 0.5f * (base - convention.extra) - (convention.tensorflow ? base * 0.5f : 0.0f);
  std::vector<Box> anchors;
  for (const double given_ratio : params.ratio) {
    const auto ratio = static_cast<float>(given_ratio);
    float width = std::sqrt(base * base / ratio);
    if (!convention.tensorflow) width = std::round(width);
    const float height = convention.tensorflow ? width * ratio : std::round(width * ratio);
    for (const double given_scale : params.scale) {
      const auto scale = static_cast<float>(given_scale);
      const float half_width = 0.5f * (width * scale - convention.extra);
      const float half_height = 0.5f * (height * scale - convention.extra);
      anchors.push_back({center - half_width, center - half_height, center + half_width, center + half_height});
    }
  }
  return anchors;
}

void clip(Box& box, float width, float height) {
  const auto inside = [](float x, float most) { return std::max(0.0f, std::min(x, most)); };
  box = {inside(box.x0, width), inside(box.y0, height), inside(box.x1, width), inside(box.y1, height), box.score};
}

struct Image {
  float height, width, least_height, least_width;
};

/// All anchors of all cells of one item, moved by the corrections. `scores` are the second half of class_probs.
std::vector<Box> make_boxes(const float* scores, const float* deltas, const std::vector<Box>& anchors, int64_t rows,
                            int64_t columns, const Image& image, const ProposalParams& params,
                            const Convention& convention) {
  const int64_t area = rows * columns;
  std::vector<Box> boxes(static_cast<size_t>(area) * anchors.size());
  parallel_for(rows, [&](int64_t h) {
    for (int64_t w = 0; w < columns; ++w) {
      const auto x = static_cast<float>((convention.tensorflow ? h : w) * params.feat_stride);
      const auto y = static_cast<float>((convention.tensorflow ? w : h) * params.feat_stride);
      const int64_t cell = h * columns + w;
      for (size_t a = 0; a < anchors.size(); ++a) {
        const auto plane = static_cast<int64_t>(a);
        const auto delta = [&](int64_t i) { return deltas[(plane * 4 + i) * area + cell]; };
        Box box{x + anchors[a].x0, y + anchors[a].y0, x + anchors[a].x1, y + anchors[a].y1};
        if (convention.tensorflow) clip(box, image.width, image.height);
        const float width = box.x1 - box.x0 + convention.extra;
        const float height = box.y1 - box.y0 + convention.extra;
        const auto coordinate_scale = static_cast<float>(params.box_coordinate_scale);
        const auto size_scale = static_cast<float>(params.box_size_scale);
        const float center_x = delta(0) / coordinate_scale * width + box.x0 + 0.5f * width;
        const float center_y = delta(1) / coordinate_scale * height + box.y0 + 0.5f * height;
        const float new_width = std::exp(delta(2) / size_scale) * width;
        const float new_height = std::exp(delta(3) / size_scale) * height;
        box = {center_x - 0.5f * new_width, center_y - 0.5f * new_height, center_x + 0.5f * new_width,
               center_y + 0.5f * new_height};
        if (params.clip_before_nms) clip(box, image.width - convention.extra, image.height - convention.extra);
        // Boxes that are too small stay, with the worst score.
        const bool large = image.least_width <= box.x1 - box.x0 + convention.extra &&
                           image.least_height <= box.y1 - box.y0 + convention.extra;
        box.score = large ? scores[plane * area + cell] : 0.0f;
        boxes[static_cast<size_t>(cell) * anchors.size() + a] = box;
      }
    }
  });
  return boxes;
}

SizedBox<float> sized(const Box& box, float extra) {
  return {box.x0, box.y0, box.x1, box.y1, (box.x1 - box.x0 + extra) * (box.y1 - box.y0 + extra)};
}

/// Keeps at most post_nms_topn of the best pre_nms_topn boxes.
std::vector<Box> choose(const std::vector<Box>& boxes, const ProposalParams& params, const Convention& convention) {
  std::vector<float> scores;
  scores.reserve(boxes.size());
  for (const Box& box : boxes) scores.push_back(box.score);
  const std::vector<int64_t> order = best_first(scores, params.pre_nms_topn);
  std::vector<SizedBox<float>> candidates;
  candidates.reserve(order.size());
  for (const int64_t i : order) candidates.push_back(sized(boxes[static_cast<size_t>(i)], convention.extra));
  std::vector<Box> kept;
  for (const int64_t position : suppressed(candidates, params.post_nms_topn, {static_cast<float>(params.nms_thresh)},
                                           {OverlapRule::touching, convention.extra}))
    kept.push_back(boxes[static_cast<size_t>(order[static_cast<size_t>(position)])]);
  return kept;
}

}  // namespace

void proposal(const ir::EvalContext& ctx, const ProposalParams& params) {
  constexpr const char* kOp = "Proposal";
  const Convention convention{params.framework == "tensorflow", params.framework == "tensorflow" ? 0.0f : 1.0f};
  const ir::Dims& dims = ctx.inputs[0].dims;
  const std::vector<Box> anchors = make_anchors(params, convention);
  const auto count = static_cast<int64_t>(anchors.size());
  const std::vector<float> image = to_floats(ctx.inputs[2]);
  if (dims.size() != 4 || dims[1] != 2 * count ||
      ctx.inputs[1].dims != ir::Dims{dims[0], 4 * count, dims[2], dims[3]} || image.size() < 3 || image.size() > 4)
    throw_error(ErrorCode::shape_mismatch, kOp, ": class_probs ", dims, ", bbox_deltas ", ctx.inputs[1].dims,
                " and image_shape ", ctx.inputs[2].dims, " do not fit ", count, " anchors");
  const int64_t rows = ir::element_count({dims[0], params.post_nms_topn});
  if (ctx.outputs[0].count() != ir::element_count({rows, 5}) ||
      (ctx.outputs.size() > 1 && ctx.outputs[1].count() != rows))
    throw_error(ErrorCode::shape_mismatch, kOp, ": the output was planned as ", ctx.outputs[0].dims, " for ", rows,
                " boxes");
  const FloatElements probabilities(ctx.inputs[0]), deltas(ctx.inputs[1]);
  const auto least = static_cast<float>(params.min_size);
  // Along x lie the rows of "tensorflow".
  const size_t y_extent = convention.tensorflow ? 1 : 0;
  const Image info{image[y_extent], image[1 - y_extent], least * image[2], least * image.back()};
  const int64_t per_item = count * dims[2] * dims[3];

  std::vector<float> result(static_cast<size_t>(rows * 5), 0.0f);
  std::vector<float> scores(static_cast<size_t>(rows), 0.0f);
  for (int64_t n = 0; n < dims[0]; ++n) {
    const auto kept = choose(make_boxes(probabilities.data() + (2 * n + 1) * per_item, deltas.data() + 4 * n * per_item,
                                        anchors, dims[2], dims[3], info, params, convention),
                             params, convention);
    const int64_t first = n * params.post_nms_topn;
    for (size_t i = 0; i < kept.size(); ++i) {
      Box box = kept[i];
      if (params.clip_after_nms) clip(box, info.width, info.height);
      const float x_unit = params.normalize ? info.width : 1.0f;
      const float y_unit = params.normalize ? info.height : 1.0f;
      const auto row = static_cast<size_t>(first) + i;
      const float values[5] = {static_cast<float>(n), box.x0 / x_unit, box.y0 / y_unit, box.x1 / x_unit,
                               box.y1 / y_unit};
      std::copy(values, values + 5, result.begin() + static_cast<std::ptrdiff_t>(row * 5));
      scores[row] = box.score;
    }
    if (static_cast<int64_t>(kept.size()) < params.post_nms_topn)
      result[(static_cast<size_t>(first) + kept.size()) * 5] = -1.0f;
  }
  from_floats(result, ctx.outputs[0], kOp);
  if (ctx.outputs.size() > 1) from_floats(scores, ctx.outputs[1], kOp);
}

}  // namespace terroir::ops::reference
