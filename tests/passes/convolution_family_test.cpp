// Every member of the f32 convolution family runs on vectorised kernels: a product of problems through the whole
// pipeline, on every instruction set, against the interpreter; no step may be a reference.
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/base/error.hpp"
#include "tests/passes/compared_runs.hpp"
#include "tests/passes/planned.hpp"
#include "tests/support/scoped_variable.hpp"

namespace terroir::cpu {
namespace {

using test::GraphMaker;

/// One spatial geometry, the same along every axis but for the extent.
struct Window {
  int64_t kernel, stride, dilation, pad_begin, pad_end, output_padding;
};

constexpr Window kWindows[] = {
    {1, 1, 1, 0, 0, 0}, {1, 2, 1, 0, 0, 0}, {2, 2, 1, 0, 0, 1}, {3, 1, 1, 1, 1, 0}, {3, 2, 1, 1, 0, 1},
    {3, 1, 2, 2, 1, 0}, {5, 1, 1, 2, 2, 0}, {4, 3, 1, 0, 2, 2}, {3, 2, 3, 3, 1, 1},
};

struct Channels {
  int64_t groups, inputs, outputs;  // inputs and outputs of a group
};

constexpr Channels kChannels[] = {
    {1, 1, 1}, {1, 3, 5},  {1, 4, 24}, {1, 17, 30}, {1, 32, 16}, {5, 1, 1}, {32, 1, 1},  {19, 1, 2},
    {6, 1, 3}, {16, 1, 4}, {4, 2, 2},  {3, 3, 3},   {2, 5, 7},   {3, 6, 4}, {2, 16, 16}, {3, 8, 20},
};

std::string list(int64_t value, size_t rank) {
  std::string text = std::to_string(value);
  for (size_t i = 1; i < rank; ++i) text += "," + std::to_string(value);
  return text;
}

struct Case {
  Channels channels;
  Window window;
  size_t rank;
  bool transposed;

