// DeformableConvolution on the CPU device against the interpreter, on every instruction set, with 1 and 2 threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "plugins/interpreter/interpreter.hpp"
#include "tests/passes/both_axes.hpp"
#include "tests/passes/graph_maker.hpp"

namespace terroir::test {
namespace {

struct DeformableLayer {
  int64_t batch, channels, outputs, height, width, kernel_h, kernel_w;
  int64_t stride = 1, dilation = 1, pad_begin = 0, pad_end = 0, group = 1, deformable_group = 1;
  bool mask = false, padded = false;
  float reach = 1.5f;  // largest offset
  const char* opset = "opset8";
};

int64_t outer(const DeformableLayer& l, int64_t extent, int64_t kernel) {
  return (extent + l.pad_begin + l.pad_end - (kernel - 1) * l.dilation - 1) / l.stride + 1;
}

void check_deformable_layer(const DeformableLayer& l, const std::vector<float>& special_offsets = {}) {
  GraphMaker m;
  const int64_t taps = l.kernel_h * l.kernel_w, rows = outer(l, l.height, l.kernel_h),
                columns = outer(l, l.width, l.kernel_w);
  const ir::Dims offsets{l.batch, 2 * taps * l.deformable_group, rows, columns};
  const ir::Dims masks{l.batch, taps * l.deformable_group, rows, columns};
  std::vector<ir::Value> inputs{m.input({l.batch, l.channels, l.height, l.width}), m.input(ir::to_shape(offsets)),
                                m.random({l.outputs, l.channels / l.group, l.kernel_h, l.kernel_w}, 1,
                                         1.0f / static_cast<float>(l.channels / l.group * taps))};
  AttributeTexts attributes{
      {"strides", both_axes(l.stride)},       {"dilations", both_axes(l.dilation)},
      {"pads_begin", both_axes(l.pad_begin)}, {"pads_end", both_axes(l.pad_end)},
      {"group", std::to_string(l.group)},     {"deformable_group", std::to_string(l.deformable_group)}};
  std::vector<HostTensor> tensors{random_tensor({l.batch, l.channels, l.height, l.width}, 2),
                                  random_tensor(offsets, 3, l.reach)};
  for (size_t i = 0; i < special_offsets.size(); ++i) tensors[1].writable().as<float>()[i * 5] = special_offsets[i];
  if (std::string(l.opset) == "opset8") {
    attributes.emplace_back("bilinear_interpolation_pad", l.padded ? "true" : "false");
    if (l.mask) {
      inputs.push_back(m.input(ir::to_shape(masks)));
      tensors.push_back(random_tensor(masks, 4));
    }
  }
  m.result(m.op("DeformableConvolution", inputs, attributes, "layer", l.opset));
  expect_same_as_interpreter(m.graph(), std::vector<std::vector<HostTensor>>{tensors});
}

/// One channel, weight 1, a 1x1 window and a pad of one: result [y][x] is the sample at (y - 1, x - 1) + offset.
struct BareSamples {
  int64_t height, width;
  bool padded = false;
  std::vector<float> data;
  float down = 0, right = 0;  // of every position
};

std::vector<std::vector<float>> results_of(const BareSamples& s) {
  GraphMaker m;
  const ir::Dims data{1, 1, s.height, s.width}, offsets{1, 2, s.height + 2, s.width + 2};
  m.result(m.op("DeformableConvolution",
                {m.input(ir::to_shape(data)), m.input(ir::to_shape(offsets)), m.constant({1, 1, 1, 1}, {1.0f})},
                {{"strides", "1,1"},
                 {"dilations", "1,1"},
                 {"pads_begin", "1,1"},
                 {"pads_end", "1,1"},
                 {"bilinear_interpolation_pad", s.padded ? "true" : "false"}}));
  std::vector<HostTensor> tensors;
  tensors.emplace_back(element::f32, data);
  std::copy(s.data.begin(), s.data.end(), tensors[0].writable().as<float>());
  tensors.emplace_back(element::f32, offsets);
  const int64_t positions = (s.height + 2) * (s.width + 2);
  std::fill_n(tensors[1].writable().as<float>(), positions, s.down);
  std::fill_n(tensors[1].writable().as<float>() + positions, positions, s.right);
  const std::vector<std::vector<HostTensor>> sets = {tensors};
  const auto floats = [&](const HostTensor& t) {
    return std::vector<float>(t.view().as<float>(), t.view().as<float>() + positions);
  };
  const std::vector<ir::TensorView> views = {tensors[0].view(), tensors[1].view()};
  std::vector<std::vector<float>> results = {floats(interpreter::Program(m.graph()).run(views)[0])};
  for (const cpu::Isa isa : cpu::available_isas()) results.push_back(floats(run_on_cpu(m.graph(), isa, 1, sets)[0][0]));
  return results;
}

void expect_samples(const BareSamples& s, const std::vector<float>& expected) {
  SCOPED_TRACE(::testing::Message() << "offset " << s.down << ", " << s.right << (s.padded ? ", padded" : ""));
  // NaN would differ from itself.
  for (const std::vector<float>& result : results_of(s)) EXPECT_EQ(result, expected);
}

TEST(DeformableConvolution, ChannelsAroundTheBlocks) {
  for (const int64_t channels : {1, 3, 7, 8, 9, 16, 17, 33})
    for (const int64_t outputs : {1, 5, 16, 33}) {
      SCOPED_TRACE(::testing::Message() << channels << " to " << outputs);
      check_deformable_layer({2, channels, outputs, 5, 6, 3, 3, 1, 1, 1, 1});
    }
}

TEST(DeformableConvolution, PositionsAroundTheTiles) {
  for (const int64_t width : {1, 5, 6, 7, 13, 14, 15, 29, 67, 131}) {
    SCOPED_TRACE(width);
    check_deformable_layer({1, 5, 7, 3, width, 3, 1, 1, 1, 1, 1});
  }
}

TEST(DeformableConvolution, GroupsOfBothKinds) {
  for (const int64_t group : {1, 2, 3, 6})
    for (const int64_t deformable_group : {1, 2, 3, 6, 18})
      for (const bool mask : {false, true}) {
        SCOPED_TRACE(::testing::Message() << group << " groups, " << deformable_group << " deformable ones");
        check_deformable_layer({2, 18, 12, 6, 5, 2, 3, 1, 1, 1, 0, group, deformable_group, mask});
      }
}

TEST(DeformableConvolution, WindowsAndBorders) {
  for (const int64_t stride : {1, 2})
    for (const int64_t dilation : {1, 3})
      for (const int64_t pad : {0, 2})
        for (const bool padded : {false, true})
          check_deformable_layer({1, 6, 4, 9, 10, 3, 2, stride, dilation, pad, pad + 1, 2, 1, true, padded, 4.0f});
}

TEST(DeformableConvolution, OffsetsAtTheEdge) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();
  const std::vector<float> offsets = {kNan,    kInf,  -kInf, 3e9f,  -3e9f, 1e18f,  -1.0f, 1.0f,         -1e-9f,
                                      1e-9f,   -2.0f, 4.0f,  5.0f,  3.0f,  -0.5f,  0.5f,  -0.99999994f, 3.9999998f,
                                      -1e-30f, 0.0f,  7.0f,  -7.0f, 2.5f,  1e-40f, -1.5f};
  for (const bool padded : {false, true})
    check_deformable_layer({1, 3, 2, 5, 5, 3, 3, 1, 1, 1, 1, 1, 1, true, padded, 0.0f}, offsets);
}

// Positions are sums in f32, as OpenVINO's are: what vanishes beside a 1 or a 2 still leads out at a 0.
TEST(DeformableConvolution, PositionsAreRounded) {
  const std::vector<float> data = {1, 2, 1, 2};
  for (const float vanishing : {-1e-30f, -1e-9f}) {
    expect_samples({2, 2, false, data, vanishing, 0}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0});
    expect_samples({2, 2, false, data, 0, vanishing}, {0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 0, 0});
    expect_samples({2, 2, true, data, vanishing, 0}, {0, 0, 0, 0, 0, 1, 2, 0, 0, 1, 2, 0, 0, 0, 0, 0});
  }
  for (const bool padded : {false, true})
    expect_samples({2, 2, padded, data, 1e-9f, 1e-30f}, {0, 0, 0, 0, 0, 1, 2, 0, 0, 1, 2, 0, 0, 0, 0, 0});
  // Less than 1, but not less than 2.
  expect_samples({2, 2, false, data, -4e-8f, 0}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0});
}

