// Inputs, results, sinks and variables that a model gets and loses after it was made.
#include <gtest/gtest.h>

#include <functional>

#include "terroir/ops.hpp"
#include "terroir/terroir.hpp"
#include "tests/support/caught.hpp"
#include "tests/unit/float_tensors.hpp"
#include "tests/unit/layer_text.hpp"

namespace terroir {
namespace {

using op::v0::Abs;
using op::v0::Parameter;
using op::v0::Relu;
using op::v0::Result;

/// relu(x + y)
struct Sum {
  std::shared_ptr<Parameter> x = input({2}), y = input({2});
  std::shared_ptr<Node> sum = std::make_shared<op::v1::Add>(x, y);
  std::shared_ptr<Node> relu = std::make_shared<Relu>(sum);
  std::shared_ptr<Model> model = std::make_shared<Model>(OutputVector{relu}, ParameterVector{x, y});
};

/// What output `output` is, of the inputs in the order of the model.
std::vector<float> output_of(const std::shared_ptr<Model>& model, const std::vector<std::vector<float>>& inputs,
                             size_t output = 0) {
  InferRequest request = Core().compile_model(model, "CPU").create_infer_request();
  for (size_t i = 0; i < inputs.size(); ++i) request.set_input_tensor(i, floats({inputs[i].size()}, inputs[i]));
  request.infer();
  return values_of(request.get_output_tensor(output));
}

void expect_refused(const std::shared_ptr<Model>& model, const char* text) {
  for (const auto& use : {std::function<void()>([&] { model->validate_nodes_and_infer_types(); }),
                          std::function<void()>([&] { Core().compile_model(model, "CPU"); }),
                          std::function<void()>([&] { static_cast<void>(model->clone()); })}) {
    const Exception error = caught(use);
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

TEST(ModelEnds, ResultsAreAdded) {
  const Sum s;
  const auto of_sum = std::make_shared<Result>(s.sum), of_abs = std::make_shared<Result>(std::make_shared<Abs>(s.sum));
  EXPECT_EQ(s.model->get_output_size(), 1u) << "to make one adds none";
  s.model->add_results({of_abs, of_sum});
  ASSERT_EQ(s.model->get_output_size(), 3u);
  EXPECT_EQ(*s.model->get_results()[1], *of_abs) << "in the order in which they are added";
  EXPECT_EQ(s.model->get_result_index(of_sum->output(0)), 2);
  EXPECT_EQ(output_of(s.model, {{1, -2}, {1, 1}}, 1), (std::vector<float>{2, 1}));
  EXPECT_EQ(output_of(s.model, {{1, -2}, {1, 1}}, 2), (std::vector<float>{2, -1}));
  // More of them, after the model has changed.
  s.model->reshape({{0, PartialShape{3}}, {1, PartialShape{3}}});
  const auto later = std::make_shared<Result>(std::make_shared<op::v0::Negative>(s.relu));
  s.model->add_results({later});
  EXPECT_EQ(later->get_output_shape(0), (Shape{3}));
  EXPECT_EQ(output_of(s.model, {{1, 2, 3}, {0, 0, -4}}, 3), (std::vector<float>{-1, -2, 0}));
}

TEST(ModelEnds, ParametersAreAddedBeforeOrAfterTheirReaders) {
  for (const bool before : {true, false}) {
    const Sum s;
    const auto z = input({2});
    z->set_friendly_name("z");
    if (before) s.model->add_parameters({z});
    const auto product = std::make_shared<op::v1::Multiply>(s.sum, z);
    s.relu->input(0).replace_source_output(product);
    EXPECT_EQ(s.model->inputs().size(), before ? 3u : 2u);
    if (!before) {
      expect_refused(s.model, "'z'");
      s.model->add_parameters({z});
    }
    s.model->validate_nodes_and_infer_types();
    EXPECT_EQ(s.model->get_parameter_index(z), 2);
    EXPECT_EQ(output_of(s.model, {{1, -2}, {1, 1}, {3, -4}}), (std::vector<float>{6, 4}));
  }
}

TEST(ModelEnds, AParameterIsReplaced) {
  const Sum s;
  s.model->input(0).set_names({"first"});
  const auto wide = input({3, 2});
  s.model->replace_parameter(0, wide);
  EXPECT_EQ(s.model->get_parameter_index(wide), 0);
  EXPECT_EQ(s.model->get_parameter_index(s.y), 1);
  EXPECT_EQ(s.model->get_parameter_index(s.x), -1);
  EXPECT_EQ(s.model->input("first"), wide->output(0));
  s.model->validate_nodes_and_infer_types();
  EXPECT_EQ(s.model->get_output_shape(0), (Shape{3, 2}));
  EXPECT_EQ(caught([&] { s.model->replace_parameter(2, input({2})); }).code(), ErrorCode::not_found);
  EXPECT_EQ(s.model->inputs().size(), 2u);
}

TEST(ModelEnds, AParameterThatIsNeededCannotGo) {
  const Sum s;
  s.model->remove_parameter(s.y);
  EXPECT_EQ(s.model->inputs().size(), 1u);
  EXPECT_EQ(s.model->get_ops().size(), 5u) << "it is still there";
  expect_refused(s.model, "which is not among its inputs");
  s.sum->input(1).replace_source_output(s.x);
  EXPECT_EQ(output_of(s.model, {{1, -2}}), (std::vector<float>{2, 0}));
  s.model->add_parameters({s.y});
  EXPECT_EQ(s.model->get_parameter_index(s.y), 1) << "it may come back";
}

TEST(ModelEnds, ResultsAreTakenOut) {
  const Sum s;
  const auto only = s.model->get_results().at(0);
  s.model->remove_result(only);
  EXPECT_EQ(s.model->get_output_size(), 0u);
  expect_refused(s.model, "no result");
  s.model->add_results({std::make_shared<Result>(s.sum)});
  EXPECT_EQ(output_of(s.model, {{1, -2}, {1, 1}}), (std::vector<float>{2, -1}));
  EXPECT_EQ(s.model->get_ops().size(), 4u) << "without the function";
  s.model->add_results({only});
  EXPECT_EQ(output_of(s.model, {{1, -2}, {1, 1}}, 1), (std::vector<float>{2, 0}));
}

TEST(ModelEnds, WhatIsNotTheModelsOrIsAlready) {
  const Sum s, other;
  EXPECT_EQ(caught([&] { s.model->add_parameters({s.x}); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(caught([&] { s.model->add_parameters({other.x}); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(caught([&] { s.model->add_parameters({nullptr}); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(caught([&] { s.model->add_results(s.model->get_results()); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(caught([&] { s.model->add_sinks({s.relu}); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(caught([&] { s.model->remove_parameter(other.x); }).code(), ErrorCode::not_found);
  EXPECT_EQ(caught([&] { s.model->remove_parameter(nullptr); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(caught([&] { s.model->remove_sink(s.relu); }).code(), ErrorCode::not_found);
  EXPECT_EQ(caught([&] { s.model->remove_result(std::make_shared<Result>(s.sum)); }).code(), ErrorCode::not_found);
  const auto twice = input({2});
  EXPECT_EQ(caught([&] { s.model->add_parameters({twice, twice}); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(s.model->inputs().size(), 2u) << "all of them or none";
  EXPECT_EQ(output_of(s.model, {{1, -2}, {1, 1}}), (std::vector<float>{2, 0}));
}

// What a tool does that makes a model remember: x + what was x before.
TEST(ModelEnds, StateIsAdded) {
  const Sum s;
  const auto variable =
      std::make_shared<op::util::Variable>(op::util::VariableInfo{PartialShape{2}, element::f32, "before"});
  const auto zero = op::v0::Constant::create(element::f32, Shape{2}, {0.f, 0.f});
  const auto remembered = std::make_shared<op::v6::ReadValue>(zero, variable);
  const auto assign = std::make_shared<op::v6::Assign>(s.x, variable);
  s.model->add_variables({variable});
  EXPECT_NE(s.model->get_variable_by_id("before"), nullptr);
  s.y->output(0).replace(remembered);
  s.model->remove_parameter(s.y);
  EXPECT_TRUE(s.model->get_sinks().empty());
  s.model->add_sinks({assign});
  s.model->validate_nodes_and_infer_types();
  ASSERT_EQ(s.model->get_sinks().size(), 1u);
  EXPECT_EQ(*s.model->get_sinks()[0], *assign);
  EXPECT_EQ(s.model->get_variables().size(), 1u);
  EXPECT_EQ(caught([&] { s.model->remove_variable(variable); }).code(), ErrorCode::invalid_argument);

  InferRequest request = Core().compile_model(s.model, "CPU").create_infer_request();
  for (const std::vector<float>& expected : {std::vector<float>{1, 2}, {2, 4}, {2, 4}}) {
    request.set_input_tensor(floats({2}, {1, 2}));
    request.infer();
    EXPECT_EQ(values_of(request.get_output_tensor()), expected);
  }
  s.model->remove_sink(assign);
  EXPECT_TRUE(s.model->get_sinks().empty());
}

TEST(ModelEnds, VariablesThatNoLayerUses) {
  const Sum s;
  const auto variable =
      std::make_shared<op::util::Variable>(op::util::VariableInfo{PartialShape{2}, element::f32, "spare"});
  s.model->add_variables({variable, variable});
  EXPECT_EQ(s.model->get_variables().size(), 1u);
  s.model->remove_variable(variable);
  EXPECT_TRUE(s.model->get_variables().empty());
  EXPECT_EQ(caught([&] { s.model->remove_variable(variable); }).code(), ErrorCode::not_found);
  EXPECT_EQ(caught([&] { s.model->add_variables({nullptr}); }).code(), ErrorCode::invalid_argument);
  const auto x = input({2});
  const Model listed(OutputVector{std::make_shared<Relu>(x)}, ParameterVector{x}, op::util::VariableVector{variable});
  EXPECT_EQ(listed.get_variables().size(), 1u);
}

TEST(ModelEnds, LayersThatNothingNeedsYetOutliveChanges) {
  const Sum s;
  const std::shared_ptr<Node> spare = std::make_shared<Abs>(s.sum);
  const auto narrow = op::v0::Constant::create(element::f32, Shape{2}, {5.f, 6.f});
  const std::shared_ptr<Node> misfit = std::make_shared<op::v1::Add>(s.sum, narrow);
  s.model->validate_nodes_and_infer_types();
  s.model->reshape({{0, PartialShape{3}}, {1, PartialShape{3}}});
  EXPECT_EQ(spare->get_output_shape(0), (Shape{3}));
  EXPECT_EQ(misfit->get_output_shape(0), (Shape{2})) << "it no longer fits, and is not needed";
  EXPECT_EQ(s.model->get_ops().size(), 5u);
  s.relu->input(0).replace_source_output(spare);
  EXPECT_EQ(output_of(s.model, {{1, -2, 3}, {0, 0, 0}}), (std::vector<float>{1, 2, 3}));
  s.relu->input(0).replace_source_output(misfit);
  EXPECT_NE(std::string(caught([&] { s.model->validate_nodes_and_infer_types(); }).what()).find("Add"),
            std::string::npos);
}

TEST(ModelEnds, LayersLeftOverWhenTheModelWasMadeComeInLater) {
  const auto x = input({2});
  const std::shared_ptr<Node> negative = std::make_shared<op::v0::Negative>(x), abs = std::make_shared<Abs>(negative);
  const std::shared_ptr<Node> relu = std::make_shared<Relu>(x);
  const auto model = std::make_shared<Model>(OutputVector{relu}, ParameterVector{x});
  EXPECT_EQ(output_of(model, {{1, -2}}), (std::vector<float>{1, 0}));
  relu->input(0).replace_source_output(abs);
  EXPECT_EQ(output_of(model, {{1, -2}}), (std::vector<float>{1, 2}));
  model->add_results({std::make_shared<Result>(negative)});
  EXPECT_EQ(output_of(model, {{1, -2}}, 1), (std::vector<float>{-1, 2}));
}

// Whether they were made before the model or behind it.
TEST(ModelEnds, LayersLeftOverReadWhatTheModelPutsInTheirInputsPlace) {
  for (const bool before : {true, false}) {
    const auto x = input({2}), y = input({2});
    const auto abs = std::make_shared<Abs>(x);
    const auto negative = std::make_shared<op::v0::Negative>(x);
    std::shared_ptr<Node> late, later;
    const auto make_late = [&] {
      late = std::make_shared<op::v1::Add>(abs, y);  // which the model has not
      later = std::make_shared<Relu>(late);
    };
    if (before) make_late();
    const auto model = std::make_shared<Model>(OutputVector{abs, negative}, ParameterVector{x});
    if (!before) make_late();
    EXPECT_EQ(abs->output(0).get_target_inputs().size(), 2u) << before;
    EXPECT_EQ(model->get_ops().size(), 5u) << "it needs none of them";
    abs->output(0).replace(negative);
    EXPECT_EQ(late->input_value(0), negative->output(0)) << before;
    model->add_parameters({y});
    model->add_results({std::make_shared<Result>(later)});
    EXPECT_EQ(output_of(model, {{-3, 4}, {0, 5}}, 2), (std::vector<float>{3, 1})) << before;
  }
}

TEST(ModelEnds, OutputsOfLayersMadeInCodeAreAdded) {
  const Sum s;
  const auto constant = op::v0::Constant::create(element::f32, Shape{2}, {5.f, 6.f});
  const Output<Node> added = s.model->add_output(constant->output(0));
  s.model->add_output(std::make_shared<Abs>(s.sum)->output(0));
  EXPECT_EQ(s.model->get_results().size(), 3u);
  EXPECT_EQ(added, s.model->output(1));
  EXPECT_EQ(output_of(s.model, {{1, -2}, {1, 1}}, 1), (std::vector<float>{5, 6}));
  EXPECT_EQ(output_of(s.model, {{1, -2}, {1, 1}}, 2), (std::vector<float>{2, 1}));
  const Sum other;
  EXPECT_EQ(caught([&] { s.model->add_output(other.sum->output(0)); }).code(), ErrorCode::not_found);
}

TEST(ModelEnds, AModelOfSinksAlone) {
  const auto x = input({2});
  const auto variable =
      std::make_shared<op::util::Variable>(op::util::VariableInfo{PartialShape{2}, element::f32, "sum"});
  const auto read =
      std::make_shared<op::v6::ReadValue>(op::v0::Constant::create(element::f32, Shape{2}, {1.f, 2.f}), variable);
  const auto assign = std::make_shared<op::v6::Assign>(std::make_shared<op::v1::Add>(read, x), variable);
  const auto model = std::make_shared<Model>(OutputVector{}, SinkVector{assign}, ParameterVector{x});
  EXPECT_EQ(model->get_sinks().size(), 1u);
  for (const char* device : {"CPU", "INTERPRETER"}) {
    InferRequest request = Core().compile_model(model, device).create_infer_request();
    request.set_input_tensor(floats({2}, {5, 6}));
    request.infer();
    request.infer();
    EXPECT_EQ(values_of(request.query_state().at(0).get_state()), (std::vector<float>{11, 14})) << device;
  }
  EXPECT_EQ(model->clone()->get_sinks().size(), 1u);
}

TEST(ModelEnds, LayoutsFitTheShapes) {
  const auto of_image = [] {
    const auto x = input({1, 3, 4, 5});
    x->set_layout("NCHW");
    return std::make_shared<Model>(OutputVector{std::make_shared<Relu>(x)}, ParameterVector{x});
  };
  const auto model = of_image();
  for (const char* wrong : {"HWC", "NDCHW", "ND...CHW", "...NDCHW"}) {
    EXPECT_THROW(layout::set_layout(model->input(), wrong), Exception) << wrong;
    EXPECT_THROW(layout::set_layout(model->output(), wrong), Exception) << wrong;
  }
  for (const char* right : {"H...WC", "...NCHW", "NCHW...", "NCHW"})
    EXPECT_NO_THROW(layout::set_layout(model->input(), right)) << right;

  const Exception error = caught([&] { model->reshape(PartialShape{1, 2, 3}); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_NE(std::string(error.what()).find("[N,C,H,W] does not fit the shape [1,2,3]"), std::string::npos)
      << error.what();
  EXPECT_EQ(model->input().get_partial_shape(), (PartialShape{1, 3, 4, 5})) << "it is as it was";
  EXPECT_THROW(model->get_parameters().at(0)->set_partial_shape({1, 2, 3}), Exception);
  EXPECT_EQ(model->input().get_partial_shape(), (PartialShape{1, 3, 4, 5}));
  EXPECT_NO_THROW(model->reshape(PartialShape::dynamic()));
  EXPECT_NO_THROW(model->reshape(PartialShape{7, 3, 2, 2}));

  const auto at_output = of_image();
  at_output->reshape(PartialShape::dynamic());
  layout::set_layout(at_output->input(), "...");
  layout::set_layout(at_output->output(), "HWC");
  EXPECT_THROW(at_output->reshape(PartialShape{1, 3, 4, 5}), Exception);
  EXPECT_NO_THROW(at_output->reshape(PartialShape{3, 4, 5}));
}

TEST(ModelEnds, AnInputThatIsAnOutputKeepsItsNames) {
  const auto x = input({2});
  x->output(0).set_names({"in"});
  const auto model = std::make_shared<Model>(OutputVector{x}, ParameterVector{x});
  model->output().set_names({"out"});
  EXPECT_EQ(model->input("in").get_node(), x.get());
  EXPECT_EQ(model->output("out"), model->output());
  model->input().set_names({"renamed"});
  EXPECT_EQ(model->output().get_names(), std::unordered_set<std::string>{"out"});
}

TEST(ModelEnds, LayersLeftOverThatNobodyHasAreNoReaders) {
  const auto x = input({2});
  const auto abs = std::make_shared<Abs>(x);
  static_cast<void>(std::make_shared<Relu>(abs));
  const auto model = std::make_shared<Model>(OutputVector{abs}, ParameterVector{x});
  EXPECT_EQ(abs->output(0).get_target_inputs().size(), 1u);
}

TEST(ModelEnds, ResultsOnTopOfAModelMakeASecondOne) {
  const Sum s;
  const auto of_sum = std::make_shared<Result>(s.sum);
  const auto second = std::make_shared<Model>(ResultVector{of_sum}, ParameterVector{s.x, s.y});
  EXPECT_EQ(second->get_result_index(of_sum->output(0)), 0) << "the handle is one into the model it made";
  EXPECT_EQ(output_of(second, {{1, -2}, {1, 1}}), (std::vector<float>{2, -1}));
  EXPECT_EQ(output_of(s.model, {{1, -2}, {1, 1}}), (std::vector<float>{2, 0}));
  EXPECT_EQ(s.model->get_output_size(), 1u);
}

TEST(ModelEnds, PreprocessingAndFilesSeeTheNewEnds) {
  const Sum s;
  const auto z = input({2});
  s.model->add_parameters({z});
  s.model->add_results({std::make_shared<Result>(std::make_shared<op::v1::Multiply>(s.sum, z))});
  static_cast<void>(std::make_shared<Result>(s.sum));  // of no model
  preprocess::PrePostProcessor processor(s.model);
  processor.input(2).tensor().set_element_type(element::u8);
  const auto built = processor.build();
  ASSERT_EQ(built->outputs().size(), 2u);
  EXPECT_EQ(built->input(2).get_element_type(), element::u8);
  InferRequest request = Core().compile_model(built, "CPU").create_infer_request();
  request.set_input_tensor(0, floats({2}, {1, -2}));
  request.set_input_tensor(1, floats({2}, {1, 1}));
  const Tensor bytes(element::u8, {2});
  bytes.data<uint8_t>()[0] = 3;
  bytes.data<uint8_t>()[1] = 4;
  request.set_input_tensor(2, bytes);
  request.infer();
  EXPECT_EQ(values_of(request.get_output_tensor(1)), (std::vector<float>{6, -4}));
}

}  // namespace
}  // namespace terroir
