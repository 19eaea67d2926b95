// What the test of random models says of a model, and what it makes of one that fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "ir/text/diff.hpp"
#include "ir/text/printer.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/random_models/examine.hpp"
#include "tests/random_models/shrink.hpp"

namespace terroir::test {
namespace {

size_t layers_of(const Subject& subject, std::string_view type) {
  const std::vector<ir::NodeId> nodes = subject.graph->nodes();
  return static_cast<size_t>(
      std::count_if(nodes.begin(), nodes.end(), [&](ir::NodeId id) { return subject.graph->node(id).is(type); }));
}

TEST(RandomModels, FollowFromTheirSeeds) {
  for (const uint64_t seed : {0, 1, 2, 3}) {
    const Subject a = random_subject(seed), b = random_subject(seed);
    std::string text;
    EXPECT_TRUE(ir::equal(*a.graph, *b.graph, &text)) << text;
    EXPECT_EQ(extents_of(a.inputs), extents_of(b.inputs));
  }
  EXPECT_NE(ir::to_text(*random_subject(0).graph), ir::to_text(*random_subject(1).graph));
}

// Each check is made on some of the first models, and they have most of what networks are made of.
TEST(RandomModels, CoverChecksAndLayers) {
  std::map<std::string, int> made;
  std::set<std::string> types;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Subject subject = random_subject(seed);
    EXPECT_EQ(subject.inputs.size(), subject.graph->parameters().size());
    for (const ir::NodeId id : subject.graph->nodes()) types.insert(subject.graph->node(id).schema->type);
    if (seed < 12)
      for (const auto& [check, count] : examine(subject, seed, "").made) made[check] += count;
  }
  for (const CheckName& check : check_names()) EXPECT_GT(made[std::string(check.name)], 0) << check.name;
  for (const char* type : {"Convolution",
                           "GroupConvolution",
                           "ConvolutionBackpropData",
                           "MaxPool",
                           "AvgPool",
                           "Concat",
                           "Split",
                           "VariadicSplit",
                           "Add",
                           "Multiply",
                           "ReduceMean",
                           "MatMul",
                           "SoftMax",
                           "MVN",
                           "Gelu",
                           "Reshape",
                           "Transpose",
                           "Interpolate",
                           "FakeQuantize",
                           "BatchNormInference",
                           "ShapeOf",
                           "Gather",
                           "Pad",
                           "PReLU"})
    EXPECT_TRUE(types.contains(type)) << type;
}

/// Two branches of convolutions with a Tanh in one of them, joined, and more behind.
Subject branched() {
  GraphMaker m;
  const ir::Value x = m.input({2, 8, 6, 6});
  const ir::Value left = m.op("Tanh", {m.conv(m.op("ReLU", {x}), 8, 3, 1)});
  const ir::Value right = m.conv(x, 8, 1, 2);
  const ir::Value both = m.op("Add", {left, right});
  m.result(m.op("Sigmoid", {m.conv(both, 4, 3, 3)}));
  m.result(right);
  return {m.graph().clone(), {random_tensor({2, 8, 6, 6}, 1)}, true};
}

TEST(RandomModels, AreMadeAsSmallAsTheFault) {
  const Subject whole = branched();
  const Subject small = shrunk(
      whole, [](const Subject& s) { return layers_of(s, "Tanh") > 0; }, 60);
  EXPECT_EQ(small.layers(), 1u) << ir::to_text(*small.graph);
  ASSERT_EQ(small.inputs.size(), 1u);
  EXPECT_EQ(small.inputs[0].dims(), (ir::Dims{2, 8, 6, 6}));
  EXPECT_TRUE(small.batched);
  EXPECT_EQ(whole.layers(), 7u);  // untouched
  // A fault of two layers keeps both.
  const Subject pair = shrunk(
      whole, [](const Subject& s) { return layers_of(s, "Tanh") > 0 && layers_of(s, "Add") > 0; }, 60);
  EXPECT_EQ(pair.layers(), 2u) << ir::to_text(*pair.graph);
}

TEST(RandomModels, StayAsTheyAreWithoutTheFault) {
  const Subject whole = branched();
  const Subject same = shrunk(
      whole, [](const Subject&) { return false; }, 60);
  EXPECT_TRUE(ir::equal(*whole.graph, *same.graph));
}

// A graph in which the images of a batch see each other is no fault of the device, but the check must see it.
TEST(RandomModels, ABatchWhoseImagesSeeEachOtherIsFound) {
  GraphMaker m;
  const ir::Value x = m.input({2, 5});
  m.result(m.op("CumSum", {x, m.scalar_integer(0)}));
  const Subject mixed{m.graph().clone(), {random_tensor({2, 5}, 1)}, true};
  EXPECT_EQ(examine(mixed, 1, "").check, "batch");
}

TEST(RandomModels, WhatBothDevicesRefuseIsNoFault) {
  GraphMaker m;
  const ir::Value indices = m.input({2}, element::i64);
  m.result(m.op("Gather", {m.random({3, 2}, 1), indices, m.scalar_integer(0)}));
  const Subject refused{m.graph().clone(), {integer_tensor({2}, {0, 1000})}, false};
  const Examination found = examine(refused, 1, "");
  EXPECT_TRUE(found.check.empty()) << found.text;
}

}  // namespace
}  // namespace terroir::test
