// Data movement on the CPU device: every element size, fast kernels, views, and channel blocks that pass through.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/passes/graph_maker.hpp"
#include "tests/passes/laid_out.hpp"
#include "tests/passes/planned.hpp"

namespace terroir::test {
namespace {

/// An op on a tensor of some type, whose result is seen as f32 again.
class Moved : public testing::TestWithParam<const char*> {
 protected:
  /// `kernel`: how the name of what runs it begins; empty: it is a view.
  void expect_moved(const std::string& type, const ir::Dims& dims, const std::vector<ir::Value>& rest,
                    const AttributeTexts& attributes, const std::string& kernel, const char* opset = "opset16") {
    SCOPED_TRACE(type);
    ir::Value data = m_.input(PartialShape(ir::to_shape(dims)));
    const bool converted = std::string(GetParam()) != "f32";
    if (converted)
      data = m_.op("Convert", {m_.op("Multiply", {data, m_.scalar(100)})}, {{"destination_type", GetParam()}});
    std::vector<ir::Value> inputs = {data};
    inputs.insert(inputs.end(), rest.begin(), rest.end());
    ir::Value moved = m_.op(type, inputs, attributes, "moved", opset);
    if (converted) moved = m_.op("Convert", {moved}, {{"destination_type", "f32"}});
    m_.result(m_.op("Negative", {moved}));
    expect_same_as_interpreter(m_, 0);
    const std::string found = kernel_on_cpu(m_.graph(), cpu::Isa::scalar, "moved");
    EXPECT_EQ(found.substr(0, kernel.size()), kernel);
    if (kernel.empty()) {
      EXPECT_EQ(found, "");
    }
  }
  GraphMaker m_;
};
INSTANTIATE_TEST_SUITE_P(Types, Moved, testing::Values("u8", "boolean", "f16", "i32", "f32", "i64"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST_P(Moved, PadConstant) {
  expect_moved("Pad", {2, 3, 5, 7}, {m_.integers({0, 1, 2, 3}), m_.integers({1, 0, 1, 2})}, {{"pad_mode", "constant"}},
               "pad_");
}
TEST_P(Moved, PadNegative) {
  expect_moved("Pad", {2, 3, 5, 7}, {m_.integers({0, -1, 2, -3}), m_.integers({0, 0, -1, 2})},
               {{"pad_mode", "constant"}}, "pad_");
}
TEST_P(Moved, PadEdge) {
  expect_moved("Pad", {2, 3, 5, 7}, {m_.integers({1, 0, 2, 3}), m_.integers({1, 0, 9, 1})}, {{"pad_mode", "edge"}},
               "pad_");
}
TEST_P(Moved, PadReflect) {
  expect_moved("Pad", {3, 5, 7}, {m_.integers({2, 0, 6}), m_.integers({1, 4, 1})}, {{"pad_mode", "reflect"}}, "pad_");
}
TEST_P(Moved, PadSymmetric) {
  expect_moved("Pad", {3, 5, 7}, {m_.integers({2, 0, 7}), m_.integers({1, 5, 1})}, {{"pad_mode", "symmetric"}}, "pad_");
}
TEST_P(Moved, StridedSlice) {
  expect_moved("StridedSlice", {4, 9, 17}, {m_.integers({0, -1, 1}), m_.integers({3, 0, 16}), m_.integers({2, -3, 2})},
               {{"begin_mask", "0,0,0"}, {"end_mask", "0,1,0"}}, "slice_");
}
TEST_P(Moved, StridedSliceWithOtherRank) {
  expect_moved("StridedSlice", {4, 9, 17},
               {m_.integers({0, 2, 0, 3}), m_.integers({0, 3, 0, 12}), m_.integers({1, 1, 1, 3})},
               {{"begin_mask", "0,0,1,0"},
                {"end_mask", "0,0,1,0"},
                {"new_axis_mask", "1,0,0,0"},
                {"shrink_axis_mask", "0,1,0,0"}},
               "slice_");
}
TEST_P(Moved, Slice) {
  expect_moved("Slice", {3, 8, 33},
               {m_.integers({30, 1}), m_.integers({1, 7}), m_.integers({-4, 2}), m_.integers({2, 1})}, {}, "slice_");
}
TEST_P(Moved, SliceOfTheFirstAxisIsAView) {
  expect_moved("Slice", {8, 3, 5}, {m_.integers({2}), m_.integers({7}), m_.integers({1}), m_.integers({0})}, {}, "");
}
TEST_P(Moved, Reverse) {
  expect_moved("Reverse", {3, 4, 21}, {m_.integers({0, 2})}, {{"mode", "index"}}, "reverse_", "opset1");
}
TEST_P(Moved, Roll) {
  expect_moved("Roll", {3, 4, 21}, {m_.integers({5, -1, 8}), m_.integers({2, 0, 2})}, {}, "roll_");
}
TEST_P(Moved, Broadcast) {
  expect_moved("Broadcast", {3, 1, 5}, {m_.integers({2, 3, 7, 5})}, {{"mode", "numpy"}}, "broadcast_");
}
TEST_P(Moved, BroadcastAlongGivenAxes) {
  expect_moved("Broadcast", {3, 5}, {m_.integers({3, 2, 5, 33}), m_.integers({0, 2})}, {{"mode", "explicit"}},
               "broadcast_");
}
TEST_P(Moved, Tile) { expect_moved("Tile", {3, 1, 5}, {m_.integers({2, 1, 4, 3})}, {}, "tile_"); }
TEST_P(Moved, DepthToSpace) {
  for (const char* mode : {"blocks_first", "depth_first"}) {
    m_ = {};
    expect_moved("DepthToSpace", {2, 12, 5, 19}, {}, {{"block_size", "2"}, {"mode", mode}}, "depth_to_space_");
  }
}
TEST_P(Moved, SpaceToDepth) {
  for (const char* mode : {"blocks_first", "depth_first"}) {
    m_ = {};
    expect_moved("SpaceToDepth", {2, 3, 6, 33}, {}, {{"block_size", "3"}, {"mode", mode}}, "space_to_depth_");
  }
}
TEST_P(Moved, ShuffleChannels) {
  expect_moved("ShuffleChannels", {2, 12, 5, 3}, {}, {{"axis", "1"}, {"group", "4"}}, "shuffle_channels_");
}
TEST_P(Moved, ReorgYolo) { expect_moved("ReorgYolo", {2, 8, 6, 18}, {}, {{"stride", "2"}}, "reorg_yolo_", "opset2"); }
TEST_P(Moved, BatchToSpace) {
  expect_moved("BatchToSpace", {12, 3, 5, 7},
               {m_.integers({1, 1, 2, 3}), m_.integers({0, 0, 0, 0}), m_.integers({0, 0, 0, 0})}, {},
               "batch_to_space_");
}
TEST_P(Moved, BatchToSpaceWithCrops) {
  expect_moved("BatchToSpace", {12, 3, 5, 7},
               {m_.integers({1, 1, 2, 3}), m_.integers({0, 1, 1, 4}), m_.integers({0, 0, 2, 0})}, {},
               "batch_to_space_");
}
TEST_P(Moved, SpaceToBatch) {
  expect_moved("SpaceToBatch", {2, 3, 5, 7},
               {m_.integers({1, 1, 2, 3}), m_.integers({0, 0, 1, 0}), m_.integers({0, 0, 2, 2})}, {},
               "space_to_batch_");
}

/// Convolutions around an op that leaves channels alone: what the layout pass puts between them.
size_t reorders_around(const std::string& type, const std::vector<std::vector<int64_t>>& lists,
                       const AttributeTexts& attributes, int64_t channels = 16) {
  GraphMaker m;
  std::vector<ir::Value> inputs = {m.conv(m.input({1, 16, 14, 14}), channels, 3, 1)};
  for (const auto& list : lists) inputs.push_back(m.integers(list));
  m.result(m.conv(m.op(type, inputs, attributes, "moved"), 16, 3, 2));
  expect_same_as_interpreter(m);
  const LaidOut laid_out = lay_out(m);
  EXPECT_EQ(laid_out.layout({named(laid_out, "moved").id, 0}).name(), "nChw8c");
  return laid_out.reorders().size();
}

TEST(MovementLayouts, BlocksPassThroughWhatLeavesChannelsAlone) {
  const size_t ends = 2;  // of the model
  EXPECT_EQ(reorders_around("Pad", {{0, 0, 1, 2}, {0, 0, 2, 1}}, {{"pad_mode", "constant"}}), ends);
  EXPECT_EQ(reorders_around("Pad", {{0, 0, 1, 2}, {0, 0, 2, 1}}, {{"pad_mode", "constant"}}, 13), ends);
  EXPECT_EQ(reorders_around("Pad", {{0, 0, 1, 2}, {0, 0, 2, 1}}, {{"pad_mode", "reflect"}}, 13), ends);
  EXPECT_EQ(reorders_around("Slice", {{1, 2}, {14, 13}, {2, 1}, {2, 3}}, {}), ends);
  EXPECT_EQ(reorders_around("Tile", {{1, 1, 2, 1}}, {}, 13), ends);
  EXPECT_EQ(reorders_around("Broadcast", {{1, 16, 14, 14}}, {{"mode", "numpy"}}), ends);
}

TEST(MovementLayouts, ValuesThatArePaddedInKeepOutOfTheTail) {
  GraphMaker m;
  const auto x = m.conv(m.input({1, 4, 6, 6}), 13, 3, 1);
  const auto padded =
      m.op("Pad", {x, m.integers({0, 0, 1, 1}), m.integers({0, 0, 1, 1}), m.scalar(3)}, {{"pad_mode", "constant"}});
  m.result(m.conv(padded, 6, 3, 2));
  expect_same_as_interpreter(m);
}

TEST(MovementTest, PadValueKnownAtRunTime) {
  GraphMaker m;
  const auto x = m.input({2, 9}), value = m.input({});
  m.result(m.op("Pad", {x, m.integers({1, 2}), m.integers({0, 3}), value}, {{"pad_mode", "constant"}}, "moved"));
  expect_same_as_interpreter(m, 0);
  EXPECT_EQ(kernel_on_cpu(m.graph(), cpu::Isa::scalar, "moved"), "pad_nc");
}

TEST(MovementTest, LargeEnoughForSeveralTasks) {
  GraphMaker m;
  const auto x = m.input({3, 70, 130});
  m.result(m.op("Pad", {x, m.integers({0, 1, 1}), m.integers({0, 1, 1})}, {{"pad_mode", "edge"}}));
  m.result(m.op("Slice", {x, m.integers({129}), m.integers({-140}), m.integers({-1}), m.integers({2})}));
  m.result(m.op("Tile", {x, m.integers({2, 3, 2})}));
  m.result(m.op("Transpose", {x, m.integers({2, 0, 1})}));
  expect_same_as_interpreter(m, 0);
}

}  // namespace
}  // namespace terroir::test
