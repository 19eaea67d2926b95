// Classes of layers by what they are derived from, layers that get their inputs later, and how much is inferred when
// single layers are validated.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "terroir/graph_util.hpp"
#include "terroir/op_extension.hpp"
#include "terroir/opsets.hpp"
#include "terroir/pass/graph_rewrite.hpp"
#include "terroir/terroir.hpp"
#include "tests/support/caught.hpp"
#include "tests/unit/read_back.hpp"

namespace terroir {
namespace {

std::shared_ptr<opset8::Parameter> image() {
  return std::make_shared<opset8::Parameter>(element::f32, PartialShape{1, 3, 8, 8});
}

/// A function: the checks, written out for every class, take half a minute to compile.
void check_known(const Node& layer, const Node& another, const DiscreteTypeInfo& of_class, const char* in_files) {
  const DiscreteTypeInfo& known = layer.get_type_info();
  EXPECT_EQ(known, of_class);
  EXPECT_EQ(&known, &another.get_type_info());
  EXPECT_EQ(known.name, layer.get_type_name());
  EXPECT_EQ(known.parent == nullptr, of_class.parent == nullptr) << in_files;
  for (const DiscreteTypeInfo* parent = of_class.parent; parent != nullptr; parent = parent->parent)
    EXPECT_TRUE(known.is_castable(*parent)) << in_files;
}

TEST(LayerBases, OfEveryClassAreThoseThatTheLibraryKnows) {
#define TERROIR_ROW(space, Name, in_files, set, ...)                                      \
  check_known(*std::make_shared<op::space::Name>(), *std::make_shared<op::space::Name>(), \
              op::space::Name::get_type_info_static(), in_files);
#include "tests/support/every_op.inc"
}

TEST(LayerBases, AreAskedForByTheirNames) {
  const auto x = image();
  const auto sum = std::make_shared<opset8::Add>(x, x);
  EXPECT_TRUE(is_type<op::util::BinaryElementwiseArithmetic>(sum));
  EXPECT_TRUE(is_type<op::util::BroadcastedOperands>(sum));
  EXPECT_FALSE(is_type<op::util::BinaryElementwiseComparison>(sum));
  EXPECT_FALSE(is_type<op::util::UnaryElementwiseArithmetic>(sum));
  EXPECT_TRUE(is_type<op::util::BinaryElementwiseComparison>(std::make_shared<opset8::Less>(x, x)));
  EXPECT_TRUE(is_type<op::util::UnaryElementwiseArithmetic>(std::make_shared<opset8::Relu>(x)));
  EXPECT_TRUE(is_type<op::util::ShapeOfBase>(std::make_shared<opset1::ShapeOf>(x)));
  EXPECT_TRUE(is_type<op::util::ShapeOfBase>(std::make_shared<opset3::ShapeOf>(x)));
  EXPECT_TRUE((is_type_any_of<opset8::Less, op::util::BinaryElementwiseArithmetic>(sum)));
  EXPECT_TRUE(
      opset8::Add::get_type_info_static().is_castable(op::util::BinaryElementwiseArithmetic::get_type_info_static()));
}

TEST(LayerBases, OfLayersOfFiles) {
  const auto x = image();
  const auto weights = opset8::Constant::create(element::f32, Shape{4, 3, 2, 2}, {1});
  const auto conv = std::make_shared<opset8::Convolution>(x, weights, Strides{2, 2}, CoordinateDiff{0, 0},
                                                          CoordinateDiff{0, 0}, Strides{1, 1});
  const auto axes = opset8::Constant::create(element::i64, Shape{2}, {2, 3});
  const auto mean = std::make_shared<opset8::ReduceMean>(conv, axes, true);
  const auto made = std::make_shared<Model>(OutputVector{mean}, ParameterVector{x});
  const auto model = read_back(made);

  const std::shared_ptr<Node> node = model->get_result()->get_input_node_shared_ptr(0);
  const auto reduction = as_type_ptr<op::util::ArithmeticReductionKeepDims>(node);
  ASSERT_NE(reduction, nullptr);
  EXPECT_TRUE(reduction->get_keep_dims());
  EXPECT_EQ(reduction->get_reduction_axes(), (AxisSet{2, 3}));
  EXPECT_EQ(as_type_ptr<op::util::LogicalReductionKeepDims>(node), nullptr);
  // One object each, whoever is asked for it, and all of them stand for the layer.
  EXPECT_EQ(as_type_ptr<op::util::ArithmeticReductionKeepDims>(node).get(), reduction.get());
  const auto whole = as_type_ptr<opset8::ReduceMean>(node);
  ASSERT_NE(whole, nullptr);
  EXPECT_EQ(as_type<opset8::ReduceMean>(static_cast<Node*>(reduction.get())), whole.get());
  EXPECT_EQ(as_type_ptr<opset8::ReduceMean>(std::static_pointer_cast<Node>(reduction)).get(), whole.get());
  EXPECT_TRUE(std::static_pointer_cast<Node>(reduction) == node);
  EXPECT_TRUE(std::static_pointer_cast<Node>(whole) == node);
  reduction->set_keep_dims(false);
  EXPECT_FALSE(whole->get_keep_dims());

  const auto base = as_type_ptr<op::util::ConvolutionBase>(node->get_input_node_shared_ptr(0));
  ASSERT_NE(base, nullptr);
  EXPECT_EQ(base->get_strides(), (Strides{2, 2}));
  // In code, the object is of its class, which is derived from them.
  EXPECT_EQ(as_type_ptr<op::util::ConvolutionBase>(std::static_pointer_cast<Node>(conv)).get(), conv.get());
}

TEST(LayerBases, ObjectsOutliveTheirModel) {
  std::shared_ptr<op::util::ReductionBase> reduction;
  {
    const auto x = image();
    const auto axes = opset8::Constant::create(element::i64, Shape{1}, {1});
    const auto model = read_back(
        std::make_shared<Model>(OutputVector{std::make_shared<opset8::ReduceSum>(x, axes, false)}, ParameterVector{x}));
    reduction = as_type_ptr<op::util::ReductionBase>(model->get_result()->get_input_node_shared_ptr(0));
  }
  ASSERT_NE(reduction, nullptr);
  EXPECT_EQ(reduction->get_reduction_axes(), AxisSet{1});
  const auto whole = as_type_ptr<opset8::ReduceSum>(std::static_pointer_cast<Node>(reduction));
  ASSERT_NE(whole, nullptr);
  EXPECT_EQ(as_type<opset8::ReduceSum>(static_cast<Node*>(reduction.get()))->get_friendly_name(),
            whole->get_friendly_name());
}

TEST(LayerBases, AreAskedForByManyThreads) {
  const auto x = image();
  const std::shared_ptr<const Model> model = read_back(std::make_shared<Model>(
      OutputVector{std::make_shared<opset8::Add>(x, std::make_shared<opset8::Relu>(x))}, ParameterVector{x}));
  std::vector<std::thread> threads;
  std::vector<const Node*> sums(8), bases(8), operands(8);
  for (size_t i = 0; i < sums.size(); ++i) {
    threads.emplace_back([&, i] {
      const auto node = model->get_result()->get_input_node_shared_ptr(0);
      bases[i] = as_type_ptr<op::util::BroadcastedOperands>(node).get();
      sums[i] = as_type<opset8::Add>(node.get());
      operands[i] = as_type<op::util::UnaryElementwiseArithmetic>(node->get_input_node_ptr(1));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto* objects : {&sums, &bases, &operands}) {
    EXPECT_NE(objects->front(), nullptr);
    EXPECT_EQ(std::count(objects->begin(), objects->end(), objects->front()), 8);
  }
}

TEST(LayerBases, ArePatterns) {
  class CountSums : public pass::MatcherPass {
   public:
    explicit CountSums(int& count) {
      const auto operation = pass::pattern::wrap_type<op::util::BinaryElementwiseArithmetic>();
      register_matcher(std::make_shared<pass::pattern::Matcher>(operation, "CountSums"),
                       [&count](pass::pattern::Matcher&) { return ++count, false; });
    }
  };
  const auto x = image();
  const auto sum = std::make_shared<opset8::Multiply>(std::make_shared<opset8::Add>(x, x), x);
  const auto model = std::make_shared<Model>(OutputVector{std::make_shared<opset8::Less>(sum, x)}, ParameterVector{x});
  int count = 0;
  pass::Manager manager;
  manager.register_pass<CountSums>(count);
  manager.run_passes(model);
  EXPECT_EQ(count, 2);
}

TEST(LayersWithoutInputs, GetThemLater) {
  const auto x = image();
  const auto relu = std::make_shared<opset13::Relu>();
  EXPECT_EQ(relu->get_input_size(), 0u);
  EXPECT_EQ(relu->get_output_size(), 0u);
  relu->set_arguments(OutputVector{x});
  relu->validate_and_infer_types();
  EXPECT_EQ(relu->get_output_partial_shape(0), (PartialShape{1, 3, 8, 8}));

  const auto sum = std::make_shared<opset13::Add>();
  sum->set_argument(1, relu);
  EXPECT_EQ(sum->get_input_size(), 0U);
  EXPECT_THROW(sum->validate_and_infer_types(), Exception);
  sum->set_argument(0, x);
  EXPECT_EQ(sum->input_value(1).get_node_shared_ptr(), relu);
  sum->validate_and_infer_types();
  EXPECT_THROW(sum->set_argument(3, relu), Exception);
  EXPECT_EQ(sum->get_output_partial_shape(0), (PartialShape{1, 3, 8, 8}));

  const auto last = std::make_shared<opset13::Abs>();
  const auto before = std::make_shared<opset13::Add>();
  last->set_argument(0, before);  // of which nothing is known
  EXPECT_TRUE(before->get_output_partial_shape(0).rank().is_dynamic());
  before->set_arguments(OutputVector{x, sum});
  for (const auto& layer : topological_sort(NodeVector{last, before, x, sum})) layer->revalidate_and_infer_types();
  EXPECT_EQ(last->get_output_shape(0), (Shape{1, 3, 8, 8}));
  EXPECT_EQ(Model(OutputVector{last}, ParameterVector{x}).output().get_element_type(), element::f32);

  const auto concat = std::make_shared<opset8::Concat>();
  concat->set_axis(1);
  concat->set_arguments(NodeVector{x, relu});
  concat->validate_and_infer_types();
  EXPECT_EQ(concat->get_output_partial_shape(0), (PartialShape{1, 6, 8, 8}));
  const auto result = std::make_shared<opset8::Result>();
  result->set_arguments(OutputVector{concat});
  result->validate_and_infer_types();
  const Model model(ResultVector{result}, ParameterVector{x});
  EXPECT_EQ(model.output().get_partial_shape(), (PartialShape{1, 6, 8, 8}));
  // Of a layer of a model, too: two inputs become three.
  concat->set_argument(2, relu);
  concat->validate_and_infer_types();
  EXPECT_EQ(model.output().get_partial_shape(), (PartialShape{1, 9, 8, 8}));
  EXPECT_THROW(relu->set_arguments(OutputVector{concat}), Exception);  // what follows from it
}

TEST(Layers, HaveTheSameTypeOrNot) {
  const auto x = image();
  const auto relu = std::make_shared<opset8::Relu>(x);
  EXPECT_TRUE(relu->has_same_type(x));
  EXPECT_FALSE(relu->has_same_type(std::make_shared<opset8::Concat>(OutputVector{x, x}, 1)));
  EXPECT_FALSE(relu->has_same_type(std::make_shared<opset8::Convert>(x, element::f16)));
  EXPECT_FALSE(
      relu->has_same_type(std::make_shared<opset8::Split>(x, opset8::Constant::create(element::i64, Shape{}, {1}), 3)));
}

TEST(Layers, AreReplacedInPairs) {
  const auto x = image();
  const auto relu = std::make_shared<opset8::Relu>(x);
  const auto model = std::make_shared<Model>(OutputVector{relu}, ParameterVector{x});
  const auto y = std::make_shared<opset8::Parameter>(element::f32, PartialShape{2, 3, 8, 8});
  replace_nodes(model, {{x, y}}, {{relu, std::make_shared<opset8::Exp>(y)}});
  model->validate_nodes_and_infer_types();
  EXPECT_EQ(model->output().get_partial_shape(), (PartialShape{2, 3, 8, 8}));
  EXPECT_EQ(model->get_result()->get_input_node_ptr(0)->get_type_name(), std::string("Exp"));
  EXPECT_EQ(model->get_parameters().at(0).get(), y.get());
}

TEST(Layers, OfTheFirstMVNHaveAxes) {
  const auto x = image();
  const auto mvn = std::make_shared<op::v0::MVN>(x, AxisSet{2, 3});
  EXPECT_EQ(mvn->get_reduction_axes(), (AxisSet{2, 3}));
  EXPECT_FALSE(mvn->get_across_channels());
  mvn->set_reduction_axes({1, 2});
  EXPECT_EQ(mvn->get_reduction_axes(), (AxisSet{1, 2}));
  EXPECT_EQ(op::v0::MVN(x, true).get_reduction_axes(), (AxisSet{1, 2, 3}));
  EXPECT_EQ(op::v0::MVN(x, false).get_reduction_axes(), (AxisSet{2, 3}));
  const auto unknown = std::make_shared<opset8::Parameter>(element::f32, PartialShape::dynamic());
  EXPECT_THROW(op::v0::MVN(unknown, true).get_reduction_axes(), Exception);
}

TEST(LayersWithoutInputs, AreRefusedAsTheyAre) {
  EXPECT_THROW(opset8::Relu().validate_and_infer_types(), Exception);
  EXPECT_THROW(opset8::Relu().output(0), Exception);
  const auto parameter = std::make_shared<opset8::Parameter>();
  parameter->set_element_type(element::f32);
  parameter->set_partial_shape({2, 3});
  EXPECT_EQ(parameter->get_output_shape(0), (Shape{2, 3}));
}

/// The same as its input; counts how often it is inferred.
class Counted : public op::Op {
 public:
  TERROIR_OP("Counted", "tests", op::Op);
  Counted() = default;
  explicit Counted(const Output<Node>& value) : Op({value}) { constructor_validate_and_infer_types(); }
  void validate_and_infer_types() override {
    ++inferences();
    set_output_type(0, get_input_element_type(0), get_input_partial_shape(0));
  }
  std::shared_ptr<Node> clone_with_new_inputs(const OutputVector& inputs) const override {
    return std::make_shared<Counted>(inputs.at(0));
  }
  bool visit_attributes(AttributeVisitor& visitor) override {
    visitor.on_attribute("broadcast", broadcast);
    visitor.on_attribute("mode", mode);
    visitor.on_attribute("layout", layout);
    return true;
  }
  static int& inferences() {
    static int count = 0;
    return count;
  }
  op::AutoBroadcastSpec broadcast = op::AutoBroadcastType::NUMPY;
  op::BroadcastModeSpec mode;
  Layout layout = "NC...";
};
/// Derived from a class of the program.
class CountedTwice : public Counted {
 public:
  TERROIR_OP("CountedTwice", "tests", Counted);
  using Counted::Counted;
  std::shared_ptr<Node> clone_with_new_inputs(const OutputVector& inputs) const override {
    return std::make_shared<CountedTwice>(inputs.at(0));
  }
};

TEST(LayersOfTheProgram, AreDerivedFromOthers) {
  const auto x = image();
  const auto layer = std::make_shared<CountedTwice>(x);
  EXPECT_TRUE(is_type<Counted>(layer));
  EXPECT_TRUE(is_type<op::Op>(layer));
  EXPECT_FALSE(is_type<CountedTwice>(std::make_shared<Counted>(x)));
  const auto model = std::make_shared<Model>(OutputVector{layer}, ParameterVector{x})->clone();
  EXPECT_TRUE(is_type<Counted>(model->get_result()->get_input_node_shared_ptr(0)));
}

TEST(LayersOfTheProgram, GetInputsLater) {
  const auto x = image();
  const std::shared_ptr<Counted> layer = std::make_shared<CountedTwice>();
  layer->set_arguments(OutputVector{x});
  layer->validate_and_infer_types();
  const auto made = OpExtension<Counted>().create({layer}, *std::make_unique<detail::AttributeReader>());
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made.front().get_partial_shape(), (PartialShape{1, 3, 8, 8}));
  const auto model = std::make_shared<Model>(made, ParameterVector{x});
  EXPECT_EQ(model->get_ordered_ops().at(1)->get_type_name(), std::string("CountedTwice"));
  EXPECT_EQ(model->clone()->output().get_partial_shape(), (PartialShape{1, 3, 8, 8}));
}

TEST(LayersOfTheProgram, GetOneInputAfterAnother) {
  const auto x = image();
  const auto layer = std::make_shared<CountedTwice>();
  layer->set_argument(0, x);
  layer->validate_and_infer_types();
  const auto model = std::make_shared<const Model>(OutputVector{layer}, ParameterVector{x});
  model->validate_nodes_and_infer_types();
  EXPECT_EQ(model->output().get_partial_shape(), (PartialShape{1, 3, 8, 8}));
}

TEST(LayersOfTheProgram, HaveBroadcastsAndLayoutsAsAttributes) {
  const auto x = image();
  const auto layer = std::make_shared<Counted>(x);
  layer->broadcast = {op::AutoBroadcastType::PDPD, 1};
  layer->mode = op::BroadcastType::BIDIRECTIONAL;
  layer->layout = "NCHW";
  const auto model = std::make_shared<Model>(OutputVector{layer}, ParameterVector{x});
  const auto attributes = model->clone()->get_result()->get_input_node_ptr(0)->get_attributes();
  EXPECT_EQ(attributes.at("broadcast"), "pdpd");
  EXPECT_EQ(attributes.at("broadcast.auto_broadcast_axis"), "1");
  EXPECT_EQ(attributes.at("mode"), "bidirectional");
  EXPECT_EQ(attributes.at("layout"), "[N,C,H,W]");
  const auto read = as_type_ptr<Counted>(model->clone()->get_result()->get_input_node_shared_ptr(0));
  ASSERT_NE(read, nullptr);
  EXPECT_EQ(read->broadcast.m_type, op::AutoBroadcastType::PDPD);
  EXPECT_EQ(read->broadcast.m_axis, 1);
  EXPECT_EQ(read->mode.m_type, op::BroadcastType::BIDIRECTIONAL);
  EXPECT_EQ(read->layout, "NCHW");
}

TEST(Broadcasts, AreNamedByTexts) {
  EXPECT_EQ(op::AutoBroadcastSpec("numpy"), op::AutoBroadcastSpec(op::AutoBroadcastType::NUMPY));
  EXPECT_EQ(op::AutoBroadcastSpec("NONE"), op::AutoBroadcastSpec());
  EXPECT_EQ(op::AutoBroadcastSpec("explicit").m_type, op::AutoBroadcastType::NONE);
  EXPECT_EQ(op::AutoBroadcastSpec("pdpd"), op::AutoBroadcastSpec(op::AutoBroadcastType::PDPD, -1));
  EXPECT_NE(op::AutoBroadcastSpec("pdpd"), op::AutoBroadcastSpec(op::AutoBroadcastType::PDPD, 1));
  EXPECT_EQ(caught([] { op::AutoBroadcastSpec("bidirectional"); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(op::BroadcastModeSpec("bidirectional"), op::BroadcastModeSpec(op::BroadcastType::BIDIRECTIONAL));
  EXPECT_EQ(op::BroadcastModeSpec("none").m_type, op::BroadcastType::EXPLICIT);
  EXPECT_EQ(op::BroadcastModeSpec().m_type, op::BroadcastType::NUMPY);
  EXPECT_EQ(caught([] { op::BroadcastModeSpec("numpi"); }).code(), ErrorCode::invalid_argument);
  const auto x = std::make_shared<opset8::Parameter>(element::f32, Shape{2, 3});
  const auto sum =
      std::make_shared<opset8::Add>(x, opset8::Constant::create(element::f32, Shape{3}, {1, 2, 3}), "pdpd");
  EXPECT_EQ(sum->get_autob(), op::AutoBroadcastSpec("pdpd"));
}

/// A long chain, of which every second layer is counted.
struct Chain {
  explicit Chain(int pairs) {
    Output<Node> value = input;
    for (int i = 0; i < pairs; ++i)
      value = std::make_shared<Counted>(i % 2 == 0 ? Output<Node>(std::make_shared<opset8::Relu>(value))
                                                   : Output<Node>(std::make_shared<opset8::Clamp>(value, 0, i)));
    model = std::make_shared<Model>(OutputVector{value}, ParameterVector{input});
    Counted::inferences() = 0;
  }
  std::shared_ptr<opset8::Parameter> input =
      std::make_shared<opset8::Parameter>(element::f32, PartialShape{1, 3, 64, 64});
  std::shared_ptr<Model> model;
};

TEST(ValidateAndInferTypes, OfEachLayerInTurnIsLinear) {
  constexpr int kPairs = 100;
  const Chain chain(kPairs);
  for (const auto& layer : chain.model->get_ordered_ops()) layer->validate_and_infer_types();
  EXPECT_LE(Counted::inferences(), 2 * kPairs);

  Counted::inferences() = 0;
  for (const auto& layer : chain.model->get_ordered_ops()) {
    if (const auto clamp = as_type_ptr<opset8::Clamp>(layer)) clamp->set_min(-1);
    layer->validate_and_infer_types();
  }
  EXPECT_LE(Counted::inferences(), 3 * kPairs);

  Counted::inferences() = 0;
  chain.input->set_partial_shape({2, 3, 64, 64});
  for (const auto& layer : chain.model->get_ordered_ops()) layer->validate_and_infer_types();
  EXPECT_LE(Counted::inferences(), 3 * kPairs);
  EXPECT_EQ(chain.model->output().get_partial_shape(), (PartialShape{2, 3, 64, 64}));
}

TEST(ValidateAndInferTypes, ReachesWhatFollowsFromValues) {
  const auto number = [](int64_t value) { return opset8::Constant::create(element::i64, Shape{1}, {value}); };
  const auto x = std::make_shared<opset8::Parameter>(element::f32, PartialShape{24});
  const auto sum = std::make_shared<opset8::Add>(number(2), number(1));
  const auto pattern = std::make_shared<opset8::Concat>(OutputVector{sum, number(-1)}, 0);
  const auto reshape = std::make_shared<opset8::Reshape>(x, pattern, false);
  const auto relu = std::make_shared<opset8::Relu>(reshape);
  const Model model(OutputVector{relu}, ParameterVector{x});
  EXPECT_EQ(model.output().get_partial_shape(), (PartialShape{3, 8}));
  sum->set_argument(1, number(2));
  sum->validate_and_infer_types();
  EXPECT_EQ(model.output().get_partial_shape(), (PartialShape{4, 6}));
}

}  // namespace
}  // namespace terroir
