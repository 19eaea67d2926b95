// pass::ConvertFP32ToFP16, and the variables of layers.
#include <gtest/gtest.h>

#include <cmath>

#include "terroir/op/op.hpp"
#include "terroir/opsets.hpp"
#include "terroir/pass/convert_fp32_to_fp16.hpp"
#include "terroir/terroir.hpp"
#include "tests/support/caught.hpp"

namespace terroir {
namespace {

bool halve(const std::shared_ptr<Model>& model) {
  pass::Manager manager;
  const auto pass = manager.register_pass<pass::ConvertFP32ToFP16>();
  return pass->run_on_model(model);
}

TEST(ConvertFP32ToFP16, MakesAModelOfHalves) {
  const auto x = std::make_shared<opset13::Parameter>(element::f32, PartialShape{-1, 2});
  const auto ids = std::make_shared<opset13::Parameter>(element::i32, PartialShape{-1, 2});
  const auto weights = opset13::Constant::create(element::f32, Shape{2, 2}, {1.0f, 0.1f, 1e9f, -1e9f});
  const auto sum = std::make_shared<opset13::Add>(std::make_shared<opset13::MatMul>(x, weights),
                                                  std::make_shared<opset13::Convert>(ids, element::f32));
  const auto model = std::make_shared<Model>(OutputVector{sum}, ParameterVector{x, ids});
  const auto before = model->clone();
  EXPECT_TRUE(halve(model));
  EXPECT_EQ(model->input(0).get_element_type(), element::f16);
  EXPECT_EQ(model->input(1).get_element_type(), element::i32);
  EXPECT_EQ(model->output(0).get_element_type(), element::f16);
  for (const auto& node : model->get_ops()) {
    EXPECT_NE(node->get_output_element_type(0), element::f32) << node->get_friendly_name();
    if (const auto constant = as_type_ptr<opset13::Constant>(node)) {
      const std::vector<float> values = constant->cast_vector<float>();
      EXPECT_EQ(values[1], float(float16(0.1f)));
      EXPECT_EQ(values[2], 65504);  // the largest half
      EXPECT_EQ(values[3], -65504);
    }
  }
  EXPECT_EQ(before->output(0).get_element_type(), element::f32);
  EXPECT_FALSE(halve(model));
  InferRequest request = Core().compile_model(model, "CPU").create_infer_request();
  request.set_input_tensor(0, Tensor(element::f16, Shape{1, 2}));
  request.set_input_tensor(1, Tensor(element::i32, Shape{1, 2}));
  std::fill_n(request.get_input_tensor(0).data<float16>(), 2, float16(0.0f));
  std::fill_n(request.get_input_tensor(1).data<int32_t>(), 2, 3);
  request.infer();
  EXPECT_EQ(float(request.get_output_tensor().data<float16>()[0]), 3.0f);
}

TEST(ConvertFP32ToFP16, GoesIntoBodies) {
  const auto inner = std::make_shared<opset13::Parameter>(element::f32, PartialShape{1});
  const auto body = std::make_shared<Model>(
      OutputVector{std::make_shared<opset13::Add>(inner, opset13::Constant::create(element::f32, Shape{1}, {1.0f}))},
      ParameterVector{inner});
  const auto x = std::make_shared<opset13::Parameter>(element::f32, PartialShape{1});
  const auto condition = std::make_shared<opset13::Parameter>(element::boolean, PartialShape{});
  const auto choice = std::make_shared<opset13::If>(condition);
  const auto other = body->clone();
  choice->set_then_body(body);
  choice->set_else_body(other);
  choice->set_input(x, inner, other->get_parameters()[0]);
  const auto out = choice->set_output(body->get_results()[0], other->get_results()[0]);
  const auto model = std::make_shared<Model>(OutputVector{out}, ParameterVector{condition, x});
  EXPECT_TRUE(halve(model));
  EXPECT_EQ(model->output().get_element_type(), element::f16);
  EXPECT_EQ(model->input(0).get_element_type(), element::boolean);
}

TEST(VariableExtension, IsWhatLayersOfAVariableAre) {
  const auto x = std::make_shared<opset6::Parameter>(element::f32, PartialShape{1, 2});
  const auto variable =
      std::make_shared<op::util::Variable>(op::util::VariableInfo{PartialShape{1, 2}, element::f32, "v"});
  const auto read = std::make_shared<opset6::ReadValue>(x, variable);
  const auto assign = std::make_shared<opset6::Assign>(read, variable);
  for (const std::shared_ptr<Node>& node : {std::shared_ptr<Node>(read), std::shared_ptr<Node>(assign)}) {
    const auto of_variable = std::dynamic_pointer_cast<op::util::VariableExtension>(node);
    ASSERT_NE(of_variable, nullptr);
    EXPECT_EQ(of_variable->get_variable_id(), "v");
    EXPECT_EQ(of_variable->get_variable()->get_info().data_type, element::f32);
    of_variable->set_variable_id("w");
    EXPECT_EQ(of_variable->get_variable_id(), "w");
    of_variable->set_variable(
        std::make_shared<op::util::Variable>(op::util::VariableInfo{PartialShape{1, -1}, element::f32, "z"}));
    EXPECT_EQ(of_variable->get_variable_id(), "z");
  }
  const auto model = std::make_shared<Model>(OutputVector{read}, SinkVector{assign}, ParameterVector{x});
  ASSERT_EQ(model->get_variables().size(), 1u);
  EXPECT_EQ(model->get_variables()[0]->get_info().variable_id, "z");
  EXPECT_EQ(model->get_variables()[0]->get_info().data_shape, (PartialShape{1, -1}));
}

}  // namespace
}  // namespace terroir
