// Convolutional graphs on the CPU device against the interpreter, at channel counts that leave tails in every block:
// whatever is left in a tail must not reach a result.
#include <gtest/gtest.h>

#include "tests/passes/graph_maker.hpp"
#include "tests/passes/planned.hpp"

namespace terroir::test {
namespace {

class ChannelTails : public testing::TestWithParam<int64_t> {};
INSTANTIATE_TEST_SUITE_P(Channels, ChannelTails, testing::Values(1, 3, 5, 17, 30), testing::PrintToStringParamName());

const AttributeTexts kKeepDims = {{"keep_dims", "true"}};
const AttributeTexts kMaxPool = {{"strides", "2,2"},  {"dilations", "1,1"}, {"pads_begin", "1,1"},
                                 {"pads_end", "1,1"}, {"kernel", "3,3"},    {"axis", "0"}};
const AttributeTexts kAvgPool = {
    {"strides", "2,2"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}, {"kernel", "3,3"}, {"exclude-pad", "false"}};

TEST_P(ChannelTails, SigmoidThenConvolution) {
  GraphMaker m;
  auto x = m.op("Sigmoid", {m.conv(m.input({2, 4, 7, 7}), GetParam(), 3, 1)});
  m.result(m.conv(x, 6, 3, 2));
  expect_same_as_interpreter(m);
}

TEST_P(ChannelTails, AddedConstantThenConvolution) {
  GraphMaker m;
  auto x = m.op("Add", {m.conv(m.input({1, 4, 6, 5}), GetParam(), 1, 1), m.scalar(3)});
  m.result(m.conv(x, 20, 1, 2));
  expect_same_as_interpreter(m);
}

TEST_P(ChannelTails, ElementwiseBetweenConvolutions) {
  GraphMaker m;  // the value is read twice: elementwise nodes of their own
  auto a = m.conv(m.input({1, 8, 6, 6}), GetParam(), 3, 1);
  auto b = m.op("Exp", {a});
  auto c = m.op("Add", {m.op("Multiply", {a, b}), m.random({1, GetParam(), 1, 1}, 7)});
  m.result(m.conv(m.op("Add", {c, m.scalar(1)}), 9, 3, 2));
  expect_same_as_interpreter(m);
}

TEST_P(ChannelTails, DivisionOfTwoConvolutions) {
  GraphMaker m;  // 0 / 0 in the tails
  auto x = m.input({1, 8, 6, 6});
  auto a = m.conv(x, GetParam(), 3, 1), b = m.op("Exp", {m.conv(x, GetParam(), 3, 2)});
  m.result(m.conv(m.op("Divide", {a, b}), 9, 3, 3));
  expect_same_as_interpreter(m);
}

TEST_P(ChannelTails, PoolsAfterSigmoid) {
  GraphMaker m;
  auto x = m.op("Sigmoid", {m.conv(m.input({1, 3, 9, 8}), GetParam(), 3, 1)});
  m.result(m.conv(m.op("MaxPool", {x}, kMaxPool), 5, 3, 2));
  m.result(m.conv(m.op("AvgPool", {x}, kAvgPool), 5, 3, 3));
  expect_same_as_interpreter(m);
}

TEST_P(ChannelTails, ReductionsAfterSigmoid) {
  for (const char* type : {"ReduceMean", "ReduceMax", "ReduceSum", "ReduceMin", "ReduceProd", "ReduceL2"}) {
    SCOPED_TRACE(type);
    GraphMaker m;
    auto x = m.op("Sigmoid", {m.conv(m.input({2, 3, 5, 4}), GetParam(), 3, 1)});
    m.result(m.op(type, {x, m.integers({2, 3})}, {{"keep_dims", "false"}}));
    m.result(m.conv(m.op(type, {x, m.integers({2, 3})}, kKeepDims), 4, 1, 2));
    m.result(m.op(type, {x, m.integers({1})}, {{"keep_dims", "false"}}));  // over the padded axis itself
    m.result(m.op(type, {x, m.integers({1, 2, 3})}, kKeepDims));
    expect_same_as_interpreter(m);
  }
}

TEST_P(ChannelTails, SqueezeAndExcite) {
  GraphMaker m;
  auto x = m.op("Swish", {m.conv(m.input({2, 3, 7, 6}), GetParam(), 3, 1)});
  auto squeezed = m.op("ReduceMean", {x, m.integers({2, 3})}, kKeepDims);
  auto gate = m.op("Sigmoid", {m.conv(m.op("ReLU", {m.conv(squeezed, 4, 1, 2)}), GetParam(), 1, 3)});
  auto gated = m.op("Multiply", {x, gate});
  m.result(m.conv(gated, 8, 1, 4));
  expect_same_as_interpreter(m);
}

TEST_P(ChannelTails, GatesOfEveryKind) {
  for (const char* type : {"Multiply", "Add", "Subtract", "Divide", "Maximum", "Power", "SquaredDifference"}) {
    for (const bool gate_first : {false, true}) {
      for (const int64_t gate_batch : {1, 2}) {
        SCOPED_TRACE(std::string(type) + (gate_first ? " gate first" : "") + std::to_string(gate_batch));
        GraphMaker m;
        auto x = m.op("Sigmoid", {m.conv(m.input({2, 3, 4, 3}), GetParam(), 3, 1)});
        auto gate = m.op("Sigmoid", {m.input({gate_batch, GetParam(), 1, 1})});
        auto y = gate_first ? m.op(type, {gate, x}) : m.op(type, {x, gate});
        m.result(m.conv(y, 5, 1, 2));
        expect_same_as_interpreter(m);
      }
    }
  }
}

TEST_P(ChannelTails, DepthwiseChains) {
  GraphMaker m;
  auto x = m.op("HSigmoid", {m.conv(m.input({1, 3, 9, 9}), GetParam(), 3, 1, 2)});
  auto y = m.op("Sigmoid", {m.op("Add", {m.depthwise(x, 3, 2), m.random({1, GetParam(), 1, 1}, 3)})});
  auto z = m.op("Clamp", {m.depthwise(y, 5, 4, 2)}, {{"min", "0.25"}, {"max", "1"}});
  m.result(m.conv(z, 7, 1, 5));
  expect_same_as_interpreter(m);
}

TEST_P(ChannelTails, ResidualBlocks) {
  GraphMaker m;
  auto x = m.op("ReLU", {m.conv(m.input({1, 3, 8, 8}), GetParam(), 3, 1)});
  auto y = m.op("SoftPlus", {m.conv(x, GetParam(), 3, 2)});
  auto z = m.op("ReLU", {m.op("Add", {m.conv(y, GetParam(), 3, 3), x})});
  auto projection = m.conv(z, 2 * GetParam(), 1, 4, 2);
  auto w = m.op("Add", {projection, m.conv(m.op("ReLU", {m.conv(z, GetParam(), 3, 5, 2)}), 2 * GetParam(), 3, 6)});
  m.result(m.op("Sigmoid", {w}));
  m.result(z);
  expect_same_as_interpreter(m);
}

TEST_P(ChannelTails, ConcatAndSplit) {
  GraphMaker m;
  auto x = m.op("Sigmoid", {m.conv(m.input({2, 3, 5, 5}), 16, 3, 1)});
  auto y = m.op("Sigmoid", {m.conv(m.input({2, 3, 5, 5}), GetParam(), 3, 2)});
  auto joined = m.op("Concat", {x, y}, {{"axis", "1"}});
  m.result(m.conv(joined, 8, 1, 3));
  m.result(m.conv(m.op("Concat", {y, x}, {{"axis", "1"}}), 8, 1, 4));
  m.result(m.op("Concat", {y, y, y}, {{"axis", "2"}}));
  auto split = m.op("VariadicSplit", {joined, m.scalar_integer(1), m.integers({GetParam(), 16})});
  m.result(m.conv(split, 4, 1, 5));
  m.result(m.conv({split.node, 1}, 4, 1, 6));
  expect_same_as_interpreter(m);
}

/// 1x1, of any number of spatial axes.
ir::Value pointwise(GraphMaker& m, const ir::Value& x, int64_t channels, uint32_t seed) {
  const ir::Dims dims = m.dims(x);
  ir::Dims weights = {channels, dims[1]};
  weights.resize(dims.size(), 1);
  std::string ones = "1", zeros = "0";
  for (size_t i = 3; i < dims.size(); ++i) ones += ",1", zeros += ",0";
  return m.op("Convolution", {x, m.random(weights, seed)},
              {{"strides", ones}, {"dilations", ones}, {"pads_begin", zeros}, {"pads_end", zeros}});
}

const std::vector<ir::Dims> kLaneImages = {{2, 3, 300}, {2, 3, 20, 13}, {2, 3, 2, 3, 5}};

// Blocks that get lanes of several parts: rows, volumes, more positions than are copied at once.
TEST_P(ChannelTails, JoinedByLanes) {
  for (const ir::Dims& dims : kLaneImages) {
    GraphMaker m;
    const ir::Value image = m.input(PartialShape(ir::to_shape(dims)));
    std::vector<ir::Value> parts;
    for (const int64_t channels : {GetParam() + 16, int64_t{1}, int64_t{40}, GetParam() + 19}) {
      parts.push_back(m.op("Sigmoid", {pointwise(m, image, channels, static_cast<uint32_t>(channels))}));
      m.result(pointwise(m, parts.back(), 17, 2));  // wants the part in blocks
    }
    m.result(pointwise(m, m.op("Concat", parts, {{"axis", "1"}}, "joined"), 8, 3));
    expect_same_as_interpreter(m);
    const std::string kernel = kernel_on_cpu(m.graph(), cpu::best_isa(), "joined");
    EXPECT_TRUE(kernel.starts_with("concat_lanes_")) << kernel;
  }
}

// Parts that get lanes of two blocks.
TEST_P(ChannelTails, PartedByLanes) {
  for (const ir::Dims& dims : kLaneImages) {
    GraphMaker m;
    const ir::Value image = m.input(PartialShape(ir::to_shape(dims)));
    const ir::Value joined = m.op("Sigmoid", {pointwise(m, image, 2 * GetParam() + 66, 1)});
    m.result(pointwise(m, joined, 17, 9));  // wants it in blocks
    const std::vector<int64_t> lengths = {18, GetParam() + 32, 1, GetParam() + 15};
    const ir::Value parts = m.op("VariadicSplit", {joined, m.scalar_integer(1), m.integers(lengths)}, {}, "parted");
    for (int part = 0; part < 4; ++part)
      m.result(pointwise(m, {parts.node, part}, 17, static_cast<uint32_t>(2 + part)));
    expect_same_as_interpreter(m);
    const std::string kernel = kernel_on_cpu(m.graph(), cpu::best_isa(), "parted");
    EXPECT_TRUE(kernel.starts_with("split_lanes_")) << kernel;
  }
}

TEST_P(ChannelTails, FlattenAndMatMul) {
  GraphMaker m;
  auto x = m.op("Sigmoid", {m.conv(m.input({2, 3, 3, 3}), GetParam(), 3, 1)});
  auto flat = m.op("Reshape", {x, m.integers({2, -1})}, {{"special_zero", "false"}});
  auto y = m.op("MatMul", {flat, m.random({GetParam() * 9, 10}, 2)});
  m.result(m.op("SoftMax", {m.op("Add", {y, m.random({10}, 3)})}, {{"axis", "1"}}));
  m.result(m.op("Transpose", {x, m.integers({0, 2, 3, 1})}));
  expect_same_as_interpreter(m);
}

TEST_P(ChannelTails, NormalisationAndResize) {
  GraphMaker m;
  auto x = m.op("Sigmoid", {m.conv(m.input({1, 3, 6, 6}), GetParam(), 3, 1)});
  auto normal = m.op("MVN", {x, m.integers({2, 3})},
                     {{"normalize_variance", "true"}, {"eps", "1e-3"}, {"eps_mode", "inside_sqrt"}});
  m.result(m.conv(m.op("Add", {normal, m.scalar(1)}), 4, 3, 2));
  auto large = m.op("Interpolate", {x, m.integers({12, 12}), m.constant({2}, {2, 2}), m.integers({2, 3})},
                    {{"mode", "nearest"},
                     {"shape_calculation_mode", "sizes"},
                     {"coordinate_transformation_mode", "asymmetric"},
                     {"nearest_mode", "floor"}},
                    "", "opset4");
  m.result(m.conv(large, 4, 3, 3));
  expect_same_as_interpreter(m, 1e-4);
}

struct Grouped {
  int64_t groups, in, out;
};
class GroupedConvolutions : public testing::TestWithParam<Grouped> {};
INSTANTIATE_TEST_SUITE_P(All, GroupedConvolutions,
                         testing::Values(Grouped{2, 3, 5}, Grouped{3, 8, 8}, Grouped{4, 4, 2}, Grouped{5, 1, 3},
                                         Grouped{2, 16, 16}));

TEST_P(GroupedConvolutions, ForwardAndTransposed) {
  const auto [groups, in, out] = GetParam();
  GraphMaker m;
  auto x = m.op("Sigmoid", {m.conv(m.input({2, 3, 6, 5}), groups * in, 3, 1)});
  const AttributeTexts window = {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}};
  const AttributeTexts twice = {{"strides", "2,2"}, {"dilations", "1,1"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}};
  auto forward = m.op("GroupConvolution", {x, m.random({groups, out, in, 3, 3}, 2, 0.3f)}, window);
  auto back = m.op("GroupConvolutionBackpropData", {x, m.random({groups, in, out, 3, 3}, 3, 0.3f)}, twice);
  m.result(m.conv(m.op("Sigmoid", {forward}), 4, 1, 4));
  m.result(m.conv(m.op("Sigmoid", {m.op("Add", {back, m.random({1, groups * out, 1, 1}, 5)})}), 4, 1, 6));
  expect_same_as_interpreter(m);
}

TEST(CpuConvolution, TransposedWithOutputPadding) {
  for (const int64_t channels : {3, 8, 17}) {
    GraphMaker m;
    auto y = m.op("ConvolutionBackpropData", {m.input({1, 6, 5, 4}), m.random({6, channels, 4, 4}, 1, 0.3f)},
                  {{"strides", "2,2"},
                   {"dilations", "1,1"},
                   {"pads_begin", "1,1"},
                   {"pads_end", "1,1"},
                   {"output_padding", "1,0"}});
    m.result(m.conv(m.op("Sigmoid", {y}), 4, 3, 2));
    expect_same_as_interpreter(m);
  }
}

TEST(CpuConvolution, OneAndThreeSpatialAxes) {
  GraphMaker m;
  const AttributeTexts one = {{"strides", "1"}, {"dilations", "2"}, {"pads_begin", "2"}, {"pads_end", "2"}};
  auto x = m.op("Sigmoid", {m.op("Convolution", {m.input({2, 5, 11}), m.random({13, 5, 3}, 1, 0.3f)}, one)});
  m.result(m.op("Convolution", {x, m.random({4, 13, 3}, 2, 0.2f)}, one));
  const AttributeTexts three = {
      {"strides", "1,2,1"}, {"dilations", "1,1,1"}, {"pads_begin", "1,1,1"}, {"pads_end", "1,1,1"}};
  auto z = m.op("Convolution", {m.input({1, 3, 4, 5, 6}), m.random({10, 3, 3, 3, 3}, 3, 0.1f)}, three);
  auto w =
      m.op("MaxPool", {m.op("Sigmoid", {z})},
           {{"strides", "1,1,2"}, {"pads_begin", "0,0,0"}, {"pads_end", "0,0,0"}, {"kernel", "2,2,2"}}, "", "opset1");
  m.result(m.op("Convolution", {w, m.random({5, 10, 3, 3, 3}, 4, 0.1f)}, three));
  expect_same_as_interpreter(m);
}

TEST(CpuPooling, EveryLayoutAndRounding) {
  for (const char* rounding : {"floor", "ceil"}) {
    for (const char* exclude : {"true", "false"}) {
      GraphMaker m;
      auto x = m.input({2, 11, 10, 9});  // plain
      const AttributeTexts average = {{"strides", "2,3"}, {"pads_begin", "1,0"},    {"pads_end", "0,1"},
                                      {"kernel", "3,2"},  {"exclude-pad", exclude}, {"rounding_type", rounding}};
      m.result(m.op("AvgPool", {x}, average));
      auto y = m.op("Exp", {m.conv(x, 11, 3, 1)});
      m.result(m.op("AvgPool", {y}, average));
      m.result(m.op("MaxPool", {m.op("Negative", {y})},
                    {{"strides", "2,3"},
                     {"dilations", "2,1"},
                     {"pads_begin", "1,0"},
                     {"pads_end", "0,1"},
                     {"kernel", "2,2"},
                     {"rounding_type", rounding}}));
      expect_same_as_interpreter(m);
    }
  }
}

}  // namespace
}  // namespace terroir::test
