// Constants of one image behind convolutions: text before and after, and the bits of an image alone and in a batch.
#include "plugins/cpu/passes/repeat_constants.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <tuple>

#include "ops/registry.hpp"
#include "tests/passes/golden.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/support/scoped_variable.hpp"

namespace terroir::cpu {
namespace {

using test::GraphMaker;

ir::Pass repeat() { return repeat_constants(ops::builtin_registry()); }

TEST(RepeatConstants, BehindAConvolution) {
  GraphMaker m;
  auto x = m.conv(m.input({2, 1, 1, 2}), 2, 1, 1);
  x = m.op("Add", {m.constant({1, 2, 1, 2}, {1, 2, 3, 4}), m.op("ReLU", {x})});
  m.result(m.op("Multiply", {x, m.constant({2, 1, 2}, {5, 6, 7, 8})}));
  test::expect_rewrite("repeat_constants", m.graph(), {repeat()});
}

TEST(RepeatConstants, LeavesWhatIsNoImage) {
  GraphMaker m;
  auto x = m.conv(m.input({2, 3, 2, 2}), 2, 1, 1);
  m.result(m.op("Add", {x, m.random({1, 2, 1, 1}, 2)}));     // channels
  m.result(m.op("Add", {x, m.random({1, 2, 2, 1}, 3)}));     // no whole image
  m.result(m.op("Add", {x, m.random({2, 2, 2, 2}, 4)}));     // nothing to repeat
  m.result(m.op("Add", {x, m.random({2, 2}, 5)}));           // a plane
  m.result(m.op("Add", {x, m.random({1, 1, 2, 2, 2}, 6)}));  // the images are the channels of the result
  m.result(m.op("Add", {x, m.input({1, 2, 2, 2})}));
  // No convolution lays it out.
  m.result(m.op("Add", {m.op("MatMul", {m.input({2, 2, 3}), m.random({3, 4}, 7)}), m.random({1, 2, 4}, 8)}));
  test::expect_refusal(m.graph(), {repeat()});
}

// Blocks of channels pass through what keeps channels and rank, whatever it does along other axes.
TEST(RepeatConstants, BehindAPad) {
  GraphMaker m;
  auto x = m.conv(m.input({2, 1, 1, 1}), 2, 1, 1);
  x = m.op("Pad", {x, m.integers({0, 0, 0, 0}), m.integers({0, 0, 0, 1})}, {{"pad_mode", "edge"}});
  m.result(m.op("SquaredDifference", {m.constant({1, 2, 1, 2}, {1, 2, 3, 4}), x}));
  test::expect_rewrite("repeat_constants_pad", m.graph(), {repeat()});
}

// What a convolution reads, it lays out as well: by way of whatever keeps channels.
TEST(RepeatConstants, BeforeAConvolution) {
  GraphMaker m;
  auto x = m.op("Maximum", {m.input({2, 1, 1, 2}), m.constant({1, 1, 1, 2}, {1, 2})});
  x = m.op("Multiply", {m.op("Concat", {x, x}, {{"axis", "1"}}), m.constant({2, 1, 2}, {3, 4, 5, 6})});
  m.result(m.conv(x, 1, 1, 1));
  test::expect_rewrite("repeat_constants_before", m.graph(), {repeat()});
}

TEST(RepeatConstants, BeforeAReductionWhoseAxesAreNamedTwice) {
  GraphMaker m;
  const auto x = m.op("Add", {m.input({2, 1, 1, 2}), m.constant({1, 1, 1, 2}, {1, 2})});
  m.result(m.op("ReduceMean", {x, m.integers({2, -1, 3})}, {{"keep_dims", "true"}}));
  test::expect_rewrite("repeat_constants_axis_twice", m.graph(), {repeat()});
}

using Model = ir::Value (*)(GraphMaker& m, ir::Value x, ir::Value constant);

ir::Value between_convolutions(GraphMaker& m, ir::Value x, ir::Value constant) {
  return m.conv(m.op("Add", {m.conv(x, 4, 3, 1), constant}), 32, 3, 3);
}

ir::Value before_convolutions(GraphMaker& m, ir::Value x, ir::Value constant) {
  const auto most =
      m.op("MaxPool", {x}, {{"strides", "1,1"}, {"kernel", "7,7"}, {"pads_begin", "3,3"}, {"pads_end", "3,3"}}, "",
           "opset1");
  const auto far = m.op("SquaredDifference", {most, x});
  const auto y = m.op("Maximum", {m.op("Maximum", {far, far}), constant});
  return m.conv(m.conv(m.op("Add", {m.op("Multiply", {y, y}), most}), 64, 3, 3), 32, 3, 4);
}

/// `f` of x with its channels last.
template <typename F>
ir::Value with_channels_last(GraphMaker& m, ir::Value x, F f) {
  return m.op("Transpose", {f(m.op("Transpose", {x, m.integers({0, 2, 3, 1})})), m.integers({0, 3, 1, 2})});
}

ir::Value normalised(GraphMaker& m, ir::Value x) {
  return m.op("MVN", {x, m.integers({2, 3})},
              {{"eps", "1e-5"}, {"normalize_variance", "true"}, {"eps_mode", "inside_sqrt"}});
}

// The constant is of [H, W, C] here: no convolution, and Transposes between it and what depends on the layout.
ir::Value behind_a_normalisation(GraphMaker& m, ir::Value x, ir::Value constant) {
  const auto y =
      m.op("Pad", {normalised(m, x), m.integers({0, 0, 0, 0}), m.integers({0, 0, 1, 1})}, {{"pad_mode", "constant"}});
  return with_channels_last(m, y, [&](ir::Value z) { return m.op("Add", {z, constant}); });
}

ir::Value before_a_reduction(GraphMaker& m, ir::Value x, ir::Value constant) {
  const auto y = with_channels_last(m, m.op("Sigmoid", {x}), [&](ir::Value z) { return m.op("Add", {z, constant}); });
  const auto most =
      m.op("MaxPool", {y}, {{"strides", "1,1"}, {"kernel", "2,2"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}}, "",
           "opset1");
  return m.op("ReduceMean", {most, m.integers({-1, 2})}, {{"keep_dims", "true"}});
}

ir::Value between_transposes(GraphMaker& m, ir::Value x, ir::Value constant) {
  const auto y = with_channels_last(m, x, [&](ir::Value z) { return normalised(m, z); });
  const auto most =
      m.op("MaxPool", {y}, {{"strides", "1,1"}, {"kernel", "2,2"}, {"pads_begin", "0,0"}, {"pads_end", "1,1"}}, "",
           "opset1");
  return with_channels_last(m, m.op("Add", {most, constant}), [&](ir::Value z) { return normalised(m, z); });
}

// Channels last, which the constant wants, a resized image has other bits.
ir::Value behind_an_interpolation(GraphMaker& m, ir::Value x, ir::Value constant) {
  const auto y = with_channels_last(m, x, [&](ir::Value z) { return m.op("Multiply", {z, m.random({32}, 3)}); });
  const auto large = m.op("Interpolate", {y, m.integers({28, 26}), m.constant({2}, {2, 2}), m.integers({2, 3})},
                          {{"mode", "linear"}, {"shape_calculation_mode", "sizes"}}, "", "opset4");
  m.result(large);
  return m.op("Multiply", {m.op("ReLU", {m.op("Transpose", {large, m.integers({0, 2, 3, 1})})}), constant});
}

/// Of the first image of a batch of three, or of it alone. `extents`: of the constant.
std::vector<float> outputs(Model model, bool alone, ir::Dims image, const ir::Dims& extents, bool has_batch_axis) {
  GraphMaker m;
  image.insert(image.begin(), 3);
  const test::HostTensor images = test::random_tensor(image, 1);
  if (alone) image[0] = 1;
  const auto x = m.input(PartialShape(ir::to_shape(image)));
  ir::Dims dims = extents;
  if (has_batch_axis) dims.insert(dims.begin(), 1);
  m.result(model(m, x, m.random(dims, 2)));
  std::vector<std::vector<test::HostTensor>> inputs(1);
  inputs[0].push_back(test::random_tensor(image, 1));
  std::memcpy(inputs[0][0].writable().data, images.view().data, inputs[0][0].view().bytes());
  const test::HostTensor result = std::move(test::run_on_cpu(m.graph(), best_isa(), 2, inputs)[0][0]);
  const auto* first = result.view().as<float>();
  return {first, first + result.view().count() / image[0]};
}

TEST(RepeatConstants, AnImageHasTheSameBitsAloneAndInABatch) {
  const std::tuple<const char*, Model, ir::Dims, ir::Dims> models[] = {
      {"between", &between_convolutions, {4, 7, 7}, {4, 7, 7}},
      {"before", &before_convolutions, {11, 5, 33}, {11, 5, 33}},
      {"normalisation", &behind_a_normalisation, {17, 12, 12}, {13, 13, 17}},
      {"reduction", &before_a_reduction, {17, 12, 12}, {12, 12, 17}},
      {"interpolation", &behind_an_interpolation, {32, 14, 13}, {28, 26, 32}},
      {"transposes", &between_transposes, {17, 12, 12}, {17, 12, 12}}};
  for (const auto& [name, model, image, extents] : models)
    for (const bool has_batch_axis : {true, false}) {
      const auto alone = outputs(model, true, image, extents, has_batch_axis),
                 in_batch = outputs(model, false, image, extents, has_batch_axis);
      EXPECT_EQ(std::memcmp(alone.data(), in_batch.data(), alone.size() * sizeof(float)), 0)
          << name << ' ' << has_batch_axis;
    }
}

}  // namespace
}  // namespace terroir::cpu
