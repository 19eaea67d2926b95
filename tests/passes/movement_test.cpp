// Data movement on the CPU device: every element size, fast kernels, views, and channel blocks that pass through.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "tests/passes/graph_maker.hpp"
#include "tests/passes/laid_out.hpp"
#include "tests/passes/planned.hpp"

namespace terroir::test {
namespace {

/// An op on a tensor of some type, whose result is seen as f32 again.
class Moved : public testing::TestWithParam<const char*> {
 protected:
  /// An input as a tensor of the type.
  ir::Value converted(const ir::Dims& dims) {
    const auto x = m_.input(PartialShape(ir::to_shape(dims)));
    return is_f32() ? x
                    : m_.op("Convert", {m_.op("Multiply", {x, m_.scalar(100)})}, {{"destination_type", GetParam()}});
  }
  bool is_f32() const { return std::string(GetParam()) == "f32"; }

  /// `kernel`: how the name of what runs it begins; empty: it is a view.
  void expect_moved(const std::string& type, const ir::Dims& dims, const std::vector<ir::Value>& rest,
                    const AttributeTexts& attributes, const std::string& kernel, const char* opset = "opset16") {
    SCOPED_TRACE(type);
    std::vector<ir::Value> inputs = {converted(dims)};
    inputs.insert(inputs.end(), rest.begin(), rest.end());
    ir::Value moved = m_.op(type, inputs, attributes, "moved", opset);
    if (!is_f32()) moved = m_.op("Convert", {moved}, {{"destination_type", "f32"}});
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
INSTANTIATE_TEST_SUITE_P(Types, Moved, testing::Values("u8", "boolean", "i16", "i32", "f32", "i64"),
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
// Between convolutions blocks of channels stay as they are; to the end of a model they become plain on the way.
TEST(MovedBlocks, DepthAndSpaceBetweenConvolutions) {
  for (const char* mode : {"blocks_first", "depth_first"})
    for (const int64_t side : {2, 3, 4})
      for (const int64_t channels : {16, 32, 5})
        for (const int64_t columns : {1, 7, 37}) {
          SCOPED_TRACE(testing::Message() << mode << ' ' << side << ' ' << channels << ' ' << columns);
          GraphMaker m;
          const std::vector<std::pair<std::string, std::string>> attributes = {{"block_size", std::to_string(side)},
                                                                               {"mode", mode}};
          const ir::Value deep = m.conv(m.input({2, 4, 3, columns}), channels * side * side, 1, 1);
          const ir::Value wide = m.op("DepthToSpace", {deep}, {attributes[0], attributes[1]}, "wide");
          m.result(m.conv(wide, 16, 1, 2));
          const ir::Value middle = m.conv(m.input({2, 4, 3 * side, columns * side}), channels, 1, 3);
          m.result(m.conv(m.op("SpaceToDepth", {middle}, {attributes[0], attributes[1]}, "deep"), 16, 1, 4));
          const ir::Value last = m.conv(m.input({1, 4, 3, columns}), channels * side * side, 1, 5);
          m.result(m.op("DepthToSpace", {last}, {attributes[0], attributes[1]}, "last"));
          expect_same_as_interpreter(m);
          const std::string isa = cpu::isa_name(cpu::best_isa());
          if (!isa.starts_with("avx512") || channels % 16 != 0) continue;
          const auto in_blocks = [&](const char* name) {
            return kernel_on_cpu(m.graph(), cpu::best_isa(), name).ends_with("nChw16c");
          };
          EXPECT_EQ(in_blocks("wide"), side % 2 == 0 || mode[0] == 'b');
          EXPECT_EQ(in_blocks("deep"), side == 2 || mode[0] == 'b');
          EXPECT_EQ(kernel_on_cpu(m.graph(), cpu::best_isa(), "last").find("_to_plain") != std::string::npos,
                    side % 2 == 0 && mode[0] == 'd');
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

TEST_P(Moved, Gather) {
  expect_moved("Gather", {3, 4, 5}, {m_.integers({2, -1, 0, 0}), m_.scalar_integer(-2)}, {}, "gather_");
}
TEST_P(Moved, GatherOfNeighboursIsAView) {
  expect_moved("Gather", {6, 4, 5}, {m_.integers({2, 3, 4}), m_.scalar_integer(0)}, {}, "");
}
TEST_P(Moved, SliceScatter) {
  expect_moved(
      "SliceScatter", {3, 8, 5},
      {converted({3, 3, 4}), m_.integers({7, 0}), m_.integers({1, 4}), m_.integers({-2, 1}), m_.integers({1, 2})}, {},
      "slice_scatter");
}
TEST_P(Moved, ScatterUpdate) {
  for (const int64_t axis : {0, 1, 2}) {
    m_ = {};
    ir::Dims updates = {3, 8, 5};
    updates[static_cast<size_t>(axis)] = 3;
    expect_moved("ScatterUpdate", {3, 8, 5}, {m_.integers({2, 0, 2}), converted(updates), m_.scalar_integer(axis)}, {},
                 "scatter_write");
  }
}
TEST_P(Moved, ScatterElementsUpdate) {
  for (const char* reduction : {"none", "sum", "prod", "min", "max", "mean"}) {
    if (std::string(GetParam()) == "boolean" && std::string(reduction) == "mean") continue;
    for (const char* use_init_val : {"true", "false"}) {
      for (const int64_t axis : {0, 1}) {
        m_ = {};
        const auto rows = m_.op("Reshape", {m_.integers({1, 0, -1, 1, 2, 2, 0, 0}), m_.integers({4, 2})},
                                {{"special_zero", "false"}});
        expect_moved("ScatterElementsUpdate", {5, 3}, {rows, converted({4, 2}), m_.scalar_integer(axis)},
                     {{"reduction", reduction}, {"use_init_val", use_init_val}}, "scatter_");
      }
    }
  }
}
TEST_P(Moved, ScatterNdUpdate) {
  for (const char* reduction : {"none", "sum", "sub", "prod", "min", "max"}) {
    m_ = {};
    const auto places =
        m_.op("Reshape", {m_.integers({1, 0, -1, 1, 1, 0, 2, 3}), m_.integers({4, 2})}, {{"special_zero", "false"}});
    expect_moved("ScatterNDUpdate", {3, 4, 5}, {places, converted({4, 5})}, {{"reduction", reduction}}, "scatter_");
  }
}

/// Indices that are read at run time.
class Gathered : public Moved {
 protected:
  ir::Value indices(const ir::Dims& dims, int64_t limit) {
    const auto x = m_.input(PartialShape(ir::to_shape(dims)));
    const auto spread = m_.op("Multiply", {x, m_.scalar(static_cast<float>(limit))});
    const auto clamped =
        m_.op("Clamp", {spread}, {{"min", std::to_string(-limit)}, {"max", std::to_string(limit - 1)}});
    return m_.op("Convert", {clamped}, {{"destination_type", "i32"}});
  }
};
INSTANTIATE_TEST_SUITE_P(Types, Gathered, testing::Values("u8", "i16", "f32", "i64"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST_P(Gathered, Rows) {
  expect_moved("Gather", {7, 3, 5}, {indices({2, 4}, 7), m_.scalar_integer(0)}, {}, "gather_rows");
}
TEST_P(Gathered, Columns) {
  expect_moved("Gather", {7, 300, 31}, {indices({40}, 31), m_.scalar_integer(2)}, {}, "gather_rows");
}
TEST_P(Gathered, RowsOfABatch) {
  expect_moved("Gather", {2, 3, 9, 5}, {indices({2, 4}, 9), m_.scalar_integer(2)}, {{"batch_dims", "1"}},
               "gather_rows");
}
TEST_P(Gathered, LongRows) {
  expect_moved("Gather", {4, 40000}, {indices({3}, 4), m_.scalar_integer(0)}, {}, "gather_rows");
}
TEST_P(Gathered, Elements) {
  expect_moved("GatherElements", {5, 7, 3}, {indices({5, 4, 3}, 7)}, {{"axis", "1"}}, "gather_elements");
}
TEST_P(Gathered, ElementsOfTheLastAxis) {
  expect_moved("GatherElements", {130, 200}, {indices({130, 301}, 200)}, {{"axis", "-1"}}, "gather_elements");
}
TEST_P(Gathered, Nd) {
  expect_moved("GatherND", {4, 4, 5}, {indices({300, 2}, 4)}, {{"batch_dims", "0"}}, "gather_nd");
}
TEST_P(Gathered, NdOfABatch) {
  expect_moved("GatherND", {2, 3, 4, 5}, {indices({2, 3, 7, 1}, 4)}, {{"batch_dims", "2"}}, "gather_nd");
}
TEST_P(Gathered, ReverseSequence) {
  for (const AttributeTexts& axes :
       {AttributeTexts{{"batch_axis", "0"}, {"seq_axis", "1"}}, AttributeTexts{{"batch_axis", "1"}, {"seq_axis", "2"}},
        AttributeTexts{{"batch_axis", "2"}, {"seq_axis", "0"}}}) {
    m_ = {};
    const int64_t batch = axes[0].second == "0" ? 9 : axes[0].second == "1" ? 8 : 7;
    const auto lengths = m_.op("Abs", {indices({batch}, 7)});
    expect_moved("ReverseSequence", {9, 8, 7}, {lengths}, axes, "reverse_sequence");
  }
}
TEST_P(Gathered, OneHot) {
  for (const char* axis : {"0", "1", "-1"}) {
    for (const char* opset : {"opset1", "opset16"}) {
      m_ = {};
      AttributeTexts attributes = {{"axis", axis}};
      if (std::string(opset) == "opset16") attributes.push_back({"negative_indices_mode", "normalize"});
      const auto at = indices({23, 300}, 9);
      const auto on = m_.op("ReduceMax", {converted({2}), m_.integers({0})}, {{"keep_dims", "false"}});
      const auto off = m_.op("ReduceMin", {converted({2}), m_.integers({0})}, {{"keep_dims", "false"}});
      auto y = m_.op("OneHot", {at, m_.scalar_integer(7), on, off}, attributes, "moved", opset);
      if (!is_f32()) y = m_.op("Convert", {y}, {{"destination_type", "f32"}});
      m_.result(m_.op("Negative", {y}));
      expect_same_as_interpreter(m_, 0);
      EXPECT_EQ(kernel_on_cpu(m_.graph(), cpu::Isa::scalar, "moved"), "one_hot");
    }
  }
}
TEST_P(Gathered, ExtractImagePatches) {
  for (const char* pad : {"same_upper", "same_lower", "valid"}) {
    m_ = {};
    expect_moved("ExtractImagePatches", {2, 3, 11, 17}, {},
                 {{"sizes", "3,2"}, {"strides", "2,1"}, {"rates", "1,2"}, {"auto_pad", pad}}, "extract_image_patches");
  }
}
TEST_P(Gathered, Col2Im) {
  expect_moved("Col2Im", {2, 12, 99}, {m_.integers({16, 13}), m_.integers({3, 2})},
               {{"strides", "2,1"}, {"dilations", "1,2"}, {"pads_begin", "1,0"}, {"pads_end", "2,0"}}, "col2im");
}
TEST_P(Gathered, BucketizeAndSearchSorted) {
  for (const char* right : {"true", "false"}) {
    m_ = {};
    const auto bounds = m_.constant({5}, {-50, -1, 0, 0, 30.5});
    expect_moved("Bucketize", {70, 80}, {bounds}, {{"output_type", "i32"}, {"with_right_bound", right}},
                 is_f32() ? "f32_bucketize__" : "bucketize");
    m_ = {};
    expect_moved("Bucketize", {70, 80}, {m_.integers({-50, 0, 7, 8})},
                 {{"output_type", "i64"}, {"with_right_bound", right}}, is_f32() ? "threaded" : "bucketize");
    m_ = {};
    const auto sorted =
        m_.op("Convert", {m_.constant({2, 4}, {-9, 0, 0, 7, 2, 3, 4, 50})}, {{"destination_type", GetParam()}});
    const auto values = converted({2, 300});
    auto y = m_.op("SearchSorted", {sorted, values}, {{"output_type", "i32"}, {"right_mode", right}}, "moved");
    m_.result(m_.op("Convert", {y}, {{"destination_type", "f32"}}));
    expect_same_as_interpreter(m_, 0);
    EXPECT_EQ(kernel_on_cpu(m_.graph(), cpu::Isa::scalar, "moved"),
              is_f32() ? "f32_search_sorted__scalar" : "search_sorted");
  }
}
TEST(MovementTest, GatherTree) {
  for (const char* type : {"i32", "f32"}) {
    GraphMaker m;
    const auto whole = [&](const ir::Dims& dims, const char* low, const char* high) {
      const auto x = m.op("Multiply", {m.input(PartialShape(ir::to_shape(dims))), m.scalar(9)});
      const auto clamped = m.op("Clamp", {m.op("Floor", {x})}, {{"min", low}, {"max", high}});
      return m.op("Convert", {clamped}, {{"destination_type", type}});
    };
    const auto ids = whole({9, 4, 3}, "-5", "5"), parents = whole({9, 4, 3}, "0", "2"), lengths = whole({4}, "0", "9");
    const auto end = m.op("Convert", {m.scalar(3)}, {{"destination_type", type}});
    const auto y = m.op("GatherTree", {ids, parents, lengths, end}, {}, "moved");
    m.result(m.op("Convert", {y}, {{"destination_type", "f32"}}));
    expect_same_as_interpreter(m, 0);
    EXPECT_EQ(kernel_on_cpu(m.graph(), cpu::Isa::scalar, "moved"), "gather_tree");
  }
}
TEST_P(Gathered, ScatteredByManyTasks) {
  for (const char* reduction : {"none", "sum", "max", "mean"}) {
    m_ = {};
    const auto at = indices({400, 100}, 100);
    expect_moved("ScatterElementsUpdate", {400, 200}, {at, converted({400, 100}), m_.scalar_integer(1)},
                 {{"reduction", reduction}}, "scatter_");
    m_ = {};
    const auto rows = indices({500, 3}, 400);
    expect_moved("ScatterElementsUpdate", {400, 100}, {rows, converted({500, 3}), m_.scalar_integer(0)},
                 {{"reduction", reduction}}, "scatter_");
  }
  m_ = {};
  const auto at = indices({3000, 1}, 2000);
  expect_moved("ScatterNDUpdate", {2000, 33}, {at, converted({3000, 33})}, {{"reduction", "sum"}}, "scatter_");
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

TEST(MovementLayouts, ZerosBehindTheChannelsComeInBlocks) {
  const size_t ends = 2;  // of the model
  for (const int64_t channels : {1, 13, 16, 24, 31}) {
    SCOPED_TRACE(channels);
    for (const int64_t more : {1, 3, 4, 8, 40}) {
      EXPECT_EQ(reorders_around("Pad", {{0, 0, 0, 0}, {0, more, 0, 0}}, {{"pad_mode", "constant"}}, channels), ends);
      EXPECT_EQ(reorders_around("Pad", {{0, 0, 1, 2}, {0, more, 2, 1}}, {{"pad_mode", "constant"}}, channels), ends);
    }
  }
}

TEST(MovementLayouts, ZerosInTheLastBlockAreNoStep) {
  GraphMaker m;
  const auto x = m.conv(m.input({2, 4, 6, 6}), 11, 3, 1);
  const auto padded =
      m.op("Pad", {x, m.integers({0, 0, 0, 0}), m.integers({0, 4, 0, 0})}, {{"pad_mode", "constant"}}, "moved");
  m.result(m.conv(padded, 6, 3, 2));
  expect_same_as_interpreter(m);
  EXPECT_EQ(kernel_on_cpu(m.graph(), cpu::Isa::scalar, "moved"), "");
}

TEST(MovementLayouts, OtherValuesBehindTheChannels) {
  const auto behind = [](const char* mode, const std::vector<int64_t>& begin, float value) {
    GraphMaker m;
    const auto x = m.conv(m.input({1, 4, 6, 6}), 13, 3, 1);
    m.result(m.conv(
        m.op("Pad", {x, m.integers(begin), m.integers({0, 5, 1, 0}), m.scalar(value)}, {{"pad_mode", mode}}), 6, 3, 2));
    expect_same_as_interpreter(m);
  };
  behind("constant", {0, 0, 0, 0}, 3);
  behind("constant", {0, 2, 0, 0}, 0);
  behind("constant", {0, -2, 0, 0}, 0);
  behind("edge", {0, 0, 0, 0}, 0);
  behind("reflect", {0, 0, 0, 0}, 0);
}

TEST(MovementTest, PadValueKnownAtRunTime) {
  GraphMaker m;
  const auto x = m.input({2, 9}), value = m.input({});
  m.result(m.op("Pad", {x, m.integers({1, 2}), m.integers({0, 3}), value}, {{"pad_mode", "constant"}}, "moved"));
  expect_same_as_interpreter(m, 0);
  EXPECT_EQ(kernel_on_cpu(m.graph(), cpu::Isa::scalar, "moved"), "pad_nc");
}

TEST(MovementTest, IndicesOutOfRange) {
  // Gather gives zeros; the others refuse.
  GraphMaker m;
  const auto at = m.input({3}, element::i64);
  m.result(m.op("Gather", {m.constant({2, 2}, {1, 2, 3, 4}), at, m.scalar_integer(0)}));
  const std::vector<std::vector<HostTensor>> inputs = {{integer_tensor({3}, {1, 2, -3})}};
  expect_same_as_interpreter(m.graph(), inputs);

  for (const char* opset : {"opset1", "opset7"}) {
    GraphMaker older;
    const auto data = older.input({2, 3}), index = older.input({4}, element::i64);
    older.result(older.op("Gather", {data, index, older.scalar_integer(1)}, {}, "", opset));
    older.result(older.op("Gather", {data, older.integers({2, -1, 3, -4}), older.scalar_integer(1)}, {}, "", opset));
    const std::vector<std::vector<HostTensor>> given = {
        {random_tensor({2, 3}, 1), integer_tensor({4}, {2, -1, 3, -4})}};
    expect_same_as_interpreter(older.graph(), given);
    const std::vector<HostTensor> results = run_on_cpu(older.graph(), cpu::Isa::scalar, 2, given)[0];
    for (const HostTensor& result : results) {
      EXPECT_EQ(result.as<float>()[1], given[0][0].as<float>()[2]) << opset;
      EXPECT_EQ(result.as<float>()[2], 0) << opset;
      EXPECT_EQ(result.as<float>()[7], 0) << opset;
    }
  }

  GraphMaker refuses;
  const auto places = refuses.input({2, 1}, element::i64);
  refuses.result(refuses.op("GatherND", {refuses.constant({2, 2}, {1, 2, 3, 4}), places}));
  const std::vector<std::vector<HostTensor>> outside = {{integer_tensor({2, 1}, {0, 2})}};
  EXPECT_THROW(run_on_cpu(refuses.graph(), cpu::Isa::scalar, 2, outside), Exception);
}

TEST(MovementTest, BitsBehindTheLastPackedElementAreZero) {
  for (const element::Type type : {element::u4, element::u1, element::u3}) {
    SCOPED_TRACE(type.get_type_name());
    GraphMaker m;
    m.result(m.op("Roll", {m.input({5}, type), m.integers({1}), m.integers({0})}));
    HostTensor ones(type, {5});
    std::memset(ones.writable().data, 0xff, ones.view().bytes());
    const std::vector<std::vector<HostTensor>> inputs = {{ones}};
    const HostTensor rolled = run_on_cpu(m.graph(), cpu::Isa::scalar, 1, inputs)[0][0];
    const auto* bytes = static_cast<const uint8_t*>(rolled.view().data);
    int bits = 0;
    for (size_t i = 0; i < rolled.view().bytes(); ++i) bits += std::popcount(bytes[i]);
    EXPECT_EQ(bits, 5 * static_cast<int>(type.bitwidth()));
  }
}

TEST(MovementTest, NoPackedElements) {
  GraphMaker m;
  m.result(m.op("Roll", {m.input({2, 0}, element::u4), m.integers({1}), m.integers({0})}));
  const std::vector<std::vector<HostTensor>> inputs = {{HostTensor(element::u4, {2, 0})}};
  EXPECT_EQ(run_on_cpu(m.graph(), cpu::Isa::scalar, 1, inputs)[0][0].view().bytes(), 0u);
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

// More runs than are copied at once, the last band a part; a part that is read twice, and one that is not copied.
TEST(Joined, ShortRunsInBands) {
  for (const int64_t rows : {1100, 4000}) {
    GraphMaker m;
    const ir::Value x = m.input({2, rows, 4}), y = m.op("ReLU", {m.input({2, rows, 9})});
    m.result(m.op("Concat", {x, y, x, m.input({2, rows, 1})}, {{"axis", "2"}}));
    const ir::Value parts =
        m.op("VariadicSplit", {m.input({2, rows, 13}), m.scalar_integer(2), m.integers({3, 0, 10})});
    for (const int32_t part : {0, 2}) m.result(m.op("ReLU", {{parts.node, part}}));
    expect_same_as_interpreter(m, 0);
  }
}

}  // namespace
}  // namespace terroir::test