  ir::Dims data() const {
    ir::Dims dims = {2, channels.groups * channels.inputs};
    // Extents that leave a remainder in every tile, long enough for the widest window.
    const int64_t reach = (window.kernel - 1) * window.dilation + 1;
    for (size_t i = 0; i < rank; ++i)
      dims.push_back(std::max<int64_t>(i + 1 == rank ? 17 : 6 - static_cast<int64_t>(rank),
                                       transposed ? 1 : reach - window.pad_begin - window.pad_end));
    return dims;
  }
  ir::Dims weights() const {
    ir::Dims dims = {transposed ? channels.inputs : channels.outputs, transposed ? channels.outputs : channels.inputs};
    if (channels.groups > 1) dims.insert(dims.begin(), channels.groups);
    dims.insert(dims.end(), rank, window.kernel);
    return dims;
  }
  ir::Value add(GraphMaker& m, ir::Value data, ir::Value weights) const {
    test::AttributeTexts attributes = {{"strides", list(window.stride, rank)},
                                       {"dilations", list(window.dilation, rank)},
                                       {"pads_begin", list(window.pad_begin, rank)},
                                       {"pads_end", list(window.pad_end, rank)}};
    if (transposed) attributes.push_back({"output_padding", list(window.output_padding, rank)});
    const std::string type =
        concat(channels.groups > 1 ? "Group" : "", "Convolution", transposed ? "BackpropData" : "");
    return m.op(type, {data, weights}, attributes);
  }
  /// One number per channel, which an elementwise kernel multiplies by.
  bool is_a_scale() const {
    return channels.inputs == 1 && channels.outputs == 1 && window.kernel == 1 && window.stride == 1 && !transposed;
  }
  std::string text() const {
    return concat(transposed ? "transposed " : "", rank, "-D, groups ", channels.groups, " of ", channels.inputs,
                  " to ", channels.outputs, ", kernel ", window.kernel, " stride ", window.stride, " dilation ",
                  window.dilation, " pads ", window.pad_begin, " ", window.pad_end);
  }
};

/// The names of the kernels that the graph runs on, one after the other.
std::string kernels_of(const GraphMaker& m, Isa isa) {
  const auto plan = test::plan_of(m, isa);
  std::string names;
  for (const Step& step : plan->steps) {
    EXPECT_FALSE(step.is_reference) << step.where;
    names += step.kernel + " ";
  }
  return names;
}

void check(const GraphMaker& m, const char* kernel) {
  for (const Isa isa : available_isas()) {
    const std::string names = kernels_of(m, isa);
    EXPECT_EQ(names.find("ref:"), std::string::npos) << isa_name(isa) << ": " << names;
    EXPECT_NE(names.find(kernel), std::string::npos) << isa_name(isa) << ": " << names;
  }
  test::expect_same_as_interpreter(m);
}

class Family : public testing::TestWithParam<std::tuple<size_t, bool>> {
  test::FloatsAlone floats_;
};
INSTANTIATE_TEST_SUITE_P(RankAndDirection, Family, testing::Combine(testing::Values(1, 2, 3), testing::Bool()),
                         [](const auto& instance) {
                           return concat(std::get<0>(instance.param), "d",
                                         std::get<1>(instance.param) ? "transposed" : "");
                         });

TEST_P(Family, RunsOnVectorisedKernels) {
  const auto [rank, transposed] = GetParam();
  for (const Channels& channels : kChannels)
    for (const Window& window : kWindows) {
      const Case c{channels, window, rank, transposed};
      if (transposed && window.output_padding >= std::max(window.stride, window.dilation)) continue;
      SCOPED_TRACE(c.text());
      GraphMaker m;
      m.result(c.add(m, m.input(c.data()), m.random(c.weights(), 1)));
      check(m, c.is_a_scale() ? "f32_eltwise_" : transposed ? "conv_" : "f32_conv_");
    }
}

TEST_P(Family, WeightsKnownAtRunTimeArePackedByEachRun) {
  const auto [rank, transposed] = GetParam();
  for (const Channels& channels : kChannels) {
    const Case c{channels, {3, 2, 1, 1, 0, 0}, rank, transposed};
    SCOPED_TRACE(c.text());
    GraphMaker m;
    const ir::Value data = m.input(c.data());
    m.result(m.op("ReLU", {c.add(m, data, m.input(c.weights()))}));
    check(m, "+pack");
  }
}

class ConvolutionFamily : public testing::Test {
  test::FloatsAlone floats_;
};

TEST_F(ConvolutionFamily, RunTimeWeightsWithABias) {
  GraphMaker m;
  const Case c{{1, 5, 19}, {3, 1, 1, 1, 1, 0}, 2, false};
  const ir::Value data = m.input(c.data());
  m.result(m.op("ReLU", {m.op("Add", {c.add(m, data, m.input(c.weights())), m.random({1, 19, 1, 1}, 3)})}));
  check(m, "+pack");
  const auto plan = test::plan_of(m, best_isa());
  EXPECT_TRUE(std::any_of(plan->steps.begin(), plan->steps.end(), [](const Step& step) {
    return step.details == "packs its weights in every inference: they are known at run time only";
  }));
}

TEST_F(ConvolutionFamily, BiasKnownAtRunTime) {
  GraphMaker m;
  const Case c{{1, 5, 19}, {3, 1, 1, 1, 1, 0}, 2, false};
  const ir::Value data = m.input(c.data());
  m.result(m.op("ReLU", {m.op("Add", {c.add(m, data, m.random(c.weights(), 1)), m.input({1, 19, 1, 1})})}));
  check(m, "f32_conv_");
}

TEST_F(ConvolutionFamily, StridedPointwiseLayersGatherOnAnyNumberOfThreads) {
  const test::AddPipes none(false);  // paired layers gather in their own way
  struct Layer {
    ir::Dims image;
    int64_t outputs;
    bool fused;  // avx512 gathers while it computes
  };
  // Many positions, which threads part; few, which all of them read; several images.
  const Layer layers[] = {{{1, 64, 57, 55}, 136, true}, {{1, 64, 57, 55}, 512, true},  {{1, 256, 9, 9}, 1030, false},
                          {{3, 48, 9, 57}, 330, true},  {{1, 512, 8, 56}, 2048, true}, {{3, 40, 9, 15}, 130, false}};
  const auto is_fused = [](const GraphMaker& m) {
    return kernels_of(m, Isa::avx512).find("+gather_fused") != std::string::npos;
  };
  const std::vector<Isa> isas = available_isas();
  const bool has_avx512 = std::find(isas.begin(), isas.end(), Isa::avx512) != isas.end();
  for (const auto& [image, outputs, fused] : layers) {
    SCOPED_TRACE(testing::PrintToString(image) + " to " + std::to_string(outputs));
    const Case c{{1, image[1], outputs}, {1, 2, 1, 0, 0, 0}, 2, false};
    GraphMaker m;
    m.result(m.op("ReLU", {c.add(m, m.input(image), m.random(c.weights(), 1))}));
    check(m, "+gather");
    if (has_avx512) {
      EXPECT_EQ(is_fused(m), fused);
    }
    const std::vector<test::HostTensor> inputs[] = {{test::random_tensor(image, 7)}};
    test::expect_same_bits(m.graph(), m.graph(), inputs);
    GraphMaker at_run_time;
    const ir::Value data = at_run_time.input(image);
    at_run_time.result(c.add(at_run_time, data, at_run_time.input(c.weights())));
    check(at_run_time, "+pack+gather");
  }
}

TEST_F(ConvolutionFamily, StridedPointwiseLayersOfNoImage) {
  const Case c{{1, 17, 136}, {1, 2, 1, 0, 0, 0}, 2, false};
  GraphMaker m;
  m.result(m.op("ReLU", {c.add(m, m.input({0, 17, 9, 15}), m.random(c.weights(), 1))}));
  check(m, "+gather");
}

TEST_F(ConvolutionFamily, WinogradLayersHaveTheSameBitsOnAnyNumberOfThreads) {
  // Two threads share the tiles of the first two layers and the channels of the others. What a thread keeps from slice
  // to slice is no good for the next inference.
  const std::tuple<ir::Dims, int64_t, int64_t> layers[] = {{{1, 64, 40, 40}, 64, 1},
                                                           {{1, 128, 28, 28}, 256, 2},
                                                           {{1, 160, 14, 14}, 224, 1},
                                                           {{1, 128, 24, 24}, 384, 2},
                                                           {{2, 192, 7, 7}, 192, 1}};
  for (const auto& [image, outputs, stride] : layers) {
    SCOPED_TRACE(testing::PrintToString(image));
    const Case c{{1, image[1], outputs}, {3, stride, 1, 1, 1, 0}, 2, false};
    GraphMaker m;
    m.result(m.op("ReLU", {c.add(m, m.input(image), m.random(c.weights(), 1, 0.1f))}));
    const std::vector<test::HostTensor> inputs[] = {{test::random_tensor(image, 7)}, {test::random_tensor(image, 8)}};
    const bool strided = best_isa() >= Isa::avx2 && cache_sizes().l2 >= int64_t{1} << 20;
    if (stride == 1 || strided) {
      EXPECT_NE(kernels_of(m, best_isa()).find("winograd"), std::string::npos) << kernels_of(m, best_isa());
    }
    test::expect_same_as_interpreter(m);
    test::expect_same_bits(m.graph(), m.graph(), inputs);
  }
}

TEST_F(ConvolutionFamily, LongRowsAndWideKernels) {
  for (const int64_t kernel : {11, 33, 75})
    for (const Channels& channels : {Channels{1, 20, 24}, Channels{24, 1, 1}, Channels{5, 4, 4}}) {
      for (const bool transposed : {false, true}) {
        const Case c{channels, {kernel, 1, 1, kernel / 2, kernel / 2, 0}, 1, transposed};
        SCOPED_TRACE(c.text());
        GraphMaker m;
        m.result(c.add(m, m.input({1, channels.groups * channels.inputs, 83}), m.random(c.weights(), 1, 0.1f)));
        check(m, "conv_");
      }
    }
}

TEST_F(ConvolutionFamily, HalfPrecisionModels) {
  for (const Channels& channels : kChannels)
    for (const bool transposed : {false, true}) {
      const Case c{channels, {3, 2, 1, 1, 0, 0}, 2, transposed};
      SCOPED_TRACE(c.text());
      GraphMaker m;
      const auto half = [&](ir::Value x) { return m.op("Convert", {x}, {{"destination_type", "f16"}}); };
      const ir::Value y = c.add(m, half(m.input(c.data())), half(m.random(c.weights(), 1)));
      m.result(m.op("Convert", {y}, {{"destination_type", "f32"}}));
      for (const Isa isa : available_isas()) {
        const std::string names = kernels_of(m, isa);
        EXPECT_NE(names.find("conv_"), std::string::npos) << names;
      }
      test::expect_same_as_interpreter(m, 5e-3);  // the interpreter rounds to f16, the device does not
    }
}

}  // namespace
}  // namespace terroir::cpu
