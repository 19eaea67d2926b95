// Shapes computed from partially known shapes: the interval arithmetic itself, and ops over the output of ShapeOf.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
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
    parameter_ = graph_.add(op("Parameter"), "p", ir::make_attributes_of(attrs));
    numbers_ = add("ShapeOf-3", {{parameter_, 0}});
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

  ir::Value add(const ir::OpSchema& schema, std::vector<ir::Value> inputs) {
    return {graph_.add(schema, schema.type, schema.make_attributes(), std::move(inputs)), 0};
  }

  /// What is known of the numbers of `value`, as a shape; "unknown" when not even how many.
  std::string known(ir::Value value) { return known(std::vector<ir::Value>{value}).front(); }

  /// The same of several, asked in this order.
  std::vector<std::string> known(const std::vector<ir::Value>& asked) {
    ir::infer_graph(graph_);
    ir::KnownValues values(graph_);
    std::vector<std::string> answers;
    for (const ir::Value value : asked) answers.push_back(known(values, value));
    return answers;
  }

  /// The same of one that was asked for before the parameter had this shape.
  std::string known_after_reshape(ir::Value value, const char* shape) {
    ir::infer_graph(graph_);
    ir::KnownValues values(graph_);
    known(values, value);
    ir::ParameterAttrs attrs;
    attrs.shape = shape;
    attrs.element_type = element::f32;
    graph_.node(parameter_).attributes = ir::make_attributes_of(attrs);
    ir::infer_outputs(graph_, parameter_, values);
    return known(values, value);
  }

 private:
  static std::string known(ir::KnownValues& values, ir::Value value) {
    const auto dims = values.dimensions(value);
    return dims ? PartialShape(*dims).to_string() : "unknown";
  }

  static const ir::OpSchema& op(const char* type) { return ops::builtin_registry().get(type, "opset1"); }

  ir::Graph graph_{"test"};
  ir::NodeId parameter_;
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

int times_asked = 0;

/// An operation that computes an extent from two others, and counts how often it is asked what it knows.
const ir::OpSchema& counting_sum() {
  static const ir::OpSchema schema = [] {
    ir::OpSchema sum;
    sum.type = "CountingSum";
    sum.opset = "test";
    sum.arity = {2, 2, 1};
    sum.infer = [](ir::InferContext& ctx) { ctx.set_output(0, ctx.type(0), ctx.shape(0)); };
    sum.dimensions = [](ir::InferContext& ctx) {
      ++times_asked;
      auto a = ctx.dimensions(0);
      const auto b = ctx.dimensions(1);
      if (a && b) std::transform(a->begin(), a->end(), b->begin(), a->begin(), std::plus<>());
      return a && b ? a : std::nullopt;
    };
    return sum;
  }();
  return schema;
}

TEST(ShapeArithmetic, WhatIsUsedTwiceIsComputedOnce) {
  ShapeGraph g("[?,1]");
  ir::Value number = g.shape();
  constexpr int kSteps = 18;
  for (int i = 0; i < kSteps; ++i) number = g.add(counting_sum(), {number, number});
  times_asked = 0;
  EXPECT_EQ(g.known(number), "[?,262144]");
  EXPECT_LE(times_asked, 2 * kSteps);
}

TEST(ShapeArithmetic, WhatIsUsedTwiceIsComputedOnceInReals) {
  ShapeGraph g("[1..2]");
  ir::Value number = g.add("Convert", {g.shape()}, {{"destination_type", "f32"}});
  for (int i = 0; i < 64; ++i) number = g.add("Maximum", {number, number});
  EXPECT_EQ(g.known(g.add("Convert", {number}, {{"destination_type", "i64"}})), "[1..2]");
}

TEST(ShapeArithmetic, ChainsThatAreTooLongEndToo) {
  ShapeGraph g("[?,7]");
  ir::Value number = g.shape();
  for (int i = 0; i < 230; ++i) number = g.add(counting_sum(), {number, g.add("Maximum", {number, number})});
  EXPECT_EQ(g.known(number), "[?,?]");
}

TEST(ShapeArithmetic, WhatWasTooDeepIsAskedAnew) {
  ShapeGraph g("[?,7]");
  std::vector<ir::Value> chain{g.shape()};
  for (int i = 0; i < 230; ++i) chain.push_back(g.add("Maximum", {chain.back(), chain.back()}));
  EXPECT_EQ(g.known({chain[230], chain[100], chain[160], chain[230]}),
            (std::vector<std::string>{"[?,?]", "[?,7]", "[?,7]", "[?,?]"}));
}

TEST(ShapeArithmetic, ListsTooLongForAnyShapeAreNotKept) {
  ShapeGraph g("[?,7]");
  ir::Value list = g.shape();
  for (int i = 0; i < 17; ++i) list = g.add("Concat", {list, list}, {{"axis", "0"}});
  EXPECT_EQ(g.known(list), "unknown");
}

TEST(ShapeArithmetic, WhatFollowsFromAnEarlierShapeIsForgotten) {
  ShapeGraph g("[?,7]");
  const ir::Value sum = g.add("Add", {g.shape(), g.shape()});
  EXPECT_EQ(g.known_after_reshape(sum, "[2..3,7]"), "[4..6,14]");
}

}  // namespace
}  // namespace terroir
