// Conversions of colours, against plain loops.
#include <cmath>

#include "tests/preprocess/pipeline.hpp"

namespace terroir::preprocess {
namespace {

constexpr size_t kHeight = 6, kWidth = 10;

/// Red, green and blue of a pixel in brightness and colour, as bytes.
std::array<double, 3> rgb_of(double y, double u, double v) {
  const auto byte = [](double value) { return std::round(std::clamp(value, 0.0, 255.0)); };
  y = 1.164 * (y - 16), u -= 128, v -= 128;
  return {byte(y + 1.596 * v), byte(y - 0.391 * u - 0.813 * v), byte(y + 2.018 * u)};
}

struct Planes {
  Tensor y = random_bytes({1, kHeight, kWidth, 1}, 1);
  Tensor u = random_bytes({1, kHeight / 2, kWidth / 2, 1}, 2);
  Tensor v = random_bytes({1, kHeight / 2, kWidth / 2, 1}, 3);

  std::array<double, 3> rgb(size_t h, size_t w) const {
    return rgb_of(at(y, 0, h, w, 0), at(u, 0, h / 2, w / 2, 0), at(v, 0, h / 2, w / 2, 0));
  }

  Tensor uv() const {
    Tensor both(element::u8, {1, kHeight / 2, kWidth / 2, 2});
    for (size_t i = 0; i < u.get_size(); ++i) {
      both.data<uint8_t>()[2 * i] = u.data<uint8_t>()[i];
      both.data<uint8_t>()[2 * i + 1] = v.data<uint8_t>()[i];
    }
    return both;
  }

