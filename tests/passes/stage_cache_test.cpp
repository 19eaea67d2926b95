// The stages of a model with unknown extents: made once per set of extents, bounded in bytes, kept while somebody runs
// them.
#include "plugins/cpu/stage_cache.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <thread>

#include "plugins/cpu/program.hpp"
#include "tests/passes/graph_maker.hpp"

namespace terroir::cpu {
namespace {

using test::GraphMaker;
constexpr size_t kLeast = StageCache::kLeastBytes;

/// A program over its own cache, as the device has one.
struct Compiled {
  Compiled(const ir::Graph& graph, size_t capacity)
      : common{{}, {}, StageCache(capacity)}, program(rewrite_portable(graph), common) {}
  std::shared_ptr<const Stage> stage(const ir::Dims& dims) { return program.stage({dims}, arena); }
  uint64_t made() const { return common.stages.made(); }
  /// Whether the stage is there: asking for it makes none.
  bool keeps(const ir::Dims& dims) {
    const uint64_t before = made();
    stage(dims);
    return made() == before;
  }

  const parallel::Arena arena{2};
  Common common;
  Program program;
};

GraphMaker small() {
  GraphMaker m;
  m.result(m.op("Exp", {m.op("MatMul", {m.op("ReLU", {m.input(PartialShape("?,8"))}), m.random({8, 4}, 1)})}));
  return m;
}

/// A convolution network in the large: windows, joins, a reshape whose target follows from the extents.
GraphMaker convolution_network() {
  GraphMaker m;
  const std::vector<std::pair<std::string, std::string>> same = {
      {"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}};
  auto x = m.input(PartialShape("1,3,?,?"));
  auto y = m.op("ReLU", {m.op("Convolution", {x, m.random({16, 3, 3, 3}, 1)}, same)});
  for (uint32_t i = 0; i < 8; ++i) {
    auto z =
        m.op("Add", {m.op("Convolution", {y, m.random({16, 16, 3, 3}, 10 + i)}, same), m.random({1, 16, 1, 1}, i)});
    z = m.op("Sigmoid", {m.op("GroupConvolution", {z, m.random({16, 1, 1, 3, 3}, 20 + i)}, same)});
    y = m.op("Add", {y, z});
  }
  y = m.op("Concat", {y, m.op("Tanh", {y})}, {{"axis", "1"}});
  auto rows = m.op("Transpose",
                   {m.op("Reshape", {y, m.integers({0, 0, -1})}, {{"special_zero", "true"}}), m.integers({0, 2, 1})});
  m.result(m.op("SoftMax", {m.op("MatMul", {rows, m.random({32, 10}, 50)})}, {{"axis", "2"}}, "", "opset1"));
  return m;
}

TEST(StageCache, ExtentsSeenAgainCostNoCompile) {
  Compiled model(convolution_network().graph(), size_t{64} << 20);
  const auto first = model.stage({1, 3, 9, 9});
  model.stage({1, 3, 10, 9});
  const uint64_t packed = model.common.weights.packed();
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(model.stage({1, 3, 9, 9}), first);
    model.stage({1, 3, 10, 9});
  }
  EXPECT_EQ(model.made(), 2u);
  EXPECT_EQ(model.common.weights.packed(), packed);
}

TEST(StageCache, PackedWeightsDoNotFollowTheNumberOfExtents) {
  Compiled model(convolution_network().graph(), size_t{64} << 20);
  for (int64_t extent = 4; extent < 100; ++extent) model.stage({1, 3, extent, 2 * extent});
  // Two dozen constants, each in the few forms that kernels for small and for large extents want.
  const uint64_t packed = model.common.weights.packed();
  EXPECT_LT(packed, 3 * 24u);
  for (int64_t extent = 100; extent < 130; ++extent) model.stage({1, 3, extent, 2 * extent});
  EXPECT_EQ(model.common.weights.packed(), packed);
}

TEST(StageCache, DropsWhatWasUsedLongestAgo) {
  Compiled model(small().graph(), 3 * kLeast);
  const std::weak_ptr<const Stage> one = model.stage({1, 8});
  const auto two = model.stage({2, 8});
  model.stage({3, 8});
  EXPECT_EQ(model.common.stages.bytes(), 3 * kLeast);
  EXPECT_TRUE(model.keeps({1, 8}));
  model.stage({4, 8});  // instead of 2
  EXPECT_EQ(model.common.stages.size(), 3u);
  EXPECT_EQ(two.use_count(), 1);  // it may still run
  EXPECT_TRUE(model.keeps({1, 8}));
  EXPECT_TRUE(model.keeps({3, 8}));
  EXPECT_FALSE(model.keeps({2, 8}));  // instead of 4
  EXPECT_FALSE(one.expired());
  EXPECT_FALSE(model.keeps({4, 8}));  // instead of 1
  EXPECT_TRUE(one.expired());
}

TEST(StageCache, TheLastOneStaysHoweverLarge) {
  Compiled model(small().graph(), 0);
  model.stage({1, 8});
  EXPECT_TRUE(model.keeps({1, 8}));
  model.stage({2, 8});
  EXPECT_EQ(model.common.stages.size(), 1u);
  EXPECT_TRUE(model.keeps({2, 8}));
}

TEST(StageCache, WhatCannotBeCompiledLeavesNothing) {
  Compiled model(small().graph(), 3 * kLeast);
  EXPECT_THROW(model.stage({1, 7}), Exception);
  EXPECT_EQ(model.common.stages.size(), 0u);
  EXPECT_EQ(model.common.stages.bytes(), 0u);
  EXPECT_THROW(model.stage({1, 7}), Exception);
  EXPECT_FALSE(model.keeps({1, 8}));
}

TEST(StageCache, PlansBehindACutCountAndGoWithIt) {
  GraphMaker m;
  auto x = m.input(PartialShape("?"));
  auto found = m.op("NonZero", {m.op("ReLU", {x})}, {{"output_type", "i64"}});
  m.result(m.op("Exp", {m.op("Gather", {x, found, m.scalar_integer(0)})}));
  Compiled model(m.graph(), 4 * kLeast);
  for (int64_t extent = 1; extent < 20; ++extent) {
    const auto stage = model.stage({extent});
    ASSERT_NE(stage->then, nullptr);
    for (int64_t count = 0; count < extent; ++count) {
      std::vector<ir::Dims> dims;
      for (const RestInput& input : stage->then->rest_inputs)
        dims.push_back(input.from_frontier ? ir::Dims{1, count} : ir::Dims{extent});
      stage->then->rest->stage(dims, model.arena);
      EXPECT_LE(model.common.stages.bytes(), 4 * kLeast);
      EXPECT_LE(model.common.stages.size(), 4u);
    }
  }
  model.stage({1}), model.stage({2}), model.stage({3}), model.stage({4});
  EXPECT_EQ(model.common.stages.size(), 4u);  // the rests of earlier extents are gone with their stages
}

TEST(StageCache, InputsReadBehindACutAreNotCopied) {
  GraphMaker m;
  auto x = m.input(PartialShape("6"));
  auto y = m.input(PartialShape("6"));
  auto found = m.op("NonZero", {x}, {{"output_type", "i64"}});
  m.result(m.op("Gather", {m.op("Add", {y, m.op("Exp", {y})}), found, m.scalar_integer(0)}));
  m.result(m.op("Gather", {x, found, m.scalar_integer(0)}));
  Compiled model(m.graph(), 4 * kLeast);
  const auto stage = model.program.stage({{6}, {6}}, model.arena);
  ASSERT_NE(stage->then, nullptr);
  EXPECT_EQ(stage->plan->outputs.size(), 1u) << "the sum alone";
  for (const Step& step : stage->plan->steps) EXPECT_NE(step.type, "Reorder") << step.name;
  EXPECT_EQ(stage->then->boundary.size(), 2u);
  EXPECT_NE(std::find(stage->then->boundary.begin(), stage->then->boundary.end(), 0), stage->then->boundary.end());
}

TEST(StageCache, ResultsOfACutAreNotCopied) {
  GraphMaker m;
  auto found = m.op("NonZero", {m.op("ReLU", {m.input(PartialShape("6"))})}, {{"output_type", "i64"}});
  m.result(found);
  m.result(m.op("Squeeze", {found, m.integers({0})}));
  Compiled model(m.graph(), 8 * kLeast);
  const Continuation& then = *model.stage({6})->then;
  ASSERT_EQ(then.results_of_frontier.size(), 1u);
  EXPECT_EQ(then.results_of_frontier[0].result, 0u);
  EXPECT_EQ(then.results_after, std::vector<size_t>{1});
}

TEST(StageCache, PlansOfBodiesCount) {
  GraphMaker body;
  auto carried = body.input(PartialShape("?"));
  const ir::NodeId joined = body.result(body.op("Concat", {carried, body.op("Exp", {carried})}, {{"axis", "0"}}));
  ir::BodyPortMap ports;
  ports.inputs.push_back({});
  ports.inputs.back().external_port = 2;
  ports.inputs.back().parameter = carried.node;
  ports.outputs.push_back({});
  ports.outputs.back().external_port = 0;
  ports.outputs.back().result = joined;
  ports.back_edges.push_back({joined, carried.node});
  const ir::NodeId truth = body.result(body.op("Convert", {body.scalar_integer(1)}, {{"destination_type", "boolean"}}));
  ports.outputs.push_back({});
  ports.outputs.back().result = truth;
  ports.outputs.back().execution_condition = true;

  GraphMaker m;
  auto x = m.input(PartialShape("?"));
  auto trips = m.input({}, element::i64);
  std::vector<ir::Body> bodies;
  bodies.push_back(std::move(body).as_body("body", ports));
  m.result(m.control("Loop", {trips, m.op("Convert", {m.scalar_integer(1)}, {{"destination_type", "boolean"}}), x},
                     std::move(bodies)));
  Compiled model(m.graph(), 8 * kLeast);
  const auto stage = model.program.stage({{3}, {}}, model.arena);
  ASSERT_NE(stage->then, nullptr);
  Program& of_body = *stage->then->bodies.at(0).at(0);
  for (int64_t extent = 3; extent < 200; extent += 3) {
    of_body.stage({{extent}}, model.arena);
    EXPECT_LE(model.common.stages.bytes(), 8 * kLeast);
  }
  EXPECT_EQ(model.common.stages.size(), 8u);
}

TEST(StageCache, ThreadsShareWhatOneOfThemMakes) {
  Compiled model(small().graph(), 100 * kLeast);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      const parallel::Arena arena(1);
      for (int round = 0; round < 5; ++round)
        for (int64_t extent = 1; extent <= 20; ++extent) {
          const auto stage = model.program.stage({{extent, 8}}, arena);
          EXPECT_EQ(stage->plan->inputs.at(0).dims, (ir::Dims{extent, 8}));
        }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(model.made(), 20u);
}

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(StageCache, CountsAboutTheBytesThatPlansTake) {
  Compiled model(convolution_network().graph(), size_t{64} << 20);
  const auto in_use = [] { return static_cast<double>(::mallinfo2().uordblks + ::mallinfo2().hblkhd); };
  for (int64_t extent = 40; extent < 60; ++extent) model.stage({1, 3, extent, extent});  // packs every form of weights
  const double before = in_use(), counted_before = static_cast<double>(model.common.stages.bytes());
  for (int64_t extent = 60; extent < 80; ++extent) model.stage({1, 3, extent, extent});
  const double taken = in_use() - before, counted = static_cast<double>(model.common.stages.bytes()) - counted_before;
  EXPECT_GT(counted, taken / 2);
  EXPECT_LT(counted, std::max(taken * 2, 20.0 * kLeast + 1));
}
#endif

}  // namespace
}  // namespace terroir::cpu
