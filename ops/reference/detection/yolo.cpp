#include "ops/reference/detection/yolo.hpp"

#include <algorithm>
#include <cmath>

#include "ir/base/error.hpp"
#include "ops/reference/element_copy.hpp"
#include "ops/reference/floats.hpp"
#include "ops/reference/parallel.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops::reference {
namespace {

/// Softmax over `channels` values that lie `step` apart.
void softmax(const float* src, float* dst, int64_t channels, int64_t step) {
  float most = src[0];
  for (int64_t c = 1; c < channels; ++c) most = std::max(most, src[c * step]);
  float sum = 0;
  for (int64_t c = 0; c < channels; ++c) {
    dst[c * step] = std::exp(src[c * step] - most);
    sum += dst[c * step];
  }
  for (int64_t c = 0; c < channels; ++c) dst[c * step] /= sum;
}

}  // namespace

void region_yolo(const ir::EvalContext& ctx, const RegionYoloParams& params) {
  const ir::TensorView& data = ctx.inputs[0];
  const ir::Dims& dims = data.dims;
  const int64_t entries = params.coords + params.classes + 1;
  if (dims.size() != 4 || dims[1] < params.regions() * entries)
    throw_error(ErrorCode::shape_mismatch, "RegionYolo: data ", dims, " has too few channels for ", params.regions(),
                " regions of ", entries);
  const int64_t area = dims[2] * dims[3];
  const int64_t channels = params.do_softmax ? dims[1] : params.regions() * entries;
  if (ctx.outputs[0].count() != ir::element_count({dims[0], channels, area}))
    throw_error(ErrorCode::shape_mismatch, "RegionYolo: the output was planned as ", ctx.outputs[0].dims, " for data ",
                dims);
  const FloatElements src(data);
  FloatResult result(ctx.outputs[0], "RegionYolo");
  const auto sigmoid = [](float* values, int64_t count) {
    for (int64_t i = 0; i < count; ++i) values[i] = 1.0f / (1.0f + std::exp(-values[i]));
  };
  parallel_for(dims[0], [&](int64_t n) {
    const float* from = src.data() + n * dims[1] * area;
    float* to = result.data() + n * channels * area;
    std::copy(from, from + channels * area, to);
    for (int64_t region = 0; region < params.regions(); ++region) {
      float* box = to + region * entries * area;
      const float* raw = from + region * entries * area;
      sigmoid(box, std::min<int64_t>(2, params.coords) * area);
      sigmoid(box + params.coords * area, (params.do_softmax ? 1 : params.classes + 1) * area);
      if (!params.do_softmax) continue;
      const int64_t first_class = (params.coords + 1) * area;
      for (int64_t i = 0; i < area && params.classes > 0; ++i)
        softmax(raw + first_class + i, box + first_class + i, params.classes, area);
    }
  });
  result.store();
}

void reorg_yolo(const ir::EvalContext& ctx, int64_t stride) {
  const ir::TensorView& data = ctx.inputs[0];
  const ir::Dims& in = data.dims;
  const int64_t block = stride * stride;
  if (in.size() != 4 || in[1] % block != 0 || in[2] % stride != 0 || in[3] % stride != 0)
    throw_error(ErrorCode::shape_mismatch, "ReorgYolo: data ", in, " does not divide by the stride ", stride);
  require_dims(ctx.outputs[0], {in[0], in[1] * block, in[2] / stride, in[3] / stride}, "ReorgYolo");
  // Darknet walks the input as if it were the output of the inverse: [N, C / s^2, H * s, W * s].
  const ElementCopier copier(data.type, "ReorgYolo");
  const int64_t channels = in[1] / block;
  int64_t to = 0;
  for_each_position(in, [&](const ir::Dims& at) {
    const int64_t offset = at[1] / channels;
    const int64_t y = at[2] * stride + offset / stride;
    const int64_t x = at[3] * stride + offset % stride;
    const int64_t from = ((at[0] * channels + at[1] % channels) * in[2] * stride + y) * in[3] * stride + x;
    copier.copy(ctx.outputs[0].data, to++, data.data, from, 1);
  });
}

}  // namespace terroir::ops::reference
