// Convolutions lose the taps that see nothing but pads: graph text before and after, results against the interpreter,
// which computes them all, and who shares what is left of the weights.
#include "ops/rewrites/crop_kernels.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "ops/registry.hpp"
#include "ops/rewrites/rewrites.hpp"
#include "plugins/cpu/compile.hpp"
#include "tests/passes/golden.hpp"
#include "tests/passes/planned.hpp"

namespace terroir::test {
namespace {

ir::Pass crop_kernels() { return ops::crop_kernels(ops::builtin_registry()); }

AttributeTexts slid(const std::string& strides, const std::string& dilations, const std::string& begin,
                    const std::string& end, const std::string& auto_pad = "explicit") {
  return {
      {"strides", strides}, {"dilations", dilations}, {"pads_begin", begin}, {"pads_end", end}, {"auto_pad", auto_pad}};
}

TEST(CropKernels, EachForm) {
  GraphMaker m;
  const auto conv = [&](const char* shape, const ir::Dims& weights, const AttributeTexts& attributes) {
    const char* type = weights.size() > PartialShape(shape).size() ? "GroupConvolution" : "Convolution";
    m.result(m.op(type, {m.input(PartialShape(shape)), m.random(weights, 1)}, attributes));
  };
  conv("1,4,33,33", {2, 4, 3, 3}, slid("1,1", "36,36", "36,36", "36,36"));        // the middle one stays
  conv("1,4,33,33", {2, 4, 3, 3}, slid("1,1", "33,24", "33,24", "33,24"));        // that of one axis
  conv("1,4,1,1", {2, 4, 3, 3}, slid("2,2", "1,1", "1,1", "1,1"));                // of stride 1 then
  conv("1,4,1,7", {2, 2, 2, 3, 3}, slid("1,2", "1,1", "1,1", "1,1"));             // along one axis
  conv("1,4,3,3", {2, 4, 7, 7}, slid("1,1", "1,1", "3,3", "3,3"));                // five of seven
  conv("1,4,3,2", {2, 4, 3, 5}, slid("1,1", "2,2", "2,6", "2,2"));                // at one side
  conv("1,4,9", {2, 4, 3}, slid("4", "5", "9", "4"));                             // a pad at most
  conv("1,4,3,3,3", {2, 4, 3, 3, 3}, slid("1,1,1", "3,1,4", "3,1,4", "3,1,4"));   // volumes
  conv("1,4,2,9", {2, 4, 5, 3}, slid("1,1", "1,1", "0,0", "0,0", "same_upper"));  // pads that follow
  conv("?,4,1,?", {2, 4, 3, 3}, slid("1,1", "1,1", "1,1", "1,1"));                // an axis that is not known
  conv("1,4,1,8", {2, 4, 5, 3}, slid("3,1", "1,1", "4,0", "4,0"));                // a window sees pads only
  expect_rewrite("crop_kernels", m.graph(), {crop_kernels()});
}

TEST(CropKernels, Refuses) {
  GraphMaker m;
  const auto conv = [&](const char* shape, const AttributeTexts& attributes) {
    m.result(m.op("Convolution", {m.input(PartialShape(shape)), m.random({2, 4, 3, 3}, 1)}, attributes));
  };
  conv("1,4,33,33", slid("1,1", "24,24", "24,24", "24,24"));  // each tap sees some
  conv("1,4,33,33", slid("1,1", "32,32", "32,32", "32,32"));
  conv("1,4,2,2", slid("1,1", "1,1", "1,1", "1,1"));
  conv("1,4,?,1..", slid("1,1", "1,1", "1,1", "1,1"));
  conv("1,4,1,?", slid("1,1", "1,1", "1,1", "1,1", "same_lower"));
  conv("1,4,20,20", slid("1,1", "15,15", "14,14", "2,2"));  // a pad would be negative
  m.result(m.op("Convolution", {m.input({1, 4, 1, 1}), m.input({2, 4, 3, 3})},
                slid("1,1", "1,1", "1,1", "1,1")));  // weights of the run
  m.result(m.op("Convolution", {m.input({1, 1, 1}), m.random({1, 1, 1}, 1)}, slid("7", "1", "3", "4")));  // only pads
  expect_refusal(m.graph(), {crop_kernels()});
}

std::string texts_of(int64_t value, size_t rank) {
  std::string text = std::to_string(value);
  for (size_t i = 1; i < rank; ++i) text += "," + std::to_string(value);
  return text;
}

// Windows of all kinds over short axes: those without taps to lose, with some at either side, with pads only.
TEST(CropKernels, ResultsAreThoseOfAllTaps) {
  for (const size_t rank : {1, 2, 3}) {
    SCOPED_TRACE(rank);
    GraphMaker m;
    uint32_t seed = 0;
    for (const int64_t extent : {1, 2, 3, 5, 8})
      for (const int64_t kernel : {2, 3, 5, 7})
        for (const int64_t dilation : {1, 3, 6})
          for (const int64_t stride : {1, 2, 5})
            for (const int64_t begin : {0, 2, 6, 13}) {
              const int64_t reach = (kernel - 1) * dilation + 1, end = (seed * 5) % 9;
              const bool enough = rank == 1 || ++seed % (rank == 2 ? 7 : 29) == 0;
              if (rank == 1) ++seed;
              if (extent + begin + end < reach || !enough) continue;
              const bool grouped = seed % 3 == 0;
              ir::Dims data{1, 6}, weights = grouped ? ir::Dims{6, 3, 1} : ir::Dims{17, 6};
              data.insert(data.end(), rank, extent);
              weights.insert(weights.end(), rank, kernel);
              m.result(m.op(
                  grouped ? "GroupConvolution" : "Convolution", {m.input(data), m.random(weights, seed)},
                  slid(texts_of(stride, rank), texts_of(dilation, rank), texts_of(begin, rank), texts_of(end, rank))));
            }
    expect_same_as_interpreter(m);
  }
}

/// 64 channels to 8, 3x3, with dilation 12 on `shape`: one block of outputs, so that register tiles cannot differ.
GraphMaker dilated(const PartialShape& shape) {
  GraphMaker m;
  const ir::Value x = m.op("ReLU", {m.input(shape)});
  const ir::Value y =
      m.op("Convolution", {x, m.random({8, 64, 3, 3}, 1)}, slid("1,1", "12,12", "12,12", "12,12"), "layer");
  m.result(m.op("ReLU", {m.op("Add", {y, m.random({1, 8, 1, 1}, 2)})}));
  return m;
}

TEST(CropKernels, WhatIsLeftRunsOnItsKernels) {
  const GraphMaker cut = dilated({1, 64, 11, 11});
  GraphMaker pointwise;
  const ir::Value x = pointwise.op("ReLU", {pointwise.input({1, 64, 11, 11})});
  const ir::Value y =
      pointwise.op("Convolution", {x, pointwise.random({8, 64, 1, 1}, 1)}, slid("1,1", "1,1", "0,0", "0,0"), "layer");
  pointwise.result(pointwise.op("ReLU", {pointwise.op("Add", {y, pointwise.random({1, 8, 1, 1}, 2)})}));
  for (const cpu::Isa isa : cpu::available_isas()) {
    const std::string kernel = kernel_on_cpu(cut.graph(), isa, "layer");
    EXPECT_FALSE(kernel.empty());
    EXPECT_EQ(kernel, kernel_on_cpu(pointwise.graph(), isa, "layer"));
  }
  expect_same_as_interpreter(cut);
  EXPECT_LT(plan_of(cut)->packed_bytes, size_t{2} * 8 * 64 * sizeof(float));
}

TEST(CropKernels, OfDepthwiseLayersAScaleIsLeft) {
  GraphMaker m;
  const ir::Value x = m.op("ReLU", {m.input({1, 24, 1, 1})});
  const ir::Value y = m.op("Convolution", {m.depthwise(x, 3, 1), m.random({8, 24, 1, 1}, 2)},
                           slid("1,1", "1,1", "0,0", "0,0"), "layer");
  m.result(y);
  EXPECT_FALSE(has_step(*plan_of(m), "groupconvolution"));
  expect_same_as_interpreter(m);
}

// As reference and kernels do with each tap that is in the padding of one position.
TEST(CropKernels, PadsCountAsNothingWhateverTheWeight) {
  std::vector<float> weights(9, std::numeric_limits<float>::infinity());
  weights[4] = 2;
  weights[8] = std::numeric_limits<float>::quiet_NaN();
  GraphMaker m;
  m.result(m.op("Convolution", {m.input({1, 1, 4, 4}), m.constant({1, 1, 3, 3}, weights)},
                slid("1,1", "4,4", "4,4", "4,4")));
  expect_same_as_interpreter(m);
}

TEST(CropKernels, OfHalfPrecisionWeights) {
  GraphMaker m;
  const ir::Value halves = m.op("Convert", {m.random({32, 64, 3, 3}, 1)}, {{"destination_type", "f16"}});
  const ir::Value weights = m.op("Convert", {halves}, {{"destination_type", "f32"}});
  m.result(m.op("Convolution", {m.input({1, 64, 11, 11}), weights}, slid("1,1", "12,12", "12,12", "12,12")));
  expect_same_as_interpreter(m);
  EXPECT_LT(plan_of(m)->packed_bytes, size_t{2} * 32 * 64 * sizeof(float));
}

TEST(CropKernels, LayersThatShareWeightsShareWhatIsLeft) {
  GraphMaker m;
  const ir::Value weights = m.random({32, 64, 3, 3}, 1);
  for (int i = 0; i < 2; ++i)
    m.result(m.op("Convolution", {m.input({1, 64, 11, 11}), weights}, slid("1,1", "12,12", "12,12", "12,12")));
  EXPECT_LT(plan_of(m)->packed_bytes, size_t{2} * 32 * 64 * sizeof(float));
}

TEST(CropKernels, PlansOfOtherExtentsShareWhatIsLeft) {
  const GraphMaker m = dilated(PartialShape("1,64,?,?"));
  cpu::WeightsCache cache;
  ops::CroppedKernels kernels;
  const parallel::Arena arena(1);
  const auto rewritten = cpu::rewrite_portable(m.graph());
  std::vector<std::unique_ptr<cpu::Plan>> plans;
  for (const int64_t extent : {7, 8, 10, 12}) {
    auto bound = cpu::bound_graph(rewritten->clone(), {{1, 64, extent, extent}}, &kernels);
    plans.push_back(cpu::compile_plan(std::move(bound), cache, {}, arena));
    EXPECT_EQ(cache.held(), 1u) << extent;
  }
  for (const ir::Dims& other : {ir::Dims{1, 64, 12, 13}, ir::Dims{1, 64, 13, 12}, ir::Dims{1, 64, 14, 15}}) {
    plans.push_back(cpu::compile_plan(cpu::bound_graph(rewritten->clone(), {other}, &kernels), cache, {}, arena));
    EXPECT_EQ(cache.held(), plans.size() - 3);
  }
}

void expect_same_result(const std::vector<HostTensor>& got, const std::vector<HostTensor>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  ASSERT_EQ(got[0].view().bytes(), expected[0].view().bytes());
  EXPECT_EQ(std::memcmp(got[0].view().data, expected[0].view().data, got[0].view().bytes()), 0);
}

TEST(CropKernels, ExtentsKnownLaterGiveTheSameBits) {
  const GraphMaker m = dilated(PartialShape("?,64,?,?"));
  DeviceModel device = on_cpu(m.graph(), 2);
  for (const ir::Dims& dims :
       {ir::Dims{2, 64, 11, 9}, ir::Dims{1, 64, 9, 20}, ir::Dims{1, 64, 20, 20}, ir::Dims{2, 64, 11, 9}}) {
    const HostTensor input = random_tensor(dims, 3);
    expect_same_result(device.infer({&input, 1}),
                       on_cpu(dilated(PartialShape(ir::to_shape(dims))).graph(), 1).infer({&input, 1}));
  }
}

TEST(CropKernels, AreKeptWithTheCompiledModel) {
  for (const char* shape : {"1,64,11,11", "1,64,?,?"}) {
    const GraphMaker m = dilated(PartialShape(shape));
    DeviceModel device = on_cpu(m.graph(), 1), again = device.stored_and_loaded();
    const HostTensor input = random_tensor({1, 64, 11, 11}, 3);
    expect_same_result(again.infer({&input, 1}), device.infer({&input, 1}));
  }
}

}  // namespace
}  // namespace terroir::test
