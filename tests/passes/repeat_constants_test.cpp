// Constants of one image behind convolutions: text before and after, and the bits of an image alone and in a batch.
#include "plugins/cpu/passes/repeat_constants.hpp"

#include <gtest/gtest.h>

#include <cstring>

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

/// The images of a batch through two convolutions with a constant of one image between them.
std::vector<float> outputs(int64_t batch, const ir::Dims& constant, const test::HostTensor& images) {
  GraphMaker m;
  auto x = m.conv(m.input({batch, 4, 7, 7}), 4, 3, 1);
  x = m.op("Add", {x, m.random(constant, 2)});
  m.result(m.conv(x, 32, 3, 3));
  std::vector<std::vector<test::HostTensor>> inputs(1);
  inputs[0].push_back(test::random_tensor({batch, 4, 7, 7}, 1));
  std::memcpy(inputs[0][0].writable().data, images.view().data, inputs[0][0].view().bytes());
  const test::HostTensor result = std::move(test::run_on_cpu(m.graph(), best_isa(), 2, inputs)[0][0]);
  const auto* first = result.view().as<float>();
  return {first, first + result.view().count()};
}

TEST(RepeatConstants, AnImageHasTheSameBitsAloneAndInABatch) {
  const test::HostTensor images = test::random_tensor({3, 4, 7, 7}, 1);
  for (const ir::Dims& constant : {ir::Dims{1, 4, 7, 7}, ir::Dims{4, 7, 7}}) {
    const std::vector<float> alone = outputs(1, constant, images), together = outputs(3, constant, images);
    EXPECT_EQ(std::memcmp(alone.data(), together.data(), alone.size() * sizeof(float)), 0) << constant.size();
  }
}

}  // namespace
}  // namespace terroir::cpu
