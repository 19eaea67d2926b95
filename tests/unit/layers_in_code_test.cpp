// Models made of the classes of terroir/ops.hpp.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "ops/registry.hpp"
#include "terroir/opsets.hpp"
#include "terroir/terroir.hpp"
#include "tests/support/caught.hpp"
#include "tests/unit/float_tensors.hpp"
#include "tests/unit/layer_text.hpp"

namespace terroir {
namespace {

using op::v0::Constant;
using op::v0::Parameter;
using op::v0::Relu;
using op::v0::Result;
using op::v1::Add;
using op::v1::Multiply;

std::vector<float> computed(const std::shared_ptr<const Model>& model, const std::vector<float>& values) {
  Core core;
  InferRequest request = core.compile_model(model, "CPU", num_streams(1)).create_infer_request();
  const Tensor data = request.get_input_tensor();
  std::copy(values.begin(), values.end(), data.data<float>());
  request.infer();
  return values_of(request.get_output_tensor());
}

TEST(LayersInCode, TypesAndShapesAreInferredAtOnce) {
  const auto data = input({-1, 3});
  const auto sum = std::make_shared<Add>(data, Constant::create(element::f32, Shape{1, 3}, {1.0f, 2.0f, 3.0f}));
  EXPECT_EQ(sum->get_output_partial_shape(0), PartialShape({-1, 3}));
  EXPECT_EQ(sum->get_element_type(), element::f32);
  const Exception refused = caught([&] { Add(data, Constant::create(element::f32, Shape{2}, {1.0f, 2.0f})); });
  EXPECT_NE(std::string(refused.what()).find("Add"), std::string::npos) << refused.what();
  EXPECT_EQ(caught([&] { Add(OutputVector{data, data}, {{"auto_brodcast", "numpy"}}); }).code(), ErrorCode::not_found);
  EXPECT_EQ(caught([&] { Relu(Output<Node>()); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(caught([&] { Relu(Output<Node>(data, 1)); }).code(), ErrorCode::invalid_argument);
}

TEST(LayersInCode, AModelRuns) {
  const auto data = input({2, 3});
  const auto half = Constant::create(element::f32, Shape{}, {0.5f});
  const auto product = std::make_shared<Multiply>(data, half);
  const auto result = std::make_shared<Result>(std::make_shared<Relu>(product));
  const auto model = std::make_shared<Model>(ResultVector{result}, ParameterVector{data}, "halves");
  EXPECT_EQ(model->get_friendly_name(), "halves");
  EXPECT_EQ(model->get_ops().size(), 5u);
  EXPECT_EQ(computed(model, {1, -2, 3, -4, 5, -6}), (std::vector<float>{0.5f, 0, 1.5f, 0, 2.5f, 0}));
}

TEST(LayersInCode, HandlesOfTheLayersAreHandlesIntoTheModel) {
  const auto data = input({2, 3});
  const auto relu = std::make_shared<Relu>(data);
  const auto model = std::make_shared<Model>(relu, ParameterVector{data});
  relu->set_friendly_name("positive");
  data->output(0).set_names({"x"});
  data->set_layout("NC");
  EXPECT_EQ(model->get_ordered_ops().at(1)->get_friendly_name(), "positive");
  EXPECT_EQ(model->input("x"), data->output(0));
  EXPECT_EQ(*model->get_parameters().at(0), *data);
  EXPECT_EQ(get_batch(model), Dimension(2));
  model->reshape(PartialShape{5, 7});
  EXPECT_EQ(relu->get_output_shape(0), (Shape{5, 7}));
}

TEST(LayersInCode, TensorsAreNamedThroughTheirLayer) {
  const auto data = input({2, 3});
  const auto relu = std::make_shared<Relu>(data);
  relu->get_output_tensor(0).set_names({"positive"});
  const Model model(OutputVector{relu}, ParameterVector{data});
  EXPECT_EQ(model.output().get_any_name(), "positive");
}

TEST(LayersInCode, OneModelOfPartsMadeApart) {
  // Many small drafts that meet late, in both orders of size.
  std::vector<std::shared_ptr<Parameter>> inputs;
  OutputVector parts;
  for (int i = 0; i < 5; ++i) {
    inputs.push_back(input({2, 3}));
    Output<Node> part = inputs.back();
    for (int j = 0; j < i; ++j) part = std::make_shared<Relu>(part);
    parts.insert(i % 2 == 0 ? parts.begin() : parts.end(), part);
  }
  const auto joined = std::make_shared<op::v0::Concat>(parts, 1);
  const Model model(OutputVector{joined}, ParameterVector(inputs.begin(), inputs.end()));
  EXPECT_EQ(model.output().get_shape(), (Shape{2, 15}));
  EXPECT_EQ(model.inputs().size(), 5u);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(*model.get_parameters()[i], *inputs[i]);
  EXPECT_EQ(model.get_ops().size(), 5u + 10u + 1u + 1u);
}

TEST(LayersInCode, WhatNoResultNeedsIsNotPartOfTheModel) {
  const auto data = input({2, 3});
  const auto other = input({9});
  const auto relu = std::make_shared<Relu>(data);
  const auto unused = std::make_shared<Add>(std::make_shared<Relu>(data), std::make_shared<op::v0::Abs>(data));
  const auto model = std::make_shared<Model>(OutputVector{relu}, ParameterVector{data});
  EXPECT_EQ(model->get_ops().size(), 3u);
  EXPECT_EQ(model->clone()->get_ops().size(), 3u);
  EXPECT_EQ(unused->get_output_shape(0), (Shape{2, 3}));  // the handle still tells
  EXPECT_EQ(computed(model, {1, -2, 3, -4, 5, -6}), (std::vector<float>{1, 0, 3, 0, 5, 0}));
  // Layers on top of a model's are no part of it either, and may become a model of their own.
  const auto negative = std::make_shared<op::v0::Negative>(relu);
  EXPECT_EQ(model->get_ops().size(), 3u);
  EXPECT_EQ(model->outputs().size(), 1u);
  const auto second = std::make_shared<Model>(OutputVector{negative}, ParameterVector{data});
  EXPECT_EQ(computed(second, {1, -2, 3, -4, 5, -6}), (std::vector<float>{-1, 0, -3, 0, -5, 0}));
  EXPECT_EQ(model->outputs().size(), 1u);
  EXPECT_EQ(model->get_ops().size(), 3u);
}

TEST(LayersInCode, SeveralModelsOfTheSameLayers) {
  const auto data = input({2, 3});
  const auto relu = std::make_shared<Relu>(data);
  const auto abs = std::make_shared<op::v0::Abs>(data);
  const auto first = std::make_shared<Model>(OutputVector{relu}, ParameterVector{data});
  const auto second = std::make_shared<Model>(OutputVector{abs}, ParameterVector{data});
  const std::vector<float> values{1, -2, 3, -4, 5, -6};
  EXPECT_EQ(computed(first, values), (std::vector<float>{1, 0, 3, 0, 5, 0}));
  EXPECT_EQ(computed(second, values), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  second->reshape(PartialShape{1, 1});
  EXPECT_EQ(first->input().get_shape(), (Shape{2, 3}));
}

TEST(LayersInCode, WhatCannotBeAModel) {
  const auto a = input({2, 3}), b = input({2, 3});
  const auto sum = std::make_shared<Add>(a, b);
  const Exception missing = caught([&] { Model(OutputVector{sum}, ParameterVector{a}); });
  EXPECT_EQ(missing.code(), ErrorCode::invalid_argument);
  EXPECT_NE(std::string(missing.what()).find("not among the parameters"), std::string::npos) << missing.what();
  EXPECT_EQ(caught([&] { Model(OutputVector{sum}, ParameterVector{a, b, a}); }).code(), ErrorCode::invalid_argument);
  const Model model(OutputVector{sum}, ParameterVector{b, a});
  EXPECT_EQ(*model.get_parameters()[0], *b);
  const auto c = input({2, 3});
  const Model another(OutputVector{std::make_shared<Relu>(c)}, ParameterVector{c});
  EXPECT_EQ(caught([&] { Add(a, c); }).code(), ErrorCode::invalid_argument);
}

TEST(LayersInCode, ParametersMayBeLeftOut) {
  const auto a = input({2, 3}), b = input({2, 3});
  const Model model(OutputVector{std::make_shared<Add>(b, a)});
  EXPECT_EQ(model.inputs().size(), 2u);
}

TEST(LayersInCode, ModelBuilderAndClassesMixOnTheModelOfTheBuilder) {
  ModelBuilder builder("mixed");
  const Output<Node> data = builder.parameter(element::f32, {2, 3}, "data");
  const auto relu = std::make_shared<Relu>(data);
  const auto sum = std::make_shared<Add>(relu, Constant::create(element::f32, Shape{1}, {1.0f}));
  builder.result(sum, "sum");
  EXPECT_EQ(computed(builder.build(), {1, -2, 3, -4, 5, -6}), (std::vector<float>{2, 1, 4, 1, 6, 1}));
}

TEST(LayersInCode, Constants) {
  const Constant filled(element::i32, Shape{2, 2}, 7);
  EXPECT_EQ(filled.get_vector<int32_t>(), (std::vector<int32_t>{7, 7, 7, 7}));
  const Constant halves(element::f16, Shape{2}, std::vector<double>{0.5, -2});
  EXPECT_EQ(halves.cast_vector<float>(), (std::vector<float>{0.5f, -2}));
  EXPECT_EQ(halves.get_byte_size(), 4u);
  const float raw[] = {1, 2, 3};
  const auto copied = std::make_shared<Constant>(element::f32, Shape{3}, static_cast<const void*>(raw));
  EXPECT_EQ(copied->cast_vector<int>(), (std::vector<int>{1, 2, 3}));
  EXPECT_NE(copied->get_data_ptr(), raw);
  EXPECT_EQ(caught([] {
              Constant(element::f32, Shape{3}, std::vector<float>{1, 2});
            }).code(),
            ErrorCode::invalid_argument);
  EXPECT_EQ(caught([&] { copied->get_vector<int>(); }).code(), ErrorCode::type_mismatch);
  const Tensor owned(element::u8, Shape{4});
  EXPECT_EQ(Constant(owned).get_data_ptr(), owned.data());
}

TEST(LayersInCode, ConstantsOverElementsOfAnOwner) {
  auto elements = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3});
  const std::weak_ptr<std::vector<float>> alive = elements;
  auto weights = std::make_shared<Constant>(element::f32, Shape{3}, elements->data(), elements);
  EXPECT_EQ(weights->get_data_ptr(), elements->data());
  elements.reset();
  const auto data = input({1, 3});
  auto model = std::make_shared<Model>(OutputVector{std::make_shared<Multiply>(data, weights)}, ParameterVector{data});
  weights.reset();
  EXPECT_EQ(computed(model, {1, 1, 2}), (std::vector<float>{1, 2, 6}));
  EXPECT_FALSE(alive.expired());
  CompiledModel compiled = Core().compile_model(model);
  model.reset();
  EXPECT_FALSE(alive.expired());

  const std::vector<uint8_t> mine{0x21, 0x43};
  const auto kept = std::make_shared<Constant>(element::u8, Shape{2}, mine.data(), nullptr);
  EXPECT_EQ(kept->get_data_ptr(), mine.data());
  EXPECT_EQ(kept->cast_vector<int>(), (std::vector<int>{0x21, 0x43}));
  EXPECT_EQ(std::make_shared<Constant>(element::u4, Shape{4}, mine.data(), nullptr)->get_data_ptr(), mine.data());
  EXPECT_EQ(caught([] { Constant(element::f32, Shape{2}, nullptr, nullptr); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(std::make_shared<Constant>(element::f32, Shape{0}, nullptr, nullptr)->get_byte_size(), 0U);
}

TEST(LayersInCode, ClassesAreKnownByTheirTypeInfo) {
  const auto data = input({2, 3});
  const auto model = std::make_shared<Model>(OutputVector{std::make_shared<Relu>(data)}, ParameterVector{data});
  const std::shared_ptr<Node> relu = model->get_ordered_ops().at(1);
  EXPECT_EQ(relu->get_type_info(), Relu::get_type_info_static());
  EXPECT_TRUE(is_type<Relu>(relu));
  EXPECT_FALSE(is_type<Add>(relu));
  EXPECT_EQ(as_type_ptr<Add>(relu), nullptr);
  const std::shared_ptr<Relu> same = as_type_ptr<Relu>(relu);
  ASSERT_NE(same, nullptr);
  EXPECT_EQ(*same, *relu);
  EXPECT_NE(std::dynamic_pointer_cast<Parameter>(model->get_ordered_ops().at(0)), nullptr);
}

TEST(LayersInCode, ProfilesTellTheTypesOfLayersThatWereFused) {
  const auto data = input({1, 3, 8, 8});
  const auto weights = std::make_shared<Constant>(element::f32, Shape{4, 3, 3, 3}, 0.5f);
  const auto convolution = std::make_shared<op::v1::Convolution>(data, weights, Strides{1, 1}, CoordinateDiff{1, 1},
                                                                 CoordinateDiff{1, 1}, Strides{1, 1});
  const auto relu = std::make_shared<Relu>(convolution);
  relu->set_friendly_name("kink");
  const auto model = std::make_shared<Model>(OutputVector{relu}, ParameterVector{data});
  InferRequest request = Core().compile_model(model, "CPU", enable_profiling(true)).create_infer_request();
  request.infer();
  size_t fused = 0;
  for (const ProfilingInfo& layer : request.get_profiling_info()) {
    if (layer.status == ProfilingInfo::Status::EXECUTED) continue;
    ++fused;
    EXPECT_EQ(layer.node_name, "kink");
    EXPECT_EQ(layer.node_type, "Relu");
  }
  EXPECT_EQ(fused, 1U);
}

TEST(LayersInCode, VariablesKeepTheirValue) {
  const auto data = input({1});
  const auto variable = std::make_shared<op::util::Variable>(op::util::VariableInfo{{1}, element::f32, "sum"});
  const auto zero = Constant::create(element::f32, Shape{1}, {0.0f});
  const auto sum = std::make_shared<Add>(data, std::make_shared<op::v6::ReadValue>(zero, variable));
  const auto keep = std::make_shared<op::v6::Assign>(sum, variable);
  const auto model = std::make_shared<Model>(OutputVector{sum}, SinkVector{keep}, ParameterVector{data}, "counter");
  Core core;
  InferRequest request = core.compile_model(model, "CPU").create_infer_request();
  for (int i = 1; i <= 3; ++i) {
    *request.get_input_tensor().data<float>() = 2;
    request.infer();
    EXPECT_EQ(*request.get_output_tensor().data<float>(), 2.0f * i);
  }
}

/// The rows of ops.inc and the operations of the library are the same, but for the sets of our own.
TEST(LayersInCode, EveryOperationHasAClass) {
  std::set<std::pair<std::string, std::string>> classes;
#define TERROIR_ROW(space, Name, in_files, set, ...)                                               \
  EXPECT_TRUE(classes.emplace(in_files, #set).second) << in_files;                                 \
  EXPECT_EQ(op::space::Name::get_type_info_static(), (DiscreteTypeInfo{#Name, #set})) << in_files; \
  EXPECT_EQ(ops::builtin_registry().get(in_files, #set).type, in_files);
#include "tests/support/every_op.inc"
  std::set<std::pair<std::string, std::string>> operations;
  for (const ir::OpSchema* schema : ops::builtin_registry().all()) {
    if (ir::opset_number(schema->opset) > 0) operations.emplace(schema->type, schema->opset);
  }
  EXPECT_EQ(classes, operations);
}

}  // namespace
}  // namespace terroir
