// ModelBuilder, Model, Node, ports
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "terroir/opsets.hpp"
#include "terroir/terroir.hpp"
#include "tests/support/caught.hpp"

namespace terroir {
namespace {

// data[?,4] -> Add(bias) -> ReLU -> "prob"
std::shared_ptr<Model> small_model() {
  ModelBuilder b("small");
  const auto x = b.parameter(element::f32, {-1, 4}, "data");
  const auto bias = b.constant(element::f32, Shape{1, 4}, {1.f, -2.f, 3.f, -4.f}, "bias");
  const auto sum = b.op("Add", "opset1", {x, bias}, {{"auto_broadcast", "numpy"}}, "sum");
  b.result(b.op("ReLU", "opset1", {sum}), "prob");
  return b.build();
}

TEST(ModelBuilder, SaysThatItWasMovedFrom) {
  ModelBuilder from("m");
  const ModelBuilder to(std::move(from));
  const auto text_of = [&](auto use) { return std::string(caught(use).what()); };
  for (const std::string& text :
       {text_of([&] { from.parameter(element::f32, {1}); }),
        text_of([&] { from.constant(element::f32, Shape{1}, {1.f}); }), text_of([&] { from.op("ReLU", "opset1", {}); }),
        text_of([&] { from.result({}); }), text_of([&] { from.build(); })})
    EXPECT_NE(text.find("the ModelBuilder was moved from"), std::string::npos) << text;
}

TEST(Model, FunctionsOfNoModelSaySo) {
  for (const std::string& text : {std::string(caught([] { get_batch(nullptr); }).what()),
                                  std::string(caught([] { set_batch(nullptr, 3); }).what())})
    EXPECT_NE(text.find("the model is empty"), std::string::npos) << text;
}

TEST(ModelBuilder, InfersAtEachStep) {
  ModelBuilder b("m");
  const auto x = b.parameter(element::f32, {1, 3, Dimension(4, 8)}, "x");
  EXPECT_EQ(x.get_partial_shape(), (PartialShape{1, 3, Dimension(4, 8)}));
  EXPECT_EQ(x.get_any_name(), "x");
  const auto y = b.op("ReLU", "opset1", {x}, {}, "act");
  EXPECT_EQ(y.get_element_type(), element::f32);
  EXPECT_EQ(y.get_partial_shape(), x.get_partial_shape());
  EXPECT_EQ(y.get_node()->get_type_info(), (DiscreteTypeInfo{"Relu", "opset1"}));
  EXPECT_EQ(y.get_node()->input_value(0), x);
  b.result(y);
  const auto model = b.build();
  EXPECT_EQ(model->get_friendly_name(), "m");
  EXPECT_EQ(model->output().get_any_name(), "act");
}

TEST(ModelBuilder, AcceptsAttributesInManySpellings) {
  ModelBuilder b;
  const auto x = b.parameter(element::f32, {1, 3, 4});
  const auto shape = b.constant(element::i64, Shape{2}, {3, -1});
  for (const Any& value : {Any(true), Any("true"), Any(1)}) {
    const auto y = b.op("Reshape", "opset1", {x, shape}, {{"special_zero", value}});
    EXPECT_EQ(y.get_shape(), (Shape{3, 4}));
    EXPECT_EQ(y.get_node()->get_attributes().at("special_zero"), "true");
  }
}

TEST(ModelBuilder, ListsMayBeWrittenInBraces) {
  ModelBuilder b;
  const auto x = b.parameter(element::f32, {1, 3, 9, 9});
  const auto w = b.constant(element::f32, {4, 3, 3, 3}, {0.5f});
  const auto y = b.op("Convolution", "opset1", {x, w},
                      {{"strides", {2, 2}},
                       {"dilations", std::vector<int>{1, 1}},
                       {"pads_begin", "1, 0"},
                       {"pads_end", Shape{1, 0}},
                       {"auto_pad", "explicit"}});
  EXPECT_EQ(y.get_shape(), (Shape{1, 4, 5, 4}));
  const auto axes = b.constant(element::i64, Shape{1}, {1});
  EXPECT_EQ(b.op("ReduceMean", "opset1", {y, axes}, {{"keep_dims", true}}).get_shape(), (Shape{1, 1, 5, 4}));
}

TEST(ModelBuilder, RefusesAndStaysUsable) {
  ModelBuilder b("m");
  const auto x = b.parameter(element::f32, {1, 4}, "x");
  const auto c = b.constant(element::f32, Shape{3}, {1.f});
  const Exception shapes = caught([&] { b.op("Add", "opset1", {x, c}, {{"auto_broadcast", "numpy"}}, "sum"); });
  EXPECT_NE(std::strstr(shapes.what(), "'sum'"), nullptr) << shapes.what();
  const Exception type = caught([&] { b.op("Ad", "opset1", {x, x}); });
  EXPECT_EQ(type.code(), ErrorCode::unsupported);
  EXPECT_NE(std::strstr(type.what(), "'Add'"), nullptr) << type.what();
  const Exception attribute = caught([&] { b.op("Add", "opset1", {x, x}, {{"auto_brodcast", "numpy"}}, "sum"); });
  EXPECT_EQ(attribute.code(), ErrorCode::not_found);
  EXPECT_NE(std::strstr(attribute.what(), "did you mean 'auto_broadcast'?"), nullptr) << attribute.what();
  const Exception value = caught([&] { b.op("Add", "opset1", {x, x}, {{"auto_broadcast", "both"}}, "sum"); });
  EXPECT_NE(std::strstr(value.what(), "'auto_broadcast': expected one of none"), nullptr) << value.what();
  for (const Any& axis : {Any(0.5), Any(std::vector<double>{0.5}), Any("")}) {
    const auto softmax = [&] { b.op("Softmax", "opset8", {x}, {{"axis", axis}}); };
    EXPECT_NE(std::strstr(caught(softmax).what(), "the attribute 'axis'"), nullptr) << axis;
  }
  const auto pool = [&] { b.op("MaxPool", "opset1", {x}, {{"strides", std::vector<float>{1.5F}}}); };
  EXPECT_NE(std::strstr(caught(pool).what(), "'strides': expected a whole number, got '1.5'"), nullptr);
  EXPECT_EQ(caught([&] { b.parameter(element::f32, {1}, "x"); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(caught([&] { b.constant(element::f32, Shape{3}, {1.f, 2.f}); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(caught([&] { b.constant(element::u8, Shape{1}, {256}); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(caught([&] { b.constant(element::i32, Shape{1}, {0.5}); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(caught([&] { b.constant(element::boolean, Shape{1}, {2}); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(caught([&] { b.op("Const", "opset1", {}); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(caught([&] {
              ModelBuilder other;
              other.result(x);
            }).code(),
            ErrorCode::invalid_argument);
  EXPECT_EQ(caught([&] { b.build(); }).code(), ErrorCode::invalid_argument);
  b.result(b.op("Add", "opset1", {x, x}, {{"auto_broadcast", "numpy"}}, "sum"));
  EXPECT_EQ(b.build()->get_ops().size(), 4u);
}

TEST(Model, FindsItsPorts) {
  const auto model = small_model();
  EXPECT_EQ(model->inputs().size(), 1u);
  EXPECT_EQ(model->input().get_any_name(), "data");
  EXPECT_EQ(model->input("data"), model->input(0));
  EXPECT_EQ(model->output("prob"), model->output());
  EXPECT_STREQ(model->output().get_node()->get_type_name(), "Result");
  EXPECT_EQ(model->get_output_partial_shape(0), (PartialShape{-1, 4}));
  const Exception error = caught([&] { static_cast<void>(model->input("image")); });
  EXPECT_EQ(error.code(), ErrorCode::not_found);
  EXPECT_STREQ(error.what(), "the model has no input 'image'; there are 'data'");
  EXPECT_EQ(caught([&] { static_cast<void>(model->output(1)); }).code(), ErrorCode::not_found);
  const std::shared_ptr<const Model> reading = model;
  EXPECT_EQ(reading->input(), Output<const Node>(model->input()));
}

TEST(Model, PortsKeepTheModelAliveAndSeeItsChanges) {
  auto model = small_model();
  const auto port = model->output();
  EXPECT_TRUE(model->is_dynamic());
  model->reshape(PartialShape{2, 4});
  EXPECT_EQ(port.get_shape(), (Shape{2, 4}));
  EXPECT_FALSE(model->is_dynamic());
  model.reset();
  EXPECT_EQ(port.get_shape(), (Shape{2, 4}));
}

TEST(Model, ReshapesByNameIndexAndPort) {
  const auto model = small_model();
  model->reshape(std::map<std::string, PartialShape>{{"data", {5, 4}}});
  EXPECT_EQ(model->get_output_shape(0), (Shape{5, 4}));
  model->reshape(std::map<size_t, PartialShape>{{0, PartialShape{6, 4}}});
  EXPECT_EQ(model->get_output_shape(0), (Shape{6, 4}));
  model->reshape(std::map<Output<Node>, PartialShape>{{model->input(), {Dimension(1, 8), 4}}});
  EXPECT_EQ(model->get_output_partial_shape(0), (PartialShape{Dimension(1, 8), 4}));
}

TEST(Model, StaysAsItWasWhenAReshapeFails) {
  const auto model = small_model();
  const Exception error = caught([&] { model->reshape(PartialShape{2, 5}); });
  EXPECT_NE(std::strstr(error.what(), "cannot reshape the model: Add 'sum'"), nullptr) << error.what();
  EXPECT_EQ(model->input().get_partial_shape(), (PartialShape{-1, 4}));
  EXPECT_EQ(model->output().get_partial_shape(), (PartialShape{-1, 4}));
  EXPECT_EQ(caught([&] {
              model->reshape(std::map<std::string, PartialShape>{{"x", {1}}});
            }).code(),
            ErrorCode::not_found);
  EXPECT_EQ(caught([&] {
              model->reshape(std::map<Output<Node>, PartialShape>{{model->output(), {1}}});
            }).code(),
            ErrorCode::not_found);
}

TEST(Model, ClonesAreIndependent) {
  const auto model = small_model();
  const auto copy = model->clone();
  copy->reshape(PartialShape{3, 4});
  copy->set_friendly_name("copy");
  EXPECT_TRUE(model->is_dynamic());
  EXPECT_EQ(model->get_friendly_name(), "small");
  EXPECT_FALSE(model->input() == copy->input());
}

TEST(Model, ErrorsTellWhatTheCallerSaidByTheirClass) {
  const auto model = small_model();
  EXPECT_THROW(model->reshape(PartialShape{1, 2, 3, 4, 5, 6}), NodeValidationFailure) << "a layer refuses it";
  EXPECT_THROW(model->input("nobody"), AssertFailure);
  EXPECT_THROW(layout::set_layout(model->input(), "NDCHWXYZ"), AssertFailure);
  EXPECT_THROW(preprocess::PrePostProcessor(model).input("nobody"), AssertFailure);
  try {
    model->reshape(PartialShape{1, 2, 3, 4, 5, 6});
  } catch (const Exception& error) {
    EXPECT_EQ(std::string(error.what()).find("cannot reshape the model: "), 0u) << error.what();
  }
}

TEST(Model, NamesCanBeChanged) {
  const auto model = small_model();
  model->output().add_names({"second"});
  EXPECT_EQ(model->output().get_names(), (std::unordered_set<std::string>{"prob", "second"}));
  EXPECT_EQ(model->output("second"), model->output());
  model->input().set_names({"image"});
  EXPECT_EQ(model->input("image").get_any_name(), "image");
  model->input().set_names({});
  EXPECT_EQ(caught([&] { model->input().get_any_name(); }).code(), ErrorCode::not_found);
  EXPECT_EQ(model->input("data"), model->input());  // the layer's name still finds it
  model->get_ops()[0]->set_friendly_name("renamed");
  EXPECT_EQ(model->input().get_node()->get_friendly_name(), "renamed");
}

TEST(Model, OutputsCanBeAdded) {
  const auto model = small_model();
  const auto added = model->add_output("sum");
  EXPECT_EQ(added, model->output(1));
  EXPECT_EQ(model->add_output("bias", 0).get_shape(), (Shape{1, 4}));
  EXPECT_EQ(model->get_output_size(), 3u);
  EXPECT_EQ(model->add_output("sum"), added) << "it is one already";
  EXPECT_EQ(model->add_output("sum", 0), added);
  EXPECT_EQ(model->get_output_size(), 3u);
  EXPECT_EQ(model->output("sum").get_partial_shape(), (PartialShape{-1, 4}));
  EXPECT_EQ(caught([&] { model->add_output("nothing"); }).code(), ErrorCode::not_found);
  EXPECT_EQ(caught([&] { model->add_output("sum", 1); }).code(), ErrorCode::not_found);
  EXPECT_NE(std::strstr(caught([&] { model->add_output("biass", 0); }).what(), "did you mean 'bias'"), nullptr);
}

TEST(Model, OrdersItsLayers) {
  const auto model = small_model();
  EXPECT_EQ(model->get_ops().size(), 5u);
  EXPECT_EQ(model->get_parameters().size(), 1u);
  EXPECT_EQ(model->get_results().size(), 1u);
  const auto ordered = model->get_ordered_ops();
  for (size_t i = 0; i < ordered.size(); ++i) {
    for (const auto& input : ordered[i]->input_values()) {
      const auto producer =
          std::find_if(ordered.begin(), ordered.end(), [&](const auto& node) { return *node == *input.get_node(); });
      EXPECT_LT(producer - ordered.begin(), static_cast<std::ptrdiff_t>(i));
    }
  }
}

TEST(Model, KnowsTheEndsOfItsLayers) {
  const auto model = small_model();
  EXPECT_EQ(*model->get_result(), *model->get_results()[0]);
  EXPECT_EQ(*model->get_output_op(0), *model->get_results()[0]);
  EXPECT_EQ(caught([&] { model->get_output_op(1); }).code(), ErrorCode::not_found);
  EXPECT_EQ(model->get_parameter_index(model->get_parameters()[0]), 0);
  EXPECT_EQ(model->get_parameter_index(nullptr), -1);
  EXPECT_EQ(model->get_result_index(model->output()), 0);
  EXPECT_EQ(model->get_result_index(model->get_result()->input_value(0)), 0);
  EXPECT_EQ(model->get_result_index(model->input()), -1);
  EXPECT_EQ(model->get_result_index(Output<const Node>()), -1);
  const auto other = small_model();
  EXPECT_EQ(model->get_parameter_index(other->get_parameters()[0]), -1);
  EXPECT_EQ(model->get_result_index(other->output()), -1);
  EXPECT_EQ(model->add_output(model->get_result()->input_value(0)), model->output());  // it is one
  const Output<Node> added = model->add_output(model->input());
  EXPECT_EQ(added, model->output(1));
  EXPECT_EQ(model->outputs().size(), 2u);
  EXPECT_EQ(caught([&] { model->add_output(other->input()); }).code(), ErrorCode::not_found);
  EXPECT_EQ(caught([&] { model->get_result(); }).code(), ErrorCode::invalid_argument);
}

TEST(Model, CountsItsBytesAndPrintsItsLayers) {
  ModelBuilder b("sized");
  const auto x = b.parameter(element::f32, {1000}, "x");
  b.result(b.op("Add", "opset1", {x, b.constant(element::f32, Shape{1000}, {1.f})}, {}, "sum"));
  const auto model = b.build();
  EXPECT_GT(model->get_graph_size(), 4000u);
  EXPECT_LT(model->get_graph_size(), 40000u);
  EXPECT_TRUE(model->get_sinks().empty());
  EXPECT_TRUE(model->get_variables().empty());
  std::ostringstream out;
  out << *model;
  EXPECT_NE(out.str().find("Model 'sized'"), std::string::npos);
  EXPECT_NE(out.str().find("opset1::Add sum (opset1::Parameter x[0]:f32[1000]"), std::string::npos) << out.str();
}

TEST(Model, IsEvaluatedByTheReferences) {
  const auto model = small_model();
  model->reshape(PartialShape{2, model->input().get_partial_shape()[1]});
  const Tensor input(element::f32, model->input().get_shape());
  std::fill_n(input.data<float>(), input.get_size(), 1.f);
  TensorVector outputs;
  EXPECT_TRUE(model->evaluate(outputs, {input}));
  ASSERT_EQ(outputs.size(), 1u);
  InferRequest request = Core().compile_model(model, "CPU").create_infer_request();
  request.set_input_tensor(input);
  request.infer();
  const Tensor expected = request.get_output_tensor();
  ASSERT_EQ(outputs[0].get_shape(), expected.get_shape());
  for (size_t i = 0; i < expected.get_size(); ++i) {
    EXPECT_NEAR(outputs[0].data<float>()[i], expected.data<float>()[i], 1e-5) << i;
  }
  TensorVector given{Tensor(element::f32, expected.get_shape())};
  model->evaluate(given, {input});
  EXPECT_EQ(given[0].data<float>()[0], outputs[0].data<float>()[0]);
  EXPECT_EQ(caught([&] { model->evaluate(outputs, {}); }).code(), ErrorCode::invalid_argument);
}

TEST(Model, IsValidatedAnew) {
  const auto model = small_model();
  EXPECT_NO_THROW(model->validate_nodes_and_infer_types());
  EXPECT_EQ(model->outputs().size(), 1u);
}

TEST(Model, PathsOfRuntimeInformationMayBeLists) {
  const auto model = small_model();
  const std::vector<std::string> path{"a", "b"};
  model->set_rt_info(7, path);
  EXPECT_TRUE(model->has_rt_info(path));
  EXPECT_EQ(model->get_rt_info<int>(path), 7);
  EXPECT_EQ(model->get_rt_info<Any>("a", "b").as<std::string>(), "7");
}

TEST(Model, KeepsRuntimeInformation) {
  const auto model = small_model();
  EXPECT_FALSE(model->has_rt_info("a", "b"));
  model->set_rt_info("value", "a", "b");
  model->set_rt_info(3, "a", "c");
  EXPECT_TRUE(model->has_rt_info("a", "b"));
  EXPECT_EQ(model->get_rt_info<std::string>("a", "b"), "value");
  EXPECT_EQ(model->get_rt_info<int>("a", "c"), 3);
  EXPECT_EQ(model->get_rt_info().at("a").as<AnyMap>().size(), 2u);
  EXPECT_EQ(caught([&] { model->get_rt_info<int>("x"); }).code(), ErrorCode::not_found);
}

TEST(Model, BatchComesFromLayouts) {
  const auto model = small_model();
  EXPECT_EQ(caught([&] { get_batch(model); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(caught([&] { layout::set_layout(model->input(), "NCHW"); }).code(), ErrorCode::invalid_argument);
  layout::set_layout(model->input(), "NC");
  EXPECT_EQ(layout::get_layout(model->input()), Layout("NC"));
  EXPECT_EQ(get_batch(model), Dimension());
  set_batch(model, 7);
  EXPECT_EQ(get_batch(model), Dimension(7));
  EXPECT_EQ(model->get_output_shape(0), (Shape{7, 4}));
  layout::set_layout(model->input(), Layout());
  EXPECT_TRUE(layout::get_layout(model->input()).empty());
}

TEST(Model, BatchesThatDifferAreNamed) {
  ParameterVector inputs;
  OutputVector outputs;
  for (const auto& [shape, layout] :
       {std::pair<PartialShape, const char*>{{1, 3}, "NC"}, {{3, 5}, "N?"}, {{7, 7}, "HW"}}) {
    inputs.push_back(std::make_shared<opset8::Parameter>(element::f32, shape));
    inputs.back()->set_layout(layout);
    outputs.push_back(std::make_shared<opset8::Relu>(inputs.back()));
  }
  const auto model = std::make_shared<Model>(outputs, inputs);
  for (const Exception& error : {caught([&] { get_batch(model); }), caught([&] { set_batch(model, 2); })}) {
    const std::string text = error.what();
    EXPECT_NE(text.find("[1,3] [N,C]"), std::string::npos) << text;
    EXPECT_NE(text.find("[3,5] [N,?]"), std::string::npos) << text;
    EXPECT_EQ(text.find("[H,W]"), std::string::npos) << text;
  }
  EXPECT_EQ(model->input(0).get_shape(), (Shape{1, 3})) << "nothing has changed";
  inputs[0]->set_layout("C?");
  inputs[1]->set_layout(Layout());
  const std::string text = caught([&] { set_batch(model, 2); }).what();
  EXPECT_NE(text.find("[1,3] [C,?]"), std::string::npos) << text;
}

TEST(Model, NamesMeanTheLayersThatAreLeft) {
  const auto x = std::make_shared<opset8::Parameter>(element::f32, Shape{2});
  const auto gone = std::make_shared<opset8::Relu>(x);
  const auto stays = std::make_shared<opset8::Abs>(gone);
  gone->set_friendly_name("one");
  gone->output(0).set_names({"tensor"});
  const auto model = std::make_shared<Model>(OutputVector{std::make_shared<opset8::Exp>(stays)}, ParameterVector{x});
  replace_node(gone, std::make_shared<opset8::Exp>(x));
  stays->set_friendly_name("one");
  EXPECT_STREQ(model->add_output("one", 0).get_node()->get_input_node_ptr(0)->get_type_name(), "Abs");
}

TEST(Model, MayBeginWithoutOutputs) {
  const auto x = std::make_shared<opset8::Parameter>(element::f32, Shape{2});
  const auto model = std::make_shared<Model>(OutputVector{}, ParameterVector{});
  EXPECT_TRUE(model->outputs().empty());
  model->add_parameters({x});
  model->add_output(std::make_shared<opset8::Relu>(x)->output(0));
  EXPECT_EQ(model->get_output_shape(0), (Shape{2}));
  EXPECT_NO_THROW(Core().compile_model(model, "CPU"));
}

// A head as exporters write it: the batch of the example is a number in the file.
std::shared_ptr<Model> model_of_one_image(const std::vector<int64_t>& target) {
  ModelBuilder b("head");
  const auto x = b.parameter(element::f32, PartialShape{1, 6, 2, 2}, "x");
  layout::set_layout(x, "NCHW");
  const auto size = b.constant(element::i64, Shape{target.size()}, target);
  b.result(b.op("Reshape", "opset1", OutputVector{x, size}, AnyMap{{"special_zero", false}}, "head"));
  return b.build();
}

TEST(Model, ReshapesToNumbersFollowTheBatch) {
  for (const Dimension batch : {Dimension(2), Dimension(), Dimension(1, 8)}) {
    const auto model = model_of_one_image({1, 24});
    const auto head = model->get_ordered_ops().at(2);
    model->reshape(PartialShape{batch, 6, 2, 2});
    EXPECT_EQ(model->get_output_partial_shape(0), (PartialShape{batch, 24}));
    EXPECT_EQ(head->get_output_partial_shape(0), (PartialShape{batch, 24})) << "handles stay";
    EXPECT_EQ(model->get_ops().size(), 4u) << "no layer is left over";
  }
}

TEST(Model, ReshapesThatComputeAnExtentFollowTheBatchOnlyWhereItIsMeant) {
  auto model = model_of_one_image({1, 3, -1});
  model->reshape(PartialShape{2, 6, 2, 2});
  EXPECT_EQ(model->get_output_partial_shape(0), (PartialShape{1, 3, 16})) << "as the file says";
  model = model_of_one_image({1, 3, -1});
  set_batch(model, 2);
  EXPECT_EQ(model->get_output_partial_shape(0), (PartialShape{2, 3, 8})) << "the layout says what the batch is";
}

TEST(Model, ReshapesToNumbersRefuseWhatIsNoBatch) {
  const auto model = model_of_one_image({1, 24});
  const Exception error = caught([&] { model->reshape(PartialShape{2, 6, 4, 2}); });
  EXPECT_NE(std::strstr(error.what(), "Reshape 'head'"), nullptr) << error.what();
  EXPECT_EQ(model->get_output_partial_shape(0), (PartialShape{1, 24}));
}

TEST(Version, IsThatOfTheProject) { EXPECT_STREQ(get_terroir_version().buildNumber, "0.1.0"); }

}  // namespace
}  // namespace terroir
