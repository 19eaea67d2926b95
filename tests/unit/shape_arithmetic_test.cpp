// Shapes computed from partially known shapes: the interval arithmetic itself, and ops over the output of ShapeOf.
#include <gtest/gtest.h>

#include <memory>

#include "ir/graph/infer.hpp"
#include "ops/defs/type/convert.hpp"
#include "ops/registry.hpp"
#include "ops/shape/number_interval.hpp"
#include "tests/support/attribute_setter.hpp"

namespace terroir {
namespace {

using ops::KnownNumber;
using ops::NumberInterval;

constexpr int64_t kNoBound = NumberInterval::kUnbounded;
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

void expect_interval(const KnownNumber& found, int64_t low, int64_t high) {
  ASSERT_TRUE(found);
  EXPECT_EQ(found->low, low);
  EXPECT_EQ(found->high, high);
}

TEST(NumberInterval, Bounds) {
  const KnownNumber a = NumberInterval{2, 5};
  const KnownNumber open = NumberInterval{3, kNoBound};
  const KnownNumber minus_one = NumberInterval{-1, -1};
  expect_interval(ops::add(a, minus_one), 1, 4);
  expect_interval(ops::add(a, open), 5, kNoBound);
  expect_interval(ops::subtract(a, NumberInterval{1, 3}), -1, 4);
  expect_interval(ops::subtract(open, a), -2, kNoBound);
  expect_interval(ops::multiply(a, open), 6, kNoBound);
  expect_interval(ops::multiply(minus_one, NumberInterval{7, 7}), -7, -7);
  expect_interval(ops::divide(a, NumberInterval{2, 2}), 1, 2);
  expect_interval(ops::divide(open, NumberInterval{1, kNoBound}), 0, kNoBound);
  expect_interval(ops::maximum(a, NumberInterval{4, 4}), 4, 5);
  expect_interval(ops::minimum(open, NumberInterval{4, 4}), 3, 4);
}

TEST(NumberInterval, NothingIsConcludedFromAnUnknownNumberOrPastTheEndOf64Bits) {
  const KnownNumber unknown;
  const KnownNumber two = NumberInterval{2, 2};
  for (const auto fn : {&ops::add, &ops::subtract, &ops::multiply, &ops::divide, &ops::maximum, &ops::minimum}) {
    EXPECT_FALSE(fn(unknown, two));
    EXPECT_FALSE(fn(two, unknown));
  }
  const KnownNumber large = NumberInterval{kNoBound - 1, kNoBound - 1};
  EXPECT_FALSE(ops::add(large, two));
  EXPECT_FALSE(ops::multiply(large, two));
  EXPECT_FALSE(ops::subtract(NumberInterval{kMin, kMin}, two));
  EXPECT_FALSE(ops::subtract(two, NumberInterval{0, kNoBound}));
  EXPECT_FALSE(ops::multiply(NumberInterval{-2, 2}, NumberInterval{1, 3}));
  EXPECT_FALSE(ops::divide(two, NumberInterval{0, 2}));
  EXPECT_FALSE(ops::divide(NumberInterval{-3, -3}, two));
}

TEST(NumberInterval, NumbersBelowZeroAreNoDimensions) {
  EXPECT_EQ(ops::to_dimension(NumberInterval{-1, -1}), Dimension::dynamic());
  EXPECT_EQ(ops::to_dimension(NumberInterval{-1, 4}), Dimension::dynamic());
  EXPECT_EQ(ops::to_dimension(NumberInterval{1, 4}), Dimension(1, 4));
  EXPECT_EQ(ops::to_dimension(NumberInterval{1, kNoBound}), Dimension(1, -1));
}

/// A graph around ShapeOf of one parameter.
class ShapeGraph {
 public:
  explicit ShapeGraph(const char* shape) {
    ir::ParameterAttrs attrs;
    attrs.shape = shape;
    attrs.element_type = element::f32;
    const ir::NodeId parameter = graph_.add(op("Parameter"), "p", ir::make_attributes_of(attrs));
    numbers_ = add("ShapeOf-3", {{parameter, 0}});
  }

  ir::Value shape() const { return numbers_; }

  ir::Value constant(std::vector<int64_t> values) {
    auto owner = std::make_shared<std::vector<int64_t>>(std::move(values));
    const ir::TensorView view{element::i64, {static_cast<int64_t>(owner->size())}, owner->data()};
    return {graph_.add_constant(op("Const"), "c", {view, owner}), 0};
  }

