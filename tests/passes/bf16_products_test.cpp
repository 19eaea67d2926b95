// Layers that multiply numbers of bf16: small integers, which numbers of bf16 hold, and sums of them that floats and
// numbers of bf16 hold, so that every value has one right result, that of the interpreter.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "plugins/cpu/compile.hpp"
#include "plugins/cpu/passes/fuse_post_ops.hpp"
#include "plugins/cpu/passes/narrow_products.hpp"
#include "tests/passes/golden.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/passes/window_layers.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/pool.hpp"
#include "tests/support/random.hpp"

namespace terroir::test {
namespace {

/// On each of the kernels that this processor has.
class Bf16Products : public ::testing::TestWithParam<const char*> {
  void SetUp() override {
    const std::vector<const char*> all = cpu::available_kernels();
    if (std::find(all.begin(), all.end(), std::string_view(GetParam())) == all.end())
      GTEST_SKIP() << "not on this processor";
  }
  ForcedIsa kernels_{GetParam()};
};

/// -1, 0 and 1, few of which are not 0, so that sums stay below 256.
ir::Value signs(GraphMaker& m, const ir::Dims& dims, uint32_t seed) {
  std::vector<float> values(static_cast<size_t>(ir::element_count(dims)));
  Random random(seed);
  for (float& value : values) value = static_cast<float>(random.between(-5, 5) / 5);
  return m.constant(dims, values);
}

ir::Value convolution_of_signs(GraphMaker& m, ir::Value x, const WindowLayer& l, uint32_t seed) {
  return window_layer(m, x, l, [&](const ir::Dims& dims) { return signs(m, dims, seed); });
}

ir::Value small_bias(GraphMaker& m, int64_t channels, size_t rank) {
  ir::Dims dims(rank, 1);
  dims[1] = channels;
  std::vector<float> values;
  for (int64_t c = 0; c < channels; ++c) values.push_back(static_cast<float>(c % 7 - 3));
  return m.constant(dims, values);
}

std::vector<HostTensor> integers_for(const GraphMaker& m) {
  std::vector<HostTensor> inputs;
  for (const ir::Value& input : m.inputs()) {
    inputs.push_back(random_tensor(m.dims(input), static_cast<uint32_t>(inputs.size() + 5), 2.99f));
    const ir::MutableTensorView view = inputs.back().writable();
    for (int64_t i = 0; i < view.count(); ++i) view.as<float>()[i] = std::trunc(view.as<float>()[i]);
  }
  return inputs;
}

DeviceModel in_bf16(const ir::Graph& graph, int threads) {
  plugin::Config config;
  config.profiling = true;
  config.inference_precision = element::bf16;
  use_threads(config, threads);
  return DeviceModel(graph.clone(), "CPU", config);
}

/// Kernels of the layers that multiply such numbers, in order.
std::vector<std::string> bf16_kernels(const DeviceModel& device) {
  std::vector<std::string> found;
  for (const ProfilingInfo& info : device.profile())
    for (const char* kind : {"bf16_conv_", "bf16_gemm_", "bf16_depthwise_"})
      if (info.exec_type.starts_with(kind)) found.push_back(info.exec_type);
  return found;
}

/// `steps`: how many layers multiply such numbers.
void expect_exact(const GraphMaker& m, size_t steps) {
  const std::vector<HostTensor> inputs = integers_for(m), want = on_interpreter(m.graph(), inputs);
  for (const int threads : {1, 2, 3, 8}) {
    DeviceModel device = in_bf16(m.graph(), threads);
    const std::vector<HostTensor> got = device.infer(inputs);
    EXPECT_EQ(bf16_kernels(device).size(), steps);
    for (size_t i = 0; i < want.size(); ++i) {
      const std::string text = difference(want[i].view(), got[i].view(), {0, 0});
      EXPECT_TRUE(text.empty()) << threads << " threads, output " << i << ": " << text;
    }
    if (threads != 2) continue;
    const std::vector<HostTensor> again = device.stored_and_loaded().infer(inputs);
    for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(difference(want[i].view(), again[i].view(), {0, 0}), "");
  }
}

TEST_P(Bf16Products, Convolutions) {
  const WindowLayer layers[] = {
      {"1,3,9,11", 17, "3,3", "1,1", "1,1", "1,1", "1,1"},
      {"1,2,9,11", 17, "5,4", "2,1", "1,1", "1,1", "2,1"},
      {"1,1,9,11", 33, "3,3", "1,1", "2,2", "1,1", "1,1"},
      {"1,3,31,30", 64, "7,7", "2,2", "1,1", "3,3", "3,3"},
      {"1,5,12,12", 16, "3,3", "1,1", "1,1", "1,1", "1,1"},
      {"2,64,7,7", 80, "1,1"},
      {"2,24,13,5", 40, "1,1"},
      {"1,17,13,9", 33, "1,1", "2,2"},
      {"1,40,10,10", 48, "3,3", "2,2", "1,1", "0,1", "2,1"},
      {"1,20,14,15", 130, "3,3", "1,1", "2,3", "2,3", "2,3"},
      {"1,32,8,8", 64, "1,1", "1,1", "1,1", "1,2", "0,1"},
      {"1,64,6,6", 96, "3,3", "1,1", "1,1", "1,1", "1,1", 2},
      {"1,96,7,9", 96, "3,3", "1,1", "1,1", "1,1", "1,1", 12},
      {"2,64,9,5", 128, "3,3", "2,2", "1,1", "1,0", "1,2", 8},
      {"1,144,5,7", 144, "3,3", "1,1", "1,2", "1,2", "1,2", 6},
      {"1,50,1,1", 1000, "1,1"},
      {"2,64,19,3", 40, "3,3", "1,1", "1,1", "1,1", "1,1"},
      {"1,33,90,90", 20, "3,3", "1,1", "1,1", "1,1", "1,1"},  // several bands
      {"1,192,7,7", 64, "1,1", "2,2"},
      {"1,64,3,5,6", 33, "3,3,3", "1,1,1", "1,1,1", "1,1,1", "1,1,1"},
      {"1,64,1,1", 64, "3,3", "1,1", "1,1", "1,1", "1,1"},
      {"3,16,1,9", 16, "1,3", "1,1", "1,1", "0,1", "0,1"},
      {"1,16,9,1", 16, "3,1", "1,1", "1,1", "1,0", "1,0"},
      {"1,300,33", 70, "5", "2", "3", "6", "4"},
      {"2,40,500", 24, "3", "1", "1", "1", "1"},
      {"1,3,1,400", 24, "1,7", "1,2", "1,3", "0,9", "0,9"},
      {"1,64,2000", 16, "4", "3", "1", "2", "0"},  // several bands of a line
      {"1,20,4,6,5", 19, "3,3,3", "1,2,1", "1,1,2", "1,1,2", "1,0,2"},
      {"1,16,20,20", 16, "5,5", "1,1", "1,1", "3,0", "1,4"},
      {"1,16,2,2", 16, "5,5", "1,1", "1,1", "4,4", "4,4"},
  };
  for (const WindowLayer& l : layers) {
    SCOPED_TRACE(concat(l.input, " ", l.kernel, " to ", l.outputs, " groups ", l.groups));
    GraphMaker m;
    const ir::Value x = m.input(PartialShape(l.input));
    const size_t rank = m.dims(x).size();
    const ir::Value y = m.op("ReLU", {m.op("Add", {convolution_of_signs(m, x, l, 1), small_bias(m, l.outputs, rank)})});
    const ir::Value z = convolution_of_signs(m, y, point_layer(rank), 2);
    m.result(z);
    expect_exact(m, 2);
  }
}

struct Transposed {
  const char* input;
  ir::Dims weights;
  const char *strides, *pads_begin, *pads_end;
  const char* output_padding = nullptr;
};

TEST_P(Bf16Products, TransposedConvolutions) {
  const Transposed layers[] = {
      {"1,32,7,9", {32, 16, 2, 2}, "2,2", "0,0", "0,0"},
      {"3,3,9,5", {3, 8, 1, 1}, "1,1", "0,0", "0,0"},
      {"2,16,3,5", {16, 8, 1, 1}, "2,1", "0,0", "0,0"},
      {"2,24,5,6", {24, 20, 3, 3}, "2,2", "1,1", "1,1"},
      {"1,17,6,5", {17, 33, 4, 4}, "2,2", "1,1", "1,1"},
      {"1,16,6,5", {16, 70, 5, 3}, "3,2", "2,0", "1,2"},
      {"1,16,6,5", {16, 16, 3, 3}, "1,1", "1,1", "1,1"},
      {"1,16,6,5", {16, 16, 2, 2}, "3,3", "0,0", "0,0"},  // some results are the bias alone
      {"1,16,6,5", {16, 16, 3, 4}, "2,3", "1,0", "0,2", "1,2"},
      {"1,3,9,11", {3, 40, 4, 4}, "2,2", "1,1", "1,1"},
      {"1,16,40,1", {16, 16, 7, 1}, "4,1", "3,0", "2,0"},
      {"1,64,33,31", {64, 32, 2, 2}, "2,2", "0,0", "0,0"},
      {"1,32,9", {32, 24, 4}, "2", "1", "1"},
      {"1,16,3,4,5", {16, 17, 2, 3, 4}, "2,1,2", "0,1,1", "0,1,1"},
      {"1,16,3,4,5", {16, 17, 3, 2, 2}, "2,2,2", "1,0,0", "0,1,0"},
      {"1,64,6,7", {2, 32, 16, 4, 4}, "2,2", "1,1", "1,1"},
      {"2,48,5,4", {3, 16, 32, 3, 3}, "2,2", "0,1", "1,0"},
      {"1,16,5,5", {16, 16, 5, 5}, "2,2", "7,6", "1,0"},
  };
  for (const Transposed& l : layers) {
    SCOPED_TRACE(concat(l.input, " by ", l.weights, " strides ", l.strides));
    GraphMaker m;
    const ir::Value x = m.input(PartialShape(l.input)), w = signs(m, l.weights, 3);
    const bool grouped = l.weights.size() > m.dims(x).size();
    AttributeTexts attributes = {
        {"strides", l.strides}, {"pads_begin", l.pads_begin}, {"pads_end", l.pads_end}, {"dilations", "1,1"}};
    if (m.dims(x).size() == 3) attributes[3].second = "1";
    if (m.dims(x).size() == 5) attributes[3].second = "1,1,1";
    if (l.output_padding) attributes.emplace_back("output_padding", l.output_padding);
    const ir::Value y = m.op(grouped ? "GroupConvolutionBackpropData" : "ConvolutionBackpropData", {x, w}, attributes);
    const size_t rank = m.dims(x).size();
    const ir::Value sum = m.op("ReLU", {m.op("Add", {y, small_bias(m, m.dims(y)[1], rank)})});
    m.result(convolution_of_signs(m, sum, point_layer(rank), 2));
    m.result(
        m.op("Add", {m.op(grouped ? "GroupConvolutionBackpropData" : "ConvolutionBackpropData", {x, w}, attributes),
                     m.input(ir::to_shape(m.dims(y)))}));
    expect_exact(m, 3);
  }
}

/// The extents of the results as an input.
TEST_P(Bf16Products, TransposedToGivenExtents) {
  GraphMaker m;
  const ir::Value x = m.input("1,24,5,6");
  m.result(m.op("ConvolutionBackpropData", {x, signs(m, {24, 20, 3, 3}, 3), m.integers({10, 11})},
                {{"strides", "2,2"},
                 {"pads_begin", "0,0"},
                 {"pads_end", "0,0"},
                 {"dilations", "1,1"},
                 {"auto_pad", "same_upper"}}));
  expect_exact(m, 1);
}

TEST_P(Bf16Products, Matrices) {
  for (const bool transposed : {true, false})
    for (const char* shape : {"1,9,24", "2,3,5,100", "1,2048", "3,64", "40,8", "1,1,1,7", "129,33"}) {
      SCOPED_TRACE(concat(shape, transposed ? " transposed" : ""));
      GraphMaker m;
      const ir::Value x = m.input(PartialShape(shape));
      const auto product = [&](ir::Value data, int64_t inputs, int64_t outputs, uint32_t seed) {
        ir::Value w = signs(m, {outputs, inputs}, seed);
        if (!transposed) w = m.op("Transpose", {w, m.integers({1, 0})});
        return m.op("MatMul", {data, w}, {{"transpose_b", transposed ? "true" : "false"}});
      };
      const ir::Value y = m.op("Add", {product(x, m.dims(x).back(), 52, 1), signs(m, {52}, 7)});
      m.result(m.op("Add", {product(m.op("ReLU", {y}), 52, 37, 2), signs(m, {37}, 8)}));
      expect_exact(m, 2);
    }
}

TEST_P(Bf16Products, ChainsAndSums) {
  GraphMaker m;
  const ir::Value x = m.input("2,24,9,7"), other = m.input("2,16,9,7");
  const ir::Value first = m.op("ReLU", {m.op("Add", {convolution_of_signs(m, x, kSame, 1), small_bias(m, 16, 4)})});
  const ir::Value second =
      m.op("ReLU", {m.op("Add", {convolution_of_signs(m, first, kSame, 2), first})});  // both in bf16
  const ir::Value third =
      m.op("Abs", {m.op("Add", {convolution_of_signs(m, second, kPoint, 3), other})});  // a sum with floats
  m.result(m.op("Multiply", {convolution_of_signs(m, third, kPoint, 4), small_bias(m, 16, 4)}));
  m.result(convolution_of_signs(m, third, kSame, 5));
  m.result(m.op("Clamp", {convolution_of_signs(m, second, kPoint, 6)}, {{"min", "-3"}, {"max", "4"}}));
  expect_exact(m, 6);
}

/// Where windows stay inside of numbers of bf16, these are read where they lie, or, of strides, gathered.
TEST_P(Bf16Products, NumbersAreReadInPlace) {
  struct Case {
    const char* input;
    int64_t channels;  // of the numbers that are read
    WindowLayer layer;
  };
  const Case cases[] = {
      {"2,8,7,9", 64, {"", 48, "1,1"}},
      {"2,8,7,9", 96, {"", 80, "1,1", "2,2"}},
      {"1,8,14,14", 32, {"", 160, "1,1", "2,2"}},
      {"1,8,14,15", 40, {"", 64, "1,1", "2,1"}},
      {"1,8,33,70", 32, {"", 20, "1,1", "1,2"}},
      {"3,8,5,5", 16, {"", 17, "1,1"}},
      {"1,8,5,5", 20, {"", 33, "1,1", "3,3"}},
      {"1,8,5,5", 2, {"", 33, "1,1", "2,2"}},
      {"1,8,9,8", 64, {"", 33, "3,3"}},
      {"2,8,9,8", 64, {"", 100, "2,2", "2,2"}},
      {"1,8,9,8", 48, {"", 33, "2,3"}},
      {"1,8,12,12", 32, {"", 33, "2,2", "1,1", "3,3"}},
      {"1,8,7,9", 128, {"", 96, "1,1", "1,1", "1,1", "0,0", "0,0", 2}},
      {"1,8,7,9", 96, {"", 96, "1,1", "2,2", "1,1", "0,0", "0,0", 2}},
      {"1,8,7,9", 96, {"", 192, "2,2", "2,2", "1,1", "0,0", "0,0", 3}},
      {"2,8,3,5,6", 64, {"", 33, "1,1,1", "1,2,2", "1,1,1", "0,0,0", "0,0,0"}},
      {"1,8,3,5,6", 32, {"", 48, "2,1,2", "1,2,2", "1,1,1", "0,0,0", "0,0,0"}},
      {"2,8,400", 64, {"", 40, "1", "3", "1", "0", "0"}},
      {"2,8,400", 64, {"", 40, "4", "3", "1", "0", "0"}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(concat(c.channels, " of ", c.input, " ", c.layer.kernel, " strides ", c.layer.strides, " groups ",
                        c.layer.groups));
    GraphMaker m;
    const ir::Value x = m.input(PartialShape(c.input));
    WindowLayer first = point_layer(m.dims(x).size());
    first.outputs = c.channels;
    const ir::Value y = m.op("ReLU", {convolution_of_signs(m, x, first, 1)});
    const ir::Value z = convolution_of_signs(m, y, c.layer, 2);
    m.result(z);
    m.result(convolution_of_signs(m, m.op("Abs", {convolution_of_signs(m, y, c.layer, 3)}), first, 4));
    expect_exact(m, 4);
  }
}

/// They multiply floats, and make them of numbers of bf16, or into such, where others store and read these.
TEST_P(Bf16Products, DepthwiseLayersConvertRows) {
  struct Case {
    const char* input;
    int64_t channels;
    const char *kernel, *strides, *pads_begin, *pads_end;
  };
  const Case cases[] = {
      {"1,8,9,11", 32, "3,3", "1,1", "1,1", "1,1"},   {"2,8,9,11", 48, "3,3", "2,2", "1,1", "1,1"},
      {"2,8,7,7", 16, "5,5", "1,1", "2,2", "2,2"},    {"1,8,12,10", 20, "3,3", "2,2", "0,0", "1,1"},
      {"3,8,14,6", 80, "7,7", "1,2", "3,3", "3,3"},   {"1,8,8,9", 70, "2,3", "1,1", "0,0", "0,0"},
      {"1,8,90,200", 33, "3,3", "1,1", "1,1", "1,1"},  // several bands
      {"1,8,4,5", 64, "3,3", "1,1", "4,5", "3,4"},     // windows of pads alone
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(concat(c.channels, " of ", c.input, " ", c.kernel, " strides ", c.strides));
    GraphMaker m;
    const ir::Value x = m.input(PartialShape(c.input));
    const WindowLayer point{"", c.channels, "1,1"};
    const WindowLayer depthwise{"", c.channels, c.kernel, c.strides, "1,1", c.pads_begin, c.pads_end, c.channels};
    const auto layer = [&](ir::Value data, uint32_t seed) {
      return m.op("ReLU",
                  {m.op("Add", {convolution_of_signs(m, data, depthwise, seed), small_bias(m, c.channels, 4)})});
    };
    const auto narrow = [&](uint32_t seed) { return m.op("ReLU", {convolution_of_signs(m, x, point, seed)}); };
    m.result(convolution_of_signs(m, layer(narrow(1), 2), kPoint, 3));  // numbers in and out
    m.result(layer(narrow(4), 5));                                      // in
    m.result(convolution_of_signs(m, layer(m.input(ir::to_shape(m.dims(narrow(6)))), 7), kPoint, 8));  // out
    const ir::Value both = narrow(9);
    m.result(convolution_of_signs(m, layer(both, 10), kPoint, 11));
    m.result(convolution_of_signs(m, both, kPoint, 12));
    expect_exact(m, 11);
  }
}

/// Depthwise layers of floats, or that are dilated, have several channels, or add a tensor, are those of f32.
TEST_P(Bf16Products, OtherDepthwiseLayersAreThoseOfFloats) {
  const auto count = [](const std::function<ir::Value(GraphMaker&, ir::Value)>& layer) {
    GraphMaker m;
    const ir::Value y = m.op("ReLU", {convolution_of_signs(m, m.input("1,8,9,10"), {"", 32, "1,1"}, 1)});
    m.result(convolution_of_signs(m, layer(m, y), kPoint, 2));
    expect_exact(m, 2);
  };
  count([](GraphMaker& m, ir::Value y) {
    return convolution_of_signs(m, y, {"", 32, "3,3", "1,1", "2,2", "2,2", "2,2", 32}, 3);
  });
  count([](GraphMaker& m, ir::Value y) {
    const ir::Value z = convolution_of_signs(m, y, {"", 32, "3,3", "1,1", "1,1", "1,1", "1,1", 32}, 3);
    return m.op("Add", {z, m.input("1,32,9,10")});
  });
  GraphMaker m;
  m.result(
      m.op("Abs", {convolution_of_signs(m, m.input("1,32,9,10"), {"", 32, "3,3", "1,1", "1,1", "1,1", "1,1", 32}, 3)}));
  expect_exact(m, 0);
}

/// Sums whose tensor lies in blocks of another size, and steps with a tensor of floats.
TEST_P(Bf16Products, TensorsInOtherBlocks) {
  for (const int64_t channels : {16, 20, 48, 80, 144}) {
    SCOPED_TRACE(channels);
    GraphMaker m;
    const PartialShape shape(ir::to_shape({2, channels, 5, 7}));
    const ir::Value x = m.input("2,8,5,7"), floats = m.input(shape), factor = m.input(shape);
    const WindowLayer point{"", channels, "1,1"};
    const ir::Value y = m.op("ReLU", {convolution_of_signs(m, x, point, 1)});
    m.result(m.op("Add", {convolution_of_signs(m, y, point, 2), y}));
    const ir::Value sum = m.op("Abs", {m.op("Add", {convolution_of_signs(m, y, point, 3), floats})});
    m.result(convolution_of_signs(m, sum, point, 4));
    const ir::Value product =
        m.op("Maximum", {m.op("Add", {convolution_of_signs(m, y, point, 5), small_bias(m, channels, 4)}), factor});
    m.result(convolution_of_signs(m, product, point, 6));
    // Behind other steps.
    const auto small = [&](ir::Value data, uint32_t seed) {
      return m.op("Clamp", {convolution_of_signs(m, data, point, seed)}, {{"min", "-2"}, {"max", "3"}});
    };
    ir::Value late = m.op("Add", {m.op("Abs", {small(y, 7)}), floats});
    late = m.op("Add", {m.op("Abs", {small(late, 8)}), y});
    late = m.op("Add", {small(late, 9), late});
    m.result(m.op("Add", {m.op("Abs", {small(late, 10)}), y}));
    expect_exact(m, 10);
    DeviceModel device = in_bf16(m.graph(), 1);
    device.infer(integers_for(m));
    for (const ProfilingInfo& info : device.profile())
      EXPECT_EQ(info.exec_type.find("nChw16c_nChw32c"), std::string::npos) << info.exec_type;
    const std::vector<std::string> kernels = bf16_kernels(device);
    EXPECT_EQ(std::count(kernels.begin(), kernels.end(), "bf16_conv_bf16_nChw32c__" + std::string(GetParam())), 6);
  }
}

/// Steps that are a rounding at the store of bytes.
TEST_P(Bf16Products, RoundingsAreStepsAsOthersAre) {
  GraphMaker m;
  const ir::Value x = m.input("1,24,9,7"), other = m.input("1,20,9,7");
  ir::Value y = m.op("Add", {convolution_of_signs(m, x, {"", 20, "1,1"}, 1), small_bias(m, 20, 4)});
  y = m.op("Clamp", {y}, {{"min", "-6"}, {"max", "9"}});
  y = m.op("Round", {m.op("Multiply", {y, m.scalar(0.375f)})}, {{"mode", "half_to_even"}});
  y = m.op("Add", {m.op("Multiply", {y, m.scalar(2)}), other});
  m.result(convolution_of_signs(m, m.op("ReLU", {y}), kPoint, 2));
  expect_exact(m, 2);
}

/// What only moves values moves numbers of bf16, between layers of such numbers.
TEST_P(Bf16Products, NumbersAreMoved) {
  const AttributeTexts halves = {{"strides", "2,2"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}, {"kernel", "2,2"}};
  const AttributeTexts overlapping = {
      {"strides", "1,2"}, {"pads_begin", "1,0"}, {"pads_end", "1,1"}, {"kernel", "3,4"}, {"dilations", "1,1"}};
  for (const char* shape : {"1,24,8,10", "2,3,7,9"}) {
    SCOPED_TRACE(shape);
    GraphMaker m;
    const ir::Value x = m.input(PartialShape(shape));
    const ir::Value y = m.op("ReLU", {convolution_of_signs(m, x, kSame, 1)}),
                    z = convolution_of_signs(m, x, {"", 20, "1,1"}, 2);
    const ir::Value joined = m.op("Concat", {z, y, y}, {{"axis", "1"}});  // y begins within a block
    m.result(convolution_of_signs(m, joined, kSame, 3));
    m.result(convolution_of_signs(m, m.op("MaxPool", {y}, halves), kSame, 4));
    m.result(convolution_of_signs(m, m.op("MaxPool", {joined}, overlapping), kPoint, 5));
    const ir::Dims dims = m.dims(x);
    const ir::Value large = m.op("Interpolate", {z, m.integers({2 * dims[2], 3 * dims[3]}), m.integers({2, 3})},
                                 {{"mode", "nearest"}, {"shape_calculation_mode", "sizes"}});
    m.result(convolution_of_signs(m, m.op("MaxPool", {large}, halves), kSame, 6));
    const ir::Value parts = m.op("Split", {joined, m.scalar_integer(1)}, {{"num_splits", "4"}});
    for (int i = 0; i < 4; ++i) m.result(convolution_of_signs(m, {parts.node, i}, kPoint, 7));
    expect_exact(m, 10);
    DeviceModel device = in_bf16(m.graph(), 1);
    device.infer(integers_for(m));
    size_t stored = 0;
    for (const std::string& kernel : bf16_kernels(device))
      stored += kernel.find("conv_bf16") != std::string::npos ? 1 : 0;
    EXPECT_EQ(stored, 2);
  }
}

/// Of what is moved something reads floats: then all of it is floats.
TEST_P(Bf16Products, MovedFloatsStayFloats) {
  GraphMaker m;
  const ir::Value x = m.input("1,16,8,10"), other = m.input("1,16,8,10");
  const ir::Value y = convolution_of_signs(m, x, kSame, 1), z = convolution_of_signs(m, x, kPoint, 2);
  m.result(convolution_of_signs(m, m.op("Concat", {y, other}, {{"axis", "1"}}), kSame, 3));
  const ir::Value joined = m.op("Concat", {z, z}, {{"axis", "1"}});
  m.result(convolution_of_signs(m, joined, kSame, 4));
  m.result(m.op("Abs", {joined}));
  expect_exact(m, 4);
}

/// What others read stays f32, and is that.
TEST_P(Bf16Products, OthersReadFloats) {
  GraphMaker m;
  const ir::Value x = m.input("1,20,9,7");
  const ir::Value y = convolution_of_signs(m, x, kSame, 1);
  m.result(convolution_of_signs(m, y, kPoint, 2));
  m.result(m.op("MaxPool", {y}, {{"strides", "1,1"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}, {"kernel", "2,2"}}));
  m.result(m.op("MatMul", {convolution_of_signs(m, x, kPoint, 3), signs(m, {7, 5}, 4)}));  // in another order
  expect_exact(m, 4);
  DeviceModel device = in_bf16(m.graph(), 1);
  device.infer(integers_for(m));
  for (const std::string& kernel : bf16_kernels(device))
    EXPECT_TRUE(kernel.find("_f32") != std::string::npos) << kernel;
}

TEST_P(Bf16Products, NumbersAreRounded) {
  GraphMaker m;
  const ir::Value x = m.input("1,20,9,11");
  const ir::Value wide = m.random({30, 20, 3, 3}, 4);
  const AttributeTexts window = {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}};
  m.result(m.op("Convolution", {x, wide}, window));
  GraphMaker rounded;
  const auto narrow = [&](ir::Value value) {
    return rounded.op("Convert", {rounded.op("Convert", {value}, {{"destination_type", "bf16"}})},
                      {{"destination_type", "f32"}});
  };
  const ir::Value data = narrow(rounded.input("1,20,9,11")), weights = narrow(rounded.random({30, 20, 3, 3}, 4));
  rounded.result(rounded.op("Convolution", {data, weights}, window));
  const std::vector<HostTensor> inputs = {random_tensor({1, 20, 9, 11}, 3)};
  const std::vector<HostTensor> want = on_interpreter(rounded.graph(), inputs);
  const std::vector<HostTensor> got = in_bf16(m.graph(), 2).infer(inputs);
  // Of 180 products, each rounded once when it is added.
  const std::string text = difference(want[0].view(), got[0].view(), {0, 180 * 0x1p-24 * 10});
  EXPECT_TRUE(text.empty()) << text;
}

/// What lies in memory behind the data is no number.
TEST_P(Bf16Products, NothingBehindTheDataCounts) {
  for (const char* shape : {"1,3,5,5", "1,16,3,3", "1,17,1,1"}) {
    GraphMaker m;
    const ir::Value x = m.input(PartialShape(shape));
    m.result(convolution_of_signs(m, x, kSame, 1));
    const std::vector<HostTensor> inputs = integers_for(m), want = on_interpreter(m.graph(), inputs);
    DeviceModel device = in_bf16(m.graph(), 1);
    for (int i = 0; i < 3; ++i) {
      GraphMaker other;  // leaves such bits where windows are copied
      const ir::Value y = other.input("1,64,20,20");
      other.result(convolution_of_signs(other, y, kSame, 2));
      std::vector<HostTensor> nan = {random_tensor({1, 64, 20, 20}, 1)};
      std::fill_n(nan[0].writable().as<float>(), nan[0].view().count(), std::numeric_limits<float>::quiet_NaN());
      in_bf16(other.graph(), 1).infer(nan);
      EXPECT_EQ(difference(want[0].view(), device.infer(inputs)[0].view(), {0, 0}), "") << shape;
    }
  }
}

/// Nor what an earlier layer has left where there are no channels in the last block.
TEST_P(Bf16Products, BlocksArePaddedWithZeros) {
  for (const int64_t channels : {1, 16, 20, 48, 80}) {
    SCOPED_TRACE(channels);
    GraphMaker m;
    const ir::Value x = m.input("1,8,6,6");
    ir::Value zero = m.scalar(0);
    for (int i = 0; i < 3; ++i) {
      const ir::Value positive = m.op("Add", {m.op("Abs", {m.op("Add", {x, zero})}), m.scalar(2)});
      const ir::Value wide = m.op("Concat", std::vector<ir::Value>(8, positive), {{"axis", "1"}});
      const ir::Value infinite = m.op("Power", {wide, m.scalar(1e9f)});
      const ir::Value least = m.op("ReduceMin", {infinite, m.integers({0, 1, 2, 3})}, {{"keep_dims", "true"}});
      zero = m.op("Multiply", {m.op("Sigmoid", {least}), m.scalar(0)});
    }
    const ir::Value y = convolution_of_signs(m, m.op("Add", {x, zero}), {"", channels, "1,1"}, 1);
    m.result(convolution_of_signs(m, m.op("ReLU", {y}), kPoint, 2));
    expect_exact(m, 2);
  }
}

/// Nor what a depthwise layer has left of a second half, where another one has but the first.
TEST_P(Bf16Products, DepthwiseBlocksArePaddedWithZeros) {
  GraphMaker m;
  for (const int64_t channels : {32, 16}) {
    const ir::Value x = m.op("ReLU", {convolution_of_signs(m, m.input("1,8,9,8"), {"", channels, "1,1"}, 1)});
    const ir::Value y = convolution_of_signs(m, x, {"", channels, "3,3", "1,1", "1,1", "1,1", "1,1", channels}, 2);
    m.result(convolution_of_signs(m, y, kPoint, 3));
  }
  std::vector<HostTensor> inputs = integers_for(m);
  std::fill_n(inputs[0].writable().as<float>(), inputs[0].view().count(), std::numeric_limits<float>::infinity());
  const HostTensor want = on_interpreter(m.graph(), inputs)[1];
  DeviceModel device = in_bf16(m.graph(), 1);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(difference(want.view(), device.infer(inputs)[1].view(), {0, 0}), "");
}

/// Two kinds of layers pack it in their own ways.
TEST_P(Bf16Products, OneConstantOfTwoKindsOfLayers) {
  GraphMaker m;
  const ir::Value w = signs(m, {2, 8, 8, 3}, 1);
  const AttributeTexts square = {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}};
  const AttributeTexts line = {{"strides", "1"}, {"dilations", "1"}, {"pads_begin", "0"}, {"pads_end", "0"}};
  m.result(m.op("GroupConvolution", {m.input("1,16,20"), w}, line));
  m.result(m.op("Convolution", {m.input("1,8,12,12"), w}, square));
  expect_exact(m, 2);
}

/// Which outputs a value reaches that is not finite must not depend on who computes what.
TEST_P(Bf16Products, InfinitiesReachTheSameOutputs) {
  const WindowLayer layers[] = {
      {"1,16,9,40", 16, "1,1"},
      {"1,48,41,40", 16, "1,1", "2,2"},
      {"2,3,37,33", 16, "3,3", "1,1", "1,1", "1,1", "1,1"},
      {"1,48,24,7", 20, "3,3", "2,2", "1,1", "1,1", "1,1"},
      {"1,16,300", 16, "3", "1", "1", "1", "1"},
      {"2,17,210", 33, "5", "2", "3", "6", "4"},
      {"1,40,66", 16, "1", "1", "1", "0", "0"},
  };
  for (const WindowLayer& l : layers) {
    SCOPED_TRACE(concat(l.input, " ", l.kernel));
    GraphMaker m;
    m.result(convolution_of_signs(m, m.input(PartialShape(l.input)), l, 1));
    std::vector<HostTensor> inputs = integers_for(m);
    const ir::MutableTensorView view = inputs[0].writable();
    for (int64_t i = 5; i < view.count(); i += 89)
      view.as<float>()[i] =
          i % 2 == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
    const std::vector<HostTensor> want = in_bf16(m.graph(), 1).infer(inputs);
    for (const int threads : {2, 3, 5, 8}) {
      const std::vector<HostTensor> got = in_bf16(m.graph(), threads).infer(inputs);
      EXPECT_EQ(std::memcmp(got[0].view().data, want[0].view().data, want[0].view().bytes()), 0) << threads;
    }
  }
}

TEST_P(Bf16Products, SettingsSayWhatIsComputed) {
  GraphMaker m;
  m.result(convolution_of_signs(m, m.input("1,16,6,6"), kSame, 1));
  EXPECT_EQ(in_bf16(m.graph(), 1).compiled().config().inference_precision, element::bf16);
  EXPECT_EQ(on_cpu(m.graph(), 1).compiled().config().inference_precision, element::f32);
  DeviceModel narrow = in_bf16(m.graph(), 1);
  narrow.infer(integers_for(m));
  const std::unique_ptr<ir::Graph> ran = narrow.compiled().runtime_graph();
  const std::vector<ir::NodeId> nodes = ran->nodes();
  EXPECT_TRUE(std::any_of(nodes.begin(), nodes.end(), [&](ir::NodeId id) {
    const ir::RtInfo& info = ran->node(id).rt_info;
    return info.at("runtimePrecision").at("") == "bf16" && info.at("outputPrecisions").at("") == "f32";
  }));
  const ForcedIsa forced("avx512_vnni");
  DeviceModel device = in_bf16(m.graph(), 1);
  EXPECT_EQ(device.compiled().config().inference_precision, element::f32);
  device.infer(integers_for(m));
  EXPECT_TRUE(bf16_kernels(device).empty());
}

TEST_P(Bf16Products, RefusesOthers) {
  GraphMaker m;
  const ir::Value x = m.input("1,16,12,12");
  m.result(m.depthwise(x, 3, 1));
  m.result(convolution_of_signs(m, x, {"", 16, "3,3", "1,1", "6,6", "6,6", "6,6"}, 1));  // wider than the image
  const ir::Value weights = m.input("16,16,1,1");
  m.result(m.op("Convolution", {x, weights},
                {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}}));
  m.result(m.op("ConvolutionBackpropData", {x, m.random({16, 16, 3, 3}, 2)},
                {{"strides", "1,1"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}, {"dilations", "2,2"}}));
  m.result(m.op("GroupConvolutionBackpropData", {x, m.random({2, 8, 8, 2, 2}, 2)},
                {{"strides", "2,2"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}, {"dilations", "1,1"}}));
  m.result(m.op("MatMul", {x, m.random({1, 16, 12, 5}, 3)}));  // a matrix for each channel
  m.result(m.op("MatMul", {x, m.random({12, 5}, 4)}, {{"transpose_a", "true"}}));
  DeviceModel device = in_bf16(m.graph(), 1);
  device.infer(integers_for(m));
  EXPECT_TRUE(bf16_kernels(device).empty());
}

TEST(NarrowProducts, Rewrite) {
  GraphMaker m;
  const ir::Value x = m.input("1,16,6,6");
  const ir::Value y = m.op("ReLU", {m.op("Add", {convolution_of_signs(m, x, kSame, 1), small_bias(m, 16, 4)})});
  const ir::Value z = m.op("ReLU", {m.op("Add", {convolution_of_signs(m, y, kSame, 2), y})});
  m.result(convolution_of_signs(m, z, kPoint, 3));
  m.result(m.op("Sqrt", {z}));
  m.result(m.op("MatMul", {z, signs(m, {6, 4}, 4)}));
  expect_rewrite(
      "narrow_products", m.graph(),
      {cpu::narrow_products(cpu::cpu_ops()), cpu::fuse_post_ops(cpu::cpu_ops(), cpu::ChainBases::with_own_store),
       cpu::narrow_stores(cpu::cpu_ops())});
}

INSTANTIATE_TEST_SUITE_P(Kernels, Bf16Products, ::testing::Values("avx512_bf16", "avx512_amx"),
                         [](const auto& kernels) { return std::string(kernels.param); });

}  // namespace
}  // namespace terroir::test
