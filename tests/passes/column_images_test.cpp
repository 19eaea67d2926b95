// Convolutions of images one pixel wide, which kernels take as rows: the problem they get, results against the
// interpreter, and that steps which hand on some rows at a time keep away from them.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "plugins/cpu/nodes/convolution_problem.hpp"
#include "plugins/cpu/passes/layouts.hpp"
#include "plugins/cpu/weights_cache.hpp"
#include "tests/passes/chains.hpp"
#include "tests/passes/graph_maker.hpp"

namespace terroir::cpu {
namespace {

using test::GraphMaker;

/// Along one axis.
struct Row {
  const char* type;
  int64_t batch, in, out, groups, length, kernel, stride, dilation, pad;
};

constexpr Row kRows[] = {{"Convolution", 1, 16, 16, 1, 37, 64, 1, 1, 32},      // many taps
                         {"Convolution", 2, 19, 35, 1, 53, 9, 2, 1, 4},        // tails of channel blocks
                         {"Convolution", 1, 32, 16, 1, 70, 3, 1, 5, 5},        // Winograd's algorithm
                         {"Convolution", 1, 24, 40, 1, 29, 1, 1, 1, 0},        // each pixel alone
                         {"Convolution", 1, 24, 40, 1, 29, 1, 3, 1, 0},        // some of them
                         {"Convolution", 3, 1, 48, 1, 101, 31, 4, 1, 13},      // a first layer
                         {"GroupConvolution", 2, 33, 33, 33, 61, 9, 1, 2, 8},  // depthwise
                         {"GroupConvolution", 1, 32, 48, 4, 41, 5, 1, 1, 2},   // groups of channels
                         {"ConvolutionBackpropData", 1, 17, 20, 1, 23, 4, 2, 1, 1},
                         {"ConvolutionBackpropData", 1, 32, 1, 1, 40, 9, 3, 1, 4},
                         {"GroupConvolutionBackpropData", 1, 18, 18, 18, 31, 5, 2, 1, 2}};

/// `extent` along axis `axis` of `axes`, and `other` along the rest.
ir::Dims along(int64_t axes, int64_t axis, int64_t extent, int64_t other = 1) {
  ir::Dims dims(static_cast<size_t>(axes), other);
  dims[static_cast<size_t>(axis)] = extent;
  return dims;
}

ir::Dims joined(ir::Dims a, const ir::Dims& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::string text_of(const ir::Dims& values) {
  std::string text;
  for (const int64_t value : values) text += (text.empty() ? "" : ",") + std::to_string(value);
  return text;
}

test::AttributeTexts windows(int64_t axes, int64_t axis, const Row& r) {
  return {{"strides", text_of(along(axes, axis, r.stride))},
          {"dilations", text_of(along(axes, axis, r.dilation))},
          {"pads_begin", text_of(along(axes, axis, r.pad, 0))},
          {"pads_end", text_of(along(axes, axis, r.pad, 0))}};
}

ir::Dims weights_of(int64_t axes, int64_t axis, const Row& r) {
  const bool transposed = std::string(r.type).ends_with("BackpropData");
  const int64_t in = r.in / r.groups, out = r.out / r.groups;
  const ir::Dims channels = transposed ? ir::Dims{in, out} : ir::Dims{out, in};
  return joined(r.groups > 1 ? joined({r.groups}, channels) : channels, along(axes, axis, r.kernel));
}

/// The row lies along axis `axis` of `axes`.
GraphMaker layer(const Row& r, int64_t axes, int64_t axis) {
  GraphMaker m;
  const ir::Value x = m.input(PartialShape(ir::to_shape(joined({r.batch, r.in}, along(axes, axis, r.length)))));
  ir::Value y = m.op(r.type, {x, m.random(weights_of(axes, axis, r), 1, 0.2f)}, windows(axes, axis, r));
  y = m.op("Add", {y, m.random(joined({1, r.out}, along(axes, axis, 1)), 2)});
  m.result(m.op("Multiply", {m.op("ReLU", {y}), m.random(m.dims(y), 3)}));
  return m;
}

TEST(ColumnImages, AgreeWithTheInterpreter) {
  for (const Row& r : kRows)
    for (const auto& [axes, axis] : {std::pair<int64_t, int64_t>{2, 0}, {3, 0}, {3, 1}}) {
      SCOPED_TRACE(std::string(r.type) + " of " + std::to_string(r.kernel) + " taps along axis " +
                   std::to_string(axis) + " of " + std::to_string(axes));
      test::expect_same_as_interpreter(layer(r, axes, axis));
    }
}

ConvProblem problem_of(const ir::Dims& image, const ir::Dims& kernel, const char* strides, const char* pads) {
  GraphMaker m;
  const ir::Value x = m.input(PartialShape(ir::to_shape(joined({1, 4}, image))));
  const ir::Value y = m.op("Convolution", {x, m.random(joined({4, 4}, kernel), 1)},
                           {{"strides", strides},
                            {"dilations", text_of(ir::Dims(image.size(), 1))},
                            {"pads_begin", pads},
                            {"pads_end", pads}});
  m.result(y);
  WeightsCache weights;
  return conv_problem(make_context(m.graph(), m.graph().node(y.node), Isa::scalar, weights));
}

TEST(ColumnImages, AxesOfOnePixelGoFirst) {
  const ConvProblem column = problem_of({40, 1}, {5, 1}, "2,3", "1,0");
  EXPECT_EQ(column.h.in, 1);
  EXPECT_EQ(column.h.stride, 1);  // of one position
  EXPECT_EQ(column.w.in, 40);
  EXPECT_EQ(column.w.kernel, 5);
  EXPECT_EQ(column.w.stride, 2);
  EXPECT_EQ(column.w.pad, 1);
  const ConvProblem slices = problem_of({12, 9, 1}, {3, 2, 1}, "1,2,1", "0,0,0");
  EXPECT_EQ(slices.d.in, 1);
  EXPECT_EQ(slices.h.in, 12);
  EXPECT_EQ(slices.w.in, 9);
  EXPECT_EQ(slices.w.stride, 2);
  // Of one pixel, but more taps or positions.
  EXPECT_EQ(problem_of({40, 1}, {5, 3}, "1,1", "0,1").h.in, 40);
  EXPECT_EQ(problem_of({40, 3}, {5, 3}, "1,1", "0,0").h.in, 40);
  EXPECT_EQ(problem_of({9, 7}, {3, 3}, "1,1", "1,1").h.in, 9);
}

TEST(ColumnImages, AreNotHandedOnBySomeRows) {
  {
    SCOPED_TRACE("a maximum pooling behind");
    GraphMaker m;
    ir::Value y = m.op("Convolution", {m.input({1, 3, 3000, 1}), m.random({64, 3, 7, 1}, 1, 0.2f)},
                       {{"strides", "2,1"}, {"dilations", "1,1"}, {"pads_begin", "3,0"}, {"pads_end", "3,0"}});
    y = m.op("MaxPool", {m.op("ReLU", {y})},
             {{"kernel", "3,1"}, {"strides", "2,1"}, {"dilations", "1,1"}, {"pads_begin", "1,0"}, {"pads_end", "1,0"}});
    m.result(y);
    EXPECT_EQ(test::count_chains(m.graph(), 0), 0u);
    test::expect_same_as_interpreter(m);
  }
  {
    SCOPED_TRACE("a depthwise convolution between two");
    GraphMaker m;
    const test::AttributeTexts point{
        {"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}};
    ir::Value y = m.op("Convolution", {m.input({1, 16, 4000, 1}), m.random({96, 16, 1, 1}, 1, 0.2f)}, point);
    y = m.op("GroupConvolution", {m.op("ReLU", {y}), m.random({96, 1, 1, 3, 1}, 2)},
             {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "1,0"}, {"pads_end", "1,0"}});
    m.result(m.op("Convolution", {m.op("ReLU", {y}), m.random({24, 96, 1, 1}, 3, 0.2f)}, point));
    EXPECT_EQ(test::count_chains(m.graph(), 0), 0u);
    test::expect_same_as_interpreter(m);
  }
  {
    SCOPED_TRACE("a transposed convolution whose result is joined");
    GraphMaker m;
    const ir::Value up =
        m.op("ConvolutionBackpropData", {m.input({1, 16, 64, 64, 1}), m.random({16, 16, 2, 2, 1}, 1, 0.2f)},
             {{"strides", "2,2,1"}, {"dilations", "1,1,1"}, {"pads_begin", "0,0,0"}, {"pads_end", "0,0,0"}});
    const ir::Value y = m.op("Concat", {up, m.input({1, 48, 128, 128, 1})}, {{"axis", "1"}});
    m.result(m.op("Convolution", {y, m.random({16, 64, 3, 3, 1}, 2, 0.1f)},
                  {{"strides", "1,1,1"}, {"dilations", "1,1,1"}, {"pads_begin", "1,1,0"}, {"pads_end", "1,1,0"}}));
    EXPECT_EQ(test::count_chains(m.graph(), 0, Isa::avx2), 0u);
    test::expect_same_as_interpreter(m);
  }
}

}  // namespace
}  // namespace terroir::cpu
