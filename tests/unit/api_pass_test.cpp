// Passes in code: patterns and where they match, what managers run, what is left of a model that was rewritten.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "ir/base/log.hpp"
#include "terroir/log.hpp"
#include "terroir/opsets.hpp"
#include "terroir/pass/graph_rewrite.hpp"
#include "terroir/pass/make_stateful.hpp"
#include "terroir/terroir.hpp"
#include "tests/support/caught.hpp"
#include "tests/unit/layer_text.hpp"

namespace terroir {
namespace {

using namespace opset8;
using pass::pattern::any_input;
using pass::pattern::Matcher;
using pass::pattern::wrap_type;

std::shared_ptr<Constant> scalar(float value) { return Constant::create(element::f32, Shape{}, {value}); }

/// The kinds of layers in order, "Parameter Relu Result".
std::string kinds(const std::shared_ptr<const Model>& model) {
  std::string text;
  for (const auto& node : model->get_ordered_ops()) text += (text.empty() ? "" : " ") + node->description();
  return text;
}

TEST(Pattern, TellsWhatStandsForWhat) {
  const auto x = input({1, 4});
  const auto half = scalar(0.5f);
  const auto product = std::make_shared<Multiply>(x, half);
  const auto relu = std::make_shared<Relu>(product);
  const auto value = any_input();
  const auto factor = wrap_type<Constant>();
  const auto scaled = wrap_type<Multiply>({value, factor});
  Matcher matcher(wrap_type<Relu, Sigmoid>({scaled}), "scaled relu");
  ASSERT_TRUE(matcher.match(relu));
  EXPECT_EQ(*matcher.get_match_root(), *relu);
  const auto& found = matcher.get_pattern_value_map();
  EXPECT_EQ(found.at(value), x->output(0));
  EXPECT_EQ(found.at(factor), half->output(0));
  EXPECT_EQ(*matcher.get_pattern_map().at(scaled), *product);
  EXPECT_EQ(matcher.get_matched_nodes().size(), 4u);
  EXPECT_FALSE(matcher.match(product));
  EXPECT_TRUE(matcher.get_pattern_value_map().empty());
}

TEST(Pattern, OrderOfInputsMattersWhereItDoesInTheOperation) {
  const auto x = input({1, 4});
  const auto factor = wrap_type<Constant>();
  EXPECT_TRUE(Matcher(wrap_type<Multiply>({any_input(), factor})).match(std::make_shared<Multiply>(scalar(2), x)));
  EXPECT_FALSE(Matcher(wrap_type<Subtract>({any_input(), factor})).match(std::make_shared<Subtract>(scalar(2), x)));
}

TEST(Pattern, RealOperationsStandForTheirKind) {
  const auto x = input({1, 4});
  Matcher matcher(std::make_shared<Divide>(any_input(), scalar(1)));
  EXPECT_TRUE(matcher.match(std::make_shared<Divide>(x, scalar(3))));
  EXPECT_FALSE(matcher.match(std::make_shared<Divide>(x, x)));
  EXPECT_FALSE(matcher.match(std::make_shared<Multiply>(x, scalar(3))));
}

TEST(Pattern, MetTwiceItIsTheSameValue) {
  const auto x = input({1, 4}), y = input({1, 4});
  const auto value = any_input();
  Matcher square(wrap_type<Multiply>({value, value}));
  EXPECT_TRUE(square.match(std::make_shared<Multiply>(x, x)));
  EXPECT_FALSE(square.match(std::make_shared<Multiply>(x, y)));
}

TEST(Pattern, WhatFailedLeavesNothingBehind) {
  const auto x = input({1, 4});
  const auto exp = std::make_shared<Exp>(x);
  const auto value = any_input(), inner = wrap_type<Relu>({value});
  const auto either = std::make_shared<pass::pattern::op::Or>(
      OutputVector{wrap_type<Abs>({inner})->output(0), wrap_type<Abs>({wrap_type<Exp>({any_input()})})->output(0)});
  Matcher matcher(either);
  ASSERT_TRUE(matcher.match(std::make_shared<Abs>(exp)));
  EXPECT_EQ(matcher.get_pattern_value_map().count(value), 0u);
  EXPECT_EQ(matcher.get_pattern_value_map().count(inner), 0u);
}

TEST(Pattern, OptionalLayersMayBeMissing) {
  const auto x = input({1, 4});
  const auto abs = std::make_shared<Abs>(x);
  const auto maybe = pass::pattern::optional<Sigmoid>(wrap_type<Abs>());
  Matcher matcher(wrap_type<Relu>({maybe}));
  EXPECT_TRUE(matcher.match(std::make_shared<Relu>(abs)));
  EXPECT_EQ(matcher.get_pattern_value_map().count(maybe), 0u);
  EXPECT_TRUE(matcher.match(std::make_shared<Relu>(std::make_shared<Sigmoid>(abs))));
  EXPECT_EQ(matcher.get_pattern_value_map().count(maybe), 1u);
  EXPECT_FALSE(matcher.match(std::make_shared<Relu>(std::make_shared<Exp>(abs))));
}

TEST(Pattern, PredicatesAskForTypesAndShapes) {
  namespace p = pass::pattern;
  const auto x = input({-1, 4}), y = input({2, 4});
  EXPECT_FALSE(Matcher(any_input(p::has_static_shape())).match(x));
  EXPECT_TRUE(Matcher(any_input(p::has_static_shape())).match(y));
  EXPECT_TRUE(Matcher(any_input(p::has_static_rank() && p::rank_equals(2))).match(x));
  EXPECT_FALSE(Matcher(any_input(!p::has_static_dim(1))).match(x));
  EXPECT_FALSE(Matcher(any_input(p::has_static_dim(7))).match(x));
  EXPECT_TRUE(Matcher(any_input(p::type_matches(element::i8) || p::type_matches(element::f32))).match(x));
  EXPECT_FALSE(Matcher(any_input(p::type_matches_any({element::i8, element::u8}))).match(x));
  EXPECT_TRUE(Matcher(any_input([](const Output<Node>& v) { return v.get_index() == 0; })).match(x));
}

TEST(Pattern, NotationsOfShapesGiveNamesToExtents) {
  namespace p = pass::pattern;
  const auto x = input({2, 3, 4, 3});
  const auto matches = [&](const std::string& notation) {
    return Matcher(any_input(p::shape_matches(notation))).match(x);
  };
  for (const char* notation : {"[2,3,4,3]", "2, 3, 4, 3", "(?,?,?,?)", "[N, C, H, C]", "[...]", "[...,3]", "[2,...]",
                               "[N, Rest...]", "[2,3,4,3,None...]", "[A, Middle..., C]", "[2,...,4,3]"}) {
    EXPECT_TRUE(matches(notation)) << notation;
  }
  for (const char* notation : {"[2,3,4]", "[2,3,4,3,?]", "[N, C, H, N]", "?", "...", "[]", "", "[?]", "[...,4]",
                               "[2,4,...]", "[2,3,4,3,A,More...]", "[2.0,3,4,2.0]"}) {
    EXPECT_FALSE(matches(notation)) << notation;
  }
  for (const char* notation : {"[...,2,...]", "[N...,...]", "[...N]", "[N, N...]"}) {
    EXPECT_THROW(matches(notation), Exception) << notation;
  }
  EXPECT_TRUE(Matcher(any_input(p::shape_matches("[]"))).match(input(PartialShape{})));
  EXPECT_TRUE(Matcher(any_input(p::shape_matches("?"))).match(input(PartialShape::dynamic())));
  EXPECT_FALSE(Matcher(any_input(p::shape_matches("[...]"))).match(input(PartialShape::dynamic())));
  EXPECT_TRUE(Matcher(any_input(p::shape_matches("[?, 4]"))).match(input({-1, 4})));
  EXPECT_TRUE(Matcher(any_input(p::shape_matches("[..., 4]"))).match(input({-1, 4})));
  EXPECT_FALSE(Matcher(any_input(p::shape_matches("[N, 4]"))).match(input({-1, 4}))) << "N is not known";
  EXPECT_FALSE(Matcher(any_input(p::shape_matches("[All...]"))).match(input({-1, 4})));
}

TEST(Pattern, NotationsOfValuesAreThoseOfConstants) {
  namespace p = pass::pattern;
  const auto integers = Constant::create(element::i32, Shape{3}, {0, -7, 64});
  const auto floats = Constant::create(element::f32, Shape{2}, {0.5f, 2.f});
  const auto nothing = Constant::create(element::i64, Shape{0}, std::vector<int64_t>());
  const auto matches = [](const std::shared_ptr<Node>& layer, const std::string& notation) {
    return Matcher(any_input(p::value_matches(notation))).match(layer);
  };
  for (const char* notation : {"[0,-7,64]", "0,-7,64", "[A,B,C]", "[0,...]", "[...,64]", "[0,?,64]"})
    EXPECT_TRUE(matches(integers, notation)) << notation;
  for (const char* notation : {"[0,-7]", "[0,7,64]", "[A,B,A]", "[0.0,-7.0,64.0]", "[]", "?", "..."})
    EXPECT_FALSE(matches(integers, notation)) << notation;
  EXPECT_TRUE(matches(floats, "[0.5, 2.0]"));
  EXPECT_TRUE(matches(floats, "[0.5, Two]"));
  EXPECT_TRUE(matches(floats, "[0.5, 2]"));
  EXPECT_FALSE(matches(floats, "[0.5, 2.001]"));
  for (const char* notation : {"[0.1, -0.044715, 0]", "[A, -0.044715, B]"}) {
    const std::vector<float> nearest{0.1F, -0.044715F, 0.F};
    for (const element::Type type : {element::f64, element::f32, element::f16, element::bf16})
      EXPECT_TRUE(matches(Constant::create(type, Shape{3}, nearest), notation)) << notation << ' ' << type;
  }
  EXPECT_FALSE(matches(scalar(0.1F), "0.10001"));
  EXPECT_TRUE(matches(scalar(0.25f), "0.25"));
  EXPECT_TRUE(matches(nothing, "[]"));
  EXPECT_FALSE(matches(nothing, "[...]"));
  EXPECT_FALSE(matches(input({1, 4}), "[...]")) << "no constant";
}

TEST(Pattern, ANameStandsForOneThingAllOverAMatch) {
  namespace p = pass::pattern;
  const auto x = input({2, 6}), y = input({2, 3});
  const auto reshaped = [&](const std::shared_ptr<Node>& input, std::vector<int64_t> shape) {
    const Shape extents{shape.size()};
    return std::make_shared<Reshape>(input, Constant::create(element::i64, extents, shape), false);
  };
  const auto split = wrap_type<Reshape>(
      {any_input(p::shape_matches("[N, Width]")), wrap_type<Constant>(p::value_matches("[N, Parts, Size]"))},
      p::shape_matches("[N, Parts, Size]"));
  Matcher matcher(split);
  ASSERT_TRUE(matcher.match(reshaped(x, {2, 3, 2})));
  EXPECT_EQ(matcher.get_symbols().at("Width").i(), 6);
  EXPECT_EQ(matcher.get_symbols().at("Parts"), p::PatternSymbolValue(int64_t{3}));
  EXPECT_EQ(matcher.get_symbols().size(), 4u);
  EXPECT_FALSE(matcher.match(reshaped(x, {3, 2, 2})));
  EXPECT_TRUE(matcher.get_symbols().empty());
  ASSERT_TRUE(matcher.match(reshaped(y, {2, 3, 1})));
  EXPECT_EQ(matcher.get_symbols().at("Width").i(), 3) << "of the last match";

  const auto sum = std::make_shared<Add>(input({1, 12}), reshaped(x, {1, 12}));
  const auto either = std::make_shared<p::op::Or>(
      OutputVector{wrap_type<Reshape>(p::shape_matches("[A, B, C]")), wrap_type<Reshape>(p::shape_matches("[A, B]"))});
  Matcher of_sum(wrap_type<Add>({any_input(p::shape_matches("[Rows...]")), either}));
  ASSERT_TRUE(of_sum.match(std::make_shared<Multiply>(x, x)) || of_sum.match(sum));
  EXPECT_EQ(of_sum.get_symbols().at("Rows").g().size(), 2u);
  EXPECT_EQ(of_sum.get_symbols().at("B").i(), 12);

  const p::op::Predicate both = p::shape_matches("[A, B]") && p::shape_matches("[A, A]");
  p::PatternSymbolMap symbols;
  EXPECT_FALSE(both(symbols, x));
  EXPECT_TRUE(symbols.empty()) << "what failed names nothing";
  const p::op::Predicate odd([](p::PatternSymbolMap& known, const Output<Node>&) { return known.count("A") == 0; },
                             "odd");
  EXPECT_TRUE((odd && p::shape_matches("[A, B]"))(symbols, x));
  EXPECT_FALSE((odd && p::shape_matches("[A, B]"))(symbols, x));
}

TEST(Pattern, ClassesAreAskedFor) {
  const auto is_relu = pass::pattern::has_class<Relu>();
  const auto x = input({1, 4});
  EXPECT_TRUE(is_relu(std::make_shared<Relu>(x)));
  EXPECT_FALSE(is_relu(x));
  const auto label = std::make_shared<pass::pattern::op::Label>(element::f32, Shape{}, is_relu);
  EXPECT_TRUE(Matcher(label).match(std::make_shared<Relu>(x)->output(0)));
  EXPECT_FALSE(Matcher(label).match(x->output(0)));
}

TEST(Pattern, IsWrittenInTheOldWay) {
  const auto a = input({1, 4}), b = input({1, 4});
  const auto sum = std::make_shared<Add>(a, b);
  const auto any = std::make_shared<pass::pattern::op::Label>(a);  // any value; of the type and shape of this one
  EXPECT_EQ(any->get_output_partial_shape(0), (PartialShape{1, 4}));
  EXPECT_TRUE(Matcher(std::make_shared<Subtract>(any, b)).match(std::make_shared<Subtract>(a, b)));
  const auto label =
      std::make_shared<pass::pattern::op::Label>(sum, nullptr, NodeVector{std::make_shared<Add>(any, b)});
  Matcher matcher(std::make_shared<Abs>(label));
  EXPECT_TRUE(matcher.match(std::make_shared<Abs>(sum)));
  EXPECT_EQ(matcher.get_pattern_map().at(label), sum);
  EXPECT_FALSE(matcher.match(std::make_shared<Abs>(std::make_shared<Subtract>(a, b))));
  const auto never = [](const Output<Node>&) { return false; };
  const auto refused = std::make_shared<pass::pattern::op::Label>(sum, never, NodeVector{sum});
  EXPECT_FALSE(Matcher(refused).match(sum));
}

TEST(Pattern, OneOfSeveral) {
  using namespace pass::pattern;  // NOLINT: where the operator is found
  const auto x = input({1, 4});
  const auto either = wrap_type<Relu>() | wrap_type<Abs>();
  Matcher matcher(either);
  const auto abs = std::make_shared<Abs>(x);
  EXPECT_TRUE(matcher.match(abs));
  EXPECT_EQ(matcher.get_pattern_value_map().at(either), abs->output(0));
  EXPECT_FALSE(matcher.match(std::make_shared<Exp>(x)));
  // Without inputs it is that layer itself which has to be there.
  const auto relu = pass::pattern::optional<Relu>();
  EXPECT_TRUE(Matcher(std::make_shared<Abs>(relu)).match(std::make_shared<Abs>(std::make_shared<Relu>(x))));
  EXPECT_FALSE(Matcher(std::make_shared<Abs>(relu)).match(abs));
}

TEST(Pattern, GoesOnFromWhatIsKnown) {
  const auto a = input({1, 4}), b = input({1, 4});
  const auto abs = std::make_shared<Abs>(a);
  const auto sum = std::make_shared<Add>(abs, b);
  const auto any = any_input();
  Matcher matcher(std::make_shared<Add>(any, b));
  Matcher::PatternMap known;
  EXPECT_TRUE(matcher.match(sum, known));
  EXPECT_EQ(matcher.get_pattern_map().at(any), abs);
  known[any] = a;
  EXPECT_FALSE(matcher.match(sum, known));
  known[any] = abs;
  EXPECT_TRUE(matcher.match(sum, known));
}

TEST(Pattern, PredicatesMayTakeLayers) {
  namespace p = pass::pattern;
  const auto x = input({2, 6});
  const auto is_input = [](const std::shared_ptr<Node>& layer) { return op::util::is_parameter(layer); };
  EXPECT_TRUE(Matcher(any_input(p::op::Predicate(is_input, "input"))).match(x));
  EXPECT_FALSE(Matcher(any_input(is_input)).match(scalar(1)));
  EXPECT_TRUE(Matcher(any_input(p::class_other_than<Constant>())).match(x));
  EXPECT_FALSE(Matcher(any_input(p::class_other_than<Constant>())).match(scalar(1)));
  EXPECT_TRUE(Matcher(any_input(p::rank_more_than(1))).match(x));
  EXPECT_FALSE(Matcher(any_input(p::rank_more_than(2))).match(x));
  EXPECT_FALSE(Matcher(any_input(p::rank_more_than(0))).match(input(PartialShape::dynamic())));
  EXPECT_TRUE(Matcher(any_input(p::all_of({p::rank_more_than(1), p::has_static_shape()}))).match(x));
  EXPECT_FALSE(Matcher(any_input(p::all_of({p::rank_more_than(1), p::type_matches(element::i8)}))).match(x));
}

TEST(Pattern, PredicatesAreAskedOfTheKindOnly) {
  const auto x = input({1, 4});
  const auto is_two = [](const Output<Node>& value) {
    const auto constant = as_type_ptr<Constant>(value.get_node_shared_ptr());
    EXPECT_NE(constant, nullptr);
    return constant != nullptr && constant->cast_vector<float>()[0] == 2;
  };
  Matcher twice(wrap_type<Multiply>({any_input(), wrap_type<Constant>(is_two)}));
  EXPECT_TRUE(twice.match(std::make_shared<Multiply>(x, scalar(2))));
  EXPECT_FALSE(twice.match(std::make_shared<Multiply>(x, scalar(3))));
  EXPECT_FALSE(twice.match(std::make_shared<Multiply>(x, input({1, 4}))));
  const auto is_abs = [](const Output<Node>& value) {
    EXPECT_TRUE(is_type<Abs>(value.get_node_shared_ptr()));
    return true;
  };
  EXPECT_TRUE(Matcher(pass::pattern::optional<Abs>(wrap_type<Exp>(), is_abs)).match(std::make_shared<Exp>(x)));
}

TEST(Pattern, AttributesMatchByTheirValues) {
  const auto x = input({2, 3});
  const auto rows = std::make_shared<op::v1::Softmax>(x, 1);
  const auto product = std::make_shared<MatMul>(x, rows, false, true);
  EXPECT_TRUE(Matcher(wrap_type<op::v1::Softmax>({any_input()}, {{"axis", 1}})).match(rows));
  EXPECT_FALSE(Matcher(wrap_type<op::v1::Softmax>({any_input()}, {{"axis", 0}})).match(rows));
  EXPECT_FALSE(Matcher(wrap_type<op::v1::Softmax>({any_input()}, {{"axes", 1}})).match(rows));
  EXPECT_TRUE(Matcher(wrap_type<MatMul>(pass::pattern::attrs_match({{"transpose_b", true}}))).match(product));
  EXPECT_FALSE(Matcher(wrap_type<MatMul>(pass::pattern::attrs_match({{"transpose_b", false}}))).match(product));
  EXPECT_FALSE(Matcher(wrap_type<MatMul>({}, {{"transpose_b", true}, {"transpose_a", "maybe"}})).match(product));
  EXPECT_TRUE(Matcher(wrap_type<MatMul>({}, {{"transpose_b", 1}, {"transpose_a", 0}})).match(product));
  const auto pool = std::make_shared<op::v1::MaxPool>(input({1, 1, 8, 8}), Strides{1, 2}, Shape{0, 1}, Shape{0, 0},
                                                      Shape{2, 3}, op::RoundingType::FLOOR);
  EXPECT_TRUE(Matcher(wrap_type<op::v1::MaxPool>({}, {{"strides", std::vector<int64_t>{1, 2}}})).match(pool));
  EXPECT_FALSE(Matcher(wrap_type<op::v1::MaxPool>({}, {{"strides", std::vector<int64_t>{2, 1}}})).match(pool));
  EXPECT_TRUE(Matcher(pass::pattern::wrap_const()).match(scalar(1)));
}

TEST(Pattern, ReadersThatNothingNeedsDoNotCount) {
  namespace p = pass::pattern;
  const auto x = input({1, 4});
  const auto relu = std::make_shared<Relu>(x);
  const auto abs = std::make_shared<Abs>(relu);
  const auto exp = std::make_shared<Exp>(relu);
  const auto model = std::make_shared<Model>(OutputVector{abs, exp}, ParameterVector{x});
  EXPECT_TRUE(Matcher(wrap_type<Relu>(p::consumers_count(2))).match(relu));
  exp->set_argument(0, x);
  EXPECT_TRUE(Matcher(wrap_type<Relu>(p::consumers_count(1))).match(relu));
  replace_node(abs, std::make_shared<Sigmoid>(relu));
  EXPECT_TRUE(Matcher(wrap_type<Relu>(p::consumers_count(1))).match(relu));
  EXPECT_FALSE(Matcher(wrap_type<Relu>(p::consumers_more_than(1))).match(relu));
  exp->set_argument(0, relu);
  EXPECT_TRUE(Matcher(wrap_type<Relu>(p::consumers_more_than(1))).match(relu)) << "counted anew";
  EXPECT_TRUE(Matcher(wrap_type<Relu>(p::consumers_more_than(0))).match(relu));
  EXPECT_FALSE(Matcher(wrap_type<Relu>(p::consumers_count(0))).match(relu));
  EXPECT_FALSE(Matcher(wrap_type<Relu>(p::consumers_count(3))).match(relu));
}

/// Relu(Relu(x)) -> Relu(x), and counts how often.
class FuseRelus : public pass::MatcherPass {
 public:
  explicit FuseRelus(int& count) {
    const auto inner = wrap_type<Relu>(pass::pattern::consumers_count(1));
    register_matcher(std::make_shared<Matcher>(wrap_type<Relu>({inner}), "FuseRelus"), [=, this, &count](Matcher& m) {
      const auto relu = register_new_node<Relu>(m.get_pattern_value_map().at(inner).get_node()->input_value(0));
      relu->set_friendly_name(m.get_match_root()->get_friendly_name());
      copy_runtime_info(m.get_matched_nodes(), relu);
      replace_node(m.get_match_root(), relu);
      ++count;
      return true;
    });
  }
};

TEST(GraphRewrite, VisitsWhatItsCallbacksMake) {
  const auto x = input({1, 4});
  std::shared_ptr<Node> last = x;
  for (int i = 0; i < 4; ++i) last = std::make_shared<Relu>(last);
  last->set_friendly_name("last");
  const auto model = std::make_shared<Model>(OutputVector{last}, ParameterVector{x});
  int count = 0;
  pass::Manager manager;
  const auto fuse = manager.register_pass<FuseRelus>(count);
  EXPECT_EQ(fuse->get_name(), "FuseRelus");
  EXPECT_TRUE(manager.run_passes(model));
  EXPECT_EQ(kinds(model), "Parameter Relu Result");
  EXPECT_EQ(count, 3);
  EXPECT_EQ(model->get_ordered_ops()[1]->get_friendly_name(), "last");
  EXPECT_FALSE(manager.run_passes(model));
  auto request = Core().compile_model(model, "CPU").create_infer_request();
  std::fill_n(request.get_input_tensor().data<float>(), 4, -3.0f);
  request.infer();
  EXPECT_EQ(request.get_output_tensor().data<float>()[0], 0.0f);
}

TEST(GraphRewrite, BackwardWalksStartAtTheEnd) {
  const auto x = input({1, 4});
  const auto model =
      std::make_shared<Model>(OutputVector{std::make_shared<Abs>(std::make_shared<Relu>(x))}, ParameterVector{x});
  const auto visited = [&](pass::GraphRewrite&& walk) {
    std::string order;
    walk.add_matcher<pass::MatcherPass>(std::make_shared<Matcher>(any_input()), [&](Matcher& m) {
      order += m.get_match_root()->description() + " ";
      return false;
    });
    EXPECT_FALSE(walk.run_on_model(model));
    return order;
  };
  EXPECT_EQ(visited(pass::GraphRewrite()), "Parameter Relu Abs Result ");
  EXPECT_EQ(visited(pass::BackwardGraphRewrite()), "Result Abs Relu Parameter ");
}

TEST(GraphRewrite, DoesNotComeToWhatWasReplaced) {
  for (const bool backward : {false, true}) {
    const auto x = input({1, 4});
    const auto abs = std::make_shared<Abs>(x);
    const auto kept = std::make_shared<Tanh>(abs);  // reads it beside the pair that is replaced
    const auto pair = std::make_shared<Relu>(std::make_shared<Exp>(abs));
    const auto model = std::make_shared<Model>(OutputVector{std::make_shared<Sqrt>(pair), kept}, ParameterVector{x});
    std::string order;
    const auto fill = [&](pass::GraphRewrite&& walk) {
      walk.add_matcher<pass::MatcherPass>(std::make_shared<Matcher>(any_input()), [&](Matcher& m) {
        const auto root = m.get_match_root();
        order += root->description() + " ";
        if (root != pair) return false;
        return replace_node(root, std::make_shared<Sigmoid>(abs)), true;
      });
      EXPECT_TRUE(walk.run_on_model(model));
    };
    backward ? fill(pass::BackwardGraphRewrite()) : fill(pass::GraphRewrite());
    const size_t exp = order.find("Exp");
    EXPECT_EQ(exp == std::string::npos, backward) << order;
    EXPECT_NE(order.find("Abs"), std::string::npos) << order;
  }
}

TEST(GraphRewrite, ComesToWhatOnlyADependencyHolds) {
  for (const bool backward : {false, true}) {
    const auto x = input({1, 4});
    const auto held = std::make_shared<Tanh>(x);
    const auto gone = std::make_shared<Sigmoid>(x);
    const auto last = std::make_shared<Relu>(std::make_shared<Exp>(x));
    last->add_control_dependency(held);
    const auto first = std::make_shared<Abs>(x);
    first->add_control_dependency(gone);
    const auto model = std::make_shared<Model>(OutputVector{last, first}, ParameterVector{x});
    std::string order;
    const auto fill = [&](pass::GraphRewrite&& walk) {
      walk.add_matcher<pass::MatcherPass>(std::make_shared<Matcher>(any_input()), [&](Matcher& m) {
        const auto root = m.get_match_root();
        order += root->description() + " ";
        if (root->description() != (backward ? "Abs" : "Exp")) return false;
        first->clear_control_dependencies();
        return replace_node(root, std::make_shared<Sqrt>(x)), true;
      });
      EXPECT_TRUE(walk.run_on_model(model));
    };
    backward ? fill(pass::BackwardGraphRewrite()) : fill(pass::GraphRewrite());
    EXPECT_NE(order.find("Tanh"), std::string::npos) << order;
    if (backward) {
      EXPECT_EQ(order.find("Sigmoid"), std::string::npos) << order;
    }
  }
}

TEST(GraphRewrite, ErrorsOfCallbacksNameThePassAndTheLayer) {
  const auto x = input({1, 4});
  const auto relu = std::make_shared<Relu>(x);
  relu->set_friendly_name("last");
  const auto model = std::make_shared<Model>(OutputVector{relu}, ParameterVector{x});
  const auto run = [&](const std::function<bool(Matcher&)>& callback) {
    pass::Manager manager;
    manager.register_pass<pass::MatcherPass>(std::make_shared<Matcher>(wrap_type<Relu>(), "Fuse"), callback);
    manager.run_passes(model);
  };
  const Exception failure = caught([&] { run([](Matcher& m) { return m.get_match_root()->output(3), false; }); });
  EXPECT_EQ(failure.code(), ErrorCode::invalid_argument);
  EXPECT_NE(std::string(failure.what()).find("the pass 'Fuse' at Relu 'last'"), std::string::npos) << failure.what();
  const Exception plain = caught([&] { run([](Matcher&) -> bool { throw std::runtime_error("no room"); }); });
  EXPECT_STREQ(plain.what(), "the pass 'Fuse' at Relu 'last': no room");
  struct Own : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  EXPECT_THROW(run([](Matcher&) -> bool { throw Own("of the program"); }), Own);
}

TEST(PassConfig, WhatWasEnabledIsNotLeftOutLater) {
  for (const bool config_first : {true, false}) {
    const auto config = std::make_shared<pass::PassConfig>();
    config->enable<pass::MatcherPass>();
    pass::GraphRewrite walk;
    if (config_first) walk.set_pass_config(config);
    walk.add_matcher<pass::MatcherPass, false>();
    if (!config_first) walk.set_pass_config(config);
    EXPECT_FALSE(config->is_disabled<pass::MatcherPass>());
    pass::Manager(config).register_pass<pass::MatcherPass, false>();
    EXPECT_FALSE(config->is_disabled<pass::MatcherPass>());
    config->disable<pass::MatcherPass>();
    EXPECT_TRUE(config->is_disabled<pass::MatcherPass>());
  }
}

class Rename : public pass::ModelPass {
 public:
  explicit Rename(std::string name) : name_(std::move(name)) {}
  bool run_on_model(const std::shared_ptr<Model>& model) override {
    model->set_friendly_name(model->get_friendly_name() + name_);
    return true;
  }