TEST(DeformableConvolution, InfinityHalfOutside) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  expect_samples({1, 1, true, {kInf}, 0.5f, 0.5f}, {kInf, kInf, 0, kInf, kInf, 0, 0, 0, 0});
  expect_samples({1, 1, true, {kInf}, 0.5f, -0.5f}, {0, kInf, kInf, 0, kInf, kInf, 0, 0, 0});
  expect_samples({1, 1, true, {kInf}, -0.5f, 0}, {0, 0, 0, 0, kInf, 0, 0, kInf, 0});
  expect_samples({1, 1, false, {kInf}, 0.5f, 0.5f}, {0, 0, 0, 0, kInf, 0, 0, 0, 0});
}

TEST(DeformableConvolution, NeighboursOfWholePositionsDoNotCount) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const bool padded : {false, true}) {
    expect_samples({2, 2, padded, {1, kInf, -kInf, 2}, 0, 0}, {0, 0, 0, 0, 0, 1, kInf, 0, 0, -kInf, 2, 0, 0, 0, 0, 0});
    expect_samples({2, 2, padded, {1, kInf, -kInf, 2}, -1, 1}, {0, 0, 0, 0, 0, 0, 0, 0, 1, kInf, 0, 0, -kInf, 2, 0, 0});
  }
  expect_samples({2, 2, false, {1, kInf, -kInf, 2}, 0, 0.5f},
                 {0, 0, 0, 0, 0, kInf, kInf, 0, 0, -kInf, 2, 0, 0, 0, 0, 0});
}