  /// As the tensors of a format.
  std::vector<Tensor> in(ColorFormat format) const {
    if (format == ColorFormat::NV12_TWO_PLANES) return {y, uv()};
    if (format == ColorFormat::I420_THREE_PLANES) return {y, u, v};
    Tensor one(element::u8, {1, kHeight * 3 / 2, kWidth, 1});
    uint8_t* to = std::copy_n(y.data<uint8_t>(), y.get_size(), one.data<uint8_t>());
    if (format == ColorFormat::NV12_SINGLE_PLANE) {
      std::copy_n(uv().data<uint8_t>(), 2 * u.get_size(), to);
    } else {
      to = std::copy_n(u.data<uint8_t>(), u.get_size(), to);
      std::copy_n(v.data<uint8_t>(), v.get_size(), to);
    }
    return {one};
  }
};

constexpr ColorFormat kYuv[] = {ColorFormat::NV12_SINGLE_PLANE, ColorFormat::NV12_TWO_PLANES,
                                ColorFormat::I420_SINGLE_PLANE, ColorFormat::I420_THREE_PLANES};

TEST(PreprocessColors, YuvToRgbAndBgr) {
  const Planes planes;
  for (const ColorFormat format : kYuv) {
    for (const ColorFormat to : {ColorFormat::RGB, ColorFormat::BGR}) {
      for (const bool dynamic : {false, true}) {
        PrePostProcessor p(negative(element::f32, {1, 3, kHeight, kWidth}));
        p.input().tensor().set_element_type(element::u8).set_color_format(format);
        if (dynamic) p.input().tensor().set_spatial_dynamic_shape();
        p.input().model().set_layout("NCHW");
        p.input().preprocess().convert_color(to);
        expect_steps(
            p.build(), planes.in(format), {1, 3, kHeight, kWidth},
            [&](size_t, size_t c, size_t h, size_t w) { return planes.rgb(h, w)[to == ColorFormat::RGB ? c : 2 - c]; },
            1);
      }
    }
  }
}

TEST(PreprocessColors, YuvToGrayIsTheBrightness) {
  const Planes planes;
  for (const ColorFormat format : kYuv) {
    for (const bool dynamic : {false, true}) {
      PrePostProcessor p(negative(element::f32, {1, 1, kHeight, kWidth}));
      p.input().tensor().set_element_type(element::u8).set_color_format(format);
      if (dynamic) p.input().tensor().set_spatial_dynamic_shape();
      p.input().model().set_layout("NCHW");
      p.input().preprocess().convert_color(ColorFormat::GRAY);
      expect_steps(
          p.build(), planes.in(format), {1, 1, kHeight, kWidth},
          [&](size_t, size_t, size_t h, size_t w) { return at(planes.y, 0, h, w, 0); }, 0);
    }
  }
}

TEST(PreprocessColors, BetweenRgbAndBgrInAnyLayout) {
  for (const ColorFormat from : {ColorFormat::RGB, ColorFormat::BGR, ColorFormat::RGBX, ColorFormat::BGRX}) {
    const bool fourth = from == ColorFormat::RGBX || from == ColorFormat::BGRX;
    const bool is_rgb = from == ColorFormat::RGB || from == ColorFormat::RGBX;
    for (const ColorFormat to : {ColorFormat::RGB, ColorFormat::BGR}) {
      for (const char* layout : {"NHWC", "NCHW"}) {
        PrePostProcessor p(negative(element::f32, {1, 3, 4, 5}));
        p.input().tensor().set_element_type(element::u8).set_color_format(from).set_layout(layout);
        p.input().model().set_layout("NCHW");
        p.input().preprocess().convert_color(to);
        const bool last = layout[1] == 'H';
        const size_t channels = fourth ? 4 : 3;
        const Tensor x = random_bytes(last ? Shape{1, 4, 5, channels} : Shape{1, channels, 4, 5});
        const bool same = is_rgb == (to == ColorFormat::RGB);
        expect_steps(
            p.build(), {x}, {1, 3, 4, 5},
            [&](size_t n, size_t c, size_t h, size_t w) {
              const size_t channel = same ? c : 2 - c;
              return last ? at(x, n, h, w, channel) : at(x, n, channel, h, w);
            },
            0);
      }
    }
  }
}

TEST(PreprocessColors, ToGrayIsTheWeightedSum) {
  for (const ColorFormat from : {ColorFormat::RGB, ColorFormat::BGR, ColorFormat::RGBX}) {
    for (const bool bytes : {true, false}) {
      const size_t channels = from == ColorFormat::RGBX ? 4 : 3;
      PrePostProcessor p(negative(element::f32, {1, 1, 8, 9}));
      p.input().tensor().set_color_format(from).set_element_type(bytes ? element::u8 : element::f32);
      p.input().model().set_layout("NCHW");
      p.input().preprocess().convert_color(ColorFormat::GRAY);
      const Tensor x = bytes ? random_bytes({1, 8, 9, channels}) : random_floats({1, 8, 9, channels});
      expect_steps(
          p.build(), {x}, {1, 1, 8, 9},
          [&](size_t n, size_t, size_t h, size_t w) {
            const bool bgr = from == ColorFormat::BGR;
            const double sum =
                0.299 * at(x, n, h, w, bgr ? 2 : 0) + 0.587 * at(x, n, h, w, 1) + 0.114 * at(x, n, h, w, bgr ? 0 : 2);
            return bytes ? std::nearbyint(sum) : sum;
          },
          bytes ? 0 : 1e-6);
    }
  }
}

TEST(PreprocessColors, GrayStaysGray) {
  PrePostProcessor p(negative(element::f32, {1, 1, 8, 9}));
  p.input().tensor().set_color_format(ColorFormat::GRAY).set_element_type(element::u8);
  p.input().model().set_layout("NCHW");
  p.input().preprocess().convert_color(ColorFormat::GRAY);
  const auto model = p.build();
  EXPECT_EQ(model->input().get_partial_shape(), (PartialShape{1, 8, 9, 1}));
  const Tensor x = random_bytes({1, 8, 9, 1});
  expect_steps(
      model, {x}, {1, 1, 8, 9}, [&](size_t n, size_t, size_t h, size_t w) { return at(x, n, h, w, 0); }, 0);
}

TEST(PreprocessColors, ACameraImageAsNetworksWantIt) {
  const Planes planes;
  PrePostProcessor p(negative(element::f32, {1, 3, kHeight, kWidth}));
  p.input().tensor().set_element_type(element::u8).set_color_format(ColorFormat::NV12_TWO_PLANES, {"y", "uv"});
  p.input().model().set_layout("NCHW");
  p.input()
      .preprocess()
      .convert_color(ColorFormat::BGR)
      .convert_element_type(element::f32)
      .mean({1.f, 2.f, 3.f})
      .scale(2.f);
  expect_steps(
      p.build(), planes.in(ColorFormat::NV12_TWO_PLANES), {1, 3, kHeight, kWidth},
      [&](size_t, size_t c, size_t h, size_t w) { return (planes.rgb(h, w)[2 - c] - static_cast<double>(c + 1)) / 2; },
      0.5);
}

}  // namespace
}  // namespace terroir::preprocess
