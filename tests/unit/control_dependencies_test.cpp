// What layers were said to come after is part of a model as what they read is.
#include <gtest/gtest.h>

#include <algorithm>

#include "terroir/graph_util.hpp"
#include "terroir/op/op.hpp"
#include "terroir/opsets.hpp"
#include "terroir/terroir.hpp"
#include "tests/support/caught.hpp"

namespace terroir {
namespace {

bool has(const NodeVector& layers, const std::shared_ptr<Node>& layer) {
  return std::find(layers.begin(), layers.end(), layer) != layers.end();
}

/// total = total + x, where nothing but a dependency holds the Assign.
struct Counter {
  std::shared_ptr<opset6::Parameter> x = std::make_shared<opset6::Parameter>(element::f32, PartialShape{1});
  std::shared_ptr<op::util::Variable> variable =
      std::make_shared<op::util::Variable>(op::util::VariableInfo{PartialShape{1}, element::f32, "total"});
  std::shared_ptr<opset6::ReadValue> read =
      std::make_shared<opset6::ReadValue>(opset6::Constant::create(element::f32, Shape{1}, {0.F}), variable);
  std::shared_ptr<opset6::Add> sum = std::make_shared<opset6::Add>(x, read);
  std::shared_ptr<opset6::Assign> assign = std::make_shared<opset6::Assign>(sum, variable);
  std::shared_ptr<opset6::Result> result = std::make_shared<opset6::Result>(sum);
};

void expect_counts(const std::shared_ptr<Model>& model) {
  for (const char* device : {"CPU", "INTERPRETER"}) {
    InferRequest request = Core().compile_model(model, device).create_infer_request();
    request.get_input_tensor().data<float>()[0] = 1;
    for (const float expected : {1.F, 2.F, 3.F}) {
      request.infer();
      EXPECT_EQ(request.get_output_tensor().data<float>()[0], expected) << device;
    }
  }
}

TEST(ControlDependencies, HoldWhatStoresVariables) {
  {
    const Counter c;
    c.result->add_control_dependency(c.assign);
    const auto model = std::make_shared<Model>(ResultVector{c.result}, ParameterVector{c.x});
    EXPECT_TRUE(has(model->get_ordered_ops(), c.assign));
    expect_counts(model);
    expect_counts(model->clone());
  }
  {
    const Counter c;
    const auto last = std::make_shared<opset6::Relu>(c.sum);
    last->add_control_dependency(c.assign);
    expect_counts(std::make_shared<Model>(OutputVector{last}, ParameterVector{c.x}));
  }
  {
    const Counter c;
    const auto model = std::make_shared<Model>(ResultVector{c.result}, ParameterVector{c.x});
    c.result->add_control_dependency(c.assign);  // of the model as it is
    expect_counts(model);
  }
}

TEST(ControlDependencies, HoldLayersThatNothingReads) {
  const auto x = std::make_shared<opset8::Parameter>(element::f32, PartialShape{2});
  const auto first = std::make_shared<opset8::Abs>(x);
  const auto constant = opset8::Constant::create(element::f32, Shape{1}, {3.F});
  const auto elsewhere = std::make_shared<opset8::Relu>(constant);  // connected with nothing
  const auto last = std::make_shared<opset8::Exp>(x);
  last->add_control_dependency(first);
  last->add_control_dependency(elsewhere);
  const auto model = std::make_shared<Model>(OutputVector{last}, ParameterVector{x});
  const NodeVector order = model->get_ordered_ops();
  EXPECT_EQ(order.size(), 6U);
  EXPECT_EQ(model->get_ops().size(), 6U);
  for (const std::shared_ptr<Node>& before : {std::shared_ptr<Node>(first), std::shared_ptr<Node>(elsewhere)})
    EXPECT_LT(std::find(order.begin(), order.end(), before), std::find(order.begin(), order.end(), last));
  const auto copy = model->clone()->clone();
  EXPECT_EQ(copy->get_ordered_ops().size(), 6U);
  EXPECT_EQ(copy->get_result()->get_input_node_ptr(0)->get_control_dependencies().size(), 2U);
  EXPECT_EQ(Core().compile_model(model, "CPU").get_runtime_model()->get_ops().size(), 3U) << "the others do nothing";
  last->clear_control_dependencies();
  EXPECT_EQ(model->get_ordered_ops().size(), 3U);
}

TEST(ControlDependencies, GoToTheLayerThatStandsForAnother) {
  const auto x = std::make_shared<opset8::Parameter>(element::f32, PartialShape{2});
  const auto first = std::make_shared<opset8::Abs>(x), before = std::make_shared<opset8::Abs>(x);
  const auto other = std::make_shared<opset8::Relu>(x);
  const auto last = std::make_shared<opset8::Add>(x, first);
  last->add_control_dependency(first);
  first->add_control_dependency(before);
  replace_node(first, other);
  EXPECT_EQ(last->get_control_dependencies(), NodeVector{other});
  EXPECT_EQ(other->get_control_dependencies(), NodeVector{before});
}

TEST(ControlDependencies, AreKnownFromBothEnds) {
  const auto x = std::make_shared<opset8::Parameter>(element::f32, PartialShape{2});
  const auto first = std::make_shared<opset8::Abs>(x), other = std::make_shared<opset8::Abs>(x);
  const auto last = std::make_shared<opset8::Exp>(x);
  const auto apart = std::make_shared<opset8::Relu>(first);
  last->add_control_dependency(first);
  last->add_control_dependency(first);
  apart->add_control_dependency(first);
  const std::vector<Node*> both{last.get(), apart.get()};
  EXPECT_EQ(first->get_control_dependents(), both);
  const auto model = std::make_shared<Model>(OutputVector{last, apart}, ParameterVector{x});
  EXPECT_EQ(first->get_control_dependents(), both) << "of a model, too";
  apart->remove_control_dependency(first);
  EXPECT_EQ(first->get_control_dependents(), std::vector<Node*>{last.get()});
  apart->add_node_control_dependencies(last);
  EXPECT_EQ(first->get_control_dependents(), both);
  first->transfer_control_dependents(other);
  EXPECT_TRUE(first->get_control_dependents().empty());
  EXPECT_EQ(other->get_control_dependents(), both);
  EXPECT_EQ(last->get_control_dependencies(), NodeVector{other});
  first->add_node_control_dependents(other);
  EXPECT_EQ(first->get_control_dependents(), both);
  last->clear_control_dependencies();
  other->clear_control_dependents();
  EXPECT_TRUE(other->get_control_dependents().empty());
  EXPECT_EQ(apart->get_control_dependencies(), NodeVector{first});
}

/// Says in its constructor what it comes after.
class Late : public op::Op {
 public:
  TERROIR_OP("Late", "tests");
  Late() = default;
  Late(const Output<Node>& value, const std::shared_ptr<Node>& before) : Op({value}) {
    add_control_dependency(before);
    constructor_validate_and_infer_types();
  }
  void validate_and_infer_types() override {
    set_output_type(0, get_input_element_type(0), get_input_partial_shape(0));
  }
  std::shared_ptr<Node> clone_with_new_inputs(const OutputVector& inputs) const override {
    return std::make_shared<Late>(inputs.at(0), nullptr);
  }
};

TEST(ControlDependencies, OfObjectsThatAreMadeAndGo) {
  const auto x = std::make_shared<opset8::Parameter>(element::f32, PartialShape{2});
  const auto before = std::make_shared<opset8::Abs>(x);
  auto late = std::make_shared<Late>(x, before);
  EXPECT_EQ(before->get_control_dependents(), std::vector<Node*>{late.get()});
  late.reset();
  EXPECT_TRUE(before->get_control_dependents().empty());
}

TEST(ControlDependencies, DoNotGoInCircles) {
  const auto x = std::make_shared<opset8::Parameter>(element::f32, PartialShape{2});
  const auto first = std::make_shared<opset8::Abs>(x);
  const auto last = std::make_shared<opset8::Exp>(first);
  first->add_control_dependency(last);
  const auto make = [&] { Model(OutputVector{last}, ParameterVector{x}); };
  EXPECT_EQ(caught(make).code(), ErrorCode::invalid_argument);
  first->clear_control_dependencies();
  EXPECT_NO_THROW(make());
}

}  // namespace
}  // namespace terroir
