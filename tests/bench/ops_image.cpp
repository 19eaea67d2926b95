// Operations on images as cameras and files give them.
#include "tests/bench/ops.hpp"

namespace terroir::bench {
namespace {

/// A photo to the size that networks for classification want.
void add_resizes(OpRows& rows) {
  const auto add = [&](const char* name, const char* mode, element::Type type) {
    rows.push_back({std::string("Interpolate/photo_") + name,
                    "Interpolate",
                    "opset11",
                    {{"mode", mode}, {"shape_calculation_mode", "sizes"}},
                    {tensor({1, 480, 640, 3}, type), integers({224, 224}), integers({1, 2})}});
  };
  add("u8_linear", "linear", element::u8);
  add("u8_nearest", "nearest", element::u8);
  add("u8_cubic", "cubic", element::u8);
  add("u8_bilinear_pillow", "bilinear_pillow", element::u8);
  add("u8_bicubic_pillow", "bicubic_pillow", element::u8);
  add("f32_linear", "linear", element::f32);
  add("f32_cubic", "cubic", element::f32);
}

void add_colors(OpRows& rows) {
  const Shape whole{1, 1620, 1920, 1}, light{1, 1080, 1920, 1}, both{1, 540, 960, 2}, one{1, 540, 960, 1};
  const auto u8 = element::u8;
  rows.push_back({"NV12toRGB/one_plane", "NV12toRGB", "opset8", {}, {tensor(whole, u8)}});
  rows.push_back({"NV12toBGR/two_planes", "NV12toBGR", "opset8", {}, {tensor(light, u8), tensor(both, u8)}});
  rows.push_back({"I420toRGB/one_plane", "I420toRGB", "opset8", {}, {tensor(whole, u8)}});
  rows.push_back(
      {"I420toBGR/three_planes", "I420toBGR", "opset8", {}, {tensor(light, u8), tensor(one, u8), tensor(one, u8)}});
  rows.push_back({"NV12toRGB/f32", "NV12toRGB", "opset8", {}, {tensor(light), tensor(both)}});
  rows.push_back({"Gather/rgb_to_bgr",
                  "Gather",
                  "opset8",
                  {},
                  {tensor({1, 480, 640, 3}, u8), integers({2, 1, 0}), scalar(3, element::i64)}});
}

}  // namespace

OpRows image_rows() {
  OpRows rows;
  add_resizes(rows);
  add_colors(rows);
  return rows;
}

}  // namespace terroir::bench
