// Group normalisation as converters write it: graph text before and after, what stays, and that it keeps the layout of
// convolutions.
#include <gtest/gtest.h>

#include <string>

#include "ops/registry.hpp"
#include "ops/rewrites/rewrites.hpp"
#include "tests/passes/golden.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/passes/planned.hpp"

namespace terroir::test {
namespace {

ir::Pass pass() { return ops::collapse_group_normalization(ops::builtin_registry()); }

const AttributeTexts kInside = {{"eps", "0.001"}, {"normalize_variance", "true"}, {"eps_mode", "inside_sqrt"}};

/// The groups of x, of shape `parted` and normalised over `axes`, in the shape of x again.
ir::Value normalised(GraphMaker& m, ir::Value x, const std::vector<int64_t>& parted, const std::vector<int64_t>& axes,
                     const AttributeTexts& attributes = kInside) {
  const auto there = m.op("Reshape", {x, m.integers(parted)}, {{"special_zero", "true"}});
  const auto middle = m.op("MVN", {there, m.integers(axes)}, attributes);
  return m.op("Reshape", {middle, m.integers(m.dims(x))}, {{"special_zero", "false"}});
}

TEST(CollapseGroupNormalization, WithAndWithoutScaleAndShift) {
  GraphMaker m;
  const auto scale = [&] { return m.constant({1, 4, 1, 1}, {1, 2, 3, 4}); };
  const auto shift = [&] { return m.constant({4, 1, 1}, {5, 6, 7, 8}); };
  const auto both = normalised(m, m.input({2, 4, 3, 5}), {0, 2, -1}, {2});
  m.result(m.op("Add", {shift(), m.op("Multiply", {both, scale()})}));
  const auto shifted = normalised(m, m.input({2, 4, 3, 5}), {2, 2, 2, 3, 5}, {-1, 2, 3});
  m.result(m.op("Add", {shifted, shift()}));
  m.result(normalised(m, m.input({1, 4, 6}), {1, 2, 12}, {-1}));
  expect_rewrite("collapse_group_normalization", m.graph(), {pass()});
  expect_same_as_interpreter(m);
}

// The same whether or not the other extents are known, or the dynamic model would not give the bits of the static one.
TEST(CollapseGroupNormalization, OfUnknownExtents) {
  GraphMaker m;
  const auto scale = [&](ir::Value x) { return m.op("Multiply", {x, m.constant({1, 4, 1, 1}, {1, 2, 3, 4})}); };
  const auto groups = [&](ir::Value x) {
    const auto there = m.op("Reshape", {x, m.integers({0, 2, -1})}, {{"special_zero", "true"}});
    return m.op("MVN", {there, m.integers({2})}, kInside);
  };
  const auto x = m.input(PartialShape("?,4,?,?"));
  m.result(scale(m.op("Reshape", {groups(x), m.op("ShapeOf", {x}, {}, "", "opset3")}, {{"special_zero", "false"}})));
  const auto y = m.input(PartialShape("?,4,?,3"));
  m.result(scale(m.op("Reshape", {groups(y), m.integers({0, 4, -1, 3})}, {{"special_zero", "true"}})));
  const auto flat = m.input({2, 4, 5, 3});  // another shape comes out
  m.result(scale(m.op("Reshape", {groups(flat), m.integers({2, 4, 15, 1})})));
  expect_rewrite("collapse_group_normalization_unknown", m.graph(), {pass()});
  std::vector<std::vector<HostTensor>> inputs(2);
  for (const int64_t n : {1, 2})
    for (const ir::Dims& dims : {ir::Dims{n, 4, 5 - n, 7}, {n, 4, 6, 3}, {2, 4, 5, 3}})
      inputs[static_cast<size_t>(n - 1)].push_back(random_tensor(dims, 1));
  expect_same_as_interpreter(m.graph(), inputs);
}

TEST(CollapseGroupNormalization, RefusesWhatExtentsDecide) {
  GraphMaker m;
  const auto groups = [&](ir::Value x, const std::vector<int64_t>& parted) {
    const auto there = m.op("Reshape", {x, m.integers(parted)}, {{"special_zero", "true"}});
    return m.op("MVN", {there, m.integers({2})}, kInside);
  };
  const auto back = [&](ir::Value x, const std::vector<int64_t>& target) {
    m.result(m.op("Reshape", {x, m.integers(target)}, {{"special_zero", "true"}}));
  };
  const auto x = m.input(PartialShape("?,4,?,3"));
  back(groups(x, {2, 2, -1}), {2, 4, -1, 3});                                // perhaps not of whole images
  back(groups(x, {0, 2, -1}), {2, 4, -1, 3});                                // likewise
  back(groups(m.input(PartialShape("?,?,2,3")), {0, 2, -1}), {0, 4, 2, 3});  // an unknown number of channels
  back(groups(m.input({2, 4, 3, 2}), {0, 4, -1}), {0, 4, 0, 1});  // the third extent is copied from the groups
  expect_refusal(m.graph(), {pass()});
}

TEST(CollapseGroupNormalization, Refuses) {
  GraphMaker m;
  const auto x = m.input({2, 4, 3, 5});
  m.result(normalised(m, x, {2, 2, -1}, {1, 2}));  // all channels of an image, over which nothing is scaled
  m.result(normalised(m, x, {1, 4, -1}, {2}));     // images together
  m.result(normalised(m, m.input({2, 4, 2, 4}), {2, 8, -1}, {2}));  // parts of channels
  m.result(normalised(m, x, {2, 2, 2, 15}, {3}));                   // of each channel
  m.result(normalised(m, x, {2, 2, -1}, {2},
                      {{"eps", "0.001"}, {"normalize_variance", "true"}, {"eps_mode", "outside_sqrt"}}));
  m.result(normalised(m, x, {2, 2, -1}, {2},
                      {{"eps", "0.001"}, {"normalize_variance", "false"}, {"eps_mode", "inside_sqrt"}}));
  const auto read_twice = m.op("Reshape", {x, m.integers({2, 2, -1})});
  m.result(m.op("Reshape", {m.op("MVN", {read_twice, m.integers({2})}, kInside), m.integers({2, 4, 3, 5})}));
  m.result(read_twice);
  for (const char* eps : {"0", "-0.001"})  // of MVN, but not of GroupNormalization
    m.result(
        normalised(m, x, {2, 2, -1}, {2}, {{"eps", eps}, {"normalize_variance", "true"}, {"eps_mode", "inside_sqrt"}}));
  m.result(normalised(m, m.input({1, 4, 6}), {1, 4, 6}, {-1}));  // no Reshape, if extents are known
  const auto flat = m.input({6, 4});
  m.result(normalised(m, flat, {6, 2, 2}, {2}));
  expect_refusal(m.graph(), {pass()});
}

/// x over all axes but the batch.
ir::Value normalised_whole(GraphMaker& m, ir::Value x, const std::vector<int64_t>& axes,
                           const AttributeTexts& attributes = kInside) {
  return m.op("MVN", {x, m.integers(axes)}, attributes);
}

TEST(CollapseGroupNormalization, OfAllChannelsWithScaleOrShift) {
  GraphMaker m;
  const auto image = normalised_whole(m, m.input({2, 4, 3, 5}), {1, 2, 3});
  m.result(m.op("Add", {m.op("Multiply", {image, m.random({1, 4, 1, 1}, 1)}), m.random({4, 1, 1}, 2)}));
  const auto line = normalised_whole(m, m.input(PartialShape("?,4,?")), {-1, -2});
  m.result(m.op("Multiply", {m.random({4, 1}, 3), line}));
  m.result(m.op("Add", {normalised_whole(m, m.input({1, 4, 7}), {2, 1}), m.random({4, 1}, 4)}));
  expect_rewrite("collapse_group_normalization_whole", m.graph(), {pass()});
  std::vector<std::vector<HostTensor>> inputs(2);
  for (size_t n = 0; n < 2; ++n)
    for (const ir::Dims& dims : {ir::Dims{2, 4, 3, 5}, {static_cast<int64_t>(n) + 1, 4, 6}, {1, 4, 7}})
      inputs[n].push_back(random_tensor(dims, 1));
  expect_same_as_interpreter(m.graph(), inputs);
}

TEST(CollapseGroupNormalization, RefusesAllChannelsWithoutAValuePerChannel) {
  GraphMaker m;
  const auto x = m.input({2, 4, 3, 5});
  m.result(normalised_whole(m, x, {1, 2, 3}));
  m.result(m.op("Multiply", {normalised_whole(m, x, {1, 2, 3}), m.random({5}, 1)}));        // columns
  m.result(m.op("Multiply", {normalised_whole(m, x, {1, 2, 3}), m.random({4, 3, 5}, 2)}));  // a value per element
  const auto flat = m.op("Multiply", {normalised_whole(m, m.input({6, 4}), {1}), m.random({1, 4}, 3)});
  m.result(flat);
  const auto scaled = [&](ir::Value y) { m.result(m.op("Multiply", {y, m.random({1, 4, 1, 1}, 4)})); };
  scaled(normalised_whole(m, x, {0, 1, 2, 3}));
  scaled(normalised_whole(m, x, {1, 3}));
  scaled(normalised_whole(m, x, {1, 2, 3},
                          {{"eps", "0.001"}, {"normalize_variance", "true"}, {"eps_mode", "outside_sqrt"}}));
  const auto twice = normalised_whole(m, x, {1, 2, 3});
  scaled(twice);
  m.result(twice);
  scaled(normalised_whole(m, m.input(PartialShape("2,?,3,5")), {1, 2, 3}));
  expect_refusal(m.graph(), {pass()});
}

// A scale and shift that something else than the channels broadcast along stay where they are.
TEST(CollapseGroupNormalization, LeavesOtherOperands) {
  GraphMaker m;
  const auto x = normalised(m, m.conv(m.input({2, 3, 5, 4}), 4, 1, 1), {2, 2, -1}, {2});
  const auto scaled = m.op("Multiply", {x, m.random({4}, 1)});  // columns
  m.result(m.op("Add", {scaled, m.random({1, 4, 1, 1}, 2)}));
  const auto squared = normalised(m, m.input({2, 4, 3, 5}), {2, 2, -1}, {2});
  m.result(m.op("Multiply", {squared, squared}));
  const auto wide = normalised(m, m.input({1, 4, 3, 5}), {1, 2, -1}, {2});
  m.result(m.op("Multiply", {wide, m.random({2, 4, 1, 1}, 3)}));
  expect_same_as_interpreter(m);
}

TEST(CollapseGroupNormalization, LiesInBlocksBetweenConvolutionsWhateverTheExtents) {
  for (const char* shape : {"1,3,12,10", "?,3,?,?"}) {
    SCOPED_TRACE(shape);
    GraphMaker m;
    const auto conv = [&](ir::Value x, const ir::Dims& weights, uint32_t seed) {
      return m.op("Convolution", {x, m.random(weights, seed)},
                  {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}});
    };
    auto x = conv(m.input(PartialShape(shape)), {48, 3, 3, 3}, 1);
    const auto extents = m.op("ShapeOf", {x}, {}, "", "opset3");
    auto y = m.op("Reshape", {x, m.integers({0, 8, -1})}, {{"special_zero", "true"}});
    y = m.op("Reshape", {m.op("MVN", {y, m.integers({2})}, kInside), extents}, {{"special_zero", "false"}});
    y = m.op("Add", {m.op("Multiply", {y, m.random({1, 48, 1, 1}, 2)}), m.random({1, 48, 1, 1}, 3)}, {}, "last");
    m.result(conv(m.op("Swish", {y}), {5, 48, 3, 3}, 4));
    std::vector<std::vector<HostTensor>> inputs(1);
    inputs[0].push_back(random_tensor({1, 3, 12, 10}, 7));
    expect_same_as_interpreter(m.graph(), inputs);
    if (PartialShape(shape).is_dynamic()) continue;
    size_t others = 0;
    const auto plan = plan_of(m);
    for (const cpu::Step& step : plan->steps)
      if (step.type != "Convolution" && step.type != "Reorder" && step.type != "GroupNormalization") ++others;
    EXPECT_EQ(others, 0u);
  }
}

// As models that separate speech have it: one dimension, convolutions of one tap.
TEST(CollapseGroupNormalization, OfAllChannelsLiesInBlocksBetweenConvolutions) {
  for (const int64_t channels : {16, 21}) {
    SCOPED_TRACE(channels);
    GraphMaker m;
    const auto conv = [&](ir::Value x, const ir::Dims& weights, uint32_t seed) {
      return m.op("Convolution", {x, m.random(weights, seed)},
                  {{"strides", "1"}, {"dilations", "1"}, {"pads_begin", "0"}, {"pads_end", "0"}});
    };
    auto y = m.op("ReLU", {conv(m.input({2, 16, 300}), {channels, 16, 1}, 1)});
    y = m.op("Multiply", {normalised_whole(m, y, {1, 2}), m.random({channels, 1}, 2)});
    y = m.op("Add", {y, m.random({channels, 1}, 3)});
    m.result(conv(y, {16, channels, 1}, 4));
    expect_same_as_interpreter(m);
    size_t normalizations = 0, reorders = 0;
    const auto plan = plan_of(m);
    for (const cpu::Step& step : plan->steps) {
      normalizations += step.type == "GroupNormalization";
      reorders += step.type == "Reorder";
    }
    EXPECT_EQ(normalizations, 1u);
    EXPECT_LE(reorders, 2u);  // at the ends of the model
  }
}

}  // namespace
}  // namespace terroir::test
