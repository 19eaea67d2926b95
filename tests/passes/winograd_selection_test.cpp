// When a convolution is computed by Winograd's algorithm: where it pays and its error is bounded, never for accuracy,
// and whatever the batch.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "plugins/cpu/compile.hpp"
#include "plugins/cpu/kernels/conv_wino/conv_wino.hpp"
#include "plugins/cpu/kernels/conv_wino/polyphase_conv.hpp"
#include "plugins/cpu/weights_cache.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/support/scoped_variable.hpp"

namespace terroir::cpu {
namespace {

using test::GraphMaker;

constexpr int64_t kLayerChannels = 64, kKernel = kLayerChannels * 9;

std::vector<std::string> kernels_of(const GraphMaker& m, Isa isa, bool accuracy = false) {
  CompileOptions options;
  options.isa = isa;
  options.accuracy = accuracy;
  WeightsCache weights;
  const auto plan = compile_plan(bound_graph(rewrite_portable(m.graph()), {m.dims(m.inputs()[0])}), weights, options,
                                 parallel::Arena(1));
  std::vector<std::string> kernels;
  for (const Step& step : plan->steps)
    if (step.kernel.find("conv") != std::string::npos) kernels.push_back(step.kernel);
  return kernels;
}

std::string kernel_of(const GraphMaker& m, Isa isa, bool accuracy = false) {
  const std::vector<std::string> kernels = kernels_of(m, isa, accuracy);
  return kernels.empty() ? "" : kernels.front();
}

GraphMaker layer(int64_t batch, int64_t kernel = 3, int64_t stride = 1, int64_t size = 32) {
  GraphMaker m;
  m.result(m.op("ReLU", {m.conv(m.input({batch, kLayerChannels, size, size}), kLayerChannels, kernel, 1, stride)}));
  return m;
}

std::string kernel_for_weights(Isa isa, std::vector<float> weights) {
  GraphMaker m;
  const ir::Value x = m.input({1, kLayerChannels, 32, 32});
  m.result(m.op("Convolution", {x, m.constant({kLayerChannels, kLayerChannels, 3, 3}, weights)},
                {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}}));
  return kernel_of(m, isa);
}

bool is_winograd(const std::string& kernel, const char* tile = "") {
  return kernel.find("conv_winograd_" + std::string(tile)) != std::string::npos;
}

/// The buckets that have Winograd kernels: all but scalar, where that one is not the only one.
std::vector<Isa> isas_with_winograd() {
  std::vector<Isa> isas;
  for (const Isa isa : available_isas())
    if (!wino_kernels(isa).empty()) isas.push_back(isa);
  return isas;
}

/// From a small L2 transformed weights of many channels are read again and again: measured on Zen 3, with 512 KB, 256
/// to 512 channels at 26x26 with stride 2 take 1.27 times as long as without.
bool has_large_l2() { return cache_sizes().l2 >= int64_t{1} << 20; }

class WinogradSelection : public testing::Test {
  test::FloatsAlone floats_;
};

TEST_F(WinogradSelection, TakesWideLayersWith3x3KernelsOnEveryInstructionSet) {
  EXPECT_GE(isas_with_winograd().size(), std::max<size_t>(1, available_isas().size() - 1));
  for (const Isa isa : isas_with_winograd()) {
    SCOPED_TRACE(isa_name(isa));
    EXPECT_TRUE(is_winograd(kernel_of(layer(1), isa), "4x4_3x3")) << kernel_of(layer(1), isa);
    EXPECT_FALSE(is_winograd(kernel_of(layer(1, 1), isa)));
    EXPECT_TRUE(is_winograd(kernel_of(layer(1, 5), isa), "4x4_3x3"));  // in segments
    EXPECT_FALSE(is_winograd(kernel_of(layer(1, 5), isa, true)));
    EXPECT_EQ(kernel_of(layer(5, 5), isa), kernel_of(layer(1, 5), isa));
    EXPECT_FALSE(is_winograd(kernel_of(layer(1, 5, 2), isa)));
    EXPECT_FALSE(is_winograd(kernel_of(layer(1, 3, 3), isa)));
    const bool strided = isa == Isa::avx2 || isa == Isa::avx512;
    EXPECT_EQ(is_winograd(kernel_of(layer(1, 3, 2, 112), isa), "4x4_3x3s2"), strided)
        << kernel_of(layer(1, 3, 2, 112), isa);
    GraphMaker wide;  // many weights for few tiles
    wide.result(wide.op("ReLU", {wide.conv(wide.input({1, 256, 26, 26}), 512, 3, 1, 2)}));
    EXPECT_EQ(is_winograd(kernel_of(wide, isa), "2x2_3x3s2"), strided && has_large_l2()) << kernel_of(wide, isa);
  }
}

TEST_F(WinogradSelection, TakesDilationsWhosePhasesFillTiles) {
  const auto dilated = [](int64_t batch, int64_t dilation) {
    GraphMaker m;
    const std::string pads = std::to_string(dilation) + "," + std::to_string(dilation);
    m.result(m.op("Convolution",
                  {m.input({batch, kLayerChannels, 33, 33}), m.random({kLayerChannels, kLayerChannels, 3, 3}, 1, 0.1f)},
                  {{"strides", "1,1"}, {"dilations", pads}, {"pads_begin", pads}, {"pads_end", pads}}));
    return m;
  };
  for (const Isa isa : isas_with_winograd()) {
    SCOPED_TRACE(isa_name(isa));
    for (const int64_t dilation : {2, 4}) {
      EXPECT_TRUE(is_winograd(kernel_of(dilated(1, dilation), isa), "4x4_3x3")) << kernel_of(dilated(1, dilation), isa);
      EXPECT_FALSE(is_winograd(kernel_of(dilated(1, dilation), isa, true)));
    }
    // Two outputs: the direct kernel leaves out the taps that meet padding.
    EXPECT_FALSE(is_winograd(kernel_of(dilated(1, 18), isa)));
    for (const int64_t dilation : {2, 6, 12, 18})
      EXPECT_EQ(kernel_of(dilated(9, dilation), isa), kernel_of(dilated(1, dilation), isa)) << dilation;
  }
}

GraphMaker layer_along_one_axis(const ir::Dims& source, const ir::Dims& kernel, const std::string& pads,
                                float weight = 0.25f) {
  GraphMaker m;
  const ir::Dims dims{kLayerChannels, kLayerChannels, kernel[0], kernel[1]};
  std::vector<float> weights(static_cast<size_t>(kLayerChannels * kLayerChannels * kernel[0] * kernel[1]), 0.25f);
  weights[1234] = weight;
  m.result(m.op("Convolution", {m.input(source), m.constant(dims, weights)},
                {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", pads}, {"pads_end", pads}}));
  return m;
}

TEST_F(WinogradSelection, TakesTapsAlongOneAxis) {
  for (const Isa isa : available_isas()) {
    SCOPED_TRACE(isa_name(isa));
    const bool wide = isa == Isa::avx2 || isa == Isa::avx512;
    const auto takes = [&](const GraphMaker& m, bool accuracy = false) {
      return is_winograd(kernel_of(m, isa, accuracy), "one_axis");
    };
    const ir::Dims image{1, kLayerChannels, 32, 32}, batch{7, kLayerChannels, 32, 32};
    EXPECT_EQ(takes(layer_along_one_axis(image, {1, 3}, "0,1")), wide);
    EXPECT_EQ(takes(layer_along_one_axis(image, {3, 1}, "1,0")), wide);
    EXPECT_EQ(takes(layer_along_one_axis(batch, {3, 1}, "1,0")), wide);
    EXPECT_EQ(takes(layer_along_one_axis(image, {1, 7}, "0,3")), wide);
    EXPECT_FALSE(takes(layer_along_one_axis(image, {1, 3}, "0,1"), true));
    // A tile of which two outputs are used.
    EXPECT_FALSE(takes(layer_along_one_axis({1, kLayerChannels, 2, 32}, {3, 1}, "1,0")));
    for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
      EXPECT_FALSE(takes(layer_along_one_axis(image, {1, 3}, "0,1", bad))) << bad;
  }
}

GraphMaker transposed_layer(int64_t batch, int64_t kernel, const char* strides, const char* pads,
                            float weight = 0.25f) {
  GraphMaker m;
  std::vector<float> weights(static_cast<size_t>(kLayerChannels * kLayerChannels * kernel * kernel), 0.25f);
  weights[1234] = weight;
  m.result(m.op(
      "ConvolutionBackpropData",
      {m.input({batch, kLayerChannels, 32, 32}), m.constant({kLayerChannels, kLayerChannels, kernel, kernel}, weights)},
      {{"strides", strides}, {"dilations", "1,1"}, {"pads_begin", pads}, {"pads_end", pads}}));
  return m;
}

TEST_F(WinogradSelection, TakesTransposedLayersWhosePhasesHaveFewTaps) {
  for (const Isa isa : isas_with_winograd()) {
    SCOPED_TRACE(isa_name(isa));
    const auto takes = [&](const GraphMaker& m, bool accuracy = false) {
      return is_winograd(kernel_of(m, isa, accuracy), "4x4_3x3");
    };
    EXPECT_TRUE(takes(transposed_layer(1, 4, "2,2", "1,1")));
    EXPECT_TRUE(takes(transposed_layer(3, 4, "2,2", "1,1")));
    EXPECT_TRUE(takes(transposed_layer(1, 5, "2,2", "2,2")));
    EXPECT_FALSE(takes(transposed_layer(1, 4, "2,2", "1,1"), true));
    // One tap each, and four a side.
    EXPECT_FALSE(takes(transposed_layer(1, 2, "2,2", "0,0")));
    EXPECT_FALSE(takes(transposed_layer(1, 8, "2,2", "3,3")));
    for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
      EXPECT_FALSE(takes(transposed_layer(1, 4, "2,2", "1,1", bad))) << bad;
  }
}

GraphMaker transposed_along_one_axis(int64_t batch, int64_t positions, float weight = 0.25f) {
  GraphMaker m;
  std::vector<float> weights(static_cast<size_t>(2 * kLayerChannels * kLayerChannels * 4), 0.25f);
  weights[1234] = weight;
  m.result(m.op(
      "ConvolutionBackpropData",
      {m.input({batch, 2 * kLayerChannels, positions}), m.constant({2 * kLayerChannels, kLayerChannels, 4}, weights)},
      {{"strides", "2"}, {"dilations", "1"}, {"pads_begin", "1"}, {"pads_end", "1"}}));
  return m;
}

TEST_F(WinogradSelection, TakesTransposedLayersAlongOneAxis) {
  for (const Isa isa : available_isas()) {
    SCOPED_TRACE(isa_name(isa));
    const bool wide = isa == Isa::avx2 || isa == Isa::avx512;
    const auto takes = [&](const GraphMaker& m, bool accuracy = false) {
      return is_winograd(kernel_of(m, isa, accuracy), "one_axis");
    };
    EXPECT_EQ(takes(transposed_along_one_axis(1, 6400)), wide);
    EXPECT_EQ(takes(transposed_along_one_axis(3, 6400)), wide);
    EXPECT_FALSE(takes(transposed_along_one_axis(1, 6400), true));
    EXPECT_FALSE(takes(transposed_along_one_axis(1, 2)));
    for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
      EXPECT_FALSE(takes(transposed_along_one_axis(1, 6400, bad))) << bad;
  }
}

// Layers measured with AVX-512: to cut and transform the weights took longer than it saved.
TEST_F(WinogradSelection, LeavesSegmentsOfManyWeightsForFewTiles) {
  const auto speedup = [](int64_t ic, int64_t oc, int64_t kernel, int64_t size) {
    ConvProblem p;
    p.ic = ic;
    p.oc = oc;
    p.h = p.w = {size, size, kernel, 1, 1, kernel / 2};
    for (const WinoKernel& wino : wino_kernels(Isa::avx512))
      if (!wino_reject(p, wino)) return wino_speedup(p, wino);
    return 0.0;
  };
  if (wino_kernels(Isa::avx512).empty()) GTEST_SKIP() << "no AVX-512 kernels in this build";
  EXPECT_LT(speedup(60, 96, 5, 12), 1.1);
  EXPECT_LT(speedup(144, 64, 5, 12), 1.1);
  EXPECT_LT(speedup(256, 13, 5, 40), 1.1);
  EXPECT_LT(speedup(128, 128, 5, 14), 1.1);
  EXPECT_GT(speedup(64, 192, 5, 27), 1.1);
  EXPECT_GT(speedup(185, 128, 7, 46), 1.1);
  EXPECT_GT(speedup(72, 72, 5, 28), 1.1);
}

TEST_F(WinogradSelection, TransposedLayersOfOneConstantHaveTheirOwnPackings) {
  GraphMaker m;
  const auto weights = m.random({kLayerChannels, kLayerChannels, 4, 4}, 1, 0.05f);
  auto x = m.input({1, kLayerChannels, 32, 32});
  for (const char* pads : {"1,1", "0,2"})
    m.result(m.op("ConvolutionBackpropData", {x, weights},
                  {{"strides", "2,2"}, {"dilations", "1,1"}, {"pads_begin", pads}, {"pads_end", pads}}));
  for (const Isa isa : isas_with_winograd())
    for (const std::string& kernel : kernels_of(m, isa)) EXPECT_TRUE(is_winograd(kernel) || !has_large_l2()) << kernel;
  test::expect_same_as_interpreter(m);

  GraphMaker line;  // of weights that are kept in the transformed domain
  const auto taps = line.random({2 * kLayerChannels, 2 * kLayerChannels, 4}, 1, 0.03f);
  x = line.input({1, 2 * kLayerChannels, 400});
  for (const char* pads : {"1", "0"})
    line.result(line.op("ConvolutionBackpropData", {x, taps},
                        {{"strides", "2"},
                         {"dilations", "1"},
                         {"pads_begin", pads},
                         {"pads_end", "0"},
                         {"output_padding", pads[0] == '1' ? "1" : "0"}}));
  for (const Isa isa : available_isas()) {
    if (isa != Isa::avx2 && isa != Isa::avx512) continue;
    for (const std::string& kernel : kernels_of(line, isa)) EXPECT_TRUE(is_winograd(kernel, "one_axis")) << kernel;
  }
  test::expect_same_as_interpreter(line);
}

TEST_F(WinogradSelection, LayersOfOneConstantAndSeveralStridesHaveTheirOwnPackings) {
  for (const int64_t taps : {5, 17}) {
    GraphMaker m;
    const auto weights = m.random({kLayerChannels, kLayerChannels, 1, taps}, 1, 0.05f);
    const std::string pads = "0," + std::to_string(taps / 2);
    auto x = m.input({1, kLayerChannels, 1, 400});
    for (const char* strides : {"1,1", "1,2"})
      x = m.op("ReLU", {m.op("Convolution", {x, weights},
                             {{"strides", strides}, {"dilations", "1,1"}, {"pads_begin", pads}, {"pads_end", pads}})});
    m.result(x);
    for (const Isa isa : available_isas()) {
      if (isa != Isa::avx2 && isa != Isa::avx512) continue;
      for (const std::string& kernel : kernels_of(m, isa)) EXPECT_TRUE(is_winograd(kernel, "one_axis")) << kernel;
    }
    test::expect_same_as_interpreter(m);
  }
}

TEST_F(WinogradSelection, LeavesFewOutputsToKernelsThatFillNoBlock) {
  for (const Isa isa : available_isas()) {
    if (isa != Isa::avx2 && isa != Isa::avx512) continue;
    for (const int64_t outputs : {1, 2}) {
      GraphMaker m;
      m.result(m.conv(m.input({1, kLayerChannels, 96, 96}), outputs, 3, 1, 1));
      EXPECT_NE(kernel_of(m, isa).find("conv_few"), std::string::npos) << kernel_of(m, isa);
    }
  }
}

TEST_F(WinogradSelection, IsOffForAccuracy) {
  for (const Isa isa : available_isas())
    for (const int64_t stride : {1, 2})
      EXPECT_FALSE(is_winograd(kernel_of(layer(1, 3, stride), isa, true))) << isa_name(isa);
}

TEST_F(WinogradSelection, DoesNotDependOnTheBatch) {
  for (const Isa isa : available_isas())
    for (const int64_t size : {1, 2, 4, 7, 14})
      for (const int64_t batch : {2, 16})
        for (const int64_t stride : {1, 2})
          EXPECT_EQ(kernel_of(layer(batch, 3, stride, size), isa), kernel_of(layer(1, 3, stride, size), isa))
              << isa_name(isa) << " size " << size << " batch " << batch << " stride " << stride;
}

TEST_F(WinogradSelection, RefusesWeightsWhoseErrorIsNotBounded) {
  const std::vector<float> good(static_cast<size_t>(kLayerChannels * kKernel), 0.25f);
  for (const Isa isa : isas_with_winograd()) {
    SCOPED_TRACE(isa_name(isa));
    EXPECT_TRUE(is_winograd(kernel_for_weights(isa, good)));
    for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 1e36f}) {
      std::vector<float> weights = good;
      weights[12345] = bad;
      EXPECT_FALSE(is_winograd(kernel_for_weights(isa, weights))) << bad;
    }
  }
}

GraphMaker first_layer(int64_t batch, float weight = 0.25f, int64_t size = 112, int64_t kernel = 7) {
  GraphMaker m;
  std::vector<float> weights(static_cast<size_t>(64 * 3 * kernel * kernel), 0.25f);
  weights[1234] = weight;
  const std::string pads = std::to_string(kernel / 2) + "," + std::to_string(kernel / 2);
  const ir::Value x = m.input({batch, 3, size, size});
  m.result(m.op("Convolution", {x, m.constant({64, 3, kernel, kernel}, weights)},
                {{"strides", "2,2"}, {"dilations", "1,1"}, {"pads_begin", pads}, {"pads_end", pads}}));
  return m;
}

TEST_F(WinogradSelection, TakesFirstLayersWhereItPaysAndTheErrorIsBounded) {
  for (const Isa isa : available_isas()) {
    SCOPED_TRACE(isa_name(isa));
    EXPECT_EQ(is_winograd(kernel_of(first_layer(1), isa), "3x3_7x7s2"), polyphase_kernel(isa) != nullptr)
        << kernel_of(first_layer(1), isa);
    if (!polyphase_kernel(isa)) continue;
    EXPECT_FALSE(is_winograd(kernel_of(first_layer(1), isa, true)));
    // Most of a strip would lie outside.
    EXPECT_FALSE(is_winograd(kernel_of(first_layer(1, 0.25f, 4), isa)));
    for (const int64_t size : {4, 9, 13, 20, 40, 112})
      EXPECT_EQ(kernel_of(first_layer(16, 0.25f, size), isa), kernel_of(first_layer(1, 0.25f, size), isa)) << size;
    for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 1e36f})
      EXPECT_FALSE(is_winograd(kernel_of(first_layer(1, bad), isa))) << bad;
  }
}

