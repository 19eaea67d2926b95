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

TEST(ValuePropagation, SplitsIntoParts) {
  Extents m;
  const auto parts = [&](const char* op, const std::vector<ir::Value>& inputs, const AttributeTexts& attributes,
                         int32_t piece) {
    return m.as_shape({m.op(op, inputs, attributes).node, piece});
  };
  const ir::Value axis = m.scalar_integer(0);
  EXPECT_EQ(parts("Split", {m.shape, axis}, {{"num_splits", "2"}}, 0), PartialShape("2,?"));
  EXPECT_EQ(parts("Split", {m.shape, axis}, {{"num_splits", "2"}}, 1), PartialShape("1..8,64"));
  EXPECT_EQ(parts("Split", {m.shape, axis}, {{"num_splits", "4"}}, 3), PartialShape("64"));
  const ir::Value lengths = m.integers({1, -1, 1});
  EXPECT_EQ(parts("VariadicSplit", {m.shape, axis, lengths}, {}, 0), PartialShape("2"));
  EXPECT_EQ(parts("VariadicSplit", {m.shape, axis, lengths}, {}, 1), PartialShape("?,1..8"));
  EXPECT_EQ(parts("VariadicSplit", {m.shape, axis, lengths}, {}, 2), PartialShape("64"));
  // Heads of attention: (?, 1..8, 64) from two parts of the shape.
  const ir::Value split = m.op("Split", {m.shape, axis}, {{"num_splits", "2"}});
  const ir::Value target = m.op("Concat", {{split.node, 0}, m.integers({8}), {split.node, 1}}, {{"axis", "0"}});
  const ir::Value wide = m.op("Tile", {m.x, m.integers({1, 1, 1, 8})});
  EXPECT_EQ(m.graph().port(m.op("Reshape", {wide, target}, {{"special_zero", "false"}})).shape,
            PartialShape("2,?,8,1..8,64"));
}

/// Extents as f32, as exporters of resizing compute with them.
struct RealExtents : Extents {
  ir::Value real = op("Convert", {shape}, {{"destination_type", "f32"}});
  ir::Value whole(ir::Value numbers) { return op("Convert", {numbers}, {{"destination_type", "i64"}}); }
};

TEST(ValuePropagation, ExtentsTimesAScale) {
  RealExtents m;
  const auto by = [&](const char* op, const std::vector<float>& factors) {
    const auto count = static_cast<int64_t>(factors.size());
    return m.op(op, {m.real, m.constant({count}, factors)});
  };
  EXPECT_EQ(m.as_shape(m.whole(by("Multiply", {1, 1, 2.6, 0.7}))), PartialShape("2,?,2..20,44"));
  EXPECT_EQ(m.as_shape(m.whole(m.op("Ceiling", {by("Multiply", {0.7})}))), PartialShape("2,?,1..6,45"));
  EXPECT_EQ(m.as_shape(m.whole(m.op("Floor", {by("Divide", {3})}))), PartialShape("0,?,0..2,21"));
  EXPECT_EQ(m.as_shape(m.whole(m.op("Round", {by("Divide", {3})}, {{"mode", "half_to_even"}}))),
            PartialShape("1,?,0..3,21"));
  EXPECT_EQ(m.as_shape(m.whole(by("Add", {0.5}))), PartialShape("2,?,1..8,64"));
  EXPECT_EQ(m.as_shape(m.whole(by("Maximum", {4}))), PartialShape("4,?,4..8,64"));
  EXPECT_EQ(m.as_shape(m.whole(by("Minimum", {4}))), PartialShape("2,?,1..4,4"));
  // What may be negative, or divide by zero, is not known.
  EXPECT_EQ(m.as_shape(m.whole(by("Subtract", {5}))), PartialShape("?,?,?,59"));
  const ir::Value around_zero = m.op("Subtract", {m.real, m.constant({1}, {4})});
  EXPECT_EQ(m.as_shape(m.whole(m.op("Divide", {m.real, around_zero}))), PartialShape("?,?,?,?"));
}

// f32 rounds 10 * 0.7f to 7: bounds have to be rounded as well, or an extent of 10 would lie outside.
TEST(ValuePropagation, BoundsAreRoundedLikeTheElements) {
  GraphMaker m;
  const ir::Value shape = m.op("ShapeOf", {m.input(PartialShape("1..10"))});
  const ir::Value real = m.op("Convert", {shape}, {{"destination_type", "f32"}});
  const ir::Value scaled = m.op("Multiply", {real, m.constant({1}, {0.7})});
  const ir::Value whole = m.op("Convert", {scaled}, {{"destination_type", "i64"}});
  const ir::Value zeros = m.op("Broadcast", {m.scalar(0), whole}, {{"mode", "numpy"}}, "", "opset3");
  EXPECT_EQ(m.graph().port(zeros).shape, PartialShape("0..7"));
}

