// Convolutions around a depthwise one, and gates in front of a convolution, as one step: graph text before and after,
// what stays single steps, and results against the interpreter and, bit for bit, over numbers of threads and places in
// a batch.
#include "plugins/cpu/passes/fuse_convolution_chains.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/passes/chains.hpp"
#include "tests/passes/golden.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/passes/planned.hpp"

namespace terroir::cpu {
namespace {

using test::GraphMaker;

ir::Value activated(GraphMaker& m, ir::Value x, const char* type, uint32_t seed) {
  x = m.op("Add", {x, m.random({1, m.dims(x)[1], 1, 1}, seed)});
  return m.op(
      type, {x},
      std::strcmp(type, "Clamp") == 0 ? test::AttributeTexts{{"min", "0"}, {"max", "6"}} : test::AttributeTexts{});
}

struct Block {
  int64_t channels, middle, outputs, kernel, stride;
};

/// Expansion, depthwise, projection, and the sum with the source where it has the same shape.
ir::Value inverted_residual(GraphMaker& m, ir::Value x, const Block& block, const char* activation) {
  ir::Value y = activated(m, m.conv(x, block.middle, 1, 1), activation, 2);
  y = activated(m, m.depthwise(y, block.kernel, 3, block.stride), activation, 4);
  y = m.conv(y, block.outputs, 1, 5);
  y = m.op("Add", {y, m.random({1, block.outputs, 1, 1}, 6)});
  return m.dims(x) == m.dims(y) ? m.op("Add", {x, y}) : y;
}

size_t chains(const ir::Graph& graph, size_t stages) { return test::count_chains(graph, stages); }

TEST(FuseConvolutionChains, InvertedResidual) {
  GraphMaker m;
  m.result(inverted_residual(m, m.input({1, 2, 28, 3}), {2, 4, 2, 3, 1}, "ReLU"));
  test::expect_rewrite("fuse_convolution_chain", m.graph(), test::chain_passes(Isa::scalar));
}

TEST(FuseConvolutionChains, FewRowsAndGatesEndAtTheDepthwise) {
  GraphMaker m;
  m.result(inverted_residual(m, m.input({1, 8, 7, 7}), {8, 16, 8, 3, 1}, "Clamp"));
  ir::Value y = m.depthwise(m.conv(m.input({1, 8, 20, 20}), 16, 1, 1), 3, 2);
  y = m.op("Multiply", {y, m.input({1, 16, 1, 1})});
  m.result(m.conv(y, 8, 3, 3));
  EXPECT_EQ(chains(m.graph(), 2), 2u);
  EXPECT_EQ(chains(m.graph(), 3), 0u);
}

TEST(FuseConvolutionChains, TheMeanOfSqueezeAndExciteIsASecondResult) {
  GraphMaker m;
  const ir::Value y = m.depthwise(m.conv(m.input({1, 2, 28, 3}), 4, 1, 1), 3, 2);
  const ir::Value gate = m.op("ReduceMean", {y, m.integers({2, -1})}, {{"keep_dims", "true"}});
  m.result(m.op("Multiply", {y, m.op("Sigmoid", {gate})}));
  test::expect_rewrite("fuse_convolution_chain_mean", m.graph(), test::chain_passes(Isa::scalar));
}

/// A depthwise convolution of a tensor that something else reads, too, and the 1x1 convolution behind it.
ir::Value separable(GraphMaker& m, ir::Value x, const Block& block, const char* activation) {
  ir::Value y = activated(m, m.depthwise(x, block.kernel, 3, block.stride), activation, 4);
  y = m.conv(y, block.outputs, 1, 5);
  y = m.op("Add", {y, m.random({1, block.outputs, 1, 1}, 6)});
  return m.dims(x) == m.dims(y) ? m.op("Add", {x, y}) : y;
}

TEST(FuseConvolutionChains, SeparableConvolutionOfWhatIsReadElsewhere) {
  GraphMaker m;
  m.result(separable(m, m.input({1, 2, 28, 3}), {2, 2, 2, 3, 1}, "ReLU"));
  test::expect_rewrite("fuse_separable_convolution", m.graph(), test::chain_passes(Isa::scalar));
}

TEST(FuseConvolutionChains, RefusesSeparableConvolutions) {
  GraphMaker m;
  const ir::Value x = m.input({1, 16, 28, 9});
  m.result(m.conv(m.depthwise(m.input({1, 16, 27, 9}), 3, 1), 8, 1, 2));  // few rows
  m.result(m.conv(m.depthwise(x, 3, 3), 8, 3, 4));                        // no 1x1
  m.result(m.conv(m.depthwise(x, 3, 5), 8, 1, 6, 2));                     // a stride
  const ir::Value twice = m.depthwise(x, 3, 7);
  m.result(m.conv(twice, 8, 1, 8));  // read elsewhere
  m.result(m.op("Abs", {m.op("Convert", {twice}, {{"destination_type", "i32"}})}));
  m.result(m.conv(m.op("Add", {m.depthwise(x, 3, 9), x}), 8, 1, 10));  // an operand of the run between them
  EXPECT_EQ(chains(m.graph(), 0), 0u);
}

TEST(FuseConvolutionChains, Refuses) {
  GraphMaker m;
  const ir::Value x = m.input({1, 8, 20, 20});
  const ir::Value twice = m.conv(x, 16, 1, 1);
  m.result(m.depthwise(twice, 3, 2));  // the wide tensor is read elsewhere
  m.result(m.op("Abs", {m.op("Convert", {twice}, {{"destination_type", "i32"}})}));
  m.result(m.depthwise(m.conv(m.input({1, 32, 20, 20}), 16, 3, 3), 3, 4));  // a first stage of 3x3 and many channels
  m.result(m.depthwise(m.conv(x, 16, 1, 5, 2), 3, 6));                      // of stride 2
  m.result(m.depthwise(m.op("Add", {m.conv(x, 16, 1, 7), m.input({1, 16, 20, 20})}), 3, 8));  // an operand of the run
  EXPECT_EQ(chains(m.graph(), 2) + chains(m.graph(), 3), 0u);
}

// Of two depthwise convolutions with one between them the later one may have come into the graph first, and then has
// it.
TEST(FuseConvolutionChains, AConvolutionIsInOneChain) {
  GraphMaker m;
  const ir::Value x = m.input({1, 8, 28, 28}), later = m.depthwise(m.input({1, 16, 28, 28}), 3, 1);
  const ir::Value between = m.conv(m.depthwise(m.conv(x, 16, 1, 2), 3, 3), 16, 1, 4);
  m.graph().set_input({later.node, 0}, between);
  m.result(later);
  EXPECT_EQ(chains(m.graph(), 2), 2u);
}

TEST(FuseConvolutionChains, AGateGoesIntoTheConvolutionBehindIt) {
  GraphMaker m;
  const ir::Value x = m.input({1, 3, 4, 5}), gate = m.input({1, 3, 1, 1});
  const ir::Value y = m.conv(m.op("Multiply", {gate, x}), 2, 1, 1);
  m.result(m.op("Add", {y, m.input({1, 2, 4, 5})}));
  test::expect_rewrite("fuse_gate", m.graph(), test::chain_passes(Isa::scalar));
}

TEST(FuseConvolutionChains, RefusesGates) {
  GraphMaker m;
  const ir::Value x = m.input({1, 16, 8, 8}), gate = m.input({1, 16, 1, 1});
  const ir::Value twice = m.op("Multiply", {x, gate});
  m.result(m.conv(twice, 8, 1, 1));
  m.result(m.op("Convert", {twice}, {{"destination_type", "i32"}}));        // the product is read elsewhere
  m.result(m.conv(m.op("Multiply", {x, gate}), 17, 1, 2));                  // weights worth more than the source
  m.result(m.conv(m.op("Multiply", {x, gate}), 8, 3, 3));                   // kernels of 3x3
  m.result(m.conv(m.op("Multiply", {x, gate}), 8, 1, 4, 2));                // a stride
  m.result(m.conv(m.op("Multiply", {x, m.input({1, 1, 8, 8})}), 8, 1, 5));  // a gate per position
  m.result(m.conv(m.op("Add", {x, gate}), 8, 1, 6));                        // no gate
  for (const int64_t outputs : {1, 3})                                      // one channel has kernels of its own
    m.result(m.conv(m.op("Multiply", {m.input({1, 1, 8, 8}), m.input({1, 1, 1, 1})}), outputs, 1, 7));
  m.result(m.op("Convolution", {m.op("Multiply", {x, gate}), m.input({8, 16, 1, 1})},
                {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}}));
  EXPECT_EQ(chains(m.graph(), 2) + chains(m.graph(), 3), 0u);
}

/// Squeeze-and-excite with a residual, its mean made by any means.
ir::Value gated(GraphMaker& m, ir::Value x, int64_t outputs, ir::Value gate) {
  const ir::Value y = activated(m, m.conv(m.op("Multiply", {x, gate}), outputs, 1, 7), "Clamp", 8);
  return m.op("Add", {y, m.random(m.dims(y), 9)});
}

TEST(ConvolutionChains, PartsOfOnePositionSumAsTheWholeImageDoes) {
  const test::AttributeTexts window = {
      {"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}};
  for (const int64_t rows : {1, 2, 3}) {
    GraphMaker m;
    m.result(
        m.op("GroupConvolution", {m.conv(m.input({1, 20, rows, 1}), 20, 1, 1), m.random({20, 1, 1, 2, 2}, 2)}, window));
    EXPECT_EQ(chains(m.graph(), 2), rows == 1 ? 1u : 0u) << rows;  // kernels take a column as a row
    test::expect_same_as_interpreter(m);
  }
}

TEST(ConvolutionChains, AResultOfOneRowKeepsTheStrideOfItsColumns) {
  const test::AttributeTexts window = {
      {"strides", "2,2"}, {"dilations", "1,1"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}};
  GraphMaker m;
  const ir::Value y = m.op("Convolution", {m.input({1, 4, 2, 5}), m.random({32, 4, 1, 1}, 1)}, window);
  m.result(m.depthwise(y, 1, 2));
  EXPECT_EQ(chains(m.graph(), 2), 1u);
  test::expect_same_as_interpreter(m);
}

TEST(GatedConvolutions, SameAsInterpreter) {
  for (const auto& [batch, gates] : {std::pair<int64_t, int64_t>{1, 1}, {3, 3}, {3, 1}}) {
    for (const int64_t channels : {3, 16, 37, 100}) {
      for (const int64_t outputs : {1, 24, 65}) {
        SCOPED_TRACE(testing::Message() << channels << " to " << outputs << ", " << gates << " gates of " << batch);
        GraphMaker m;
        const ir::Value x = m.conv(m.input({batch, 4, 19, 17}), channels, 3, 1);
        m.result(x);  // what is read once has the gate at its own store
        m.result(gated(m, x, outputs, m.op("Sigmoid", {m.input({gates, channels, 1, 1})})));
        EXPECT_EQ(chains(m.graph(), 2), 1u);
        test::expect_same_as_interpreter(m);
      }
    }
  }
}

class GatedBits : public testing::TestWithParam<int64_t> {};

TEST_P(GatedBits, DependOnNoThreadAndNoBatch) {
  const auto run = [&](int64_t batch, int threads, std::vector<test::HostTensor> inputs) {
    GraphMaker m;
    const ir::Value x = m.conv(m.input({batch, 4, 30, 31}), 50, 1, 1);
    m.result(m.conv(m.op("Multiply", {x, m.input({batch, 50, 1, 1})}), GetParam(), 1, 2));
    m.result(x);  // else it would take the gate at its own store
    EXPECT_EQ(chains(m.graph(), 2), 1u);
    const std::vector<std::vector<test::HostTensor>> runs(1, std::move(inputs));
    return std::move(test::run_on_cpu(m.graph(), best_isa(), threads, runs)[0][0]);
  };
  const auto part = [](const test::HostTensor& all, int64_t image, ir::Dims dims) {
    test::HostTensor one = test::random_tensor(dims, 9);
    std::memcpy(const_cast<void*>(one.view().data),
                static_cast<const char*>(all.view().data) + static_cast<size_t>(image) * one.view().bytes(),
                one.view().bytes());
    return one;
  };
  const auto both = [&] {
    std::vector<test::HostTensor> inputs;
    inputs.push_back(test::random_tensor({2, 4, 30, 31}, 1));
    inputs.push_back(test::random_tensor({2, 50, 1, 1}, 2));
    return inputs;
  };
  const test::HostTensor expected = run(2, 1, both());
  for (const int threads : {2, 3, 4, 8})
    EXPECT_EQ(std::memcmp(expected.view().data, run(2, threads, both()).view().data, expected.view().bytes()), 0)
        << threads;
  for (const int64_t image : {0, 1}) {
    std::vector<test::HostTensor> alone;
    alone.push_back(part(both()[0], image, {1, 4, 30, 31}));
    alone.push_back(part(both()[1], image, {1, 50, 1, 1}));
    const test::HostTensor single = run(1, 2, std::move(alone));
    EXPECT_EQ(
        std::memcmp(static_cast<const char*>(expected.view().data) + static_cast<size_t>(image) * single.view().bytes(),
                    single.view().data, single.view().bytes()),
        0)
        << image;
  }
}

// One unit of outputs and several, which threads may share.
INSTANTIATE_TEST_SUITE_P(Outputs, GatedBits, testing::Values(40, 200));

TEST(ConvolutionChains, SameAsInterpreter) {
  for (const Block& block :
       {Block{5, 37, 19, 3, 1}, Block{16, 64, 24, 3, 2}, Block{24, 24, 24, 5, 1}, Block{17, 96, 17, 5, 2}}) {
    for (const auto& [h, w] : {std::pair<int64_t, int64_t>{7, 9}, {33, 17}, {56, 14}}) {
      SCOPED_TRACE(testing::Message() << block.channels << " to " << block.middle << " kernel " << block.kernel
                                      << " stride " << block.stride << " on " << h << "x" << w);
      GraphMaker m;
      m.result(inverted_residual(m, m.input({2, block.channels, h, w}), block, "Clamp"));
      test::expect_same_as_interpreter(m);
    }
  }
}

// Images of several strips, of which each has rows of the one before.
TEST(ConvolutionChains, StripsThatShareRows) {
  for (const Block& block :
       {Block{5, 64, 24, 3, 1}, Block{16, 70, 24, 3, 2}, Block{24, 64, 24, 5, 1}, Block{17, 96, 17, 5, 2}}) {
    SCOPED_TRACE(testing::Message() << "kernel " << block.kernel << " stride " << block.stride);
    GraphMaker m;
    m.result(inverted_residual(m, m.input({2, block.channels, 121, 113}), block, "Clamp"));
    test::expect_same_as_interpreter(m);
  }
  GraphMaker m;  // rows that no kernel row reaches
  const ir::Value x = m.conv(m.input({1, 4, 130, 130}), 64, 1, 1);
  m.result(m.op("GroupConvolution", {x, m.random({64, 1, 1, 2, 2}, 2)},
                {{"strides", "3,3"}, {"dilations", "1,1"}, {"pads_begin", "4,1"}, {"pads_end", "7,1"}}));
  test::expect_same_as_interpreter(m);
}

TEST(ConvolutionChains, MeansOfTheResult) {
  for (const int64_t channels : {16, 37}) {
    for (const int64_t rows : {7, 40}) {
      GraphMaker m;
      ir::Value y = activated(m, m.conv(m.input({2, 5, rows, 11}), channels, 1, 1), "HSwish", 2);
      y = activated(m, m.depthwise(y, 5, 3), "HSwish", 4);
      const ir::Value mean = m.op("ReduceMean", {y, m.integers({2, 3})}, {{"keep_dims", "true"}});
      m.result(m.conv(m.op("Multiply", {y, m.op("Sigmoid", {m.conv(mean, channels, 1, 5)})}), 9, 1, 6));
      test::expect_same_as_interpreter(m);
    }
  }
}

// Images of no more rows than the depthwise kernel overlaps, whose channels leave a last unit that is not full.
TEST(ConvolutionChains, LastChannelsOfImagesOfFewRows) {
  struct FewRows {
    int64_t channels, middle, kernel, side;
  };
  for (const FewRows& image : {FewRows{40, 240, 5, 2},
                               {40, 120, 5, 2},
                               {48, 144, 5, 2},
                               {32, 144, 3, 2},
                               {24, 88, 3, 2},
                               {16, 80, 5, 4},
                               {16, 112, 7, 6},
                               {8, 24, 5, 4},
                               {3, 40, 5, 1}}) {
    SCOPED_TRACE(testing::Message() << image.middle << " channels, kernel " << image.kernel << ", " << image.side
                                    << " rows");
    GraphMaker m;
    ir::Value y =
        activated(m, m.conv(m.input({1, image.channels, image.side, image.side}), image.middle, 1, 1), "ReLU", 2);
    y = activated(m, m.depthwise(y, image.kernel, 3), "ReLU", 4);
    m.result(m.op("ReduceMean", {y, m.integers({2, 3})}, {{"keep_dims", "true"}}));
    m.result(m.conv(y, 24, 1, 5));
    EXPECT_EQ(chains(m.graph(), 2), 1u);
    test::expect_same_as_interpreter(m);
  }
}

TEST(ConvolutionChains, RowsOfPaddingOnly) {
  GraphMaker m;
  const ir::Value x = m.conv(m.input({1, 4, 3, 5}), 16, 1, 1);
  const test::AttributeTexts window = {
      {"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "5,1"}, {"pads_end", "6,1"}};
  m.result(m.op("GroupConvolution", {x, m.random({16, 1, 1, 3, 3}, 2)}, window));
  test::expect_same_as_interpreter(m);
}

TEST(ConvolutionChains, FirstLayerAndSmoothActivations) {
  for (const char* activation : {"HSwish", "Sigmoid"}) {
    GraphMaker m;
    ir::Value y = activated(m, m.conv(m.input({1, 3, 45, 38}), 20, 3, 1, 2), activation, 2);
    y = activated(m, m.depthwise(y, 3, 3), activation, 4);
    m.result(m.conv(y, 12, 1, 5));
    test::expect_same_as_interpreter(m);
  }
}

// Beside the rows that strips share and the copies that the depthwise kernel reads.
TEST(ConvolutionChains, AFirstLayerThatReadsCopiesOfItsRows) {
  for (const int64_t stride : {1, 2}) {
    GraphMaker m;
    ir::Value y = activated(m, m.conv(m.input({2, 3, 90, 45}), 70, 5, 1, stride), "ReLU", 2);
    y = activated(m, m.depthwise(y, 5, 3), "ReLU", 4);
    m.result(m.conv(y, 24, 1, 5));
    EXPECT_EQ(test::count_chains(m.graph(), 0), 1u);
    test::expect_same_as_interpreter(m);
  }
}

TEST(ConvolutionChains, SeparableSameAsInterpreter) {
  for (const Block& block : {Block{16, 16, 16, 3, 1}, Block{17, 17, 40, 5, 1}, Block{50, 50, 7, 3, 2}}) {
    for (const char* activation : {"Clamp", "HSwish"}) {
      SCOPED_TRACE(testing::Message() << block.channels << " to " << block.outputs << " kernel " << block.kernel
                                      << " stride " << block.stride << " " << activation);
      GraphMaker m;
      m.result(separable(m, m.input({2, block.channels, 57, 131}), block, activation));
      EXPECT_EQ(chains(m.graph(), 2), 1u);
      test::expect_same_as_interpreter(m);
    }
  }
}

// The last stage writes channels last where these are wanted, with the residual in that layout, too.
TEST(ConvolutionChains, SeparableWithChannelsLast) {
  const auto turned = [](GraphMaker& m, ir::Value x) { return m.op("Transpose", {x, m.integers({0, 2, 3, 1})}); };
  for (const Block& block : {Block{24, 24, 24, 3, 1}, Block{17, 17, 40, 5, 1}, Block{50, 50, 7, 3, 2}}) {
    SCOPED_TRACE(testing::Message() << block.channels << " to " << block.outputs);
    const auto graph = [&](int64_t batch) {
      GraphMaker m;
      const ir::Value rows = m.op("Tanh", {m.input({batch, 57, 50, block.channels})});
      const ir::Value x = m.op("Transpose", {rows, m.integers({0, 3, 1, 2})});
      m.result(turned(m, separable(m, x, block, "HSwish")));
      m.result(m.conv(x, 8, 3, 8));
      return m;
    };
    test::expect_same_as_interpreter(graph(2));
    const auto plan = test::plan_of(graph(2), best_isa());
    std::string kernels;
    for (const Step& step : plan->steps) kernels += step.executor->kernel_name() + "\n";
    EXPECT_TRUE(std::any_of(plan->steps.begin(), plan->steps.end(), [](const Step& step) {
      const std::string kernel = step.executor->kernel_name();
      return kernel.starts_with("f32_conv_dw_") && kernel.find("_to_nhwc") != std::string::npos;
    })) << kernels;
    const std::vector<std::vector<test::HostTensor>> pair{{test::random_tensor({2, 57, 50, block.channels}, 1)}};
    const auto expected = test::run_on_cpu(graph(2).graph(), best_isa(), 1, pair)[0];
    for (const int threads : {2, 3, 5}) {
      const auto many = test::run_on_cpu(graph(2).graph(), best_isa(), threads, pair)[0];
      EXPECT_EQ(std::memcmp(expected[0].view().data, many[0].view().data, expected[0].view().bytes()), 0) << threads;
    }
    std::vector<std::vector<test::HostTensor>> alone(1);
    alone[0].push_back(test::random_tensor({1, 57, 50, block.channels}, 2));
    std::memcpy(alone[0][0].writable().data, pair[0][0].view().data, alone[0][0].view().bytes());
    const auto single = test::run_on_cpu(graph(1).graph(), best_isa(), 3, alone)[0];
    EXPECT_EQ(std::memcmp(expected[0].view().data, single[0].view().data, single[0].view().bytes()), 0);
  }
}

TEST(ConvolutionChains, SeparableBitsDependOnNoThreadAndNoBatch) {
  const auto run = [](int64_t batch, int threads, std::span<const std::vector<test::HostTensor>> inputs) {
    GraphMaker m;
    m.result(separable(m, m.input({batch, 40, 61, 50}), {40, 40, 40, 5, 1}, "HSwish"));
    EXPECT_EQ(test::count_chains(m.graph(), 2, best_isa()), 1u);
    return test::run_on_cpu(m.graph(), best_isa(), threads, inputs)[0];
  };
  const std::vector<std::vector<test::HostTensor>> pair{{test::random_tensor({2, 40, 61, 50}, 1)}};
  const auto expected = run(2, 1, pair);
  for (const int threads : {2, 3, 4, 8}) {
    const auto many = run(2, threads, pair);
    EXPECT_EQ(std::memcmp(expected[0].view().data, many[0].view().data, expected[0].view().bytes()), 0) << threads;
  }
  const size_t image = pair[0][0].view().bytes() / 2;
  std::vector<std::vector<test::HostTensor>> alone(1);
  alone[0].push_back(test::random_tensor({1, 40, 61, 50}, 2));
  std::memcpy(const_cast<void*>(alone[0][0].view().data), static_cast<const char*>(pair[0][0].view().data) + image,
              image);
  const auto* const second = static_cast<const char*>(expected[0].view().data) + image;
  for (const int threads : {1, 2, 3}) {
    const auto single = run(1, threads, alone);
    EXPECT_EQ(std::memcmp(second, single[0].view().data, image), 0) << threads;
  }
}

TEST(ConvolutionChains, BitsDependOnNoThreadAndNoBatch) {
  for (const int64_t stride : {1, 2}) {
    for (const int64_t rows : {9, 61}) {
      const auto run = [&](int64_t batch, int threads, std::span<const std::vector<test::HostTensor>> inputs) {
        GraphMaker m;
        ir::Value y = activated(m, m.conv(m.input({batch, 3, 2 * rows, 30}), 24, 3, 1, 2), "ReLU", 2);
        y = m.depthwise(y, 3, 3, stride);
        m.result(inverted_residual(m, m.conv(y, 16, 1, 4), {16, 100, 16, 5, 1}, "HSwish"));
        return test::run_on_cpu(m.graph(), best_isa(), threads, inputs)[0];
      };
      const std::vector<std::vector<test::HostTensor>> pair{{test::random_tensor({2, 3, 2 * rows, 30}, 1)}};
      const auto expected = run(2, 1, pair);
      for (const int threads : {2, 3, 4, 8}) {
        const auto many = run(2, threads, pair);
        EXPECT_EQ(std::memcmp(expected[0].view().data, many[0].view().data, expected[0].view().bytes()), 0) << threads;
      }
      const size_t image = pair[0][0].view().bytes() / 2, result = expected[0].view().bytes() / 2;
      test::HostTensor second = test::random_tensor({1, 3, 2 * rows, 30}, 2);
      std::memcpy(const_cast<void*>(second.view().data), static_cast<const char*>(pair[0][0].view().data) + image,
                  image);
      std::vector<std::vector<test::HostTensor>> alone(1);
      alone[0].push_back(std::move(second));
      const auto single = run(1, 2, alone);
      EXPECT_EQ(std::memcmp(static_cast<const char*>(expected[0].view().data) + result, single[0].view().data, result),
                0);
    }
  }
}

// Ends of the shares lie inside of units, of which two threads then make some rows each.
TEST(ConvolutionChains, ThreadsThatPartTheRowsOfAUnitMakeTheSameBits) {
  for (const auto& [channels, kernel, stride] :
       {std::tuple<int64_t, int64_t, int64_t>{480, 3, 1}, {200, 3, 1}, {672, 5, 2}, {56, 5, 1}, {40, 1, 1}}) {
    for (const int64_t batch : {1, 2}) {
      SCOPED_TRACE(testing::Message() << channels << " channels, kernel " << kernel << ", batch " << batch);
      GraphMaker m;
      ir::Value y = activated(m, m.conv(m.input({batch, 80, 14, 13}), channels, 1, 1), "HSwish", 2);
      y = activated(m, m.depthwise(y, kernel, 3, stride), "HSwish", 4);
      m.result(m.op("ReduceMean", {y, m.integers({2, 3})}, {{"keep_dims", "true"}}));
      m.result(m.conv(y, 24, 1, 5));
      EXPECT_EQ(test::count_chains(m.graph(), 2, best_isa()), 1u);
      const std::vector<std::vector<test::HostTensor>> inputs{{test::random_tensor({batch, 80, 14, 13}, 1)}};
      const auto expected = test::run_on_cpu(m.graph(), best_isa(), 1, inputs)[0];
      for (const int threads : {2, 3, 4, 5, 8}) {
        const auto many = test::run_on_cpu(m.graph(), best_isa(), threads, inputs)[0];
        for (size_t i = 0; i < expected.size(); ++i)
          EXPECT_EQ(std::memcmp(expected[i].view().data, many[i].view().data, expected[i].view().bytes()), 0)
              << "output " << i << " on " << threads << " threads";
      }
    }
  }
}

}  // namespace
}  // namespace terroir::cpu
