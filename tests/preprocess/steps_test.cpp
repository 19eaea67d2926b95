// Each step alone, against plain loops.
#include <cmath>

#include "tests/preprocess/pipeline.hpp"

namespace terroir::preprocess {
namespace {

TEST(PreprocessSteps, ElementType) {
  PrePostProcessor p(negative(element::f32, {1, 3, 4, 5}));
  p.input().tensor().set_element_type(element::u8);
  p.input().preprocess().convert_element_type(element::f16).convert_element_type();
  const Tensor image = random_bytes({1, 3, 4, 5});
  expect_steps(
      p.build(), {image}, {1, 3, 4, 5}, [&](size_t n, size_t c, size_t h, size_t w) { return at(image, n, c, h, w); },
      0);
}

TEST(PreprocessSteps, MeanAndScaleOfOneValue) {
  PrePostProcessor p(negative(element::f32, {2, 3, 4, 5}));
  p.input().preprocess().mean(0.25f).scale(4.f);
  const Tensor x = random_floats({2, 3, 4, 5});
  expect_steps(
      p.build(), {x}, {2, 3, 4, 5},
      [&](size_t n, size_t c, size_t h, size_t w) { return (at(x, n, c, h, w) - 0.25) / 4; }, 1e-6);
}

TEST(PreprocessSteps, MeanAndScalePerChannelFollowTheLayout) {
  const float mean[] = {1.f, 2.f, 3.f}, scale[] = {2.f, 4.f, 8.f};
  for (const char* layout : {"NCHW", "NHWC", "N...C"}) {
    const bool last = layout[1] != 'C';
    PrePostProcessor p(negative(element::f32, last ? PartialShape{2, 4, 5, 3} : PartialShape{2, 3, 4, 5}));
    p.input().tensor().set_layout(layout);
    p.input().preprocess().mean({1.f, 2.f, 3.f}).scale({2.f, 4.f, 8.f});
    const Tensor x = random_floats(last ? Shape{2, 4, 5, 3} : Shape{2, 3, 4, 5});
    expect_steps(
        p.build(), {x}, x.get_shape(),
        [&](size_t a, size_t b, size_t c, size_t d) {
          const size_t channel = last ? d : b;
          return (at(x, a, b, c, d) - mean[channel]) / scale[channel];
        },
        1e-6);
  }
}

TEST(PreprocessSteps, MeanAndScaleOfFewAndManyChannelsOfPixels) {
  for (const size_t channels : {size_t{2}, size_t{3}, size_t{5}, size_t{16}, size_t{127}, size_t{129}}) {
    const Shape shape{2, 13, 29, channels};
    std::vector<float> mean(channels), scale(channels);
    for (size_t c = 0; c < channels; ++c) mean[c] = static_cast<float>(c), scale[c] = static_cast<float>(c + 1);
    PrePostProcessor p(negative(element::f32, PartialShape(shape)));
    p.input().tensor().set_layout("NHWC");
    p.input().preprocess().mean(mean).scale(scale);
    const Tensor x = random_floats(shape);
    expect_steps(
        p.build(), {x}, shape,
        [&](size_t a, size_t b, size_t c, size_t d) {
          return (at(x, a, b, c, d) - static_cast<double>(d)) / static_cast<double>(d + 1);
        },
        1e-5);
  }
}

TEST(PreprocessSteps, MeanInTheModelsHalfPrecision) {
  PrePostProcessor p(negative(element::f32, {1, 3, 2, 2}));
  p.input().tensor().set_element_type(element::f16).set_layout("NCHW");
  p.input().preprocess().mean({1.f, 2.f, 4.f});
  Tensor x(element::f16, {1, 3, 2, 2});
  for (size_t i = 0; i < 12; ++i) x.data<float16>()[i] = float16(static_cast<float>(i));
  expect_steps(
      p.build(), {x}, {1, 3, 2, 2},
      [&](size_t, size_t c, size_t h, size_t w) {
        return static_cast<double>(c * 4 + h * 2 + w) - std::pow(2.0, static_cast<double>(c));
      },
      0);
}

TEST(PreprocessSteps, Clamp) {
  PrePostProcessor p(negative(element::f32, {1, 3, 4, 5}));
  p.input().preprocess().clamp(-0.5, 1.25);
  const Tensor x = random_floats({1, 3, 4, 5});
  expect_steps(
      p.build(), {x}, {1, 3, 4, 5},
      [&](size_t n, size_t c, size_t h, size_t w) { return std::min(std::max(at(x, n, c, h, w), -0.5), 1.25); }, 0);
}

TEST(PreprocessSteps, Crop) {
  PrePostProcessor p(negative(element::f32, {1, 3, 4, 5}));
  p.input().tensor().set_shape({1, 3, 9, 10});
  p.input().preprocess().crop({0, 0, 2, 3}, {1, 3, 6, -2});
  const Tensor x = random_floats({1, 3, 9, 10});
  expect_steps(
      p.build(), {x}, {1, 3, 4, 5}, [&](size_t n, size_t c, size_t h, size_t w) { return at(x, n, c, h + 2, w + 3); },
      0);
}

TEST(PreprocessSteps, PadInEveryMode) {
  const Tensor x = random_floats({1, 2, 4, 5});
  for (const PaddingMode mode :
       {PaddingMode::CONSTANT, PaddingMode::EDGE, PaddingMode::REFLECT, PaddingMode::SYMMETRIC}) {
    PrePostProcessor p(negative(element::f32, {1, 2, 7, 8}));
    p.input().tensor().set_shape({1, 2, 4, 5});
    p.input().preprocess().pad({0, 0, 1, 2}, {0, 0, 2, 1}, 7.5f, mode);
    const auto source = [mode](int64_t i, int64_t extent) {
      if (mode == PaddingMode::EDGE) return std::clamp<int64_t>(i, 0, extent - 1);
      const int64_t edge = mode == PaddingMode::SYMMETRIC ? 1 : 0;
      if (i < 0) return -i - edge;
      return i < extent ? i : 2 * (extent - 1) - i + edge;
    };
    expect_steps(
        p.build(), {x}, {1, 2, 7, 8},
        [&](size_t n, size_t c, size_t h, size_t w) {
          const int64_t y = static_cast<int64_t>(h) - 1, z = static_cast<int64_t>(w) - 2;
          if (mode == PaddingMode::CONSTANT && (y < 0 || y >= 4 || z < 0 || z >= 5)) return 7.5;
          return at(x, n, c, static_cast<size_t>(source(y, 4)), static_cast<size_t>(source(z, 5)));
        },
        0);
  }
}

TEST(PreprocessSteps, PadWithAListOfOneValue) {
  PrePostProcessor p(negative(element::f32, {1, 1, 1, 3}));
  p.input().tensor().set_shape({1, 1, 1, 2});
  p.input().preprocess().pad({0, 0, 0, 1}, {0, 0, 0, 0}, std::vector<float>{2.f}, PaddingMode::CONSTANT);
  const Tensor x = random_floats({1, 1, 1, 2});
  expect_steps(
      p.build(), {x}, {1, 1, 1, 3},
      [&](size_t, size_t, size_t, size_t w) { return w == 0 ? 2.0 : at(x, 0, 0, 0, w - 1); }, 0);
}

TEST(PreprocessSteps, LayoutByName) {
  PrePostProcessor p(negative(element::f32, {1, 3, 4, 5}));
  p.input().tensor().set_layout("NHWC");
  p.input().model().set_layout("NCHW");
  p.input().preprocess().convert_layout();
  const auto model = p.build();
  EXPECT_EQ(model->input().get_partial_shape(), (PartialShape{1, 4, 5, 3}));
  EXPECT_EQ(layout::get_layout(model->input()), Layout("NHWC"));
  const Tensor x = random_floats({1, 4, 5, 3});
  expect_steps(
      model, {x}, {1, 3, 4, 5}, [&](size_t n, size_t c, size_t h, size_t w) { return at(x, n, h, w, c); }, 0);
}

TEST(PreprocessSteps, LayoutByOrder) {
  PrePostProcessor p(negative(element::f32, {1, 3, 4, 5}));
  p.input().preprocess().convert_layout({0, 3, 1, 2}).convert_layout(std::vector<uint64_t>{});
  const auto model = p.build();
  EXPECT_EQ(model->input().get_partial_shape(), (PartialShape{1, 4, 5, 3}));
  const Tensor x = random_floats({1, 4, 5, 3});
  expect_steps(
      model, {x}, {1, 3, 4, 5}, [&](size_t n, size_t c, size_t h, size_t w) { return at(x, n, h, w, c); }, 0);
}

TEST(PreprocessSteps, AxesThatTheProgramLacksAreAdded) {
  for (const bool explicitly : {false, true}) {
    PrePostProcessor p(negative(element::f32, {1, 3, 4, 5}));
    p.input().tensor().set_layout("HWC");
    p.input().model().set_layout("NCHW");
    if (explicitly) p.input().preprocess().convert_layout("NHWC");
    const auto model = p.build();
    EXPECT_EQ(model->input().get_partial_shape(), (PartialShape{4, 5, 3}));
    const Tensor x = random_floats({4, 5, 3});
    expect_steps(
        model, {x}, {1, 3, 4, 5},
        [&](size_t, size_t c, size_t h, size_t w) { return x.data<float>()[(h * 5 + w) * 3 + c]; }, 0);
  }
}

TEST(PreprocessSteps, AxesAreAddedWhereNothingMoves) {
  PrePostProcessor p(negative(element::f32, {1, 3, 4, 5}));
  p.input().tensor().set_layout("CHW");
  p.input().model().set_layout("NCHW");
  const Tensor x = random_floats({3, 4, 5});
  expect_steps(
      p.build(), {x}, {1, 3, 4, 5},
      [&](size_t, size_t c, size_t h, size_t w) { return x.data<float>()[(c * 4 + h) * 5 + w]; }, 0);
}

TEST(PreprocessSteps, ReverseChannels) {
  for (const bool known : {true, false}) {
    PrePostProcessor p(negative(element::f32, {1, known ? 3 : -1, 4, 5}));
    p.input().tensor().set_layout("NCHW");
    p.input().preprocess().reverse_channels();
    const auto model = p.build();
    EXPECT_EQ(model->input().get_partial_shape(), (PartialShape{1, known ? 3 : -1, 4, 5}));
    const Tensor x = random_floats({1, 3, 4, 5});
    expect_steps(
        model, {x}, {1, 3, 4, 5}, [&](size_t n, size_t c, size_t h, size_t w) { return at(x, n, 2 - c, h, w); }, 0);
  }
}

TEST(PreprocessSteps, ReverseChannelsOfPixels) {
  for (const element::Type type : {element::u8, element::i16, element::f32, element::i64}) {
    for (const size_t channels : {size_t{1}, size_t{2}, size_t{3}, size_t{4}, size_t{9}}) {
      PrePostProcessor p(negative(element::f32, {2, 5, 7, static_cast<int64_t>(channels)}));
      p.input().tensor().set_layout("NHWC").set_element_type(type);
      p.input().preprocess().reverse_channels();
      const Tensor bytes = random_bytes({2, 5, 7, channels});
      Tensor x(type, bytes.get_shape());
      for (size_t i = 0; i < x.get_size(); ++i) {
        const uint8_t value = bytes.data<uint8_t>()[i];
        if (type == element::u8) x.data<uint8_t>()[i] = value;
        if (type == element::i16) x.data<int16_t>()[i] = value;
        if (type == element::f32) x.data<float>()[i] = value;
        if (type == element::i64) x.data<int64_t>()[i] = value;
      }
      expect_steps(
          p.build(), {x}, x.get_shape(),
          [&](size_t n, size_t h, size_t w, size_t c) { return at(bytes, n, h, w, channels - 1 - c); }, 0);
    }
  }
}

// Where output i of `to` reads from `from`: pixels have their centre at one half.
double source_position(size_t i, size_t from, size_t to) {
  return (static_cast<double>(i) + 0.5) * static_cast<double>(from) / static_cast<double>(to) - 0.5;
}

double linear(const Tensor& x, size_t n, size_t c, double h, double w) {
  const auto height = static_cast<double>(x.get_shape()[1]), width = static_cast<double>(x.get_shape()[2]);
  double sum = 0, weights = 0;
  for (double y = std::floor(h); y <= std::floor(h) + 1; ++y)
    for (double z = std::floor(w); z <= std::floor(w) + 1; ++z) {
      if (y < 0 || y >= height || z < 0 || z >= width) continue;
      const double weight = (1 - std::abs(h - y)) * (1 - std::abs(w - z));
      sum += weight * at(x, n, static_cast<size_t>(y), static_cast<size_t>(z), c);
      weights += weight;
    }
  return sum / weights;
}

double cubic_weight(double distance) {
  constexpr double a = -0.75;
  const double d = std::abs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

double cubic(const Tensor& x, size_t n, size_t c, double h, double w) {
  const auto height = static_cast<double>(x.get_shape()[1]), width = static_cast<double>(x.get_shape()[2]);
  double sum = 0;
  for (double y = std::floor(h) - 1; y <= std::floor(h) + 2; ++y)
    for (double z = std::floor(w) - 1; z <= std::floor(w) + 2; ++z)
      sum += cubic_weight(h - y) * cubic_weight(w - z) *
             at(x, n, static_cast<size_t>(std::clamp(y, 0.0, height - 1)),
                static_cast<size_t>(std::clamp(z, 0.0, width - 1)), c);
  return sum;
}

struct Size {
  size_t height, width;
};

// Enlarged, shrunk, both, not changed.
constexpr Size kSizes[] = {{9, 17}, {3, 4}, {12, 5}, {7, 11}, {224, 2}};

TEST(PreprocessSteps, ResizeOfFloats) {
  const Tensor x = random_floats({2, 7, 11, 3});
  for (const Size size : kSizes) {
    for (const auto algorithm :
         {ResizeAlgorithm::RESIZE_LINEAR, ResizeAlgorithm::RESIZE_CUBIC, ResizeAlgorithm::RESIZE_NEAREST}) {
      const auto h64 = static_cast<int64_t>(size.height), w64 = static_cast<int64_t>(size.width);
      PrePostProcessor p(negative(element::f32, {2, 3, h64, w64}));
      p.input().tensor().set_layout("NHWC").set_spatial_static_shape(7, 11);
      p.input().model().set_layout("NCHW");
      p.input().preprocess().resize(algorithm);
      expect_steps(
          p.build(), {x}, {2, 3, size.height, size.width},
          [&](size_t n, size_t c, size_t h, size_t w) {
            const double y = source_position(h, 7, size.height), z = source_position(w, 11, size.width);
            if (algorithm == ResizeAlgorithm::RESIZE_LINEAR) return linear(x, n, c, y, z);
            if (algorithm == ResizeAlgorithm::RESIZE_CUBIC) return cubic(x, n, c, y, z);
            return at(x, n, static_cast<size_t>(std::ceil(y - 0.5)), static_cast<size_t>(std::ceil(z - 0.5)), c);
          },
          2e-5);
    }
  }
}

// Bytes are rounded, or truncated by cubic: one step apart where the sum is at the border.
TEST(PreprocessSteps, ResizeOfBytes) {
  for (const size_t channels : {size_t{1}, size_t{3}, size_t{4}, size_t{19}}) {
    const Tensor x = random_bytes({2, 7, 11, channels});
    for (const Size size : kSizes) {
      for (const auto algorithm :
           {ResizeAlgorithm::RESIZE_LINEAR, ResizeAlgorithm::RESIZE_CUBIC, ResizeAlgorithm::RESIZE_NEAREST}) {
        const auto h64 = static_cast<int64_t>(size.height), w64 = static_cast<int64_t>(size.width);
        PrePostProcessor p(negative(element::f32, {2, static_cast<int64_t>(channels), h64, w64}));
        p.input().tensor().set_layout("NHWC").set_spatial_static_shape(7, 11).set_element_type(element::u8);
        p.input().model().set_layout("NCHW");
        p.input().preprocess().resize(algorithm);
        const bool nearest = algorithm == ResizeAlgorithm::RESIZE_NEAREST;
        expect_steps(
            p.build(), {x}, {2, channels, size.height, size.width},
            [&](size_t n, size_t c, size_t h, size_t w) {
              const double y = source_position(h, 7, size.height), z = source_position(w, 11, size.width);
              if (algorithm == ResizeAlgorithm::RESIZE_LINEAR) return linear(x, n, c, y, z);
              if (algorithm == ResizeAlgorithm::RESIZE_CUBIC) return std::clamp(cubic(x, n, c, y, z) - 0.5, 0.0, 255.0);
              return at(x, n, static_cast<size_t>(std::ceil(y - 0.5)), static_cast<size_t>(std::ceil(z - 0.5)), c);
            },
            nearest ? 0 : 0.501);
      }
    }
  }
}

TEST(PreprocessSteps, ResizeAsPillowKeepsAConstantImageAndTheMean) {
  for (const auto algorithm : {ResizeAlgorithm::RESIZE_BILINEAR_PILLOW, ResizeAlgorithm::RESIZE_BICUBIC_PILLOW}) {
    PrePostProcessor p(negative(element::f32, {1, 3, 4, 6}));
    p.input().tensor().set_layout("NHWC").set_spatial_static_shape(8, 12).set_element_type(element::u8);
    p.input().model().set_layout("NCHW");
    p.input().preprocess().resize(algorithm);
    // Halving a ramp in both directions leaves the ramp at the centres, away from the border.
    Tensor ramp(element::u8, {1, 8, 12, 3});
    for (size_t i = 0; i < ramp.get_size(); ++i)
      ramp.data<uint8_t>()[i] = static_cast<uint8_t>(10 * (i / 36) + 8 * (i / 3 % 12));
    Core core;
    for (const char* device : {"INTERPRETER", "CPU"}) {
      CompiledModel compiled = core.compile_model(p.build(), device);
      const Tensor out = test::infer(compiled, {ramp}).at(0);
      for (size_t h = 1; h < 3; ++h)
        for (size_t w = 1; w < 5; ++w)
          EXPECT_NEAR(-at(out, 0, 0, h, w),
                      10 * (2.0 * static_cast<double>(h) + 0.5) + 8 * (2.0 * static_cast<double>(w) + 0.5), 1.01)
              << device;
      break;  // build() is for once
    }
  }
}

TEST(PreprocessSteps, CustomLayers) {
  PrePostProcessor p(negative(element::f32, {1, 3, 4, 5}));
  p.input().preprocess().custom([](const Output<Node>& x) {
    ModelBuilder b(x);
    const auto twice = b.op("Add", "opset1", {x, x}, {}, "twice");
    return b.op("Subtract", "opset1", {twice, b.constant(element::f32, Shape{}, {1.f})});
  });
  const Tensor x = random_floats({1, 3, 4, 5});
  expect_steps(
      p.build(), {x}, {1, 3, 4, 5}, [&](size_t n, size_t c, size_t h, size_t w) { return 2 * at(x, n, c, h, w) - 1; },
      1e-6);
}

TEST(PreprocessSteps, APhotoAsNetworksWantIt) {
  PrePostProcessor p(negative(element::f32, {1, 3, 9, 8}));
  p.input()
      .tensor()
      .set_element_type(element::u8)
      .set_layout("NHWC")
      .set_spatial_dynamic_shape()
      .set_color_format(ColorFormat::RGB);
  p.input().model().set_layout("NCHW");
  p.input()
      .preprocess()
      .convert_element_type(element::f32)
      .convert_color(ColorFormat::BGR)
      .resize(ResizeAlgorithm::RESIZE_LINEAR)
      .mean({10.f, 20.f, 30.f})
      .scale({2.f, 3.f, 4.f});
  const auto model = p.build();
  EXPECT_EQ(model->input().get_partial_shape(), (PartialShape{1, -1, -1, 3}));
  for (const Size size : {Size{12, 10}, Size{31, 17}}) {
    const Tensor x = random_bytes({1, size.height, size.width, 3});
    expect_steps(
        model, {x}, {1, 3, 9, 8},
        [&](size_t n, size_t c, size_t h, size_t w) {
          const double value =
              linear(x, n, 2 - c, source_position(h, size.height, 9), source_position(w, size.width, 8));
          return (value - 10 * static_cast<double>(c + 1)) / static_cast<double>(c + 2);
        },
        1e-4);
  }
}

}  // namespace
}  // namespace terroir::preprocess