  ir::Value add(const std::string& type, std::vector<ir::Value> inputs, const test::AttributeTexts& attributes = {}) {
    const size_t dash = type.find('-');
    const ir::OpSchema& schema =
        ops::builtin_registry().get(type.substr(0, dash), "opset" + (dash == type.npos ? "1" : type.substr(dash + 1)));
    auto attrs = schema.make_attributes();
    test::set_attributes(*attrs, attributes);
    return {graph_.add(schema, type, std::move(attrs), std::move(inputs)), 0};
  }

  /// What is known of the numbers of `value`, as a shape; "unknown" when not even how many.
  std::string known(ir::Value value) {
    ir::infer_graph(graph_);
    ir::KnownValues values(graph_);
    const auto dims = values.dimensions(value);
    return dims ? PartialShape(*dims).to_string() : "unknown";
  }

 private:
  static const ir::OpSchema& op(const char* type) { return ops::builtin_registry().get(type, "opset1"); }

  ir::Graph graph_{"test"};
  ir::Value numbers_;
};

TEST(ShapeArithmetic, BinaryOps) {
  ShapeGraph g("[?,3,2..5]");
  EXPECT_EQ(g.known(g.add("Add", {g.shape(), g.constant({0, 1, -1})})), "[?,4,1..4]");
  EXPECT_EQ(g.known(g.add("Add", {g.shape(), g.constant({-1})})), "[?,2,1..4]");
  EXPECT_EQ(g.known(g.add("Subtract", {g.shape(), g.constant({0, 1, 3})})), "[?,2,?]");
  EXPECT_EQ(g.known(g.add("Multiply", {g.constant({2}), g.shape()})), "[?,6,4..10]");
  EXPECT_EQ(g.known(g.add("Divide", {g.shape(), g.constant({1, 2, 2})})), "[?,1,1..2]");
  EXPECT_EQ(g.known(g.add("Maximum", {g.shape(), g.constant({4, 4, 4})})), "[?,4,4..5]");
  EXPECT_EQ(g.known(g.add("Minimum", {g.shape(), g.constant({4, 2, 4})})), "[?,2,2..4]");
}

TEST(ShapeArithmetic, ConversionSelectionAndReduction) {
  ShapeGraph g("[3..,3,2..5]");
  const ir::Value narrow = g.add("Convert", {g.shape()}, {{"destination_type", "i32"}});
  EXPECT_EQ(g.known(narrow), "[3..,3,2..5]");
  EXPECT_EQ(g.known(g.add("ConvertLike", {narrow, g.constant({})})), "[3..,3,2..5]");
  const ir::Value is_positive = g.add("Greater", {g.constant({1, -1, 0}), g.constant({0})});
  EXPECT_EQ(g.known(g.add("Select", {is_positive, g.shape(), g.constant({7})})), "[3..,7,7]");
  EXPECT_EQ(g.known(g.add("ReduceProd", {g.shape(), g.constant({0})})), "[18..]");
  EXPECT_EQ(g.known(g.add("ReduceSum", {g.shape(), g.constant({-1})}, {{"keep_dims", "true"}})), "[8..]");
  EXPECT_EQ(g.known(g.add("ReduceMax", {g.shape(), g.constant({0})})), "[3..]");
  EXPECT_EQ(g.known(g.add("ReduceMin", {g.shape(), g.constant({0})})), "[2..3]");
}

TEST(ShapeArithmetic, AReshapeTargetResolves) {
  // [N, 3, 8] to [N * 3, 4, 2]
  ShapeGraph g("[?,3,8]");
  const ir::Value target = g.add("Multiply", {g.shape(), g.constant({3, 1, 1})});
  EXPECT_EQ(g.known(g.add("Divide", {target, g.constant({1, 1, 2})})), "[?,3,4]");
}

TEST(ShapeArithmetic, ARangeIsAsLongAsADimension) {
  ShapeGraph g("[2..7]");
  const ir::Value stop = g.add("Squeeze", {g.shape()});
  const ir::Value zero = g.add("Squeeze", {g.constant({0})});
  const ir::Value one = g.add("Squeeze", {g.constant({1})});
  const ir::Value range = g.add("Range-4", {zero, stop, one}, {{"output_type", "i64"}});
  EXPECT_EQ(g.known(g.add("ShapeOf-3", {range})), "[2..7]");
}

}  // namespace
}  // namespace terroir