TEST(DeformableConvolution, FirstVersion) {
  check_deformable_layer({2, 10, 6, 7, 8, 3, 3, 1, 1, 1, 1, 2, 5, false, false, 2.0f, "opset1"});
}

TEST(DeformableConvolution, Deep) { check_deformable_layer({1, 520, 40, 9, 9, 3, 3, 1, 1, 1, 1, 1, 2, true, true}); }

TEST(DeformableConvolution, WeightsThatARunBrings) {
  GraphMaker m;
  m.result(m.op("DeformableConvolution", {m.input({1, 3, 5, 5}), m.input({1, 18, 3, 3}), m.input({2, 3, 3, 3})},
                {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}}));
  expect_same_as_interpreter(m);
}

// Between layers in channel blocks no reorder is needed, and padded channels must not leak.
TEST(DeformableConvolution, BetweenConvolutions) {
  GraphMaker m;
  const ir::Value x = m.op("ReLU", {m.conv(m.input({1, 3, 12, 12}), 19, 3, 1)});
  const ir::Value offsets = m.conv(x, 18, 3, 2);
  const ir::Value y = m.op("DeformableConvolution", {x, offsets, m.random({21, 19, 3, 3}, 3, 0.05f)},
                           {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}});
  m.result(m.conv(m.op("Add", {y, m.random({1, 21, 1, 1}, 4)}), 5, 1, 5));
  expect_same_as_interpreter(m);
}

TEST(DeformableConvolution, RunsOnItsKernel) {
  GraphMaker m;
  m.result(m.op("DeformableConvolution", {m.input({1, 3, 5, 5}), m.input({1, 18, 5, 5}), m.random({4, 3, 3, 3}, 1)},
                {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}}, "layer"));
  for (const cpu::Isa isa : cpu::available_isas()) {
    const std::string kernel = kernel_on_cpu(m.graph(), isa, "layer");
    EXPECT_TRUE(kernel.starts_with("f32_deform_gemm_") && kernel.ends_with(cpu::isa_name(isa))) << kernel;
  }
}

}  // namespace
}  // namespace terroir::test
