// Layers between FakeQuantize nodes compute in bytes: results against the interpreter, which rounds floats as the file
// says. Steps are powers of two and no sum lies half way between two levels, so every value has one right result.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "ops/registry.hpp"
#include "plugins/cpu/compile.hpp"
#include "plugins/cpu/passes/fuse_post_ops.hpp"
#include "plugins/cpu/passes/quantize_convolutions.hpp"
#include "plugins/cpu/plan.hpp"
#include "tests/passes/golden.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/passes/window_layers.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/random.hpp"

namespace terroir::test {
namespace {

/// The values of TERROIR_FORCE_ISA under which this machine has products of bytes.
std::vector<const char*> byte_buckets() {
  std::vector<const char*> buckets = cpu::available_kernels();
  std::erase_if(buckets, [](const char* name) {
    const ForcedIsa forced(name);
    const cpu::ByteProducts products = cpu::active_byte_products();
    // Those of bf16 multiply bytes as avx512_vnni does.
    return products == cpu::ByteProducts::none || products == cpu::ByteProducts::avx512_bf16;
  });
  return buckets;
}

/// Levels that are 1/16 apart. `zero`: the level that stands for 0.
ir::Value levels(GraphMaker& m, ir::Value x, float zero) {
  const float low = -zero / 16, high = (255 - zero) / 16;
  return m.op("FakeQuantize", {x, m.scalar(low), m.scalar(high), m.scalar(low), m.scalar(high)}, {{"levels", "256"}});
}

/// Multiples of 1/16, up to 127 of them; each output has its largest.
ir::Value weights(GraphMaker& m, const ir::Dims& dims, int64_t outputs, uint32_t seed) {
  std::vector<float> values(static_cast<size_t>(ir::element_count(dims)));
  Random random(seed);
  for (float& value : values) value = static_cast<float>(random.between(-127, 127)) / 16;
  const size_t row = values.size() / static_cast<size_t>(outputs);
  for (size_t i = 0; i < values.size(); i += row) values[i] = 127.0f / 16;
  return m.constant(dims, values);
}

/// Off the middle between two levels, whatever the sum is.
ir::Value bias(GraphMaker& m, int64_t channels, size_t rank) {
  ir::Dims dims(rank, 1);
  dims[1] = channels;
  std::vector<float> values;
  for (int64_t c = 0; c < channels; ++c) values.push_back(static_cast<float>(c % 7 - 3) / 4 + 1.0f / 1024);
  return m.constant(dims, values);
}

using Layer = WindowLayer;

ir::Value convolution(GraphMaker& m, ir::Value x, const Layer& l, uint32_t seed) {
  return window_layer(m, x, l, [&](const ir::Dims& dims) { return weights(m, dims, l.outputs, seed); });
}

/// x -> levels -> convolution -> bias -> ReLU -> levels -> 1x1 convolution.
void two_layers(GraphMaker& m, const Layer& l) {
  const ir::Value x = m.input(PartialShape(l.input));
  const size_t rank = m.dims(x).size();
  ir::Value y = convolution(m, levels(m, x, l.zero), l, 1);
  y = m.op("ReLU", {m.op("Add", {y, bias(m, l.outputs, rank)})});
  m.result(convolution(m, levels(m, y, 0), point_layer(rank), 2));
}

std::vector<HostTensor> inputs_of(const GraphMaker& m) {
  std::vector<HostTensor> inputs;
  for (const ir::Value& input : m.inputs())
    inputs.push_back(random_tensor(m.dims(input), static_cast<uint32_t>(inputs.size() + 5), 9));
  return inputs;
}

void expect_near(const HostTensor& want, const HostTensor& got) {
  ASSERT_EQ(want.view().dims, got.view().dims);
  double largest = 0;
  for (int64_t i = 0; i < want.view().count(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(want.view().as<float>()[i])));
  const std::string text = difference(want.view(), got.view(), {0, 1e-6 * largest});
  EXPECT_TRUE(text.empty()) << text;
}

/// Of the steps, by name, that compute in bytes.
int byte_steps(const ir::Graph& graph) {
  plugin::Config config;
  config.profiling = true;
  DeviceModel device(graph.clone(), "CPU", config);
  std::vector<HostTensor> inputs;
  for (const plugin::PortInfo& port : device.inputs())
    inputs.push_back(random_tensor(ir::to_dims(port.shape.to_shape()), 1));
  device.infer(inputs);
  int found = 0;
  for (const ProfilingInfo& info : device.profile()) found += info.exec_type.starts_with("u8_") ? 1 : 0;
  return found;
}

/// `steps`: how many compute in bytes.
void expect_same_in_bytes(const GraphMaker& m, int steps) {
  const std::vector<HostTensor> inputs = inputs_of(m), want = on_interpreter(m.graph(), inputs);
  std::map<cpu::Isa, std::vector<HostTensor>> of_isa;  // floats around the bytes differ from one to the other
  for (const char* bucket : byte_buckets()) {
    SCOPED_TRACE(bucket);
    const ForcedIsa forced(bucket);
    EXPECT_EQ(byte_steps(m.graph()), steps);
    std::vector<HostTensor>& first = of_isa[cpu::active_isa()];
    for (const int threads : {1, 2, 3, 8}) {
      DeviceModel device = on_cpu(m.graph(), threads);
      std::vector<HostTensor> got = device.infer(inputs);
      for (size_t i = 0; i < want.size(); ++i) expect_near(want[i], got[i]);
      if (first.empty()) first = device.stored_and_loaded().infer(inputs);
      for (size_t i = 0; i < want.size(); ++i)
        EXPECT_EQ(std::memcmp(got[i].view().data, first[i].view().data, got[i].view().bytes()), 0) << threads;
    }
  }
}

class QuantizedConvolution : public ::testing::Test {
  void SetUp() override {
    if (byte_buckets().empty()) GTEST_SKIP() << "no AVX2";
  }
};

TEST_F(QuantizedConvolution, SameAsInterpreter) {
  const Layer layers[] = {
      {"1,3,9,11", 17, "3,3", "1,1", "1,1", "1,1", "1,1"},
      {"1,3,9,11", 17, "3,3", "1,1", "1,1", "1,1", "1,1", 1, 127.5f},
      {"1,3,31,30", 64, "7,7", "2,2", "1,1", "3,3", "3,3", 1, 128},
      {"2,64,7,7", 80, "1,1"},
      {"2,24,13,5", 40, "1,1", "1,1", "1,1", "0,0", "0,0", 1, 127.5f},
      {"1,17,13,9", 33, "1,1", "2,2"},
      {"1,40,10,10", 48, "3,3", "2,2", "1,1", "0,1", "2,1", 1, 3},
      {"1,20,14,15", 130, "3,3", "1,1", "2,3", "2,3", "2,3", 1, 127.5f},
      {"1,32,8,8", 64, "1,1", "1,1", "1,1", "1,2", "0,1", 1, 10},
      {"1,64,6,6", 96, "3,3", "1,1", "1,1", "1,1", "1,1", 2, 127.5f},
      {"1,96,5,9", 48, "3,1", "1,1", "1,1", "1,0", "1,0", 3},
      {"1,16,6,6", 16, "3,3", "1,1", "1,1", "1,1", "1,1", 2, 127.5f},
      {"1,96,7,9", 96, "3,3", "1,1", "1,1", "1,1", "1,1", 12, 10},
      {"2,64,9,5", 128, "3,3", "2,2", "1,1", "1,0", "1,2", 8, 127.5f},
      {"1,144,5,7", 144, "3,3", "1,1", "1,2", "1,2", "1,2", 6},
      {"1,160,4,4", 80, "1,1", "1,1", "1,1", "0,0", "0,0", 10},
      {"1,128,3,4,5", 128, "3,3,3", "1,1,1", "1,1,1", "1,1,1", "1,1,1", 16, 127.5f},
      {"1,50,1,1", 1000, "1,1"},
      {"2,64,19,3", 40, "3,3", "1,1", "1,1", "1,1", "1,1", 1, 127.5f},
      {"1,128,9,20", 70, "3,3", "2,2", "1,1", "1,0", "1,2"},
      {"1,192,7,7", 64, "1,1", "2,2"},
      {"1,128,5,37", 96, "1,3", "1,1", "1,2", "0,2", "0,1", 2, 10},
      {"1,64,3,5,6", 33, "3,3,3", "1,1,1", "1,1,1", "1,1,1", "1,1,1", 1, 127.5f},
      {"1,64,1,1", 64, "3,3", "1,1", "1,1", "1,1", "1,1", 1, 127.5f},
      {"3,16,1,9", 16, "1,3", "1,1", "1,1", "0,1", "0,1"},
      {"1,16,9,1", 16, "3,1", "1,1", "1,1", "1,0", "1,0", 1, 127.5f},
      {"1,300,33", 70, "5", "2", "3", "6", "4", 1, 127.5f},
      {"1,20,4,6,5", 19, "3,3,3", "1,2,1", "1,1,2", "1,1,2", "1,0,2", 1, 127.5f},
      {"1,32,3,7,7", 16, "2,1,3", "1,1,1", "1,1,1", "0,0,0", "0,0,0"},
      {"1,16,20,20", 16, "5,5", "1,1", "1,1", "3,0", "1,4", 1, 127.5f},
      {"1,16,2,2", 16, "5,5", "1,1", "1,1", "4,4", "4,4", 1, 127.5f},
      {"1,7,9,12", 7, "3,3", "1,1", "1,1", "1,1", "1,1", 7},
      {"2,35,11,10", 35, "3,3", "2,2", "1,1", "1,0", "1,2", 35, 127.5f},
      {"1,48,7,9", 48, "5,5", "1,1", "1,1", "2,2", "2,2", 48, 20},
      {"1,16,6,30", 16, "1,9", "1,1", "1,1", "0,4", "0,4", 16, 127.5f},
      {"1,40,90,90", 40, "3,3", "1,1", "1,1", "1,1", "1,1", 40},  // several bands
      {"1,40,90,90", 40, "3,3", "2,2", "1,1", "1,1", "1,1", 40, 127.5f},
      {"2,20,31,33", 20, "4,4", "3,3", "1,1", "2,1", "0,3", 20, 127.5f},
      {"1,33,2,3", 33, "7,7", "1,1", "1,1", "3,3", "3,3", 33},
      {"1,16,40,1", 16, "9,1", "1,1", "1,1", "4,0", "4,0", 16, 127.5f},
      {"1,40,3,4,9", 40, "3,3,3", "1,1,2", "1,1,1", "1,1,1", "1,1,1", 40, 127.5f},
  };
  for (const Layer& layer : layers) {
    SCOPED_TRACE(concat(layer.input, " ", layer.kernel, " to ", layer.outputs, " groups ", layer.groups));
    GraphMaker m;
    two_layers(m, layer);
    expect_same_in_bytes(m, 3);
  }
}

/// x -> levels -> transposed convolution (weights [inputs, outputs, taps], each output with a step of its own, rows of
/// phases without a tap among them) -> bias -> ReLU -> levels -> 1x1 convolution.
void transposed_layers(GraphMaker& m, const Layer& l, const AttributeTexts& more, const std::vector<int64_t>& extents) {
  const ir::Value x = m.input(PartialShape(l.input));
  const size_t rank = m.dims(x).size();
  ir::Dims dims = {m.dims(x)[1], l.outputs};
  int64_t taps = 1;
  for (const Dimension& tap : PartialShape(l.kernel)) {
    dims.push_back(tap.get_length());
    taps *= tap.get_length();
  }
  std::vector<float> values(static_cast<size_t>(ir::element_count(dims)));
  Random random(3);
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t output = static_cast<int64_t>(i) / taps % l.outputs;
    const bool is_first = static_cast<int64_t>(i) < taps * l.outputs && static_cast<int64_t>(i) % taps == 0;
    values[i] = static_cast<float>(is_first ? 127 : random.between(-127, 127)) / (output % 3 == 0 ? 16.0f : 32.0f);
  }
  AttributeTexts attributes = {
      {"strides", l.strides}, {"dilations", l.dilations}, {"pads_begin", l.pads_begin}, {"pads_end", l.pads_end}};
  attributes.insert(attributes.end(), more.begin(), more.end());
  std::vector<ir::Value> inputs = {levels(m, x, l.zero), m.constant(dims, values)};
  if (!extents.empty()) inputs.push_back(m.integers(extents));
  ir::Value y = m.op("ConvolutionBackpropData", inputs, attributes);
  y = m.op("ReLU", {m.op("Add", {y, bias(m, l.outputs, rank)})});
  m.result(convolution(m, levels(m, y, 0), point_layer(rank), 2));
}

TEST_F(QuantizedConvolution, Transposed) {
  struct Case {
    Layer layer;
    AttributeTexts more;
    std::vector<int64_t> extents;
  };
  const Case cases[] = {
      {{"1,64,7,9", 40, "2,2", "2,2"}, {}, {}},
      {{"1,64,7,9", 40, "2,2", "2,2", "1,1", "0,0", "0,0", 1, 127.5f}, {}, {}},
      {{"2,32,5,6", 33, "4,4", "2,2", "1,1", "1,1", "1,1", 1, 10}, {}, {}},
      {{"1,20,9,4", 70, "3,3", "2,2", "1,1", "1,0", "0,1", 1, 127.5f}, {{"output_padding", "1,0"}}, {}},
      {{"1,16,8,8", 16, "3,3", "1,1", "1,1", "1,1", "1,1", 1, 127.5f}, {}, {}},
      {{"1,16,6,5", 17, "2,3", "3,4", "1,1", "0,0", "0,0", 1, 5}, {}, {}},  // phases without a tap
      {{"1,128,12,11", 64, "5,4", "2,3", "1,1", "3,2", "1,2", 1, 127.5f}, {}, {}},
      {{"1,3,8,8", 24, "4,4", "2,2", "1,1", "1,1", "1,1", 1, 127.5f}, {}, {}},
      {{"1,48,17", 20, "8", "4", "1", "2", "3", 1, 127.5f}, {}, {}},
      {{"1,40,3,4,5", 24, "3,2,4", "2,2,2", "1,1,1", "1,0,1", "0,0,1", 1, 127.5f}, {}, {}},
      {{"1,64,30,41", 32, "3,3", "2,2", "1,1", "1,1", "1,1", 1, 127.5f}, {}, {}},  // several bands
      {{"1,32,5,5", 24, "3,3", "2,2", "1,1", "1,1", "1,1", 1, 127.5f}, {}, {10, 9}},
      {{"1,32,5,5", 24, "3,3", "2,2", "1,1", "0,0", "0,0", 1, 127.5f}, {{"auto_pad", "same_upper"}}, {10, 10}},
      {{"1,32,5,5", 24, "3,3", "2,2", "1,1", "0,0", "0,0", 1, 127.5f}, {{"auto_pad", "same_lower"}}, {9, 10}},
      {{"1,32,4,5", 24, "2,3", "2,2", "1,1", "0,0", "0,0", 1, 127.5f}, {{"auto_pad", "valid"}}, {12, 10}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(concat(c.layer.input, " ", c.layer.kernel, " by ", c.layer.strides, " to ", c.layer.outputs, " zero ",
                        c.layer.zero, " extents ", c.extents));
    GraphMaker m;
    transposed_layers(m, c.layer, c.more, c.extents);
    expect_same_in_bytes(m, 3);
  }
}

TEST_F(QuantizedConvolution, GroupsOfFourChannelsByTiles) {
  const std::string best = byte_buckets().back();
  if (best != "avx512_amx") GTEST_SKIP() << "no AMX";
  GraphMaker m;
  two_layers(m, {"1,96,7,9", 96, "3,3", "1,1", "1,1", "1,1", "1,1", 24, 127.5f});
  const ForcedIsa forced(best.c_str());
  EXPECT_EQ(byte_steps(m.graph()), 3);
  const std::vector<HostTensor> inputs = inputs_of(m);
  expect_near(on_interpreter(m.graph(), inputs)[0], on_cpu(m.graph(), 2).infer(inputs)[0]);
}

TEST_F(QuantizedConvolution, MatrixProducts) {
  for (const bool transposed : {true, false})
    for (const float zero : {0.0f, 127.5f})
      for (const char* shape : {"1,9,24", "2,3,5,100", "1,2048", "40,8"}) {
        SCOPED_TRACE(concat(shape, transposed ? " transposed" : "", " zero ", zero));
        GraphMaker m;
        const ir::Value x = m.input(PartialShape(shape));
        const int64_t inputs = m.dims(x).back();
        const auto product = [&](ir::Value data, int64_t depth, int64_t outputs, uint32_t seed) {
          ir::Value w = weights(m, {outputs, depth}, outputs, seed);
          if (!transposed) w = m.op("Transpose", {w, m.integers({1, 0})});
          return m.op("MatMul", {data, w}, {{"transpose_b", transposed ? "true" : "false"}});
        };
        ir::Value y = product(levels(m, x, zero), inputs, 52, 1);
        std::vector<float> shift(52, 5.0f / 1024);
        y = m.op("ReLU", {m.op("Add", {y, m.constant({52}, shift)})});
        m.result(product(levels(m, y, 0), 52, 37, 2));
        expect_same_in_bytes(m, 3);
      }
}

TEST_F(QuantizedConvolution, ChainsAtTheStore) {
  for (const char* type : {"Sigmoid", "HSwish", "Tanh", "Elu", "Abs"}) {
    GraphMaker m;
    const ir::Value x = m.input("1,24,9,7"), other = m.input("1,30,9,7");
    ir::Value y = convolution(m, levels(m, x, 0), {"", 30, "3,3", "1,1", "1,1", "1,1", "1,1"}, 3);
    y = m.op("Add", {m.op("Add", {y, bias(m, 30, 4)}), other});
    y = m.op("Clamp", {y}, {{"min", "-100"}, {"max", "120"}});
    y = m.op(type, {y}, std::string_view(type) == "Elu" ? AttributeTexts{{"alpha", "0.5"}} : AttributeTexts{});
    m.result(m.op("Multiply", {y, m.random({1, 30, 1, 1}, 6)}));
    expect_same_in_bytes(m, 2);
  }
}

TEST_F(QuantizedConvolution, OthersReadTheFloats) {
  GraphMaker m;
  const ir::Value x = m.input("1,16,6,6");
  const ir::Value q = levels(m, x, 0);
  const Layer layer{"", 16, "3,3", "1,1", "1,1", "1,1", "1,1"};
  ir::Value y = m.op("ReLU", {m.op("Add", {convolution(m, q, layer, 1), bias(m, 16, 4)})});
  m.result(m.op("Sqrt", {q}));                                            // of the levels, from bytes
  m.result(m.op("Add", {convolution(m, levels(m, y, 0), layer, 2), y}));  // of what became levels
  m.result(convolution(m, q, {"", 20, "1,1"}, 4));                        // the same bytes
  m.result(convolution(m, levels(m, y, 1), {"", 20, "1,1"}, 5));          // other levels of the same floats
  expect_same_in_bytes(m, 7);
}

/// What quantisation tools write around a residual block: both sides of the sum have levels, one of them those that the
/// next layer reads.
TEST_F(QuantizedConvolution, SumsOfLevels) {
  for (const char* shape : {"1,20,9,11", "2,16,7,5", "1,64,4,33"})
    for (const float zero : {0.0f, 127.5f, 128.0f}) {
      SCOPED_TRACE(concat(shape, " zero ", zero));
      GraphMaker m;
      const ir::Value x = m.input(PartialShape(shape));
      const int64_t channels = m.dims(x)[1];
      Layer layer = kSame;
      layer.outputs = channels;
      ir::Value q = levels(m, x, zero);
      for (uint32_t block = 0; block < 2; ++block) {
        ir::Value y = m.op("ReLU", {m.op("Add", {convolution(m, q, layer, block), bias(m, channels, 4)})});
        y = m.op("Add", {convolution(m, levels(m, y, 0), layer, block + 2), bias(m, channels, 4)});
        q = levels(m, m.op("ReLU", {m.op("Add", {levels(m, y, 127.5f), q})}), 1);
      }
      m.result(convolution(m, q, layer, 5));
      expect_same_in_bytes(m, 6);
    }
}

TEST_F(QuantizedConvolution, SumsOfTwoLayers) {
  GraphMaker m;
  const ir::Value q = levels(m, m.input("1,24,9,7"), 3);
  const ir::Value a = m.op("Add", {convolution(m, q, kSame, 1), bias(m, 16, 4)});
  const ir::Value b = m.op("Add", {convolution(m, q, kPoint, 2), bias(m, 16, 4)});
  m.result(m.op("Clamp", {m.op("Add", {levels(m, a, 127), levels(m, b, 128)})}, {{"min", "-3"}, {"max", "4"}}));
  expect_same_in_bytes(m, 3);  // the first layer stores bytes
}

TEST_F(QuantizedConvolution, RoundingAtTheStore) {
  for (const char* type : {"Sigmoid", "Abs"}) {
    GraphMaker m;
    const ir::Value x = m.input("1,24,9,7"), q = levels(m, x, 0), other = m.input("1,30,9,7");
    const Layer layer{"", 30, "3,3", "1,1", "1,1", "1,1", "1,1"};
    const auto sum = [&](uint32_t seed) { return m.op("Add", {convolution(m, q, layer, seed), bias(m, 30, 4)}); };
    m.result(m.op("Sqrt", {levels(m, m.op("Abs", {sum(3)}), 0)}));         // steps in front of it
    m.result(m.op(type, {levels(m, sum(4), 127.5f)}));                     // behind it
    m.result(m.op("Add", {levels(m, m.op("ReLU", {sum(5)}), 1), other}));  // floats behind it
    m.result(levels(m, m.op("Add", {sum(6), other}), 100));                // floats in front of it
    m.result(levels(m, m.op("Add", {sum(7), levels(m, other, 5)}), 100));  // bytes in front of it
    expect_same_in_bytes(m, 7);
  }
}

TEST_F(QuantizedConvolution, OthersReadTheBytes) {
  for (const char* shape : {"1,20,9,11", "2,32,5,3"}) {
    GraphMaker m;
    const ir::Value x = m.input(PartialShape(shape));
    const ir::Value q = levels(m, x, 127.5f);
    const ir::Value y = levels(m, m.op("Add", {convolution(m, q, kSame, 1), bias(m, 16, 4)}), 3);
    m.result(m.op("Multiply", {convolution(m, y, kPoint, 2), y}));
    m.result(m.op("ReduceMean", {y, m.integers({2, 3})}, {{"keep_dims", "true"}}));
    expect_same_in_bytes(m, 4);
  }
}

/// Ranges of their own for each channel.
TEST_F(QuantizedConvolution, LevelsByChannel) {
  for (const char* shape : {"1,20,9,11", "2,16,7,5", "1,7,12,3"})
    for (const float zero : {0.0f, 127.5f}) {
      SCOPED_TRACE(concat(shape, " zero ", zero));
      GraphMaker m;
      const ir::Value x = m.input(PartialShape(shape));
      const int64_t channels = m.dims(x)[1];
      const auto by_channel = [&](ir::Value value) {
        std::vector<float> low, high;
        for (int64_t c = 0; c < channels; ++c) {
          const float step = std::ldexp(1.0f, static_cast<int>(c % 5) - 6);
          low.push_back(-zero * step);
          high.push_back((255 - zero) * step);
        }
        const ir::Dims dims = {channels, 1, 1};
        const ir::Value lows = m.constant(dims, low), highs = m.constant(dims, high);
        return m.op("FakeQuantize", {value, lows, highs, lows, highs}, {{"levels", "256"}});
      };
      Layer layer = kSame;
      layer.outputs = layer.groups = channels;
      ir::Value y = m.op("Add", {convolution(m, by_channel(x), layer, 1), bias(m, channels, 4)});
      y = m.op("ReLU",
               {m.op("Add", {convolution(m, levels(m, y, 100), {"", channels, "1,1"}, 2), bias(m, channels, 4)})});
      const ir::Value q = by_channel(y);
      m.result(m.op("Sqrt", {m.op("Abs", {q})}));  // floats of the same
      layer.strides = "2,1";
      m.result(convolution(m, q, layer, 3));
      expect_same_in_bytes(m, 4);
    }
}

/// Axis 1 of a product of matrices is none of its outputs: levels by channel do not belong to its store.
TEST_F(QuantizedConvolution, LevelsByChannelBehindMatrixProducts) {
  for (const char* shape : {"1,20,24", "2,20,3,24"}) {
    SCOPED_TRACE(shape);
    GraphMaker m;
    const ir::Value x = m.input(PartialShape(shape));
    const auto rank = static_cast<int64_t>(m.dims(x).size());
    const ir::Value y = m.op("MatMul", {levels(m, x, 100), weights(m, {5, 24}, 5, 1)}, {{"transpose_b", "true"}});
    std::vector<float> low, high;
    for (int64_t c = 0; c < 20; ++c) {
      const float step = std::ldexp(1.0f, static_cast<int>(c % 4) - 2);
      low.push_back(-(100 + 1.0f / 64) * step);
      high.push_back(low.back() + 255 * step);
    }
    const ir::Dims dims = rank == 3 ? ir::Dims{20, 1} : ir::Dims{20, 1, 1};
    const ir::Value lows = m.constant(dims, low), highs = m.constant(dims, high);
    Layer layer{"", 20, rank == 3 ? "3" : "3,3"};
    layer.strides = layer.dilations = layer.pads_begin = layer.pads_end = rank == 3 ? "1" : "1,1";
    layer.groups = 20;
    m.result(convolution(m, m.op("FakeQuantize", {y, lows, highs, lows, highs}, {{"levels", "256"}}), layer, 2));
    expect_same_in_bytes(m, 4);
  }
}

/// The exact algorithm of AVX2: odd extents, several bands, tensors whose zero is another level.
TEST_F(QuantizedConvolution, WindowsOf3x3ByWinogradInIntegers) {
  for (const Layer& layer : {Layer{"2,32,13,15", 24, "3,3", "1,1", "1,1", "1,1", "1,1"},
                             Layer{"1,64,41,44", 40, "3,3", "1,1", "1,1", "0,2", "2,0"},
                             Layer{"1,20,9,70", 17, "3,3", "1,1", "1,1", "0,0", "0,0"}}) {
    SCOPED_TRACE(layer.input);
    GraphMaker m;
    m.result(convolution(m, levels(m, m.input(PartialShape(layer.input)), 100), layer, 1));
    expect_same_in_bytes(m, 2);
    const ForcedIsa forced("avx2");
    plugin::Config config;
    config.profiling = true;
    DeviceModel device(m.graph().clone(), "CPU", config);
    device.infer(inputs_of(m));
    const std::vector<ProfilingInfo> profile = device.profile();
    EXPECT_TRUE(std::any_of(profile.begin(), profile.end(), [](const ProfilingInfo& info) {
      return info.exec_type == "u8_conv_winograd_2x2_3x3_f32_nChw8c__avx2";
    }));
  }
}

/// Kernels have the name under which TERROIR_FORCE_ISA asks for them; of AMX there are some alone.
TEST_F(QuantizedConvolution, KernelsSayTheirInstructionSet) {
  GraphMaker m;
  two_layers(m, {"1,32,9,9", 32, "3,3", "1,1", "1,1", "1,1", "1,1"});
  for (const std::string bucket : byte_buckets()) {
    SCOPED_TRACE(bucket);
    const ForcedIsa forced(bucket.c_str());
    plugin::Config config;
    config.profiling = true;
    DeviceModel device(m.graph().clone(), "CPU", config);
    device.infer(inputs_of(m));
    int found = 0;
    for (const ProfilingInfo& info : device.profile()) {
      if (!info.exec_type.starts_with("u8_")) continue;
      ++found;
      EXPECT_TRUE(info.exec_type.ends_with("__" + bucket) ||
                  (bucket == "avx512_amx" && info.exec_type.ends_with("__avx512_vnni")))
          << info.exec_type;
    }
    EXPECT_GE(found, 3);
  }
}

/// A window of padding alone has the lowest finite number, which no level is.
TEST_F(QuantizedConvolution, EmptyWindows) {
  GraphMaker m;
  const AttributeTexts window = {
      {"kernel", "1,1"}, {"strides", "2,2"}, {"pads_begin", "0,0"}, {"pads_end", "1,1"}, {"rounding_type", "ceil"}};
  m.result(convolution(m, m.op("MaxPool", {levels(m, m.input("1,16,4,4"), 100)}, window), kPoint, 1));
  const ForcedIsa forced(byte_buckets().back());
  EXPECT_EQ(byte_steps(m.graph()), 0);
}

/// What only moves values moves their bytes.
TEST_F(QuantizedConvolution, BytesAreMoved) {
  GraphMaker m;
  const ir::Value x = m.input("1,32,6,8"), other = m.input("1,16,6,8");
  const ir::Value q = levels(m, x, 3);
  m.result(convolution(m, m.op("Concat", {q, levels(m, other, 3)}, {{"axis", "1"}}), kSame, 1));
  m.result(convolution(m, m.op("Concat", {q, levels(m, other, 4)}, {{"axis", "1"}}), kSame, 2));  // of other levels: no
  const ir::Value rows = m.op(
      "Transpose", {m.op("Reshape", {q, m.integers({1, 32, 48})}, {{"special_zero", "false"}}), m.integers({0, 2, 1})});
  m.result(m.op("MatMul", {rows, weights(m, {24, 32}, 24, 4)}, {{"transpose_b", "true"}}));
  const ir::Value joined = m.op("Concat", {m.op("ReLU", {convolution(m, q, kPoint, 6)}), other}, {{"axis", "1"}});
  const AttributeTexts window = {{"strides", "1,2"}, {"pads_begin", "1,0"}, {"pads_end", "1,1"}, {"kernel", "3,2"}};
  m.result(convolution(m, levels(m, m.op("MaxPool", {joined}, window), 7), kSame, 7));  // levels behind what moves
  const ir::Value large = m.op("Interpolate", {q, m.integers({12, 16}), m.integers({2, 3})},
                               {{"mode", "nearest"}, {"shape_calculation_mode", "sizes"}});
  m.result(convolution(m, large, kSame, 8));
  const ir::Value halves = m.op("Split", {q, m.scalar_integer(1)}, {{"num_splits", "2"}});
  m.result(convolution(m, {halves.node, 0}, kPoint, 5));
  m.result(m.op("Sqrt", {m.op("Abs", {{halves.node, 1}})}));
  expect_same_as_interpreter(m);
  const ForcedIsa forced(byte_buckets().back());
  EXPECT_EQ(byte_steps(m.graph()), 13);
}

TEST_F(QuantizedConvolution, SumsMayLieWhereTheOtherOperandWas) {
  for (const char* shape : {"1,32,9,11", "1,20,1,25", "1,16,5,8"}) {
    GraphMaker m;
    const ir::Value x = m.input(PartialShape(shape)), q = levels(m, x, 127.5f);
    const Layer layer{"", 24, "1,1"};
    const ir::Value a = m.op("Add", {convolution(m, q, layer, 1), bias(m, 24, 4)});
    const ir::Value b = m.op("Add", {convolution(m, q, layer, 2), bias(m, 24, 4)});
    const ir::Value y = m.op("ReLU", {m.op("Add", {a, b})});
    const ir::Value z = m.op("Add", {convolution(m, levels(m, y, 0), {"", 24, "1,1"}, 3), y});
    m.result(m.op("Sigmoid", {m.op("Multiply", {z, m.scalar(1e-4f)})}));
    expect_same_in_bytes(m, 4);
  }
}

TEST_F(QuantizedConvolution, AccuracyAndOtherBucketsComputeInFloats) {
  GraphMaker m;
  two_layers(m, {"1,16,6,6", 16, "3,3", "1,1", "1,1", "1,1", "1,1"});
  for (const cpu::Isa isa : cpu::available_isas()) {
    const ForcedIsa forced(cpu::isa_name(isa));
    EXPECT_EQ(byte_steps(m.graph()), isa == cpu::Isa::avx2 ? 3 : 0);
  }
  const ForcedIsa forced(byte_buckets().back());
  EXPECT_EQ(byte_steps(m.graph()), 3);
}

/// What a plan holds is counted when it is compiled, and no inference asks for more.
TEST_F(QuantizedConvolution, TablesAreThereBeforeTheFirstInference) {
  GraphMaker m;
  m.result(convolution(m, levels(m, m.input("1,16,20,20"), 127.5f), {"", 16, "5,5", "1,1", "1,1", "2,2", "2,2"}, 1));
  const ForcedIsa forced(byte_buckets().front());
  cpu::CompileOptions options;
  options.isa = cpu::active_isa();
  options.bytes = true;
  options.threads = 1;
  cpu::WeightsCache cache;
  const parallel::Arena arena(1);
  const auto plan = cpu::compile_plan(cpu::bound_graph(cpu::rewrite_portable(m.graph()), {{1, 16, 20, 20}}, nullptr),
                                      cache, options, arena, false, nullptr);
  size_t bytes = 0;
  for (const cpu::Step& step : plan->steps) bytes += step.executor->table_bytes();
  EXPECT_GE(bytes, 25 * 16 * sizeof(float));  // a bias for each set of taps that are missed
}

/// Weights that are no multiples of a step, and the like, stay in floats.
TEST_F(QuantizedConvolution, RefusesWhatBytesCannotHold) {
  const auto refuses = [](const auto& make) {
    GraphMaker m;
    make(m);
    const ForcedIsa forced(byte_buckets().back());
    EXPECT_EQ(byte_steps(m.graph()), 0);
  };
  const Layer plain{"", 16, "3,3", "1,1", "1,1", "1,1", "1,1"};
  refuses([&](GraphMaker& m) {
    m.result(m.conv(levels(m, m.input("1,16,6,6"), 0), 16, 3, 1));  // any weights
  });
  refuses([&](GraphMaker& m) {
    const ir::Value x = m.input("1,16,6,6");
    m.result(convolution(
        m, m.op("FakeQuantize", {x, m.scalar(0), m.scalar(4), m.scalar(0), m.scalar(4)}, {{"levels", "257"}}), plain,
        1));
  });
  refuses([&](GraphMaker& m) {
    const ir::Value x = m.input("1,16,6,6"), high = m.random({1, 16, 1, 1}, 3);
    m.result(convolution(
        m, m.op("FakeQuantize", {x, m.scalar(-2), high, m.scalar(0), m.scalar(4)}, {{"levels", "256"}}), plain, 1));
  });
  refuses([&](GraphMaker& m) {
    const ir::Value x = m.input("1,16,6,6");
    m.result(convolution(
        m, m.op("FakeQuantize", {x, m.scalar(4), m.scalar(0), m.scalar(0), m.scalar(4)}, {{"levels", "256"}}), plain,
        1));
  });
  refuses([&](GraphMaker& m) {
    m.result(convolution(m, levels(m, m.input("1,60,6,6"), 0), {"", 60, "3,3", "1,1", "1,1", "1,1", "1,1", 5},
                         1));  // groups of 12, an odd number of them
  });
  refuses([&](GraphMaker& m) {
    m.result(convolution(m, levels(m, m.input("1,32,6,6"), 0), {"", 32, "3,3", "1,1", "1,1", "1,1", "1,1", 16},
                         1));  // two channels a group
  });
  refuses([&](GraphMaker& m) {
    m.result(convolution(m, levels(m, m.input("1,16,6,6"), 0), {"", 16, "3,3", "1,1", "2,2", "2,2", "2,2", 16},
                         1));  // dilated depthwise
  });
  const auto transposed = [&](GraphMaker& m, const char* type, const ir::Dims& dims, const char* dilations) {
    m.result(m.op(type, {levels(m, m.input("1,32,6,6"), 0), weights(m, dims, dims[0], 1)},
                  {{"strides", "2,2"}, {"dilations", dilations}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}}));
  };
  refuses([&](GraphMaker& m) { transposed(m, "GroupConvolutionBackpropData", {2, 16, 16, 3, 3}, "1,1"); });
  refuses([&](GraphMaker& m) { transposed(m, "GroupConvolutionBackpropData", {1, 32, 16, 3, 3}, "1,1"); });
  refuses([&](GraphMaker& m) { transposed(m, "ConvolutionBackpropData", {32, 16, 3, 3}, "2,2"); });
  refuses([&](GraphMaker& m) {
    m.result(convolution(m, levels(m, m.input("1,16,12,12"), 0), {"", 16, "3,3", "1,1", "6,6", "6,6", "6,6"},
                         1));  // taps further apart than the image is wide
  });
}

void expect_bytes(const char* golden, GraphMaker& m) {
  cpu::WeightSteps steps;
  expect_rewrite(golden, m.graph(),
                 {cpu::quantize_convolutions(cpu::cpu_ops(), ops::builtin_registry(), steps),
                  cpu::fuse_post_ops(cpu::cpu_ops(), cpu::ChainBases::with_own_store), cpu::quantize_stores()});
}

TEST(QuantizeConvolutions, Rewrite) {
  GraphMaker m;
  const ir::Value x = m.input("1,16,6,6");
  ir::Value y = m.op("ReLU", {m.op("Add", {convolution(m, levels(m, x, 0), kSame, 1), bias(m, 16, 4)})});
  y = m.op("ReLU", {m.op("Add", {convolution(m, levels(m, y, 127.5f), kSame, 2), x})});
  m.result(m.op("Add", {convolution(m, levels(m, y, 0), kPoint, 3), y}));
  expect_bytes("quantize_convolutions", m);
}

TEST(QuantizeConvolutions, ResidualBlock) {
  GraphMaker m;
  const ir::Value q = levels(m, m.input("1,16,6,6"), 0);
  const ir::Value y = m.op("Add", {convolution(m, q, kSame, 1), bias(m, 16, 4)});
  const ir::Value sum = levels(m, m.op("ReLU", {m.op("Add", {levels(m, y, 127.5f), q})}), 0);
  const ir::Value pooled =
      m.op("MaxPool", {sum}, {{"strides", "2,2"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}, {"kernel", "2,2"}});
  m.result(convolution(m, pooled, kPoint, 2));
  m.result(m.op("Sqrt", {sum}));
  const AttributeTexts window = {{"strides", "2,2"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}, {"kernel", "2,2"}};
  m.result(convolution(m, levels(m, m.op("MaxPool", {m.op("ReLU", {convolution(m, sum, kPoint, 3)})}, window), 1),
                       kPoint, 4));
  expect_bytes("quantize_residual_block", m);
}

}  // namespace
}  // namespace terroir::test
