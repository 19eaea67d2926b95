// How long objects of layers stay, and what a program changes in them, reaches models: those of layers whose class is
// the program's.
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "terroir/op_extension.hpp"
#include "terroir/opsets.hpp"
#include "terroir/terroir.hpp"

namespace terroir {
namespace {

/// Numbers in percent; files have "p<number>".
struct Percentage {
  double percent = 100;
};

/// Elements between 0 and `top`.
class Limit : public op::Op {
 public:
  TERROIR_OP("Limit");
  Limit() = default;
  Limit(const Output<Node>& value, double top) : Op({value}), top_(top) { constructor_validate_and_infer_types(); }
  void set_top(double top) { top_ = top; }
  void set_repeats(int64_t repeats) { repeats_ = repeats; }
  void set_share(double percent) { share_.percent = percent; }

  void validate_and_infer_types() override {
    PartialShape shape = get_input_partial_shape(0);
    shape[0] *= repeats_;
    set_output_type(0, get_input_element_type(0), shape);
  }
  std::shared_ptr<Node> clone_with_new_inputs(const OutputVector& inputs) const override {
    return std::make_shared<Limit>(inputs.at(0), top_);
  }
  bool visit_attributes(AttributeVisitor& visitor) override {
    visitor.on_attribute("top", top_);
    visitor.on_attribute("repeats", repeats_);
    visitor.on_attribute("share", share_);
    return true;
  }
  // Only the form that is told what the inference is for, as many programs have it.
  using Op::evaluate;
  bool evaluate(TensorVector& outputs, const TensorVector& inputs, const EvaluationContext&) const override {
    const auto* const from = inputs[0].data<float>();
    auto* const to = outputs[0].data<float>();
    for (size_t i = 0; i < outputs[0].get_size(); ++i)
      to[i] = std::min(std::max(from[i % inputs[0].get_size()], 0.F), static_cast<float>(top_));
    return true;
  }
  bool has_evaluate() const override { return true; }

 private:
  double top_ = 1;
  int64_t repeats_ = 1;
  Percentage share_;
};

}  // namespace

template <>
class AttributeAdapter<Percentage> : public ValueAccessor<std::string> {
 public:
  explicit AttributeAdapter(Percentage& share) : share_(share) {}
  const std::string& get() override {
    if (share_.percent < 0) throw std::runtime_error("no share is negative");
    return text_ = "p" + std::to_string(share_.percent);
  }
  void set(const std::string& text) override { share_.percent = std::stod(text.substr(1)); }
  const DiscreteTypeInfo& get_type_info() const override {
    static const DiscreteTypeInfo info{"Percentage", "test"};
    return info;
  }

