#include "ops/reference/detection/prior_box.hpp"

#include <algorithm>
#include <cmath>

#include "ir/base/error.hpp"
#include "ops/reference/parallel.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops::reference {
namespace {

/// One box of a cell: centre = cell centre - back + shift + step, extents = 2 * half.
struct Prior {
  float half_width, half_height;
  float back = 0, shift = 0, step_x = 0, step_y = 0;
  bool open_clip = false;  // limit the near edges to 0 and the far ones to 1
};

bool is_one(float ratio) { return std::fabs(ratio - 1.0f) < 1e-6f; }

std::vector<float> all_ratios(const PriorBoxParams& params) {
  std::vector<float> ratios{1.0f};
  for (const double given : params.aspect_ratio) {
    const auto ratio = static_cast<float>(given);
    const bool known =
        std::any_of(ratios.begin(), ratios.end(), [ratio](float other) { return std::fabs(ratio - other) < 1e-6f; });
    if (known) continue;
    ratios.push_back(ratio);
    if (params.flip) ratios.push_back(1.0f / ratio);
  }
  return ratios;
}

/// A density x density raster of one box, inside a square of `size`.
void add_dense(std::vector<Prior>& priors, float size, double density_attr, float half_width, float half_height) {
  const auto density = static_cast<int64_t>(density_attr);
  const auto shift = static_cast<int64_t>(size / static_cast<float>(density));
  const auto half_size = static_cast<float>(static_cast<int64_t>(size) / 2);
  for (int64_t row = 0; row < density; ++row)
    for (int64_t column = 0; column < density; ++column)
      priors.push_back({half_width, half_height, half_size, static_cast<float>(shift) / 2.0f,
                        static_cast<float>(column * shift), static_cast<float>(row * shift), true});
}

/// The boxes of a cell in their order. Sizes relative to the image (scale_all_sizes off) are multiplied by `scale`.
std::vector<Prior> cell_priors(const PriorBoxParams& params, float scale) {
  const std::vector<float> ratios = all_ratios(params);
  std::vector<Prior> priors;
  for (size_t s = 0; s < params.fixed_size.size(); ++s) {
    const auto size = static_cast<float>(params.fixed_size[s]);
    const double density = params.density[s];
    const auto add_ratio = [&](float ratio) {
      const float root = std::sqrt(ratio);
      add_dense(priors, size, density, size * 0.5f * root, size * 0.5f / root);
    };
    if (!params.fixed_ratio.empty()) {
      for (const double ratio : params.fixed_ratio) add_ratio(static_cast<float>(ratio));
      continue;
    }
    const float half = static_cast<float>(static_cast<int64_t>(size)) * 0.5f;
    add_dense(priors, size, density, half, half);
    for (const float ratio : ratios)
      if (!is_one(ratio)) add_ratio(ratio);
  }
  std::vector<float> sizes;
  for (const double size : params.min_size) sizes.push_back(static_cast<float>(size) * scale);
  for (size_t s = 0; s < sizes.size(); ++s) {
    priors.push_back({sizes[s] * 0.5f, sizes[s] * 0.5f});
    const auto add_maximum = [&] {
      if (s >= params.max_size.size()) return;
      const float half = std::sqrt(sizes[s] * static_cast<float>(params.max_size[s])) * 0.5f;
      priors.push_back({half, half});
    };
    if (params.min_max_aspect_ratios_order) add_maximum();
    if (params.scale_all_sizes || s + 1 == sizes.size()) {
      const float base = sizes[params.scale_all_sizes ? s : 0];
      for (const float ratio : ratios) {
        if (is_one(ratio)) continue;
        const float root = std::sqrt(ratio);
        priors.push_back({base * 0.5f * root, base * 0.5f / root});
      }
    }
    if (!params.min_max_aspect_ratios_order) add_maximum();
  }
  return priors;
}

struct Grid {
  int64_t height, width, image_height, image_width;
};

Grid read_grid(const ir::EvalContext& ctx, const char* op) {
  const auto grid = ir::to_integers(ctx.inputs[0]);
  const auto image = ir::to_integers(ctx.inputs[1]);
  if (grid.size() != 2 || image.size() != 2)
    throw_error(ErrorCode::shape_mismatch, op, ": output_size and image_size must have 2 elements, got ", grid.size(),
                " and ", image.size());
  if (grid[0] < 0 || grid[1] < 0)
    throw_error(ErrorCode::invalid_argument, op, ": output_size must not be negative, got ", grid);
  return {grid[0], grid[1], image[0], image[1]};
}

/// The second row of the output: the variances, repeated for each box.
void write_variances(const std::vector<double>& variance, float* dst, int64_t boxes) {
  for (int64_t i = 0; i < boxes; ++i)
    for (size_t j = 0; j < 4; ++j)
      *dst++ = variance.empty() ? 0.1f : static_cast<float>(variance[variance.size() == 1 ? 0 : j]);
}

int64_t checked_boxes(const ir::EvalContext& ctx, const Grid& grid, int64_t priors, const char* op) {
  const int64_t boxes = ir::element_count({grid.height, grid.width, priors});
  require_dims(ctx.outputs[0], {2, ir::element_count({boxes, 4})}, op);
  return boxes;
}

float unit(float x) { return std::min(std::max(x, 0.0f), 1.0f); }

}  // namespace

