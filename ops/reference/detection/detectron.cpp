#include "ops/reference/detection/detectron.hpp"

#include <cstring>
#include <deque>

#include "ir/base/error.hpp"
#include "ops/reference/copy.hpp"
#include "ops/reference/detection/align_box.hpp"
#include "ops/reference/detection/best_first.hpp"
#include "ops/reference/detection/box_refinement.hpp"
#include "ops/reference/floats.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops::reference {
namespace {

/// x and y of two corners, added at once.
using Corners [[gnu::vector_size(16)]] = float;

template <class... Parts>
void require(bool right, const Parts&... parts) {
  if (!right) throw_error(ErrorCode::shape_mismatch, parts...);
}

/// The level of the pyramid for a region of this area: level 2 for 224 x 224. -1 for an empty region.
int64_t pyramid_level(float area, int64_t levels) {
  if (!(area > 0)) return -1;
  const float level = std::floor(std::log2(std::sqrt(area) / 224.0f + 1e-6f) + 2.0f);
  return std::clamp<int64_t>(floor_to_index(level), 0, levels - 1);
}

}  // namespace

PyramidRegion pyramid_region(const float* roi, const RoiFeatureParams& params, int64_t levels) {
  const int64_t level = pyramid_level((roi[2] - roi[0]) * (roi[3] - roi[1]), levels);
  if (level < 0) return {level, {}, {}};
  const float scale = 1.0f / static_cast<float>(params.pyramid_scales[static_cast<size_t>(level)]);
  const float shift = params.aligned ? 0.5f : 0.0f;
  const RoiPoint<float> start{roi[1] * scale - shift, roi[0] * scale - shift};
  return {level,
          start,
          {std::max(roi[3] * scale - shift - start.y, 1.0f), std::max(roi[2] * scale - shift - start.x, 1.0f)}};
}

void prior_grid_generator(const ir::EvalContext& ctx, const PriorGridParams& params) {
  constexpr const char* kOp = "ExperimentalDetectronPriorGridGenerator";
  const ir::Dims& map = ctx.inputs[1].dims;
  const ir::Dims& image = ctx.inputs[2].dims;
  const ir::Dims& priors_dims = ctx.inputs[0].dims;
  require(priors_dims.size() == 2 && priors_dims[1] == 4 && map.size() == 4 && image.size() == 4, kOp, ": priors ",
          priors_dims, ", feature map ", map, " and image ", image);
  const int64_t rows = params.h > 0 ? params.h : map[2];
  const int64_t columns = params.w > 0 ? params.w : map[3];
  require(ctx.outputs[0].count() == ir::element_count({rows, columns, priors_dims[0], 4}), kOp,
          ": the output was planned as ", ctx.outputs[0].dims);
  const auto step_of = [](double given, int64_t extent, int64_t cells) {
    return given > 0 ? static_cast<float>(given) : static_cast<float>(extent) / static_cast<float>(cells);
  };
  const float step_x = step_of(params.stride_x, image[3], columns);
  const float step_y = step_of(params.stride_y, image[2], rows);
  const FloatElements priors(ctx.inputs[0]);
  FloatResult result(ctx.outputs[0], kOp);
  parallel_for(rows, [&](int64_t y) {
    float* to = result.data() + static_cast<size_t>(y * columns) * priors.size();
    const float shift_y = step_y * (static_cast<float>(y) + 0.5f);
    for (int64_t x = 0; x < columns; ++x) {
      const float shift_x = step_x * (static_cast<float>(x) + 0.5f);
      const Corners shift = {shift_x, shift_y, shift_x, shift_y};
      for (const float* prior = priors.data(); prior < priors.data() + priors.size(); prior += 4, to += 4) {
        Corners corners;
        std::memcpy(&corners, prior, sizeof(corners));
        corners += shift;
        std::memcpy(to, &corners, sizeof(corners));
      }
    }
  });
  result.store();
}

void top_k_rois(const ir::EvalContext& ctx) {
  constexpr const char* kOp = "ExperimentalDetectronTopKROIs";
  const FloatElements rois(ctx.inputs[0]), scores(ctx.inputs[1]);
  require(rois.size() == scores.size() * 4, kOp, ": ", scores.size(), " probabilities for rois ", ctx.inputs[0].dims);
  const int64_t wanted = ctx.outputs[0].count() / 4;
  FloatResult result(ctx.outputs[0], kOp);
  float* to = std::fill_n(result.data(), wanted * 4, 0.0f) - wanted * 4;
  for (const int64_t i : best_first({scores.data(), scores.size()}, wanted))
    to = std::copy_n(rois.data() + i * 4, 4, to);
  result.store();
}

