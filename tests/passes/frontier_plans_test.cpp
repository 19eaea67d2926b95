// The plans that a request keeps for operations between stages: which operands share one, and which plans go.
#include "plugins/cpu/frontier_plans.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/passes/graph_maker.hpp"

namespace terroir::cpu {
namespace {

using test::GraphMaker;
using test::HostTensor;

/// A Fourier transform whose sizes a run brings, and operands for it.
class FrontierPlansTest : public testing::Test {
 protected:
  FrontierPlansTest() {
    for (const char* name : {"one", "other"}) {
      const ir::Value y =
          m_.op("RDFT", {m_.input({2, 600}), m_.input({1}, element::i64), m_.input({1}, element::i64)}, {}, name);
      m_.result(y);
      nodes_.push_back(y.node);
    }
  }

  static std::vector<ir::Constant> operands(int64_t size, const ir::Dims& data = {2, 600}, uint32_t seed = 1) {
    return {test::random_tensor(data, seed).to_constant(), test::integer_tensor({1}, {1}).to_constant(),
            test::integer_tensor({1}, {size}).to_constant()};
  }
  std::shared_ptr<const Plan> plan(const std::vector<ir::Constant>& inputs, size_t node = 0) {
    return plans_.get(m_.graph().node(nodes_[node]), inputs, common_, arena_).plan;
  }
  /// Keeps all plans, so that none is made where another one was.
  bool is_new(int64_t size, size_t node = 0) {
    const auto found = plan(operands(size), node);
    const bool known = std::find(seen_.begin(), seen_.end(), found) != seen_.end();
    seen_.push_back(found);
    return !known;
  }

  GraphMaker m_;
  std::vector<ir::NodeId> nodes_;
  const parallel::Arena arena_{1};
  Common common_{{}, {}, StageCache(0)};
  FrontierPlans plans_;
  std::vector<std::shared_ptr<const Plan>> seen_;
};

TEST_F(FrontierPlansTest, OnePlanForEqualOperandsWhereverTheyLie) {
  const auto first = plan(operands(512));
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(plan(operands(512)), first);
  EXPECT_EQ(plan(operands(512, {2, 600}, 7)), first);  // of the large one the values do not count
  const FrontierPlans::Found& found = plans_.get(m_.graph().node(nodes_[0]), operands(512), common_, arena_);
  EXPECT_EQ(found.given, std::vector<size_t>{0});
  EXPECT_EQ(first->outputs.at(0).dims, (ir::Dims{2, 257, 2}));
}

// What a plan was made for is remembered by value: the memory of an operand is another one's in the next inference.
TEST_F(FrontierPlansTest, SmallOperandsAreComparedByteByByte) {
  int64_t size = 512;
  std::vector<ir::Constant> inputs = operands(0);
  inputs[2] = {{element::i64, {1}, &size}, nullptr};
  const auto first = plan(inputs);
  size = 500;
  const auto second = plan(inputs);
  EXPECT_NE(second, first);
  EXPECT_EQ(second->outputs.at(0).dims, (ir::Dims{2, 251, 2}));
  size += int64_t{1} << 40;  // the last bytes count as well; no such transform fits memory
  EXPECT_THROW(plan(inputs), Exception);
  size = 512;
  EXPECT_EQ(plan(inputs), first);
}

TEST_F(FrontierPlansTest, ExtentsAndTypesArePartOfTheQuestion) {
  const auto first = plan(operands(512));
  EXPECT_NE(plan(operands(512, {3, 600})), first);
  EXPECT_NE(plan(operands(512, {2, 601})), first);
  std::vector<ir::Constant> narrow = operands(512);
  const int32_t axis = 1, size = 512;
  narrow[1] = {{element::i32, {1}, &axis}, nullptr};
  narrow[2] = {{element::i32, {1}, &size}, nullptr};
  EXPECT_NE(plan(narrow), first);
  EXPECT_EQ(plan(operands(512)), first);
}

TEST_F(FrontierPlansTest, FourOfEachNodeStayThoseUsedLast) {
  for (const int64_t size : {500, 501, 502, 503}) EXPECT_TRUE(is_new(size)) << size;
  for (const int64_t size : {500, 501, 502, 503}) EXPECT_FALSE(is_new(size)) << size;
  EXPECT_FALSE(is_new(500));
  EXPECT_TRUE(is_new(504));  // instead of 501, which was asked for longest ago
  for (const int64_t size : {500, 502, 503, 504}) EXPECT_FALSE(is_new(size)) << size;
  EXPECT_TRUE(is_new(501));  // instead of 500
  EXPECT_TRUE(is_new(500));
}

TEST_F(FrontierPlansTest, NodesDoNotTakeEachOthersPlaces) {
  EXPECT_TRUE(is_new(500, 1));
  for (const int64_t size : {500, 501, 502, 503, 504, 505}) EXPECT_TRUE(is_new(size)) << size;
  EXPECT_FALSE(is_new(500, 1));
  EXPECT_FALSE(is_new(505));
}

// Bodies may have layers of one name, which do other things.
TEST_F(FrontierPlansTest, AttributesAreComparedNotNamesAlone) {
  GraphMaker bodies[2];
  std::shared_ptr<const Plan> plans[2];
  const std::vector<ir::Constant> inputs = {test::random_tensor({1, 4, 100, 100}, 1).to_constant(),
                                            test::integer_tensor({4}, {0, 0, 1, 1}).to_constant(),
                                            test::integer_tensor({4}, {0, 0, 1, 1}).to_constant()};
  for (size_t i = 0; i < 2; ++i) {
    GraphMaker& m = bodies[i];
    const ir::Value y = m.op("Pad", {m.input({1, 4, 100, 100}), m.input({4}, element::i64), m.input({4}, element::i64)},
                             {{"pad_mode", i == 0 ? "edge" : "reflect"}}, "layer");
    plans[i] = plans_.get(m.graph().node(y.node), inputs, common_, arena_).plan;
    ASSERT_NE(plans[i], nullptr);
  }
  EXPECT_NE(plans[0], plans[1]);
}

TEST_F(FrontierPlansTest, SmallWorkHasNone) { EXPECT_EQ(plan(operands(64, {2, 64})), nullptr); }

// Whether an image's sums are a kernel's or a reference's must not depend on how many images there are.
TEST_F(FrontierPlansTest, OneImageDecides) {
  EXPECT_EQ(plan(operands(64, {100, 64})), nullptr);
  EXPECT_NE(plan(operands(512, {1, 600})), nullptr);
}

TEST_F(FrontierPlansTest, SmallMovementHasNone) {
  GraphMaker m;
  const ir::Value y = m.op("Reshape", {m.input({2, 600}), m.input({2}, element::i64)}, {{"special_zero", "false"}});
  const std::vector<ir::Constant> inputs{test::random_tensor({2, 600}, 1).to_constant(),
                                         test::integer_tensor({2}, {600, 2}).to_constant()};
  EXPECT_EQ(plans_.get(m.graph().node(y.node), inputs, common_, arena_).plan, nullptr);
}

}  // namespace
}  // namespace terroir::cpu
