#include "ops/reference/detection/detectron.hpp"

#include <numeric>

#include "ir/base/error.hpp"
#include "ops/reference/copy.hpp"
#include "ops/reference/detection/box_refinement.hpp"
#include "ops/reference/floats.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops::reference {
namespace {

template <class... Parts>
void require(bool right, const Parts&... parts) {
  if (!right) throw_error(ErrorCode::shape_mismatch, parts...);
}

/// Bilinear value, 0 more than one element outside of the plane.
float sample(const float* plane, int64_t height, int64_t width, float x, float y) {
  if (!(y >= -1.0f && y <= static_cast<float>(height) && x >= -1.0f && x <= static_cast<float>(width))) return 0;
  const auto split = [](float at, int64_t extent, int64_t& low, int64_t& high, float& part) {
    at = std::max(at, 0.0f);
    low = std::min(static_cast<int64_t>(at), extent - 1);
    high = std::min(low + 1, extent - 1);
    part = low == extent - 1 ? 0.0f : at - static_cast<float>(low);
  };
  int64_t top, bottom, left, right;
  float dy, dx;
  split(y, height, top, bottom, dy);
  split(x, width, left, right, dx);
  return (1 - dy) * (1 - dx) * plane[top * width + left] + (1 - dy) * dx * plane[top * width + right] +
         dy * (1 - dx) * plane[bottom * width + left] + dy * dx * plane[bottom * width + right];
}

/// The level of the pyramid for a region of this area: level 2 for 224 x 224. -1 for an empty region.
int64_t pyramid_level(float area, int64_t levels) {
  if (!(area > 0)) return -1;
  const float level = std::floor(std::log2(std::sqrt(area) / 224.0f + 1e-6f) + 2.0f);
  return std::clamp<int64_t>(floor_to_index(level), 0, levels - 1);
}

}  // namespace

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
  const std::vector<float> priors = to_floats(ctx.inputs[0]);
  std::vector<float> result;
  result.reserve(static_cast<size_t>(ctx.outputs[0].count()));
  for (int64_t y = 0; y < rows; ++y)
    for (int64_t x = 0; x < columns; ++x)
      for (size_t i = 0; i < priors.size(); ++i)
        result.push_back(priors[i] + (i % 2 == 0 ? step_x * (static_cast<float>(x) + 0.5f)
                                                 : step_y * (static_cast<float>(y) + 0.5f)));
  from_floats(result, ctx.outputs[0], kOp);
}

void top_k_rois(const ir::EvalContext& ctx) {
  constexpr const char* kOp = "ExperimentalDetectronTopKROIs";
  const std::vector<float> rois = to_floats(ctx.inputs[0]);
  const std::vector<float> scores = to_floats(ctx.inputs[1]);
  require(rois.size() == scores.size() * 4, kOp, ": ", scores.size(), " probabilities for rois ", ctx.inputs[0].dims);
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  std::vector<float> result(static_cast<size_t>(ctx.outputs[0].count()), 0.0f);
  for (size_t i = 0; i < std::min(order.size(), result.size() / 4); ++i)
    std::copy_n(rois.begin() + static_cast<std::ptrdiff_t>(order[i] * 4), 4,
                result.begin() + static_cast<std::ptrdiff_t>(i * 4));
  from_floats(result, ctx.outputs[0], kOp);
}