void roi_feature_extractor(const ir::EvalContext& ctx, const RoiFeatureParams& params) {
  constexpr const char* kOp = "ExperimentalDetectronROIFeatureExtractor";
  const auto levels = static_cast<int64_t>(ctx.inputs.size()) - 1;
  require(static_cast<int64_t>(params.pyramid_scales.size()) >= levels, kOp, ": ", params.pyramid_scales.size(),
          " pyramid_scales for ", levels, " feature maps");
  const ir::Dims& roi_dims = ctx.inputs[0].dims;
  require(roi_dims.size() == 2 && roi_dims[1] == 4, kOp, ": rois ", roi_dims);
  const int64_t size = params.output_size;
  std::deque<FloatElements> maps;
  for (int64_t i = 1; i <= levels; ++i) {
    const ir::TensorView& map = ctx.inputs[static_cast<size_t>(i)];
    require(map.dims.size() == 4 && map.dims[0] == 1 && map.dims[1] == ctx.inputs[1].dims[1], kOp, ": feature map ", i,
            " is ", map.dims);
    maps.emplace_back(map);
  }
  const int64_t channels = ctx.inputs[1].dims[1];
  require_dims(ctx.outputs[0], {roi_dims[0], channels, size, size}, kOp);
  const FloatElements rois(ctx.inputs[0]);
  FloatResult result(ctx.outputs[0], kOp);
  parallel_for(roi_dims[0], [&](int64_t n) {
    const int64_t features = channels * size * size;
    float* out = result.data() + n * features;
    const PyramidRegion region = pyramid_region(rois.data() + n * 4, params, levels);
    const auto level = static_cast<size_t>(std::max<int64_t>(region.level, 0));
    const FeatureMap map(ctx.inputs[level + 1].dims);
    if (region.level < 0 || map.plane() == 0) {
      std::fill_n(out, features, 0.0f);
      return;
    }
    const AlignedGrid<float> grid(map, region.start, region.size, size, size, params.sampling_ratio);
    align_box(maps[level].data(), map, grid, RoiAlignMode::avg, ctx.outputs[0].dims, out,
              [](RoiPoint<float> p) { return p; });
  });
  result.store();
  from_floats(to_floats(ctx.inputs[0]), ctx.outputs[1], kOp);
}

void detectron_detection_output(const ir::EvalContext& ctx, const DetectronOutputParams& params) {
  constexpr const char* kOp = "ExperimentalDetectronDetectionOutput";
  const int64_t classes = params.num_classes;
  const int64_t count = ctx.inputs[0].dims.empty() ? 0 : ctx.inputs[0].dims[0];
  require(ctx.inputs[0].count() == count * 4 && ctx.inputs[1].count() == count * classes * 4 &&
              ctx.inputs[2].count() == count * classes,
          kOp, ": rois ", ctx.inputs[0].dims, ", deltas ", ctx.inputs[1].dims, " and scores ", ctx.inputs[2].dims,
          " do not fit ", classes, " classes");
  const FloatElements rois(ctx.inputs[0]), deltas(ctx.inputs[1]), scores(ctx.inputs[2]);
  struct Detection {
    ScoredBox box;
    int64_t label, roi;
  };
  const auto limit = static_cast<float>(params.max_delta_log_wh);
  const BoxOverlap overlap{OverlapRule::touching_with_union, 1.0f};
  std::vector<std::vector<Detection>> by_label(static_cast<size_t>(classes));
  parallel_for(classes - 1, [&](int64_t task) {
    const int64_t label = task + 1;
    std::vector<Detection> candidates;
    std::vector<float> candidate_scores;
    for (int64_t n = 0; n < count; ++n) {
      const float* roi = rois.data() + n * 4;
      const float score = scores[static_cast<size_t>(n * classes + label)];
      if (roi[2] - roi[0] <= 0 || roi[3] - roi[1] <= 0 || !(score > static_cast<float>(params.score_threshold)))
        continue;
      const auto delta = [&](size_t i) {
        return deltas[static_cast<size_t>((n * classes + label) * 4) + i] /
               static_cast<float>(params.deltas_weights[i]);
      };
      ScoredBox box =
          refined({roi[0], roi[1], roi[2], roi[3], score}, delta(0), delta(1), delta(2), delta(3), limit, 1.0f);
      box = {std::max(0.0f, box.x0), std::max(0.0f, box.y0), std::max(0.0f, box.x1), std::max(0.0f, box.y1), score};
      candidates.push_back({box, label, n});
      candidate_scores.push_back(score);
    }
    const std::vector<int64_t> order = best_first(candidate_scores);
    std::vector<SizedBox<float>> boxes;
    for (const int64_t i : order) boxes.push_back(sized(candidates[static_cast<size_t>(i)].box, 1.0f));
    const int64_t most_kept = params.post_nms_count >= 0 ? params.post_nms_count : INT64_MAX;
    for (const int64_t i : suppressed(boxes, most_kept, {static_cast<float>(params.nms_threshold)}, overlap))
      by_label[static_cast<size_t>(label)].push_back(candidates[static_cast<size_t>(order[static_cast<size_t>(i)])]);
  });
  std::vector<Detection> found;
  for (const std::vector<Detection>& part : by_label) found.insert(found.end(), part.begin(), part.end());
  const auto most = static_cast<size_t>(params.max_detections_per_image);
  if (found.size() > most) {
    std::stable_sort(found.begin(), found.end(), [](const Detection& a, const Detection& b) {
      return a.box.score > b.box.score || (a.box.score == b.box.score && a.roi < b.roi);
    });
    found.resize(most);
  }
  require_dims(ctx.outputs[0], {params.max_detections_per_image, 4}, kOp);
  std::vector<float> boxes(most * 4, 0.0f), best(most, 0.0f);
  std::vector<int64_t> labels(most, 0);
  for (size_t i = 0; i < found.size(); ++i) {
    const ScoredBox& box = found[i].box;
    const float corners[4] = {box.x0, box.y0, box.x1, box.y1};
    std::copy(corners, corners + 4, boxes.begin() + static_cast<std::ptrdiff_t>(i * 4));
    best[i] = box.score;
    labels[i] = found[i].label;
  }
  from_floats(boxes, ctx.outputs[0], kOp);
  from_indices(labels, ctx.outputs[1]);
  from_floats(best, ctx.outputs[2], kOp);
}

}  // namespace terroir::ops::reference
