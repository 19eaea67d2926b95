// Layers of one's own that have the type of an operation of the opsets: another operation, whatever passes know of
// that.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "terroir/op/op.hpp"
#include "terroir/opsets.hpp"
#include "terroir/terroir.hpp"

namespace terroir {
namespace {

constexpr const char* kTypes[] = {"ReLU",   "Sigmoid",   "Clamp",       "Add",     "Multiply", "Transpose", "Pad",
                                  "Concat", "Split",     "Convolution", "MaxPool", "Convert",  "Reshape",   "MatMul",
                                  "MVN",    "Unsqueeze", "Divide",      "Gather",  "Einsum",   "SoftMax",   "HSwish"};

/// Adds 1 to its first input.
template <size_t kType>
class Alike : public op::Op {
 public:
  TERROIR_OP(kTypes[kType], "alike");
  Alike() = default;
  explicit Alike(const OutputVector& inputs) {
    set_arguments(inputs);
    validate_and_infer_types();
  }
  void validate_and_infer_types() override {
    set_output_type(0, get_input_element_type(0), get_input_partial_shape(0));
  }
  std::shared_ptr<Node> clone_with_new_inputs(const OutputVector& inputs) const override {
    return std::make_shared<Alike>(inputs);
  }
  bool visit_attributes(AttributeVisitor&) override { return true; }
  bool has_evaluate() const override { return true; }
  bool evaluate(TensorVector& outputs, const TensorVector& inputs) const override {
    for (size_t i = 0; i < inputs[0].get_size(); ++i) outputs[0].data<float>()[i] = inputs[0].data<float>()[i] + 1;
    return true;
  }
};

std::vector<float> run(const std::shared_ptr<Model>& model) {
  InferRequest request = Core().compile_model(model, "CPU").create_infer_request();
  Tensor input = request.get_input_tensor();
  for (size_t i = 0; i < input.get_size(); ++i) input.data<float>()[i] = static_cast<float>(i % 7) - 3;
  request.infer();
  const Tensor output = request.get_output_tensor();
  return {output.data<float>(), output.data<float>() + output.get_size()};
}

/// Between a convolution by 2 and a ReLU, with a constant as its second input where it has one.
template <size_t kType>
void expect_own_values() {
  for (const bool has_two : {false, true}) {
    SCOPED_TRACE(::testing::Message() << kTypes[kType] << ", " << (has_two ? "two inputs" : "one input"));
    const auto x = std::make_shared<opset13::Parameter>(element::f32, PartialShape{1, 1, 3, 4});
    const auto weights = opset13::Constant::create(element::f32, Shape{1, 1, 1, 1}, {2.0f});
    const auto conv = std::make_shared<opset13::Convolution>(x, weights, Strides{1, 1}, CoordinateDiff{0, 0},
                                                             CoordinateDiff{0, 0}, Strides{1, 1});
    OutputVector inputs = {conv->output(0)};
    if (has_two) inputs.push_back(opset13::Constant::create(element::f32, Shape{1}, {1.0f})->output(0));
    const auto own = std::make_shared<Alike<kType>>(inputs);
    const auto relu = std::make_shared<opset13::Relu>(own->output(0));
    const auto values = run(std::make_shared<Model>(OutputVector{relu->output(0)}, ParameterVector{x}));
    ASSERT_EQ(values.size(), 12u);
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_EQ(values[i], std::max(0.0f, 2 * (static_cast<float>(i % 7) - 3) + 1)) << i;
  }
}

template <size_t... kTypeIndex>
void expect_all(std::index_sequence<kTypeIndex...>) {
  (expect_own_values<kTypeIndex>(), ...);
}

TEST(LayersNamedAlike, ComputeWhatTheyAreAndNotWhatTheOpsetsCallSo) {
  expect_all(std::make_index_sequence<std::size(kTypes)>());
}

}  // namespace
}  // namespace terroir