 private:
  Percentage& share_;
  std::string text_;
};

namespace {

std::shared_ptr<opset8::Parameter> parameter(const PartialShape& shape = {2}) {
  return std::make_shared<opset8::Parameter>(element::f32, shape);
}

/// What the model makes of 9.
float highest(const std::shared_ptr<Model>& model) {
  InferRequest request = Core().compile_model(model, "CPU").create_infer_request();
  Tensor nine(element::f32, request.get_compiled_model().input().get_shape());
  std::fill_n(nine.data<float>(), nine.get_size(), 9.F);
  request.set_input_tensor(nine);
  request.infer();
  return request.get_output_tensor().data<float>()[0];
}

TEST(LayerLifetime, LayersKeepWhatTheyReadWithoutBeingAsked) {
  const auto input = parameter();
  const auto relu = [&] {
    const auto limit = std::make_shared<Limit>(input, 1);
    limit->set_top(5);
    return std::make_shared<opset8::Relu>(limit);
  }();
  EXPECT_EQ(highest(std::make_shared<Model>(OutputVector{relu}, ParameterVector{input})), 5);
}

TEST(LayerLifetime, LayersKeepWhatTheyComeToRead) {
  const auto input = parameter();
  const auto relu = std::make_shared<opset8::Relu>(std::make_shared<opset8::Abs>(input));
  const std::weak_ptr<Node> before = relu->get_input_node_shared_ptr(0);
  {
    const auto limit = std::make_shared<Limit>(input, 1);
    limit->set_top(5);
    relu->input(0).replace_source_output(limit);
  }
  EXPECT_TRUE(before.expired());
  EXPECT_EQ(highest(std::make_shared<Model>(OutputVector{relu}, ParameterVector{input})), 5);
}

TEST(LayerLifetime, ALayerKeepsWhatItWasAskedForWhenTheModelGoes) {
  const auto input = parameter();
  auto model = std::make_shared<Model>(
      OutputVector{std::make_shared<opset8::Relu>(std::make_shared<opset8::Abs>(input))}, ParameterVector{input});
  const std::shared_ptr<Node> relu = model->output().get_node()->get_input_node_shared_ptr(0);
  const std::weak_ptr<Node> abs = relu->get_input_node_ptr(0)->weak_from_this();
  model.reset();
  EXPECT_FALSE(abs.expired());
}

TEST(LayerLifetime, ChainsOfAnyLengthGoAway) {
  std::weak_ptr<Node> first;
  {
    std::shared_ptr<Node> last = parameter();
    first = last;
    for (int i = 0; i < 40000; ++i) last = std::make_shared<opset8::Relu>(last);
  }
  EXPECT_TRUE(first.expired());
}

TEST(LayerLifetime, ALayerIsItsObjectFromTheStart) {
  const auto input = parameter();
  const auto relu = std::make_shared<opset8::Relu>(input);
  ASSERT_EQ(input->get_users().size(), 1u);
  EXPECT_EQ(input->get_users().at(0).get(), relu.get());
  EXPECT_EQ(input->output(0).get_target_inputs().begin()->get_node(), relu.get());
  {
    const auto other = std::make_shared<opset8::Abs>(input);
    EXPECT_EQ(input->get_users().at(1).get(), other.get());
  }
  EXPECT_EQ(input->get_users().at(1)->get_type_name(), std::string("Abs"));
  // Also after drafts have become one.
  const auto left = std::make_shared<opset8::Relu>(parameter());
  const auto sum = std::make_shared<opset8::Add>(relu, left);
  EXPECT_EQ(relu->get_users().at(0).get(), sum.get());
  EXPECT_EQ(left->get_users().at(0).get(), sum.get());
}

TEST(ChangedAttributes, ReachEveryModelOfTheLayers) {
  const auto input = parameter();
  const auto limit = std::make_shared<Limit>(input, 1);
  const auto first = std::make_shared<Model>(OutputVector{limit}, ParameterVector{input});
  limit->set_top(5);
  const auto second = std::make_shared<Model>(OutputVector{limit}, ParameterVector{input});
  EXPECT_EQ(highest(first), 5);
  EXPECT_EQ(highest(second), 5);
  limit->set_top(3);
  EXPECT_EQ(highest(first), 3);
}

TEST(ChangedAttributes, ReachCopiesTextsAndOneInference) {
  const auto limit = std::make_shared<Limit>(parameter(), 1);
  limit->set_top(5);
  Node& layer = *limit;
  EXPECT_EQ(layer.get_attributes().at("top"), "5");
  const auto input = parameter();
  const auto copy = layer.clone_with_new_inputs({input});
  EXPECT_EQ(highest(std::make_shared<Model>(OutputVector{copy}, ParameterVector{input})), 5);
  Tensor nine(element::f32, Shape{1});
  nine.data<float>()[0] = 9;
  TensorVector outputs;
  ASSERT_TRUE(layer.Node::evaluate(outputs, {nine}));
  EXPECT_EQ(outputs.at(0).data<float>()[0], 5);
}

TEST(ChangedAttributes, ReachShapes) {
  const auto input = parameter();
  const auto limit = std::make_shared<Limit>(input, 1);
  const auto model = std::make_shared<Model>(OutputVector{limit}, ParameterVector{input});
  limit->set_repeats(3);
  model->validate_nodes_and_infer_types();
  EXPECT_EQ(model->output().get_partial_shape(), (PartialShape{6}));
  limit->set_repeats(4);
  model->reshape(PartialShape{5});
  EXPECT_EQ(model->output().get_partial_shape(), (PartialShape{20}));
  limit->set_repeats(2);
  input->set_layout("N");
  set_batch(model, 7);
  EXPECT_EQ(model->output().get_partial_shape(), (PartialShape{14}));
}

TEST(ChangedAttributes, AreReadByThreadsThatCompileOneModel) {
  const auto input = parameter();
  const auto limit = std::make_shared<Limit>(input, 1);
  const auto model =
      std::make_shared<Model>(OutputVector{std::make_shared<opset8::Relu>(limit)}, ParameterVector{input});
  for (int round = 2; round < 6; ++round) {
    limit->set_top(round);
    std::vector<float> results(2);
    std::vector<std::thread> threads;
    for (float& result : results) threads.emplace_back([&] { result = highest(model); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(results, std::vector<float>(2, static_cast<float>(round)));
  }
}

TEST(ChangedAttributes, ThatCannotBeReadNameLayerAndAttribute) {
  const auto input = parameter();
  const auto limit = std::make_shared<Limit>(input, 1);
  limit->set_friendly_name("upper");
  const auto model = std::make_shared<Model>(OutputVector{limit}, ParameterVector{input});
  limit->set_share(-1);
  try {
    Core().compile_model(model, "CPU");
    FAIL() << "a share that cannot be read";
  } catch (const Exception& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    for (const char* part : {"upper", "attribute 'share'", "no share is negative"})
      EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

TEST(ConstantFold, OfClassesOfTheProgram) {
  const auto limit = std::make_shared<Limit>(opset8::Constant::create(element::f32, Shape{3}, {-1, 1, 9}), 4);
  OutputVector outputs(1);
  ASSERT_TRUE(limit->constant_fold(outputs, limit->input_values()));
  EXPECT_EQ(as_type_ptr<opset8::Constant>(outputs.at(0).get_node_shared_ptr())->cast_vector<float>(),
            (std::vector<float>{0, 1, 4}));
  // Inputs of another shape than the layer's own.
  const auto add = std::make_shared<opset8::Add>(parameter(), opset8::Constant::create(element::f32, Shape{}, {1}));
  const auto five = opset8::Constant::create(element::f32, Shape{5}, {1, 2, 3, 4, 5});
  ASSERT_TRUE(add->constant_fold(outputs, {five, add->input_value(1)}));
  EXPECT_EQ(outputs.at(0).get_shape(), (Shape{5}));
}

TEST(Evaluate, NamesTheLayerThatRefuses) {
  const auto sum = std::make_shared<opset8::Add>(parameter(), parameter());
  sum->set_friendly_name("both");
  TensorVector outputs;
  try {
    sum->evaluate(outputs, {Tensor(element::f32, Shape{2}), Tensor(element::f32, Shape{3})});
    FAIL() << "2 and 3 elements";
  } catch (const Exception& error) {
    EXPECT_NE(std::string(error.what()).find("both"), std::string::npos) << error.what();
  }
}

TEST(Constants, OfTextsAreCopiedAsTexts) {
  const std::vector<std::string> texts{"a text that is too long to be kept in place", "b"};
  const opset8::Constant constant(element::string, Shape{2}, texts);
  EXPECT_EQ(opset8::Constant(constant, Shape{2, 1}).get_vector<std::string>(), texts);
  EXPECT_EQ(
      opset8::Constant(element::string, Shape{2}, static_cast<const void*>(texts.data())).get_vector<std::string>(),
      texts);
}

TEST(Constants, OfOneValue) {
  const uint8_t halves[] = {0x21, 0x22};
  EXPECT_FALSE(opset8::Constant(element::u4, Shape{2}, halves).get_all_data_elements_bitwise_identical());
  EXPECT_TRUE(opset8::Constant(element::u4, Shape{2}, halves + 1).get_all_data_elements_bitwise_identical());
  EXPECT_FALSE(opset8::Constant(element::u4, Shape{3}, halves).get_all_data_elements_bitwise_identical());
  const std::string text = "a text that is too long to be kept in place";
  EXPECT_TRUE(opset8::Constant(element::string, Shape{2}, std::vector<std::string>{text, text})
                  .get_all_data_elements_bitwise_identical());
  EXPECT_FALSE(opset8::Constant(element::string, Shape{2}, std::vector<std::string>{text, "b"})
                   .get_all_data_elements_bitwise_identical());
}

TEST(Constants, OfWholeNumbersAreExactAsTexts) {
  const std::vector<std::string> most{"9223372036854775807", "-9223372036854775808", "9007199254740993"};
  EXPECT_EQ(opset8::Constant(element::i64, Shape{3}, most).get_value_strings(), most);
  const std::vector<std::string> more{"18446744073709551615"};
  EXPECT_EQ(opset8::Constant(element::u64, Shape{1}, more).get_value_strings(), more);
  EXPECT_THROW(opset8::Constant(element::i8, Shape{1}, std::vector<std::string>{"300"}), Exception);
}

TEST(TensorsOfPorts, ThatAreEmptyAreRefused) {
  EXPECT_THROW(Output<Node>().get_tensor(), Exception);
  EXPECT_THROW(Output<const Node>().get_tensor(), Exception);
  EXPECT_THROW(Output<Node>().get_tensor_ptr(), Exception);
}

TEST(DiscreteTypeInfo, OfNothing) {
  const DiscreteTypeInfo none;
  EXPECT_EQ(none, DiscreteTypeInfo());
  EXPECT_NE(none, Limit::get_type_info_static());
}

}  // namespace
}  // namespace terroir