int64_t prior_count(const PriorBoxParams& params) { return static_cast<int64_t>(cell_priors(params, 1.0f).size()); }

void prior_box(const ir::EvalContext& ctx, const PriorBoxParams& params) {
  const Grid grid = read_grid(ctx, "PriorBox");
  const auto image_height = static_cast<float>(grid.image_height);
  const auto image_width = static_cast<float>(grid.image_width);
  const std::vector<Prior> priors = cell_priors(params, params.scale_all_sizes ? 1.0f : image_height);
  const int64_t boxes = checked_boxes(ctx, grid, static_cast<int64_t>(priors.size()), "PriorBox");
  if (boxes == 0) return;  // the other extents may be too large to multiply

  auto step = static_cast<float>(params.step);
  // A step relative to the image, -1: as many steps as cells.
  if (!params.scale_all_sizes)
    step = step == -1.0f ? image_height / static_cast<float>(grid.height) : step * image_height;
  const float step_x = step == 0 ? image_width / static_cast<float>(grid.width) : step;
  const float step_y = step == 0 ? image_height / static_cast<float>(grid.height) : step;
  const float offset = step == 0 ? 0.5f : static_cast<float>(params.offset);
  const float per_width = 1.0f / image_width;
  const float per_height = 1.0f / image_height;

  auto* dst = ctx.outputs[0].as<float>();
  const int64_t row_floats = grid.width * static_cast<int64_t>(priors.size()) * 4;
  parallel_for(grid.height, [&](int64_t h) {
    float* to = dst + h * row_floats;
    for (int64_t w = 0; w < grid.width; ++w) {
      const float cell_x = (static_cast<float>(w) + offset) * step_x;
      const float cell_y = (static_cast<float>(h) + offset) * step_y;
      for (const Prior& prior : priors) {
        const float x = cell_x - prior.back + prior.shift + prior.step_x;
        const float y = cell_y - prior.back + prior.shift + prior.step_y;
        float box[4] = {(x - prior.half_width) * per_width, (y - prior.half_height) * per_height,
                        (x + prior.half_width) * per_width, (y + prior.half_height) * per_height};
        if (prior.open_clip) {
          box[0] = std::max(box[0], 0.0f);
          box[1] = std::max(box[1], 0.0f);
          box[2] = std::min(box[2], 1.0f);
          box[3] = std::min(box[3], 1.0f);
        }
        for (const float edge : box) *to++ = params.clip ? unit(edge) : edge;
      }
    }
  });
  write_variances(params.variance, dst + boxes * 4, boxes);
}

void prior_box_clustered(const ir::EvalContext& ctx, const PriorBoxClusteredParams& params) {
  const Grid grid = read_grid(ctx, "PriorBoxClustered");
  const auto image_height = static_cast<float>(grid.image_height);
  const auto image_width = static_cast<float>(grid.image_width);
  const int64_t boxes = checked_boxes(ctx, grid, static_cast<int64_t>(params.width.size()), "PriorBoxClustered");
  if (boxes == 0) return;

  auto step_x = static_cast<float>(params.step_w == 0 ? params.step : params.step_w);
  auto step_y = static_cast<float>(params.step_h == 0 ? params.step : params.step_h);
  if (step_x == 0 && step_y == 0) {
    step_x = image_width / static_cast<float>(grid.width);
    step_y = image_height / static_cast<float>(grid.height);
  }
  const auto offset = static_cast<float>(params.offset);
  auto* dst = ctx.outputs[0].as<float>();
  const int64_t row_floats = grid.width * static_cast<int64_t>(params.width.size()) * 4;
  parallel_for(grid.height, [&](int64_t h) {
    float* to = dst + h * row_floats;
    for (int64_t w = 0; w < grid.width; ++w) {
      const float x = (static_cast<float>(w) + offset) * step_x;
      const float y = (static_cast<float>(h) + offset) * step_y;
      for (size_t s = 0; s < params.width.size(); ++s) {
        const float half_width = static_cast<float>(params.width[s]) / 2.0f;
        const float half_height = static_cast<float>(params.height[s]) / 2.0f;
        const float box[4] = {(x - half_width) / image_width, (y - half_height) / image_height,
                              (x + half_width) / image_width, (y + half_height) / image_height};
        for (const float edge : box) *to++ = params.clip ? unit(edge) : edge;
      }
    }
  });
  write_variances(params.variance, dst + boxes * 4, boxes);
}

}  // namespace terroir::ops::reference