 private:
  std::string name_;
};

TEST(Manager, RunsPassesInTurn) {
  const auto x = input({1, 4});
  const auto model = std::make_shared<Model>(OutputVector{std::make_shared<Relu>(x)}, ParameterVector{x}, "m");
  pass::Manager manager("of names");
  manager.register_pass<Rename>("a");
  manager.register_pass_instance(std::make_shared<Rename>("b"));
  int count = 0;
  manager.register_pass<FuseRelus, false>(count);
  EXPECT_TRUE(manager.get_pass_config()->is_disabled<FuseRelus>());
  EXPECT_TRUE(manager.run_passes(model));
  EXPECT_EQ(model->get_friendly_name(), "mab");
  manager.get_pass_config()->disable<Rename>();
  EXPECT_FALSE(manager.run_passes(model));
  EXPECT_EQ(model->get_friendly_name(), "mab");
}

TEST(Manager, InfersAnewBehindAPassThatChangedSomething) {
  class Reread : public pass::ModelPass {
   public:
    explicit Reread(const Output<Node>& source) : source_(source) {}
    bool run_on_model(const std::shared_ptr<Model>& model) override {
      model->get_result()->get_input_node_shared_ptr(0)->set_argument(0, source_);
      return true;
    }

   private:
    Output<Node> source_;
  };
  const auto x = input({1, 4}), wide = input({2, 9});
  const auto relu = std::make_shared<Relu>(x);
  const auto model = std::make_shared<Model>(OutputVector{relu, std::make_shared<Abs>(wide)}, ParameterVector{x, wide});
  model->remove_result(model->get_results()[1]);
  pass::Manager manager;
  manager.register_pass<Reread>(wide->output(0));
  EXPECT_TRUE(manager.run_passes(model));
  EXPECT_EQ(model->output().get_shape(), (Shape{2, 9}));
}

/// Takes Relus out where its callback does not say no.
class TakeRelusOut : public pass::MatcherPass {
 public:
  TakeRelusOut() {
    register_matcher(std::make_shared<Matcher>(wrap_type<Relu>(), "TakeRelusOut"), [this](Matcher& m) {
      if (transformation_callback(m.get_match_root())) return false;
      m.get_match_root()->output(0).replace(m.get_match_root()->input_value(0));
      return true;
    });
  }
};
class TakeOthersOut : public TakeRelusOut {};

TEST(PassConfig, TellsPassesWhatToLeave) {
  const auto x = input({1, 4});
  const auto first = std::make_shared<Relu>(x);
  const auto second = std::make_shared<Relu>(std::make_shared<Exp>(first));
  first->set_friendly_name("stays");
  const auto model = std::make_shared<Model>(OutputVector{second}, ParameterVector{x});
  const auto stays = [](const std::shared_ptr<const Node>& layer) { return layer->get_friendly_name() == "stays"; };
  pass::Manager manager;
  // Passes in one walk have the manager's config, whether they come before or after it is asked for.
  const auto walk = manager.register_pass<pass::GraphRewrite>();
  walk->add_matcher<TakeRelusOut>();
  manager.get_pass_config()->set_callback<TakeRelusOut>(stays);
  EXPECT_TRUE(manager.run_passes(model));
  EXPECT_EQ(kinds(model), "Parameter Relu Exp Result");
  EXPECT_FALSE(manager.run_passes(model));

  pass::Manager others(manager.get_pass_config());
  others.register_pass<TakeOthersOut, false>();
  EXPECT_FALSE(others.run_passes(model));
  others.get_pass_config()->enable<TakeOthersOut>();
  others.get_pass_config()->set_callback(stays);  // for all that have none of their own
  EXPECT_FALSE(others.run_passes(model));
  EXPECT_TRUE(static_cast<bool>(others.get_pass_config()->get_callback<TakeOthersOut>()));
  others.get_pass_config()->set_callback({});
  EXPECT_TRUE(others.run_passes(model));
  EXPECT_EQ(kinds(model), "Parameter Exp Result");
}

TEST(PassConfig, LeavesPassesOfAWalkOut) {
  const auto x = input({1, 4});
  const auto model = std::make_shared<Model>(OutputVector{std::make_shared<Relu>(x)}, ParameterVector{x});
  pass::Manager manager;
  const auto walk = manager.register_pass<pass::GraphRewrite>();
  walk->add_matcher<TakeRelusOut, false>();
  EXPECT_FALSE(manager.run_passes(model));
  pass::GraphRewrite by_itself;
  by_itself.add_matcher<TakeRelusOut, false>();
  EXPECT_FALSE(by_itself.run_on_model(model));
  manager.get_pass_config()->enable<TakeRelusOut>();
  EXPECT_TRUE(manager.run_passes(model));
}

TEST(GraphRewrite, TellsItsMatchersWhatToLeave) {
  const auto x = input({1, 4});
  const auto model = std::make_shared<Model>(OutputVector{std::make_shared<Relu>(x)}, ParameterVector{x});
  pass::GraphRewrite walk;
  walk.add_matcher<TakeRelusOut>();
  walk.set_callback([](const std::shared_ptr<const Node>&) { return true; });
  EXPECT_FALSE(walk.run_on_model(model));
  walk.set_callback({});
  EXPECT_TRUE(walk.run_on_model(model));
}

TEST(ConstantFolding, ComputesWhatIsKnown) {
  const auto x = input({1, 4});
  const auto eight = std::make_shared<Power>(scalar(2), scalar(3));
  const auto model = std::make_shared<Model>(OutputVector{std::make_shared<Multiply>(x, eight)}, ParameterVector{x});
  pass::ConstantFolding fold;
  EXPECT_TRUE(fold.run_on_model(model));
  EXPECT_EQ(kinds(model), "Parameter Constant Multiply Result");
  EXPECT_EQ(as_type_ptr<Constant>(model->get_ordered_ops()[1])->cast_vector<float>(), std::vector<float>{8});
  EXPECT_FALSE(fold.run_on_model(model));
}

TEST(MakeStateful, OutputsAreReadNextTime) {
  const auto x = input({1, 2}), before = input({1, 2});
  const auto sum = std::make_shared<Add>(x, before);
  before->output(0).set_names({"before"});
  sum->output(0).set_names({"sum"});
  const auto twice = std::make_shared<Multiply>(sum, scalar(2));
  const auto model = std::make_shared<Model>(OutputVector{twice, sum}, ParameterVector{x, before});
  pass::Manager manager;
  manager.register_pass<pass::MakeStateful>(std::map<std::string, std::string>{{"before", "sum"}});
  EXPECT_TRUE(manager.run_passes(model));
  EXPECT_EQ(model->inputs().size(), 1u);
  EXPECT_EQ(model->outputs().size(), 1u);
  EXPECT_EQ(model->get_variables().at(0)->get_info().variable_id, "beforesum");
  auto request = Core().compile_model(model, "CPU").create_infer_request();
  for (const float expected : {2.0f, 4.0f, 6.0f}) {
    std::fill_n(request.get_input_tensor().data<float>(), 2, 1.0f);
    request.infer();
    EXPECT_EQ(request.get_output_tensor().data<float>()[0], expected);
  }
}

TEST(GraphUtil, LayersAreTakenOutUnlessANameOfAnOutputWouldBeLost) {
  const auto x = input({1, 4});
  const auto relu = std::make_shared<Relu>(x), abs = std::make_shared<Relu>(relu);
  abs->set_friendly_name("out");
  const auto model = std::make_shared<Model>(OutputVector{abs}, ParameterVector{x});
  EXPECT_FALSE(replace_output_update_name(abs->output(0), x->output(0)));
  EXPECT_TRUE(replace_output_update_name(abs->output(0), relu->output(0)));
  EXPECT_EQ(kinds(model), "Parameter Relu Result");
  EXPECT_EQ(relu->get_friendly_name(), "out");
  EXPECT_FALSE(replace_output_update_name(relu->output(0), x->output(0)));
  const auto exp = std::make_shared<Exp>(x);
  relu->get_rt_info()["key"] = 1;
  EXPECT_TRUE(replace_node_update_name(relu, exp));
  EXPECT_EQ(exp->get_friendly_name(), "out");
  EXPECT_EQ(exp->get_rt_info().count("key"), 1u);
  EXPECT_FALSE(replace_node_update_name(exp, x));
}

TEST(GraphUtil, LayersAreVisitedAndSorted) {
  const auto x = input({1, 4});
  const auto relu = std::make_shared<Relu>(x);
  const auto exp = std::make_shared<Exp>(relu);
  const auto sum = std::make_shared<Add>(relu, exp);
  const auto model = std::make_shared<Model>(OutputVector{sum}, ParameterVector{x});
  std::string visited;
  traverse_nodes(model, [&](const std::shared_ptr<Node>& layer) { visited += layer->get_type_name(); });
  EXPECT_EQ(visited, "ParameterReluExpAddResult");
  std::string sorted;
  for (const auto& layer : topological_sort(NodeVector{sum, relu})) sorted += layer->get_type_name();
  EXPECT_EQ(sorted, "ParameterReluExpAdd");
  size_t layers = 0;
  model->map_unordered_ops([&](Node*) { ++layers; });
  EXPECT_EQ(layers, model->get_ops().size());
  EXPECT_EQ(kinds(clone_model(*model)), kinds(model));
}

TEST(Log, LinesGoToTheCallback) {
  std::vector<std::string> lines;
  util::set_log_callback([&](std::string_view line) { lines.emplace_back(line); });
  log_line(LogCategory::warning, "the first");
  util::set_log_callback({});
  log_line(LogCategory::warning, "nobody hears this");
  util::reset_log_callback();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("the first"), std::string::npos);
}

}  // namespace
}  // namespace terroir
