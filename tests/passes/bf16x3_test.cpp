// Layers of f32 on products of bf16: whole numbers of 16 bits on one side and of two on the other, whose products and
// sums floats hold, have one right result, that of the interpreter. Of others the error is bounded.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "plugins/cpu/isa.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/passes/planned.hpp"
#include "tests/passes/window_layers.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/pool.hpp"
#include "tests/support/random.hpp"

namespace terroir::test {
namespace {

class Bf16x3 : public ::testing::Test {
  void SetUp() override {
    if (cpu::active_byte_products() != cpu::ByteProducts::avx512_amx) GTEST_SKIP() << "no AMX";
  }
};

constexpr int64_t kWide = 40000, kNarrow = 3;

/// Whole numbers up to `most`; `some` in a hundred are not 0.
std::vector<float> whole_numbers(const ir::Dims& dims, uint32_t seed, int64_t most, int64_t some = 100) {
  std::vector<float> values(static_cast<size_t>(ir::element_count(dims)));
  Random random(seed);
  for (float& value : values) {
    const int64_t number = random.between(-most, most);
    value = random.between(0, 99) < some ? static_cast<float>(number) : 0;
  }
  return values;
}

HostTensor tensor_of(const ir::Dims& dims, const std::vector<float>& values) {
  HostTensor tensor = random_tensor(dims, 1, 1);
  std::copy(values.begin(), values.end(), tensor.writable().as<float>());
  return tensor;
}

bool on_bf16x3(const std::string& kernel) { return kernel.starts_with("bf16x3_"); }

/// Of the only layer that can be one.
std::string kernel_of(const GraphMaker& m, bool accuracy = false, cpu::Isa isa = cpu::Isa::avx512) {
  const auto plan = plan_of(m, isa, accuracy);
  for (const cpu::Step& step : plan->steps)
    if (step.kernel.find("conv") != std::string::npos || step.kernel.find("gemm") != std::string::npos)
      return step.kernel;
  return "";
}

/// The first input takes `most`, others, which are added, small numbers.
void expect_exact(const GraphMaker& m, int64_t most) {
  ASSERT_TRUE(on_bf16x3(kernel_of(m))) << kernel_of(m);
  std::vector<HostTensor> inputs;
  for (const ir::Value& input : m.inputs())
    inputs.push_back(tensor_of(m.dims(input), whole_numbers(m.dims(input), 5, inputs.empty() ? most : 9)));
  const std::vector<HostTensor> want = on_interpreter(m.graph(), inputs);
  for (const int threads : {1, 2, 3, 8}) {
    plugin::Config config;
    use_threads(config, threads);
    DeviceModel device(m.graph().clone(), "CPU", config);
    const std::string text = difference(want[0].view(), device.infer(inputs)[0].view(), {0, 0});
    EXPECT_TRUE(text.empty()) << threads << " threads: " << text;
    if (threads != 2) continue;
    EXPECT_EQ(difference(want[0].view(), device.stored_and_loaded().infer(inputs)[0].view(), {0, 0}), "");
  }
}

/// Wide data with narrow weights, and the other way round.
template <class Make>
void expect_exact_both_ways(Make make) {
  for (const bool wide_weights : {false, true}) {
    SCOPED_TRACE(wide_weights ? "wide weights" : "wide data");
    GraphMaker m;
    make(m, [&](const ir::Dims& dims) {
      return m.constant(dims, whole_numbers(dims, 3, wide_weights ? kWide : kNarrow, 2));
    });
    expect_exact(m, wide_weights ? kNarrow : kWide);
  }
}

TEST_F(Bf16x3, Convolutions) {
  const WindowLayer layers[] = {
      {"1,320,9,11", 112, "1,1"},
      {"1,400,11,7", 130, "1,1"},
      {"2,300,13,9", 150, "1,1"},
      {"1,320,19,21", 128, "1,1", "2,2"},
      {"1,512,9,9", 160, "1,1", "1,1", "1,1", "2,1", "0,1"},
      {"1,64,21,23", 112, "3,3", "3,2", "1,1", "1,1", "1,1"},
      {"1,40,22,47", 96, "5,4", "3,3", "1,1", "2,1", "0,3"},
      {"1,512,7,7", 512, "2,2", "1,1", "1,1", "0,1", "1,0"},
      {"1,48,14,80", 96, "7,7", "5,5", "1,1", "3,3", "3,3"},
      {"1,320,130", 112, "1", "1", "1", "0", "0"},
      {"2,96,131", 128, "5", "2", "1", "2", "2"},
      {"1,64,5,9,48", 96, "2,3,3", "2,2,3", "1,1,1", "1,1,1", "0,1,1"},
      {"1,256,12,48", 256, "3,3", "3,3", "1,1", "1,1", "1,1", 4},
      {"1,1024,8,8", 1024, "1,1", "1,1", "1,1", "0,0", "0,0", 4},
  };
  for (const WindowLayer& l : layers) {
    SCOPED_TRACE(concat(l.input, " ", l.kernel, " to ", l.outputs, " groups ", l.groups));
    expect_exact_both_ways([&](GraphMaker& m, const auto& weights) {
      m.result(window_layer(m, m.input(PartialShape(l.input)), l, weights));
    });
  }
}

TEST_F(Bf16x3, TransposedConvolutions) {
  struct Layer {
    const char* input;
    ir::Dims weights;
    const char *strides, *pads;
  };
  const Layer layers[] = {
      {"1,512,8,9", {512, 96, 2, 2}, "2,2", "0,0"},
      {"1,512,6,7", {512, 80, 3, 3}, "3,3", "1,0"},
      {"2,384,3,15", {384, 112, 2, 3}, "1,3", "0,1"},
      {"1,1024,7,7", {4, 256, 128, 2, 2}, "2,2", "0,0"},
  };
  for (const Layer& l : layers) {
    SCOPED_TRACE(concat(l.input, " by ", l.weights));
    expect_exact_both_ways([&](GraphMaker& m, const auto& weights) {
      const bool grouped = l.weights.size() == 5;
      m.result(m.op(grouped ? "GroupConvolutionBackpropData" : "ConvolutionBackpropData",
                    {m.input(PartialShape(l.input)), weights(l.weights)},
                    {{"strides", l.strides}, {"dilations", "1,1"}, {"pads_begin", l.pads}, {"pads_end", l.pads}}));
    });
  }
}

TEST_F(Bf16x3, Matrices) {
  for (const bool transposed : {true, false})
    for (const char* shape : {"1,128,256", "2,3,75,250", "1,48,1000"}) {
      SCOPED_TRACE(concat(shape, transposed ? " transposed" : ""));
      expect_exact_both_ways([&](GraphMaker& m, const auto& weights) {
        const ir::Value x = m.input(PartialShape(shape));
        const int64_t inputs = m.dims(x).back(), outputs = 103;
        ir::Dims matrix = transposed ? ir::Dims{outputs, inputs} : ir::Dims{inputs, outputs};
        if (inputs == 250) matrix.insert(matrix.begin(), 1);
        m.result(m.op("MatMul", {x, weights(matrix)}, {{"transpose_b", transposed ? "true" : "false"}}));
      });
    }
}

TEST_F(Bf16x3, BiasesStepsAndSums) {
  for (const bool late : {false, true}) {
    SCOPED_TRACE(late ? "a sum behind the others" : "a sum in front of the others");
    expect_exact_both_ways([&](GraphMaker& m, const auto& weights) {
      ir::Value y = window_layer(m, m.input("2,400,9,11"), {"", 120, "1,1"}, weights);
      y = m.op("Add", {y, m.constant({1, 120, 1, 1}, whole_numbers({120}, 9, 200))});
      const ir::Value other = m.input("2,120,9,11");
      if (!late) y = m.op("Add", {y, other});
      y = m.op("Clamp", {y}, {{"min", "-3000"}, {"max", "300000"}});
      m.result(late ? m.op("Add", {y, other}) : y);
    });
  }
}

std::vector<float> of_many_magnitudes(int64_t count, uint32_t seed) {
  std::vector<float> values(static_cast<size_t>(count));
  Random random(seed);
  for (float& value : values)
    value = std::ldexp(static_cast<float>(2 * random.unit() - 1), static_cast<int>(random.between(-20, 20)));
  return values;
}

/// 3 * 2^-16 of the magnitudes of all products, and what sums in f32 may lose.
TEST_F(Bf16x3, ErrorIsBounded) {
  constexpr int64_t kInputs = 320, kOutputs = 112, kPositions = 9 * 11;
  const std::vector<float> w = of_many_magnitudes(kOutputs * kInputs, 7),
                           x = of_many_magnitudes(kInputs * kPositions, 8);
  GraphMaker m;
  m.result(window_layer(m, m.input("1,320,9,11"), {"", kOutputs, "1,1"},
                        [&](const ir::Dims& dims) { return m.constant(dims, w); }));
  ASSERT_TRUE(on_bf16x3(kernel_of(m)));
  DeviceModel device(m.graph().clone(), "CPU");
  const HostTensor result = device.infer({{tensor_of({1, kInputs, 9, 11}, x)}})[0];
  constexpr double kBound = 3.0 / (1 << 16) + 3.0 * kInputs / (1 << 24);
  for (int64_t o = 0; o < kOutputs; ++o)
    for (int64_t p = 0; p < kPositions; ++p) {
      double sum = 0, magnitude = 0;
      for (int64_t c = 0; c < kInputs; ++c) {
        const double product = static_cast<double>(w[static_cast<size_t>(o * kInputs + c)]) *
                               static_cast<double>(x[static_cast<size_t>(c * kPositions + p)]);
        sum += product;
        magnitude += std::abs(product);
      }
      const auto got = static_cast<double>(result.view().as<float>()[o * kPositions + p]);
      ASSERT_LE(std::abs(got - sum), kBound * magnitude) << "output " << o << ", position " << p;
    }
}

/// Which outputs a value reaches that is not finite must not depend on who computes what.
TEST_F(Bf16x3, InfinitiesReachTheSameOutputs) {
  const WindowLayer layers[] = {
      {"1,336,9,11", 112, "1,1"},
      {"1,336,21,23", 128, "1,1", "2,2"},
      {"1,48,22,47", 96, "5,4", "3,3", "1,1", "2,1", "0,3"},
      {"2,336,130", 112, "1", "1", "1", "0", "0"},
  };
  for (const WindowLayer& l : layers) {
    SCOPED_TRACE(concat(l.input, " ", l.kernel));
    GraphMaker m;
    m.result(window_layer(m, m.input(PartialShape(l.input)), l,
                          [&](const ir::Dims& dims) { return m.constant(dims, whole_numbers(dims, 3, kNarrow)); }));
    ASSERT_TRUE(on_bf16x3(kernel_of(m))) << kernel_of(m);
    const ir::Dims dims = m.dims(m.inputs()[0]);
    std::vector<float> values = whole_numbers(dims, 5, kNarrow);
    // In the channels that are read behind those of the position in front of them.
    const auto channel = static_cast<size_t>(ir::element_count(dims) / dims[0] / dims[1]);
    for (size_t i = 0; i < channel; i += 5)
      values[3 * channel + i] =
          i % 2 == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
    const std::vector<HostTensor> inputs = {tensor_of(dims, values)};
    const auto run = [&](int threads) {
      plugin::Config config;
      use_threads(config, threads);
      return DeviceModel(m.graph().clone(), "CPU", config).infer(inputs)[0];
    };
    const HostTensor want = run(1);
    for (const int threads : {2, 3, 5, 8}) {
      const HostTensor got = run(threads);
      EXPECT_EQ(std::memcmp(got.view().data, want.view().data, want.view().bytes()), 0) << threads;
    }
  }
}

const ir::Dims kImage = {1, 320, 9, 11};

GraphMaker pointwise(int64_t batch, float weight = 0.25f) {
  GraphMaker m;
  m.result(
      window_layer(m, m.input({batch, kImage[1], kImage[2], kImage[3]}), {"", 112, "1,1"}, [&](const ir::Dims& dims) {
        std::vector<float> weights(static_cast<size_t>(ir::element_count(dims)), 0.25f);
        weights[1234] = weight;
        return m.constant(dims, weights);
      }));
  return m;
}

TEST_F(Bf16x3, IsChosenForWhatIsLargeEnough) {
  EXPECT_TRUE(on_bf16x3(kernel_of(pointwise(1))));
  EXPECT_FALSE(on_bf16x3(kernel_of(pointwise(1), true)));
  EXPECT_FALSE(on_bf16x3(kernel_of(pointwise(1), false, cpu::Isa::avx2)));
  constexpr float kMost = std::numeric_limits<float>::max(), kInfinity = std::numeric_limits<float>::infinity();
  for (const float bad : {kMost, -kMost, kInfinity, std::numeric_limits<float>::quiet_NaN()})
    EXPECT_FALSE(on_bf16x3(kernel_of(pointwise(1, bad)))) << bad;
  EXPECT_TRUE(on_bf16x3(kernel_of(pointwise(1, 3e38f))));
  const auto product = [](const ir::Dims& data) {
    GraphMaker m;
    m.result(m.op("MatMul", {m.input(data), m.random({data.back(), 256}, 1, 1)}));
    return kernel_of(m);
  };
  EXPECT_TRUE(on_bf16x3(product({1, 64, 256})));
  // Small ones. Rows of which each may be an image.
  EXPECT_FALSE(on_bf16x3(product({1, 8, 256})));
  EXPECT_FALSE(on_bf16x3(product({64, 256})));
}

/// An image has the same bits alone and in a batch: neither the choice nor the sums depend on its neighbours.
TEST_F(Bf16x3, WhateverTheBatch) {
  EXPECT_EQ(kernel_of(pointwise(5)), kernel_of(pointwise(1)));
  const HostTensor batch = random_tensor({5, kImage[1], kImage[2], kImage[3]}, 3);
  const HostTensor together = DeviceModel(pointwise(5).graph().clone(), "CPU").infer({{batch}})[0];
  const int64_t elements = ir::element_count(kImage), results = together.view().count() / 5;
  for (int64_t n = 0; n < 5; ++n) {
    const float* const image = batch.view().as<float>() + n * elements;
    const HostTensor alone =
        DeviceModel(pointwise(1).graph().clone(), "CPU").infer({{tensor_of(kImage, {image, image + elements})}})[0];
    const size_t bytes = static_cast<size_t>(results) * sizeof(float);
    EXPECT_EQ(std::memcmp(alone.view().data, together.view().as<float>() + n * results, bytes), 0) << n;
  }
}

}  // namespace
}  // namespace terroir::test
