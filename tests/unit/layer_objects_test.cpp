// Layers have one object each, which plain pointers and references may rely on; and what such objects can do.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <unordered_set>
#include <vector>

#include "terroir/graph_util.hpp"
#include "terroir/op_extension.hpp"
#include "terroir/opsets.hpp"
#include "terroir/pass/visualize_tree.hpp"
#include "terroir/runtime_attribute.hpp"
#include "terroir/terroir.hpp"
#include "tests/unit/read_back.hpp"

namespace terroir {
namespace {

struct Layers {
  std::shared_ptr<opset8::Parameter> input = std::make_shared<opset8::Parameter>(element::f32, PartialShape{1, 8});
  std::shared_ptr<opset8::Multiply> twice =
      std::make_shared<opset8::Multiply>(input, opset8::Constant::create(element::f32, Shape{}, {2}));
  std::shared_ptr<opset8::Relu> relu = std::make_shared<opset8::Relu>(twice);
  std::shared_ptr<Model> model = std::make_shared<Model>(OutputVector{relu}, ParameterVector{input}, "layers");
};

std::shared_ptr<Model> model_of_file() {
  Layers layers;
  layers.relu->set_friendly_name("relu");
  return read_back(layers.model);
}

TEST(LayerObjects, AreTheProgramsOwnOfLayersMadeInCode) {
  const Layers layers;
  EXPECT_EQ(layers.relu->get_input_node_ptr(0), layers.twice.get());
  EXPECT_EQ(layers.twice->output(0).get_node(), layers.twice.get());
  EXPECT_EQ(layers.model->input().get_node(), layers.input.get());
  EXPECT_EQ(layers.model->get_parameters().at(0).get(), layers.input.get());
  EXPECT_EQ(layers.twice->get_users().at(0).get(), layers.relu.get());
  std::unordered_set<const Node*> known;
  for (const auto& layer : layers.model->get_ops()) known.insert(layer.get());
  EXPECT_EQ(known.count(layers.relu.get()), 1u);
  EXPECT_NE(dynamic_cast<opset8::Multiply*>(layers.relu->get_input_node_ptr(0)), nullptr);
}

TEST(LayerObjects, KnowWhatTheyWereSaidToComeAfter) {
  const Layers layers;
  EXPECT_TRUE(layers.relu->get_control_dependencies().empty());
  std::weak_ptr<Node> kept;
  {
    const auto other = std::make_shared<opset8::Abs>(layers.input);
    kept = other;
    layers.relu->add_control_dependency(other);
  }
  layers.relu->add_control_dependency(layers.input);
  layers.relu->add_control_dependency(layers.input);
  EXPECT_EQ(layers.relu->get_control_dependencies(), (NodeVector{kept.lock(), layers.input}));
  EXPECT_EQ(layers.model->get_result()->get_input_node_ptr(0)->get_control_dependencies().size(), 2u) << "of the model";
  layers.relu->remove_control_dependency(layers.input);
  EXPECT_EQ(layers.relu->get_control_dependencies(), NodeVector{kept.lock()});
  layers.relu->clear_control_dependencies();
  EXPECT_TRUE(layers.relu->get_control_dependencies().empty());
  EXPECT_TRUE(kept.expired());
}

TEST(LayerObjects, AreOrderedByWhatTheyComeAfter) {
  const auto place = [](const NodeVector& layers, const std::string& name) {
    return std::find_if(layers.begin(), layers.end(),
                        [&](const auto& layer) { return layer->get_friendly_name() == name; }) -
           layers.begin();
  };
  const auto x = std::make_shared<opset8::Parameter>(element::f32, PartialShape{2});
  const auto first = std::make_shared<opset8::Relu>(x);
  const auto second = std::make_shared<opset8::Abs>(x);
  first->set_friendly_name("first");
  second->set_friendly_name("second");
  first->add_control_dependency(second);
  const auto model = std::make_shared<Model>(OutputVector{first, second}, ParameterVector{x});
  // A second copy knows it from the first.
  for (const std::shared_ptr<Model>& one : {model, model->clone(), model->clone()->clone()}) {
    const NodeVector order = one->get_ordered_ops();
    EXPECT_EQ(order.size(), 5u);
    EXPECT_LT(place(order, "second"), place(order, "first"));
    const NodeVector sorted = topological_sort(one->get_results());
    EXPECT_LT(place(sorted, "second"), place(sorted, "first"));
  }
  EXPECT_EQ(first->get_control_dependencies(), NodeVector{second});
  EXPECT_EQ(first->copy_with_new_inputs({x})->get_control_dependencies(), NodeVector{second});
  EXPECT_TRUE(first->clone_with_new_inputs({x})->get_control_dependencies().empty());
  first->remove_control_dependency(second);
  second->add_control_dependency(first);
  EXPECT_LT(place(model->get_ordered_ops(), "first"), place(model->get_ordered_ops(), "second"));

  first->add_control_dependency(model->get_results().at(0));
  EXPECT_THROW(model->get_ordered_ops(), Exception) << "it would come after itself";
  first->clear_control_dependencies();  // layers that hold each other would stay for ever
}

TEST(LayerObjects, OfFilesKnowWhatTheyComeAfterByWhicheverObject) {
  const auto model = model_of_file();
  const auto relu = model->get_result()->get_input_node_shared_ptr(0);
  as_type_ptr<opset8::Relu>(relu)->add_control_dependency(model->get_parameters().at(0));
  EXPECT_EQ(relu->get_control_dependencies(), (NodeVector{model->get_parameters().at(0)}));
}

TEST(LayerObjects, HaveNumbersOfTheirOwn) {
  const Layers layers;
  std::unordered_set<size_t> known;
  for (const auto& layer : layers.model->get_ops()) {
    EXPECT_TRUE(known.insert(layer->get_instance_id()).second);
    EXPECT_EQ(layer->get_name(), layer->description() + "_" + std::to_string(layer->get_instance_id()));
  }
}

TEST(LayerObjects, AreTheSameForWhoeverAsks) {
  const auto model = model_of_file();
  const auto ops = model->get_ordered_ops();
  for (size_t i = 0; i < ops.size(); ++i) EXPECT_EQ(ops[i].get(), model->get_ordered_ops()[i].get());
  const Node* const result = model->output().get_node();
  const Node* const relu = result->get_input_node_ptr(0);
  EXPECT_EQ(relu->get_friendly_name(), "relu");
  EXPECT_EQ(relu->output(0).get_target_inputs().begin()->get_node(), result);
}

TEST(LayerObjects, OfAClassAreMadeOnce) {
  const auto model = model_of_file();
  const std::shared_ptr<Node> node = model->output().get_node()->get_input_node_shared_ptr(0);
  const auto relu = as_type_ptr<opset8::Relu>(node);
  ASSERT_NE(relu, nullptr);
  EXPECT_EQ(relu.get(), as_type_ptr<opset8::Relu>(node).get());
  EXPECT_EQ(relu.get(), as_type<opset8::Relu>(node.get()));
  // Another object than `node`, but a pointer to the same layer.
  EXPECT_TRUE(relu == node && node == relu && !(relu != node) && !(node != relu));
  EXPECT_FALSE(node == relu->get_input_node_shared_ptr(0));
  EXPECT_FALSE(relu == std::shared_ptr<Node>());
}

TEST(LayerObjects, OfAModelStayUntilItGoes) {
  auto model = model_of_file();
  std::weak_ptr<Node> object;
  {
    Node* const relu = model->output().get_node()->get_input_node_ptr(0);
    object = relu->weak_from_this();
    EXPECT_EQ(relu->get_friendly_name(), "relu");
  }
  EXPECT_FALSE(object.expired());
  const std::shared_ptr<Node> held = object.lock();
  model.reset();
  EXPECT_EQ(held->get_input_node_ptr(0)->get_type_name(), std::string("Multiply"));
  const std::weak_ptr<Node> input = held->get_input_node_ptr(0)->weak_from_this();
  EXPECT_FALSE(input.expired()) << "layers keep what they read";
}

TEST(LayerObjects, GoWithModelsAndLayers) {
  std::weak_ptr<Node> made;
  std::weak_ptr<Node> read;
  std::weak_ptr<Node> drafted;
  {
    const Layers layers;
    made = layers.relu;
    read = model_of_file()->output().get_node()->weak_from_this();
    const auto relu = std::make_shared<opset8::Relu>(std::make_shared<opset8::Parameter>(element::f32, Shape{1}));
    drafted = relu->get_input_node_shared_ptr(0);
    EXPECT_FALSE(drafted.expired()) << "layers keep what they read";
  }
  EXPECT_TRUE(made.expired());
  EXPECT_TRUE(read.expired());
  EXPECT_TRUE(drafted.expired());
}

TEST(LayerObjects, FollowEndsThatComeAndGo) {
  const Layers layers;
  const auto more = std::make_shared<opset8::Result>(layers.twice);
  layers.model->add_results({more});
  EXPECT_EQ(layers.model->get_results().at(1).get(), more.get());
  layers.model->remove_result(more);
  EXPECT_EQ(more->get_input_node_ptr(0), layers.twice.get());
}

TEST(LayerObjects, OfCompiledModels) {
  auto compiled = Core().compile_model(Layers().model, "CPU");
  const Node* const input = compiled.input().get_node();
  EXPECT_EQ(input, compiled.inputs().at(0).get_node());
  EXPECT_EQ(input->get_output_partial_shape(0), (PartialShape{1, 8}));
}

TEST(Ports, AreTakenToOtherLayersAndEmptied) {
  const Layers layers;
  Output<Node> port = layers.twice;
  EXPECT_EQ(port.for_node(layers.relu), layers.relu->output(0));
  EXPECT_EQ(layers.relu->input(0).get_tensor_ptr().get(), &layers.twice->get_output_tensor(0));
  port.reset();
  EXPECT_EQ(port, Output<Node>());
  EXPECT_EQ(opset8::Relu::get_type_info_static().hash(), layers.relu->get_type_info().hash());
}

TEST(TensorsOfPorts, AreReferences) {
  const auto model = model_of_file();
  auto& tensor = model->output(0).get_tensor();
  EXPECT_EQ(&tensor, &model->output(0).get_node()->get_output_tensor(0));
  tensor.set_names({"b"});
  tensor.add_names({"a"});
  EXPECT_EQ(model->output("b").get_any_name(), "a");
  auto& read = model->output(0).get_node()->get_input_tensor(0);
  EXPECT_EQ(read.get_names(), tensor.get_names());
  EXPECT_EQ(tensor.get_shape(), (Shape{1, 8}));
  EXPECT_EQ(tensor.get_partial_shape(), (PartialShape{1, 8}));
  EXPECT_EQ(tensor.get_element_type(), element::f32);
  EXPECT_EQ(tensor.size(), 32u);
  tensor.get_rt_info()["key"] = 1;
  EXPECT_EQ(model->output(0).get_tensor_ptr()->get_rt_info().at("key").as<int>(), 1);
  model->reshape(PartialShape{2, 8});
  EXPECT_EQ(tensor.get_shape(), (Shape{2, 8}));
}

TEST(ValidateAndInferTypes, InfersTheLayerAndWhatFollows) {
  const auto input = std::make_shared<opset8::Parameter>(element::f32, PartialShape{1, 3, 8, 8});
  const auto weights = opset8::Constant::create(element::f32, Shape{4, 3, 2, 2}, {1});
  const auto conv = std::make_shared<opset8::Convolution>(input, weights, Strides{1, 1}, CoordinateDiff{0, 0},
                                                          CoordinateDiff{0, 0}, Strides{1, 1});
  const auto relu = std::make_shared<opset8::Relu>(conv);
  const auto inferred = [&](const PartialShape& shape) {
    return relu->get_output_partial_shape(0) == shape && conv->get_output_partial_shape(0) == shape;
  };
  conv->set_strides({2, 2});
  conv->validate_and_infer_types();
  EXPECT_TRUE(inferred({1, 4, 4, 4})) << relu->get_output_partial_shape(0);

  const Model model(OutputVector{relu}, ParameterVector{input});
  conv->set_pads_begin({1, 1});
  conv->set_pads_end({1, 1});
  conv->revalidate_and_infer_types();
  EXPECT_TRUE(inferred({1, 4, 5, 5})) << relu->get_output_partial_shape(0);
  EXPECT_EQ(model.output(0).get_partial_shape(), (PartialShape{1, 4, 5, 5}));

  input->set_partial_shape({1, 3, 4, 4});
  input->validate_and_infer_types();
  EXPECT_TRUE(inferred({1, 4, 3, 3})) << relu->get_output_partial_shape(0);
}

TEST(ValidateAndInferTypes, NamesTheLayerThatRefuses) {
  const auto input = std::make_shared<opset8::Parameter>(element::f32, PartialShape{1, 3, 8});
  const auto concat = std::make_shared<opset8::Concat>(OutputVector{input, input}, 1);
  concat->set_friendly_name("both");
  concat->set_axis(5);
  try {
    concat->validate_and_infer_types();
    FAIL() << "an axis that there is not";
  } catch (const Exception& error) {
    EXPECT_NE(std::string(error.what()).find("both"), std::string::npos) << error.what();
  }
  EXPECT_EQ(concat->get_output_partial_shape(0), (PartialShape{1, 6, 8}));
}

TEST(Setters, OfInputsThatAreConstants) {
  const auto input = std::make_shared<opset8::Parameter>(element::f32, PartialShape{2, 9});
  const auto k = opset8::Constant::create(element::i64, Shape{}, {3});
  const auto top = std::make_shared<op::v11::TopK>(input, k, 1, "max", "value");
  EXPECT_EQ(top->get_mode(), op::TopKMode::MAX);
  EXPECT_EQ(top->get_sort_type(), op::TopKSortType::SORT_VALUES);
  top->set_k(5);
  top->validate_and_infer_types();
  EXPECT_EQ(top->get_k(), 5u);
  EXPECT_EQ(top->get_output_partial_shape(0), (PartialShape{2, 5}));

  const auto sum =
      std::make_shared<opset8::ReduceSum>(input, opset8::Constant::create(element::i64, Shape{1}, {0}), false);
  sum->set_reduction_axes({1});
  sum->validate_and_infer_types();
  EXPECT_EQ(sum->get_reduction_axes(), AxisSet({1}));
  EXPECT_EQ(sum->get_output_partial_shape(0), PartialShape({2}));

  const auto image = std::make_shared<opset8::Parameter>(element::f32, PartialShape{1, 3, 4, 4});
  const auto weights = opset8::Constant::create(element::f32, Shape{3, 2, 2, 2}, {1});
  const auto extents = opset8::Constant::create(element::i64, Shape{2}, {8, 8});
  const auto back = std::make_shared<opset8::ConvolutionBackpropData>(
      image, weights, extents, Strides{2, 2}, CoordinateDiff{0, 0}, CoordinateDiff{0, 0}, Strides{1, 1});
  EXPECT_EQ(back->get_output_shape(), (PartialShape{8, 8}));
  back->set_output_shape({9, 9});
  back->validate_and_infer_types();
  EXPECT_EQ(back->get_output_partial_shape(0), (PartialShape{1, 2, 9, 9}));
}

TEST(Evaluate, ComputesOneLayer) {
  const Layers layers;
  Tensor a(element::f32, Shape{2});
  a.data<float>()[0] = 3;
  a.data<float>()[1] = -4;
  TensorVector outputs;
  ASSERT_TRUE(layers.relu->evaluate(outputs, {a}));
  EXPECT_EQ(outputs.at(0).data<float>()[0], 3);
  EXPECT_EQ(outputs.at(0).data<float>()[1], 0);
  const Tensor mine(element::f32, Shape{2});
  outputs = {mine};
  ASSERT_TRUE(layers.twice->evaluate(outputs, {a, a}));
  EXPECT_EQ(mine.data<float>()[1], 16);
  EXPECT_FALSE(layers.input->evaluate(outputs, {}));
  EXPECT_TRUE(layers.relu->has_evaluate());
  EXPECT_FALSE(layers.input->has_evaluate());
}

TEST(ConstantFold, GivesConstantsWhereAllInputsAre) {
  const auto a = opset8::Constant::create(element::f32, Shape{2}, {1, 2});
  const auto b = opset8::Constant::create(element::f32, Shape{}, {10});
  const auto sum = std::make_shared<opset8::Add>(a, b);
  OutputVector outputs(1);
  ASSERT_TRUE(sum->constant_fold(outputs, sum->input_values()));
  const auto folded = as_type_ptr<opset8::Constant>(outputs.at(0).get_node_shared_ptr());
  ASSERT_NE(folded, nullptr);
  EXPECT_EQ(folded->cast_vector<float>(), (std::vector<float>{11, 12}));
  const Layers layers;
  OutputVector before{layers.relu};
  EXPECT_FALSE(layers.relu->constant_fold(before, layers.relu->input_values()));
  EXPECT_EQ(before.at(0).get_node(), layers.relu.get());
}

TEST(Constants, GiveTheirElementsAsListsAndTexts) {
  const auto list = opset8::Constant::create(element::i64, Shape{3}, {2, -1, 3});
  EXPECT_EQ(list->get_shape_val(), (Shape{2, 0, 3}));
  EXPECT_EQ(list->get_strides_val(), (Strides{2, 0, 3}));
  EXPECT_EQ(list->get_coordinate_diff_val(), (CoordinateDiff{2, -1, 3}));
  EXPECT_EQ(list->get_axis_set_val(), (AxisSet{0, 2, 3}));
  EXPECT_EQ(list->get_axis_vector_val(), (AxisVector{2, 0, 3}));
  EXPECT_EQ(list->cast_vector<int>(2), (std::vector<int>{2, -1}));
  EXPECT_EQ(list->get_value_strings(), (std::vector<std::string>{"2", "-1", "3"}));
  EXPECT_EQ(list->convert_value_to_string(1), "-1");
  EXPECT_FALSE(list->get_all_data_elements_bitwise_identical());
  EXPECT_TRUE(opset8::Constant(element::f32, Shape{4}, 7).get_all_data_elements_bitwise_identical());
  EXPECT_EQ(opset8::Constant(element::f32, Shape{2}).cast_vector<float>(), (std::vector<float>{0, 0}));
  EXPECT_EQ(opset8::Constant(*list, Shape{3, 1}).get_shape(), (Shape{3, 1}));
  EXPECT_THROW(opset8::Constant(*list, Shape{2}), Exception);
  const opset8::Constant texts(element::string, Shape{2}, std::vector<std::string>{"a", "b"});
  EXPECT_EQ(texts.get_vector<std::string>(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(opset8::Constant(element::i32, Shape{1}, std::vector<std::string>{"5"}).cast_vector<int>().at(0), 5);
}

class Origin : public RuntimeAttribute {
 public:
  static const DiscreteTypeInfo& get_type_info_static() {
    static const DiscreteTypeInfo info{"origin", "0", &RuntimeAttribute::get_type_info_static()};
    return info;
  }
  const DiscreteTypeInfo& get_type_info() const override { return get_type_info_static(); }
  explicit Origin(std::string text) : text_(std::move(text)) {}
  std::string to_string() const override { return text_; }

 private:
  std::string text_;
};

TEST(RuntimeAttributes, AreKeptCopiedAndPrinted) {
  const Layers layers;
  auto& info = layers.twice->get_rt_info();
  info[Origin::get_type_info_static()] = Origin("importer");
  ASSERT_EQ(info.count("origin_0"), 1u);
  copy_runtime_info(layers.twice, layers.relu);
  const Any& copied = layers.relu->get_rt_info().at(Origin::get_type_info_static());
  EXPECT_TRUE(copied.is<Origin>());
  EXPECT_EQ(copied.as<Origin>().to_string(), "importer");
  std::ostringstream text;
  copied.print(text);
  EXPECT_EQ(text.str(), "importer");
  EXPECT_TRUE(Origin::get_type_info_static().is_castable(RuntimeAttribute::get_type_info_static()));
  std::stringstream xml;
  std::stringstream bin;
  serialize(layers.model, xml, bin);
  EXPECT_EQ(xml.str().find("importer"), std::string::npos);
}

/// Stays with Multiply; several become one with all their texts.
class Trace : public RuntimeAttribute {
 public:
  static const DiscreteTypeInfo& get_type_info_static() {
    static const DiscreteTypeInfo info{"trace", "0", &RuntimeAttribute::get_type_info_static()};
    return info;
  }
  const DiscreteTypeInfo& get_type_info() const override { return get_type_info_static(); }
  explicit Trace(std::string text) : text_(std::move(text)) {}
  using RuntimeAttribute::is_copyable;
  bool is_copyable(const std::shared_ptr<Node>& to) const override { return !is_type<opset8::Exp>(to); }
  Any merge(const NodeVector& layers) const override {
    std::string all;
    for (const auto& layer : layers) all += layer->get_rt_info().at("trace").as<Trace>().to_string();
    return Trace(all);
  }
  Any merge(const OutputVector&) const override { return {}; }
  std::string to_string() const override { return text_; }

 private:
  std::string text_;
};

TEST(RuntimeAttributes, SayWhatBecomesOfThem) {
  const Layers layers;
  const auto exp = std::make_shared<opset8::Exp>(layers.relu);
  layers.twice->get_rt_info()["trace"] = Trace("a");
  layers.input->get_rt_info()["trace"] = Trace("b");
  copy_runtime_info(NodeVector{layers.twice, layers.input}, NodeVector{layers.relu, exp});
  ASSERT_EQ(layers.relu->get_rt_info().count("trace"), 1u);
  EXPECT_EQ(layers.relu->get_rt_info().at("trace").as<Trace>().to_string(), "ab");
  EXPECT_EQ(exp->get_rt_info().count("trace"), 0u);
  EXPECT_EQ(Any(Trace("c")).runtime_attribute()->to_string(), "c");
  EXPECT_EQ(Any(std::string("c")).runtime_attribute(), nullptr);
}

TEST(VisualizeTree, WritesWhatDotReads) {
  const Layers layers;
  layers.relu->set_friendly_name("the \"relu\"");
  const std::string path = testing::TempDir() + "terroir_picture_" + std::to_string(::getpid()) + ".svg";
  pass::VisualizeTree picture(path, [](const Node& layer, std::vector<std::string>& properties) {
    if (is_type<opset8::Relu>(&layer)) properties.emplace_back("color=red");
  });
  EXPECT_FALSE(picture.run_on_model(layers.model));
  std::ifstream file(path + ".dot");
  ASSERT_TRUE(file);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(text.find('"' + layers.twice->get_name() + "\" -> \"" + layers.relu->get_name() + '"'), std::string::npos)
      << text;
  EXPECT_NE(text.find("the \\\"relu\\\"\\nf32[1,8]\", color=red"), std::string::npos) << text;
  std::filesystem::remove(path + ".dot");
  EXPECT_THROW(pass::VisualizeTree("/nowhere/picture.dot").run_on_model(layers.model), Exception);
}

}  // namespace
}  // namespace terroir