TEST(ValuePropagation, ScalesOfInterpolate) {
  RealExtents m;
  const ir::Value scalar = m.op("Gather", {m.real, m.scalar_integer(2), m.scalar_integer(0)});
  const ir::Value height = m.op("Unsqueeze", {m.op("Multiply", {scalar, m.scalar(1.5)}), m.integers({0})});
  const ir::Value sizes = m.op("Concat", {height, m.constant({1}, {32})}, {{"axis", "0"}});
  const auto resized = [&](ir::Value wanted_sizes, ir::Value scales, const char* mode) {
    return m.graph()
        .port(m.op("Interpolate", {m.x, wanted_sizes, scales, m.integers({2, 3})},
                   {{"mode", "nearest"}, {"shape_calculation_mode", mode}}, "", "opset4"))
        .shape;
  };
  EXPECT_EQ(resized(m.whole(sizes), m.constant({2}, {1, 1}), "sizes"), PartialShape("2,?,1..12,32"));
  const ir::Value scales = m.op("Divide", {sizes, m.op("Gather", {m.real, m.integers({3, 3}), m.scalar_integer(0)})});
  EXPECT_EQ(resized(m.integers({1, 1}), scales, "scales"), PartialShape("2,?,0..1,32"));
}

TEST(ValuePropagation, LengthsOfRange) {
  RealExtents m;
  const auto extent = [&](int64_t axis) {
    return m.op("Gather", {m.shape, m.scalar_integer(axis), m.scalar_integer(0)});
  };
  const auto real_extent = [&](int64_t axis) {
    return m.op("Gather", {m.real, m.scalar_integer(axis), m.scalar_integer(0)});
  };
  const auto length = [&](ir::Value start, ir::Value stop, ir::Value step, const char* type) {
    return m.graph().port(m.op("Range", {start, stop, step}, {{"output_type", type}}, "", "opset4")).shape;
  };
  const auto n = [&](int64_t number) { return m.scalar_integer(number); };
  EXPECT_EQ(length(n(0), extent(2), n(1), "i64"), PartialShape("1..8"));
  EXPECT_EQ(length(n(0), extent(2), n(3), "i64"), PartialShape("1..3"));
  EXPECT_EQ(length(extent(2), n(0), n(-2), "i64"), PartialShape("1..4"));
  EXPECT_EQ(length(n(-2), extent(2), n(2), "f32"), PartialShape("2..5"));
  EXPECT_EQ(length(extent(2), n(4), n(1), "i64"), PartialShape("0..3"));
  EXPECT_EQ(length(n(0), extent(1), n(1), "i64"), PartialShape("?"));
  EXPECT_EQ(length(m.scalar(0), real_extent(2), m.scalar(0.5), "f32"), PartialShape("2..16"));
  EXPECT_EQ(length(m.scalar(0.5), real_extent(2), m.scalar(1), "i32"), PartialShape("1..8"));
  EXPECT_EQ(length(n(0), n(4), extent(2), "i64"), PartialShape("?"));
  // A list from 0 as the target: of what a known extent says, its elements too.
  EXPECT_EQ(m.as_shape(m.op("Range", {n(1), extent(0), n(1)}, {{"output_type", "i64"}}, "", "opset4")),
            PartialShape("1"));
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

// Without elements their number says nothing of an extent that the run brings.
TEST(ValuePropagation, ReshapeOfNothingTakesAnyExtent) {
  GraphMaker m;
  const ir::Value target = m.op("Concat", {m.integers({0}), m.input({1}, element::i64)}, {{"axis", "0"}});
  const ir::Value reshaped = m.op("Reshape", {m.input({0, 6}), target}, {{"special_zero", "true"}});
  EXPECT_EQ(m.graph().port(reshaped).shape, PartialShape("0,?"));
  m.result(m.op("ShapeOf", {reshaped}));
  for (const int64_t extent : {7, 6, -1}) {
    const std::vector<std::vector<HostTensor>> inputs = {{integer_tensor({1}, {extent}), random_tensor({0, 6}, 1)}};
    expect_same_as_interpreter(m.graph(), inputs);
  }
}

}  // namespace
}  // namespace terroir::test
