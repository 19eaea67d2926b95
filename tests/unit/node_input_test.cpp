// Inputs that come to read something else: layers put between others, replaced, and taken out.
#include "terroir/node_input.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "terroir/ops.hpp"
#include "terroir/terroir.hpp"
#include "tests/support/caught.hpp"

namespace terroir {
namespace {

/// relu(x + 1), and x + 1 itself.
struct Small {
  std::shared_ptr<op::v0::Parameter> x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{2});
  std::shared_ptr<Node> one = op::v0::Constant::create(element::f32, Shape{1}, {1.f});
  std::shared_ptr<Node> sum = std::make_shared<op::v1::Add>(x, one);
  std::shared_ptr<Node> relu = std::make_shared<op::v0::Relu>(sum);
  std::shared_ptr<Model> model = std::make_shared<Model>(OutputVector{relu, sum}, ParameterVector{x});
};

std::vector<float> run(const std::shared_ptr<Model>& model, float a, float b, size_t output = 0) {
  InferRequest request = Core().compile_model(model, "CPU").create_infer_request();
  Tensor input(element::f32, {2});
  input.data<float>()[0] = a;
  input.data<float>()[1] = b;
  request.set_input_tensor(input);
  request.infer();
  const Tensor result = request.get_output_tensor(output);
  return {result.data<float>(), result.data<float>() + result.get_size()};
}

TEST(NodeInput, TellsWhatItReads) {
  const Small s;
  EXPECT_EQ(s.sum->inputs().size(), 2u);
  const Input<Node> second = s.sum->input(1);
  EXPECT_EQ(second.get_source_output(), s.one->output(0));
  EXPECT_EQ(second.get_index(), 1u);
  EXPECT_EQ(*second.get_node(), *s.sum);
  EXPECT_EQ(second.get_element_type(), element::f32);
  EXPECT_EQ(second.get_shape(), Shape{1});
  EXPECT_EQ(s.sum->get_default_output().get_target_inputs().size(), 2u) << "the function, and a result";
  EXPECT_EQ(s.sum->get_users().size(), 2u);
  EXPECT_EQ(*s.x->get_users().at(0), *s.sum);
  EXPECT_EQ(s.x->get_output_target_inputs(0).begin()->get_index(), 0u);
  EXPECT_TRUE(s.model->output(0).get_target_inputs().empty());
  EXPECT_NE(s.sum->input(0), s.sum->input(1));
  EXPECT_FALSE(s.sum->is_dynamic());
  EXPECT_EQ(caught([&] { s.sum->input(2); }).code(), ErrorCode::invalid_argument);
  const std::shared_ptr<const Node> reading = s.sum;
  EXPECT_EQ(reading->input(0).get_source_output().get_partial_shape(), PartialShape{2});
}

TEST(NodeInput, ALayerIsPutBetweenTwo) {
  const Small s;
  const auto doubled =
      std::make_shared<op::v1::Multiply>(s.sum, op::v0::Constant::create(element::f32, Shape{}, {2.f}));
  s.relu->input(0).replace_source_output(doubled);
  EXPECT_EQ(run(s.model, 1, -2), (std::vector<float>{4, 0}));
  EXPECT_EQ(run(s.model, 1, -2, 1), (std::vector<float>{2, -1})) << "the other reader reads what it read";
  const auto ordered = s.model->get_ordered_ops();
  EXPECT_NE(std::find_if(ordered.begin(), ordered.end(), [&](const auto& n) { return *n == *doubled; }), ordered.end());
}

TEST(NodeInput, ShapesFollowWhenTheModelIsValidated) {
  const Small s;
  const auto wide = op::v0::Constant::create(element::f32, Shape{3, 1}, {1.f, 2.f, 3.f});
  s.sum->input(1).replace_source_output(wide);
  EXPECT_EQ(s.model->get_output_partial_shape(0), (PartialShape{2})) << "as before";
  s.model->validate_nodes_and_infer_types();
  EXPECT_EQ(s.model->get_output_partial_shape(0), (PartialShape{3, 2}));
  EXPECT_EQ(run(s.model, 1, -2), (std::vector<float>{2, 0, 3, 0, 4, 1}));
}

TEST(NodeInput, ShapesFollowInSavedFiles) {
  const Small s;
  s.sum->input(1).replace_source_output(op::v0::Constant::create(element::f32, Shape{3, 1}, {1.f, 2.f, 3.f}));
  const std::string file = testing::TempDir() + "terroir_node_input_" + std::to_string(getpid()) + ".xml";
  for (const bool compressed : {true, false}) {
    save_model(s.model, file, compressed);
    const auto read = Core().read_model(file, "", strict_reading(true));
    EXPECT_EQ(read->get_output_partial_shape(0), (PartialShape{3, 2}));
  }
  for (const char* ending : {".xml", ".bin"})
    std::filesystem::remove(std::filesystem::path(file).replace_extension(ending));
}

TEST(NodeInput, WhatDoesNotFitIsRefusedByWhoNeedsIt) {
  const Small s;
  s.sum->input(1).replace_source_output(op::v0::Constant::create(element::i32, Shape{1}, {1}));
  for (const auto& use : {std::function<void()>([&] { s.model->validate_nodes_and_infer_types(); }),
                          std::function<void()>([&] { save_model(s.model, "/nonexistent/model.xml"); }),
                          std::function<void()>([&] { Core().compile_model(s.model, "CPU"); })}) {
    const Exception error = caught(use);
    EXPECT_NE(std::string(error.what()).find("Add"), std::string::npos) << error.what();
  }
  s.sum->input(1).replace_source_output(s.one);
  EXPECT_EQ(run(s.model, 1, -2), (std::vector<float>{2, 0}));
}

TEST(NodeInput, RefusesCyclesAndOtherModels) {
  const Small s, other;
  const auto refused = [&](const Output<Node>& source) {
    return caught([&] { s.sum->input(0).replace_source_output(source); }).code();
  };
  EXPECT_EQ(refused(s.relu), ErrorCode::invalid_argument);
  EXPECT_EQ(refused(s.sum), ErrorCode::invalid_argument);
  EXPECT_EQ(refused(other.one), ErrorCode::invalid_argument);
  EXPECT_EQ(run(s.model, 1, -2), (std::vector<float>{2, 0}));
}

TEST(NodeInput, IsOfALayer) {
  EXPECT_EQ(caught([] { Input<Node>(nullptr, 0); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(caught([] { Input<const Node>(std::shared_ptr<Node>(), 0); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(caught([] { Input<Node>(Small().relu, 1); }).code(), ErrorCode::invalid_argument);
}

TEST(NodeInput, LayersAreReplacedWithTheirNames) {
  const Small s;
  s.relu->output(0).set_names({"y"});
  const auto absolute = std::make_shared<op::v0::Abs>(s.sum);
  s.model->replace_node(s.relu, absolute);
  EXPECT_EQ(run(s.model, 1, -3), (std::vector<float>{2, 2}));
  EXPECT_EQ(s.model->output("y"), s.model->output(0));
  EXPECT_EQ(caught([&] { replace_node(s.sum, OutputVector{}); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(caught([&] { s.model->replace_node(Small().relu, absolute); }).code(), ErrorCode::not_found);
}

TEST(NodeInput, LayersOfNoModelYet) {
  const Small parts;
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{2});
  const std::shared_ptr<Node> relu = std::make_shared<op::v0::Relu>(x);
  const std::shared_ptr<Node> twice = std::make_shared<op::v1::Add>(x, x);
  const std::shared_ptr<Node> joined = std::make_shared<op::v0::Concat>(OutputVector{x, x}, 0);
  relu->input(0).replace_source_output(joined);
  const auto model = std::make_shared<Model>(OutputVector{relu}, ParameterVector{x});
  EXPECT_EQ(model->get_output_shape(0), (Shape{4}));
  EXPECT_EQ(run(model, 1, -2), (std::vector<float>{1, 0, 1, 0}));
}

}  // namespace
}  // namespace terroir