/// A first layer of 3x3 kernels, alone or with a depthwise convolution behind it.
GraphMaker first_layer_3x3(int64_t batch, float weight, int64_t size, bool chain) {
  GraphMaker m;
  std::vector<float> weights(32 * 27, 0.25f);
  weights[321] = weight;
  const ir::Value x = m.input({batch, 3, size, size});
  const ir::Value y =
      m.op("ReLU", {m.op("Convolution", {x, m.constant({32, 3, 3, 3}, weights)},
                         {{"strides", "2,2"}, {"dilations", "1,1"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}})});
  if (!chain) {
    m.result(m.conv(y, 64, 3, 1, 1));
    return m;
  }
  m.result(m.op("GroupConvolution", {y, m.constant({32, 1, 1, 3, 3}, std::vector<float>(32 * 9, 0.5f))},
                {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}}));
  return m;
}

TEST_F(WinogradSelection, TakesFirstLayersWith3x3KernelsAloneAndInChains) {
  for (const Isa isa : available_isas())
    for (const bool chain : {false, true}) {
      SCOPED_TRACE(std::string(isa_name(isa)) + (chain ? " chain" : ""));
      const auto kernel = [&](int64_t batch, float weight = 0.25f, int64_t size = 112, bool accuracy = false) {
        return kernel_of(first_layer_3x3(batch, weight, size, chain), isa, accuracy);
      };
      EXPECT_EQ(kernel(1).find("conv_dw") != std::string::npos, chain) << kernel(1);
      EXPECT_EQ(is_winograd(kernel(1), "first_2x2_3x3s2"), polyphase_2x2_kernel(isa) != nullptr) << kernel(1);
      EXPECT_FALSE(is_winograd(kernel(1, 0.25f, 112, true)));
      // Most of a strip would lie outside.
      EXPECT_FALSE(is_winograd(kernel(1, 0.25f, 5)));
      for (const int64_t size : {4, 9, 30, 112}) EXPECT_EQ(kernel(16, 0.25f, size), kernel(1, 0.25f, size)) << size;
      for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 1e36f})
        EXPECT_FALSE(is_winograd(kernel(1, bad))) << bad;
    }
}

}  // namespace
}  // namespace terroir::cpu
