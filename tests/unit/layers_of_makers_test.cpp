// Extensions that make layers by create() (BaseOpExtension), and layers that nobody knows (FrameworkNode).
#include <gtest/gtest.h>

#include <sstream>

#include "terroir/op/op.hpp"
#include "terroir/opsets.hpp"
#include "terroir/terroir.hpp"
#include "tests/support/caught.hpp"

namespace terroir {
namespace {

const DiscreteTypeInfo& info_of(const char* name) {
  static std::map<std::string, DiscreteTypeInfo>& infos = *new std::map<std::string, DiscreteTypeInfo>;
  return infos.emplace(name, DiscreteTypeInfo{name, "makers"}).first->second;
}

/// An object that computes itself.
class Shift : public op::Op {
 public:
  TERROIR_OP("Shift", "makers_own");
  Shift() = default;
  void validate_and_infer_types() override {
    set_output_type(0, get_input_element_type(0), get_input_partial_shape(0));
  }
  std::shared_ptr<Node> clone_with_new_inputs(const OutputVector& inputs) const override {
    const auto copy = std::make_shared<Shift>();
    copy->by = by;
    copy->set_arguments(inputs);
    copy->validate_and_infer_types();
    return copy;
  }
  bool visit_attributes(AttributeVisitor& visitor) override { return visitor.on_attribute("by", by), true; }
  bool evaluate(TensorVector& outputs, const TensorVector& inputs) const override {
    for (size_t i = 0; i < inputs[0].get_size(); ++i) outputs[0].data<float>()[i] = inputs[0].data<float>()[i] + by;
    return true;
  }
  float by = 1;
};

class ShiftMaker : public BaseOpExtension {
 public:
  const DiscreteTypeInfo& get_type_info() const override { return info_of("MadeShift"); }
  OutputVector create(const OutputVector& inputs, AttributeVisitor& visitor) const override {
    const auto layer = std::make_shared<Shift>();
    layer->set_arguments(inputs);
    layer->visit_attributes(visitor);
    layer->validate_and_infer_types();
    return layer->outputs();
  }
  std::vector<Extension::Ptr> get_attached_extensions() const override { return {}; }
};

/// Operations of the library, of which the layer is made up: both halves of a Split, the second times an attribute.
class HalvesMaker : public BaseOpExtension {
 public:
  const DiscreteTypeInfo& get_type_info() const override { return info_of("MadeHalves"); }
  OutputVector create(const OutputVector& inputs, AttributeVisitor& visitor) const override {
    const Output<Node> value = inputs.at(0);  // wants an input before it tells its attributes
    double factor = 1;
    visitor.on_attribute("factor", factor);
    const auto axis = opset13::Constant::create(element::i64, Shape{}, {1});
    const auto halves = std::make_shared<opset13::Split>(value, axis, 2);
    const auto scale = opset13::Constant::create(element::f32, Shape{}, {factor});
    return {halves->output(0), std::make_shared<opset13::Multiply>(halves->output(1), scale)->output(0)};
  }
  std::vector<Extension::Ptr> get_attached_extensions() const override { return {std::make_shared<ShiftMaker>()}; }
};

std::string file_of(const char* layer, const char* attributes, int width, int outputs) {
  std::ostringstream xml;
  const auto port = [&](int id, int extent) {
    xml << "<port id=\"" << id << "\" precision=\"FP32\"><dim>1</dim><dim>" << extent << "</dim></port>";
  };
  xml << "<net name=\"m\" version=\"11\"><layers><layer id=\"0\" name=\"x\" type=\"Parameter\" version=\"opset1\">"
         "<data element_type=\"f32\" shape=\"1,4\"/><output>";
  port(0, 4);
  xml << "</output></layer><layer id=\"1\" name=\"l\" type=\"" << layer << "\" version=\"makers\"><data " << attributes
      << "/><input>";
  port(0, 4);
  xml << "</input><output>";
  for (int i = 0; i < outputs; ++i) port(1 + i, width);
  xml << "</output></layer>";
  for (int i = 0; i < outputs; ++i) {
    xml << "<layer id=\"" << 2 + i << "\" name=\"r" << i << "\" type=\"Result\" version=\"opset1\"><input>";
    port(0, width);
    xml << "</input></layer>";
  }
  xml << "</layers><edges><edge from-layer=\"0\" from-port=\"0\" to-layer=\"1\" to-port=\"0\"/>";
  for (int i = 0; i < outputs; ++i)
    xml << "<edge from-layer=\"1\" from-port=\"" << 1 + i << "\" to-layer=\"" << 2 + i << "\" to-port=\"0\"/>";
  xml << "</edges></net>";
  return xml.str();
}

std::vector<float> first_output(InferRequest& request, size_t index) {
  const Tensor output = request.get_output_tensor(index);
  return {output.data<float>(), output.data<float>() + output.get_size()};
}

InferRequest run(Core& core, const std::string& file) {
  const auto model = core.read_model(file, Tensor());
  InferRequest request = core.compile_model(model, "CPU").create_infer_request();
  for (size_t i = 0; i < 4; ++i) request.get_input_tensor().data<float>()[i] = static_cast<float>(i + 1);
  request.infer();
  return request;
}

TEST(LayersOfMakers, AreObjectsThatComputeThemselves) {
  Core core;
  core.add_extension(std::make_shared<ShiftMaker>());
  InferRequest request = run(core, file_of("MadeShift", "by=\"2.5\"", 4, 1));
  EXPECT_EQ(first_output(request, 0), (std::vector<float>{3.5f, 4.5f, 5.5f, 6.5f}));
  InferRequest of_default = run(core, file_of("MadeShift", "", 4, 1));
  EXPECT_EQ(first_output(of_default, 0), (std::vector<float>{2, 3, 4, 5}));
}

TEST(LayersOfMakers, AreMadeOfOperations) {
  Core core;
  core.add_extension(HalvesMaker());  // a copy is kept
  InferRequest request = run(core, file_of("MadeHalves", "factor=\"-2\"", 2, 2));
  EXPECT_EQ(first_output(request, 0), (std::vector<float>{1, 2}));
  EXPECT_EQ(first_output(request, 1), (std::vector<float>{-6, -8}));
  // What is attached to an extension came with it.
  InferRequest attached = run(core, file_of("MadeShift", "by=\"1\"", 4, 1));
  EXPECT_EQ(first_output(attached, 0), (std::vector<float>{2, 3, 4, 5}));
}

TEST(LayersOfMakers, TellWhatIsWrong) {
  Core core;
  core.add_extension(std::vector<terroir::Extension::Ptr>{std::make_shared<ShiftMaker>()});
  const Exception unknown = caught([&] { core.read_model(file_of("MadeShift", "bye=\"1\"", 4, 1), Tensor()); });
  EXPECT_NE(std::string(unknown.what()).find("bye"), std::string::npos) << unknown.what();
  class Other : public terroir::Extension {};
  EXPECT_EQ(caught([&] { core.add_extension(std::make_shared<Other>()); }).code(), ErrorCode::unsupported);
  const ShiftMaker nobodys;
  EXPECT_EQ(caught([&] { nobodys.description(); }).code(), ErrorCode::invalid_argument);
}

using op::util::FrameworkNode;
using op::util::FrameworkNodeAttrs;

std::shared_ptr<FrameworkNode> unknown_layer(const Output<Node>& input) {
  const auto layer = std::make_shared<FrameworkNode>(OutputVector{input}, 2);
  FrameworkNodeAttrs attrs;
  attrs.set_type_name("Whirl");
  attrs.set_opset_name("framework");
  attrs["speed"] = "fast";
  attrs["turns"] = "3";
  layer->set_attrs(attrs);
  layer->set_output_type(0, element::f32, PartialShape{1, -1});
  layer->set_output_type(1, element::i64, PartialShape{4});
  return layer;
}

TEST(FrameworkNodes, KeepWhatTheProgramSays) {
  const auto x = std::make_shared<opset13::Parameter>(element::f32, PartialShape{1, 4});
  const auto layer = unknown_layer(x);
  const auto sum = std::make_shared<opset13::Relu>(layer->output(0));
  EXPECT_EQ(sum->get_output_partial_shape(0), (PartialShape{1, -1}));
  const auto model = std::make_shared<Model>(OutputVector{sum, layer->output(1)}, ParameterVector{x});
  const auto copy = model->clone();
  for (const auto& made : {model, copy}) {
    std::shared_ptr<FrameworkNode> found;
    for (const auto& node : made->get_ops())
      if (auto known = as_type_ptr<FrameworkNode>(node)) found = known;
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->get_type_name(), std::string("FrameworkNode"));
    EXPECT_EQ(found->get_attrs().get_type_name(), "Whirl");
    EXPECT_EQ(found->get_attrs().get_opset_name(), "framework");
    EXPECT_EQ(found->get_attrs().at("speed"), "fast");
    EXPECT_TRUE(found->get_attrs() == layer->get_attrs());
    EXPECT_EQ(found->get_output_element_type(1), element::i64);
    EXPECT_EQ(found->get_output_partial_shape(1), (PartialShape{4}));
  }
  EXPECT_EQ(copy->output(0).get_partial_shape(), (PartialShape{1, -1}));
  const auto again = layer->clone_with_new_inputs({x});
  EXPECT_EQ(as_type_ptr<FrameworkNode>(again)->get_attrs().at("turns"), "3");
  EXPECT_EQ(again->get_output_size(), 2u);
}

TEST(FrameworkNodes, AreWrittenButNotComputed) {
  const auto x = std::make_shared<opset13::Parameter>(element::f32, PartialShape{1, 4});
  const auto layer = unknown_layer(x);
  layer->set_friendly_name("whirl0");
  const auto model = std::make_shared<Model>(OutputVector{layer->output(0)}, ParameterVector{x});
  std::ostringstream xml, bin;
  serialize(model, xml, bin);
  EXPECT_NE(xml.str().find("type=\"Whirl\" version=\"framework\""), std::string::npos) << xml.str();
  EXPECT_NE(xml.str().find("speed=\"fast\""), std::string::npos);
  Core core;
  for (const char* device : {"CPU", "INTERPRETER"}) {
    const Exception error = caught([&] { core.compile_model(model, device); });
    EXPECT_EQ(error.code(), ErrorCode::not_implemented) << error.what();
    EXPECT_NE(std::string(error.what()).find("whirl0"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("add_extension"), std::string::npos) << error.what();
    EXPECT_EQ(core.query_model(model, device).count("whirl0"), 0u);
  }
  EXPECT_THROW(core.read_model(xml.str(), Tensor()), Exception);
  TensorVector outputs;
  EXPECT_EQ(caught([&] {
              model->evaluate(outputs, {Tensor(element::f32, Shape{1, 4})});
            }).code(),
            ErrorCode::not_implemented);
}

TEST(FrameworkNodes, AreReplacedByWhatIsKnown) {
  const auto x = std::make_shared<opset13::Parameter>(element::f32, PartialShape{1, 4});
  const auto layer = std::make_shared<FrameworkNode>(OutputVector{x});
  EXPECT_EQ(layer->get_attrs().get_type_name(), "");
  const auto model = std::make_shared<Model>(OutputVector{layer}, ParameterVector{x});
  replace_node(layer, std::make_shared<opset13::Relu>(x));
  model->validate_nodes_and_infer_types();
  EXPECT_EQ(model->output().get_partial_shape(), (PartialShape{1, 4}));
  EXPECT_NO_THROW(Core().compile_model(model, "CPU"));
}

}  // namespace
}  // namespace terroir
