// Layers whose sizes only computing them tells: memory for what they may need at most, and outputs that they lose.
#include <gtest/gtest.h>

#include "terroir/op/op.hpp"
#include "terroir/terroir.hpp"
#include "tests/support/caught.hpp"

namespace terroir {
namespace {

/// Says that it gives up to 10^12 rows and columns.
class Wide : public op::Op {
 public:
  TERROIR_OP("Wide");
  Wide() = default;
  explicit Wide(const Output<Node>& value) : Op({value}) { constructor_validate_and_infer_types(); }
  void validate_and_infer_types() override {
    const Dimension most(0, 1'000'000'000'000);
    set_output_type(0, element::f32, {most, most});
  }
  std::shared_ptr<Node> clone_with_new_inputs(const OutputVector& inputs) const override {
    return std::make_shared<Wide>(inputs.at(0));
  }
  bool evaluate(TensorVector& outputs, const TensorVector&) const override {
    outputs[0].set_shape({0, 0});
    return true;
  }
  bool has_evaluate() const override { return true; }
};

TEST(LayerBounds, BeyondAllMemoryAreRefusedByName) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{2});
  const auto wide = std::make_shared<Wide>(x);
  wide->set_friendly_name("too wide");
  const auto model = std::make_shared<Model>(OutputVector{wide}, ParameterVector{x});
  for (const char* device : {"CPU", "INTERPRETER"}) {
    const Exception error = caught([&] { Core().compile_model(model, device).create_infer_request().infer(); });
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory) << device;
    EXPECT_NE(std::string(error.what()).find("'too wide'"), std::string::npos) << device << ": " << error.what();
  }
}

/// Leaves another number of outputs than it is given.
class Loses : public op::Op {
 public:
  TERROIR_OP("Loses");
  Loses() = default;
  Loses(const Output<Node>& value, int64_t left) : Op({value}), left_(left) { constructor_validate_and_infer_types(); }
  void validate_and_infer_types() override {
    set_output_type(0, get_input_element_type(0), get_input_partial_shape(0));
  }
  std::shared_ptr<Node> clone_with_new_inputs(const OutputVector& inputs) const override {
    return std::make_shared<Loses>(inputs.at(0), left_);
  }
  bool visit_attributes(AttributeVisitor& visitor) override {
    visitor.on_attribute("left", left_);
    return true;
  }
  bool evaluate(TensorVector& outputs, const TensorVector& inputs) const override {
    outputs.assign(static_cast<size_t>(left_), inputs[0]);
    return true;
  }
  bool has_evaluate() const override { return true; }

 private:
  int64_t left_ = 0;
};

TEST(LayerOutputs, AreCountedWhenTheyAreComputed) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{2});
  for (const int64_t left : {0, 1, 2}) {
    const auto layer = std::make_shared<Loses>(x, left);
    layer->set_friendly_name("careless");
    const auto model = std::make_shared<Model>(OutputVector{layer}, ParameterVector{x});
    for (const char* device : {"CPU", "INTERPRETER"}) {
      InferRequest request = Core().compile_model(model, device).create_infer_request();
      if (left == 1) {
        EXPECT_NO_THROW(request.infer());
        continue;
      }
      const std::string text = caught([&] { request.infer(); }).what();
      EXPECT_NE(text.find("'careless'"), std::string::npos) << text;
      EXPECT_NE(text.find("leaves " + std::to_string(left) + " outputs, the layer has 1"), std::string::npos) << text;
    }
  }
}

}  // namespace
}  // namespace terroir