void roi_feature_extractor(const ir::EvalContext& ctx, const RoiFeatureParams& params) {
  constexpr const char* kOp = "ExperimentalDetectronROIFeatureExtractor";
  constexpr int64_t kMostSamples = 1024;  // of one bin and axis; regions larger than any image must not take for ever
  const auto levels = static_cast<int64_t>(ctx.inputs.size()) - 1;
  require(static_cast<int64_t>(params.pyramid_scales.size()) >= levels, kOp, ": ", params.pyramid_scales.size(),
          " pyramid_scales for ", levels, " feature maps");
  const ir::Dims& roi_dims = ctx.inputs[0].dims;
  require(roi_dims.size() == 2 && roi_dims[1] == 4, kOp, ": rois ", roi_dims);
  const int64_t size = params.output_size;
  std::vector<std::vector<float>> maps;
  for (int64_t i = 1; i <= levels; ++i) {
    const ir::TensorView& map = ctx.inputs[static_cast<size_t>(i)];
    require(map.dims.size() == 4 && map.dims[0] == 1 && map.dims[1] == ctx.inputs[1].dims[1], kOp, ": feature map ", i,
            " is ", map.dims);
    maps.push_back(to_floats(map));
  }
  const int64_t channels = ctx.inputs[1].dims[1];
  require_dims(ctx.outputs[0], {roi_dims[0], channels, size, size}, kOp);
  const std::vector<float> rois = to_floats(ctx.inputs[0]);
  std::vector<float> result(static_cast<size_t>(ctx.outputs[0].count()), 0.0f);
  for (int64_t n = 0; n < roi_dims[0]; ++n) {
    const float* roi = rois.data() + n * 4;
    const int64_t level = pyramid_level((roi[2] - roi[0]) * (roi[3] - roi[1]), levels);
    if (level < 0) continue;
    const ir::Dims& map = ctx.inputs[static_cast<size_t>(level) + 1].dims;
    if (map[2] == 0 || map[3] == 0) continue;
    const float scale = 1.0f / static_cast<float>(params.pyramid_scales[static_cast<size_t>(level)]);
    const float shift = params.aligned ? 0.5f : 0.0f;
    const float x0 = roi[0] * scale - shift, y0 = roi[1] * scale - shift;
    const float bin_width = std::max(roi[2] * scale - shift - x0, 1.0f) / static_cast<float>(size);
    const float bin_height = std::max(roi[3] * scale - shift - y0, 1.0f) / static_cast<float>(size);
    const auto samples_of = [&](float bin) {
      return params.sampling_ratio > 0 ? params.sampling_ratio
                                       : std::clamp<int64_t>(ceil_to_index(bin), 1, kMostSamples);
    };
    const int64_t across = samples_of(bin_width), down = samples_of(bin_height);
    for (int64_t c = 0; c < channels; ++c) {
      const float* plane = maps[static_cast<size_t>(level)].data() + c * map[2] * map[3];
      for (int64_t py = 0; py < size; ++py) {
        for (int64_t px = 0; px < size; ++px) {
          float sum = 0;
          for (int64_t iy = 0; iy < down; ++iy) {
            for (int64_t ix = 0; ix < across; ++ix) {
              const float y = y0 + static_cast<float>(py) * bin_height +
                              (static_cast<float>(iy) + 0.5f) * bin_height / static_cast<float>(down);
              const float x = x0 + static_cast<float>(px) * bin_width +
                              (static_cast<float>(ix) + 0.5f) * bin_width / static_cast<float>(across);
              sum += sample(plane, map[2], map[3], x, y);
            }
          }
          result[static_cast<size_t>(((n * channels + c) * size + py) * size + px)] =
              sum / static_cast<float>(down * across);
        }
      }
    }
  }
  from_floats(result, ctx.outputs[0], kOp);
  from_floats(rois, ctx.outputs[1], kOp);
}

void detectron_detection_output(const ir::EvalContext& ctx, const DetectronOutputParams& params) {
  constexpr const char* kOp = "ExperimentalDetectronDetectionOutput";
  const int64_t classes = params.num_classes;
  const int64_t count = ctx.inputs[0].dims.empty() ? 0 : ctx.inputs[0].dims[0];
  require(ctx.inputs[0].count() == count * 4 && ctx.inputs[1].count() == count * classes * 4 &&
              ctx.inputs[2].count() == count * classes,
          kOp, ": rois ", ctx.inputs[0].dims, ", deltas ", ctx.inputs[1].dims, " and scores ", ctx.inputs[2].dims,
          " do not fit ", classes, " classes");
  const std::vector<float> rois = to_floats(ctx.inputs[0]);
  const std::vector<float> deltas = to_floats(ctx.inputs[1]);
  const std::vector<float> scores = to_floats(ctx.inputs[2]);
  struct Detection {
    ScoredBox box;
    int64_t label, roi;
  };
  std::vector<Detection> found;
  const auto limit = static_cast<float>(params.max_delta_log_wh);
  for (int64_t label = 1; label < classes; ++label) {
    std::vector<Detection> candidates;
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
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Detection& a, const Detection& b) { return a.box.score > b.box.score; });
    std::vector<Detection> kept;
    for (const Detection& candidate : candidates) {
      const bool dropped = std::any_of(kept.begin(), kept.end(), [&](const Detection& other) {
        return overlap(candidate.box, other.box, 1.0f) > static_cast<float>(params.nms_threshold);
      });
      if (!dropped) kept.push_back(candidate);
    }
    if (params.post_nms_count >= 0 && params.post_nms_count < static_cast<int64_t>(kept.size()))
      kept.resize(static_cast<size_t>(params.post_nms_count));
    found.insert(found.end(), kept.begin(), kept.end());
  }
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
