// Layers whose sizes only computing them tells: memory for what they may need at most.
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

}  // namespace
}  // namespace terroir
