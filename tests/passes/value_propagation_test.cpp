// Shapes that a graph computes from shapes known in part: what inference makes of the targets of Broadcast and Reshape.
#include <gtest/gtest.h>

#include "tests/passes/graph_maker.hpp"

namespace terroir::test {
namespace {

/// A graph under test: values computed from the extents of x[2,?,1..8,64].
struct Extents : GraphMaker {
  ir::Value x = input(PartialShape("2,?,1..8,64"));
  ir::Value shape = op("ShapeOf", {x});

  ir::Value extent(int64_t axis) { return op("Gather", {shape, integers({axis}), scalar_integer(0)}); }
  /// The numbers as a shape: that of zeros broadcast to it.
  PartialShape as_shape(ir::Value numbers) {
    return graph().port(op("Broadcast", {scalar(0), numbers}, {{"mode", "numpy"}}, "", "opset3")).shape;
  }
  PartialShape joined(const std::vector<ir::Value>& parts) { return as_shape(op("Concat", parts, {{"axis", "0"}})); }
};

TEST(ValuePropagation, PicksAndJoins) {
  Extents m;
  EXPECT_EQ(m.as_shape(m.shape), PartialShape("2,?,1..8,64"));
  EXPECT_EQ(m.joined({m.extent(3), m.extent(-2), m.integers({7})}), PartialShape("64,1..8,7"));
  EXPECT_EQ(m.as_shape(m.op("StridedSlice", {m.shape, m.integers({3}), m.integers({0}), m.integers({-1})},
                            {{"begin_mask", "0"}, {"end_mask", "1"}})),
            PartialShape("64,1..8,?,2"));
  EXPECT_EQ(m.as_shape(m.op("Slice", {m.shape, m.integers({1}), m.integers({3}), m.integers({1})})),
            PartialShape("?,1..8"));
  EXPECT_EQ(m.as_shape(m.op("Transpose", {m.shape, m.integers({0})})), PartialShape("2,?,1..8,64"));
}

TEST(ValuePropagation, Arithmetic) {
  Extents m;
  const ir::Value some = m.extent(2);  // 1..8
  const auto with = [&](const char* op, int64_t number) { return m.op(op, {some, m.integers({number})}); };
  EXPECT_EQ(m.joined({with("Add", 2), with("Multiply", 3), with("Divide", 2)}), PartialShape("3..10,3..24,..4"));
  EXPECT_EQ(m.joined({with("Maximum", 4), with("Minimum", 4), with("Mod", 5)}), PartialShape("4..8,1..4,..4"));
  EXPECT_EQ(m.joined({with("FloorMod", 16), with("Mod", 9)}), PartialShape("1..8,1..8"));
  EXPECT_EQ(m.joined({m.op("Mod", {m.extent(3), m.integers({7})})}), PartialShape("1"));
  const ir::Value all = m.op("ReduceProd", {m.op("Concat", {some, m.extent(3)}, {{"axis", "0"}}), m.integers({0})},
                             {{"keep_dims", "true"}});
  EXPECT_EQ(m.joined({all}), PartialShape("64..512"));
  const ir::Value narrow =
      m.op("Convert", {m.op("Convert", {some}, {{"destination_type", "i32"}})}, {{"destination_type", "i64"}});
  EXPECT_EQ(m.joined({m.op("ConvertLike", {narrow, m.integers({1})})}), PartialShape("1..8"));
}

TEST(ValuePropagation, ComparesAndSelects) {
  Extents m;
  const ir::Value some = m.extent(2), four = m.integers({4}), nine = m.integers({9});
  const auto chosen = [&](const char* test, ir::Value a, ir::Value b) {
    return m.joined({m.op("Select", {m.op(test, {a, b}), m.integers({3}), m.integers({5})})});
  };
  EXPECT_EQ(chosen("Equal", some, nine), PartialShape("5"));
  EXPECT_EQ(chosen("Equal", some, four), PartialShape("3..5"));
  EXPECT_EQ(chosen("NotEqual", some, nine), PartialShape("3"));
  EXPECT_EQ(chosen("Less", some, nine), PartialShape("3"));
  EXPECT_EQ(chosen("Greater", some, nine), PartialShape("5"));
  EXPECT_EQ(chosen("GreaterEqual", some, m.integers({1})), PartialShape("3"));
  EXPECT_EQ(chosen("LessEqual", some, m.integers({8})), PartialShape("3"));
  EXPECT_EQ(chosen("LessEqual", some, four), PartialShape("3..5"));
  EXPECT_EQ(chosen("Equal", m.extent(0), m.integers({2})), PartialShape("3"));
  EXPECT_EQ(chosen("Equal", m.extent(1), four), PartialShape("3..5"));
  // As exporters write expand(): -1 keeps the extent.
  const ir::Value wanted = m.integers({2, -1, -1, 128});
  const ir::Value keep = m.op("Equal", {wanted, m.integers({-1})});
  EXPECT_EQ(m.as_shape(m.op("Select", {keep, m.shape, wanted})), PartialShape("2,?,1..8,128"));
  const ir::Value truth = m.op("Convert", {some}, {{"destination_type", "boolean"}});
  EXPECT_EQ(m.joined({m.op("Convert", {truth}, {{"destination_type", "i64"}})}), PartialShape("1"));
}

TEST(ValuePropagation, RepeatsAndReplaces) {
  Extents m;
  const ir::Value some = m.extent(2);
  EXPECT_EQ(m.as_shape(m.op("Broadcast", {some, m.integers({3})}, {{"mode", "numpy"}}, "", "opset3")),
            PartialShape("1..8,1..8,1..8"));
  EXPECT_EQ(m.as_shape(m.op("Tile", {m.op("Concat", {some, m.extent(0)}, {{"axis", "0"}}), m.integers({2})})),
            PartialShape("1..8,2,1..8,2"));
  EXPECT_EQ(m.as_shape(
                m.op("ScatterUpdate", {m.shape, m.integers({0, -1}),
                                       m.op("Concat", {some, m.integers({5})}, {{"axis", "0"}}), m.scalar_integer(0)})),
            PartialShape("1..8,?,1..8,5"));
  EXPECT_EQ(m.as_shape(m.op("ScatterElementsUpdate", {m.shape, m.integers({1}), some, m.scalar_integer(0)},
                            {{"reduction", "none"}, {"use_init_val", "true"}})),
            PartialShape("2,1..8,1..8,64"));
}

TEST(ValuePropagation, TargetsOfReshapeAndInterpolateResolve) {
  Extents m;
  const ir::Value split = m.op("Divide", {m.extent(3), m.integers({8})});
  const ir::Value target =
      m.op("Concat", {m.extent(0), m.extent(1), m.integers({8}), split, m.extent(2)}, {{"axis", "0"}});
  EXPECT_EQ(m.graph().port(m.op("Reshape", {m.x, target}, {{"special_zero", "false"}})).shape,
            PartialShape("2,?,8,8,1..8"));
  const ir::Value twice =
      m.op("Multiply", {m.op("Concat", {m.extent(2), m.extent(3)}, {{"axis", "0"}}), m.integers({2})});
  EXPECT_EQ(m.graph()
                .port(m.op("Interpolate", {m.x, twice, m.constant({2}, {2, 2}), m.integers({2, 3})},
                           {{"mode", "nearest"}, {"shape_calculation_mode", "sizes"}}, "", "opset4"))
                .shape,
            PartialShape("2,?,2..16,128"));
}

}  // namespace
}  // namespace terroir::test
