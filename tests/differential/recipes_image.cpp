// Images: resizing, sampling, colours.
#include <algorithm>

#include "tests/differential/recipes.hpp"

namespace terroir::test {
namespace {

using ir::Value;

std::vector<int64_t> resized_axes(Draw& d, int64_t rank) {
  if (rank > 2 && d.chance(60)) {
    std::vector<int64_t> axes;
    for (int64_t axis = 2; axis < rank; ++axis) axes.push_back(axis);
    return axes;
  }
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis < rank; ++axis)
    if (d.chance(40)) axes.push_back(axis);
  if (axes.empty()) axes.push_back(rank - 1);
  return axes;
}

Value picture(Draw& d, int64_t min_rank = 1) {
  const Value x = d.data(
      {element::f32, element::f32, element::f32, element::f16, element::bf16, element::u8, element::i8}, min_rank, 5);
  d.need(ir::element_count(d.dims(x)) > 0);
  return x;
}

void interpolate_1(Draw& d) {
  const Value x = picture(d, 3);
  const auto axes = resized_axes(d, d.rank(x));
  std::vector<int64_t> sizes;
  for (const int64_t axis : axes) sizes.push_back(d.between(1, 2 * d.dims(x)[static_cast<size_t>(axis)] + 1));
  d.op({x, d.numbers(sizes)}, {{"axes", list(axes)}, {"mode", d.one_of({"nearest", "linear", "cubic"})}});
}

void interpolate(Draw& d) {
  const bool newest = d.schema().opset == "opset11";
  const Value x = picture(d);
  const auto axes = resized_axes(d, d.rank(x));
  const bool by_scales = d.chance(50);
  std::vector<int64_t> sizes;
  std::vector<double> scales;
  for (const int64_t axis : axes) {
    sizes.push_back(d.between(1, 2 * d.dims(x)[static_cast<size_t>(axis)] + 1));
    scales.push_back(d.one_of(std::vector<double>{0.5, 2, 1.5, 3, 1, 0.75}));
  }
  AttributeTexts attributes = {
      {"shape_calculation_mode", by_scales ? "scales" : "sizes"},
      {"mode", newest && d.chance(25) ? d.one_of({"bilinear_pillow", "bicubic_pillow"})
                                      : d.one_of({"nearest", "linear", "linear_onnx", "cubic"})}};
  if (d.chance(20)) {
    std::vector<int64_t> begin, end;
    for (int64_t axis = 0; axis < d.rank(x); ++axis) begin.push_back(d.below(2)), end.push_back(d.below(2));
    attributes.emplace_back("pads_begin", list(begin));
    attributes.emplace_back("pads_end", list(end));
  }
  const Value by_size = d.numbers(sizes), by_scale = d.reals(scales, element::f32);
  std::vector<Value> inputs = {x};
  if (!newest || !by_scales) inputs.push_back(by_size);
  if (!newest || by_scales) inputs.push_back(by_scale);
  inputs.push_back(d.numbers(axes));
  d.op(inputs, attributes);
}

void grid_sample(Draw& d) {
  const ir::Dims dims = {d.between(1, 2), d.extent(9), d.between(1, 9), d.between(1, 9)};
  const element::Type type = d.one_of(Types{element::f32, element::f32, element::f16});
  const Value x = d.like(type, dims);
  const ir::Dims grid = {dims[0], d.between(1, 9), d.between(1, 9), 2};
  d.op({x, d.fresh(d.one_of(Types{element::f32, element::f16}), grid, Fill::in(-1.25, 1.25))});
}

void yuv(Draw& d, bool two_chroma_planes) {
  const int64_t batch = d.between(1, 2), height = 2 * d.between(1, 9), width = 2 * d.between(1, 17);
  const element::Type type = d.one_of(Types{element::u8, element::u8, element::f32});
  const Fill fill = Fill::in(0, 255);
  if (d.chance(50)) {
    d.op({d.fresh(type, {batch, height * 3 / 2, width, 1}, fill)});
    return;
  }
  const Value y = d.fresh(type, {batch, height, width, 1}, fill);
  if (two_chroma_planes)
    d.op({y, d.fresh(type, {batch, height / 2, width / 2, 1}, fill),
          d.fresh(type, {batch, height / 2, width / 2, 1}, fill)});
  else
    d.op({y, d.fresh(type, {batch, height / 2, width / 2, 2}, fill)});
}

const RecipeRow kImageRows[] = {
    {"Interpolate-1", interpolate_1},
    {"Interpolate-4 Interpolate-11", interpolate},
    {"GridSample-9", grid_sample},
    {"NV12toBGR-8 NV12toRGB-8", [](Draw& d) { yuv(d, false); }},
    {"I420toBGR-8 I420toRGB-8", [](Draw& d) { yuv(d, true); }},
};

}  // namespace

std::span<const RecipeRow> image_recipes() { return kImageRows; }

}  // namespace terroir::test
