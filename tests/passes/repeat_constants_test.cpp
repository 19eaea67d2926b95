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

/// Of the first image of a batch of three, or of it alone.
std::vector<float> outputs(Model model, bool alone, ir::Dims image, bool has_batch_axis) {
  GraphMaker m;
  image.insert(image.begin(), 3);
  const test::HostTensor images = test::random_tensor(image, 1);
  if (alone) image[0] = 1;
  const auto x = m.input(PartialShape(ir::to_shape(image)));
  ir::Dims dims = image;
  dims[0] = 1;
  if (!has_batch_axis) dims.erase(dims.begin());
  m.result(model(m, x, m.random(dims, 2)));
  std::vector<std::vector<test::HostTensor>> inputs(1);
  inputs[0].push_back(test::random_tensor(image, 1));
  std::memcpy(inputs[0][0].writable().data, images.view().data, inputs[0][0].view().bytes());
  const test::HostTensor result = std::move(test::run_on_cpu(m.graph(), best_isa(), 2, inputs)[0][0]);
  const auto* first = result.view().as<float>();
  return {first, first + result.view().count() / image[0]};
}

TEST(RepeatConstants, AnImageHasTheSameBitsAloneAndInABatch) {
  const std::tuple<const char*, Model, ir::Dims> models[] = {{"between", &between_convolutions, {4, 7, 7}},
                                                             {"before", &before_convolutions, {11, 5, 33}}};
  for (const auto& [name, model, image] : models)
    for (const bool has_batch_axis : {true, false}) {
      const auto alone = outputs(model, true, image, has_batch_axis),
                 in_batch = outputs(model, false, image, has_batch_axis);
      EXPECT_EQ(std::memcmp(alone.data(), in_batch.data(), alone.size() * sizeof(float)), 0)
          << name << ' ' << has_batch_axis;
    }
}

}  // namespace
}  // namespace terroir::cpu
