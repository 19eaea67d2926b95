// Layers as OpenVINO's programs write them, for a program and for a library.
#pragma once

#include <openvino/core/op_extension.hpp>
#include <openvino/op/constant.hpp>
#include <openvino/op/op.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace custom {

/// The same as its input.
class Identity : public ov::op::Op {
 public:
  OPENVINO_OP("Identity");

  Identity() = default;
  Identity(const ov::Output<ov::Node>& arg) : Op({arg}) { constructor_validate_and_infer_types(); }

  void validate_and_infer_types() override {
    set_output_type(0, get_input_element_type(0), get_input_partial_shape(0));
  }
  std::shared_ptr<ov::Node> clone_with_new_inputs(const ov::OutputVector& new_args) const override {
    OPENVINO_ASSERT(new_args.size() == 1, "Incorrect number of new arguments");
    return std::make_shared<Identity>(new_args.at(0));
  }
  bool visit_attributes(ov::AttributeVisitor&) override { return true; }
  bool evaluate(ov::TensorVector& outputs, const ov::TensorVector& inputs) const override {
    outputs[0].set_shape(inputs[0].get_shape());
    inputs[0].copy_to(outputs[0]);
    return true;
  }
  bool has_evaluate() const override { return true; }
};

enum class Side { left, right };

/// Output i is the i-th part of the last axis, times the i-th factor: as many outputs as factors. The second input,
/// which is known when the model is compiled, is added.
class Parts : public ov::op::Op {
 public:
  OPENVINO_OP("Parts", "custom");

  Parts() = default;
  Parts(const ov::Output<ov::Node>& arg, const ov::Output<ov::Node>& bias, std::vector<float> factors, Side side)
      : Op({arg, bias}), factors_(std::move(factors)), side_(side) {
    constructor_validate_and_infer_types();
  }

  void validate_and_infer_types() override {
    NODE_VALIDATION_CHECK(this, get_input_size() == 2, "it takes two inputs, got ", get_input_size());
    NODE_VALIDATION_CHECK(this, !factors_.empty(), "it needs a factor");
    NODE_VALIDATION_CHECK(this, get_input_element_type(0) == ov::element::f32, "the input is ",
                          get_input_element_type(0));
    ov::PartialShape shape = get_input_partial_shape(0);
    auto& last = shape[shape.size() - 1];
    const auto parts = static_cast<int64_t>(factors_.size());
    if (last.is_static()) {
      NODE_VALIDATION_CHECK(this, last.get_length() % parts == 0, "an extent of ", last, " has no ", parts, " parts");
      last = last.get_length() / parts;
    } else {
      last = ov::Dimension::dynamic();
    }
    if (auto bias = std::dynamic_pointer_cast<ov::op::v0::Constant>(input_value(1).get_node_shared_ptr()))
      bias_ = bias->cast_vector<float>().at(0);
    set_output_size(factors_.size());
    for (size_t i = 0; i < factors_.size(); ++i) set_output_type(i, ov::element::f32, shape);
  }
  std::shared_ptr<ov::Node> clone_with_new_inputs(const ov::OutputVector& new_args) const override {
    check_new_args_count(this, new_args);
    return std::make_shared<Parts>(new_args[0], new_args[1], factors_, side_);
  }
  bool visit_attributes(ov::AttributeVisitor& visitor) override {
    visitor.on_attribute("factors", factors_);
    visitor.on_attribute("side", side_);
    visitor.on_attribute("shift", shift_);
    visitor.on_attribute("name", name_);
    visitor.on_attribute("negate", negate_);
    visitor.on_attribute("type", type_);
    visitor.on_attribute("axes", axes_);
    return true;
  }
  bool evaluate(ov::TensorVector& outputs, const ov::TensorVector& inputs) const override {
    if (name_ == "refused") return false;
    OPENVINO_ASSERT(name_ != "throws", "the layer is told to throw");
    const size_t parts = outputs.size();
    const size_t columns = inputs[0].get_shape().back() / parts;
    const size_t rows = columns == 0 ? 0 : inputs[0].get_size() / columns / parts;
    const auto* src = inputs[0].data<const float>();
    for (size_t part = 0; part < parts; ++part) {
      auto* dst = outputs[side_ == Side::left ? part : parts - 1 - part].data<float>();
      const float factor = negate_ ? -factors_[part] : factors_[part];
      for (size_t row = 0; row < rows; ++row)
        for (size_t i = 0; i < columns; ++i)
          dst[row * columns + i] = src[(row * parts + part) * columns + i] * factor + bias_ + float(shift_);
    }
    return true;
  }
  bool has_evaluate() const override { return true; }

 private:
  std::vector<float> factors_{1};
  Side side_ = Side::left;
  int32_t shift_ = 0;
  std::string name_;
  bool negate_ = false;
  ov::element::Type type_ = ov::element::f32;
  std::vector<int64_t> axes_;
  float bias_ = 0;
};

}  // namespace custom

namespace ov {

template <>
inline EnumNames<custom::Side>& EnumNames<custom::Side>::get() {
  static auto names = EnumNames<custom::Side>("Side", {{"left", custom::Side::left}, {"right", custom::Side::right}});
  return names;
}

template <>
class AttributeAdapter<custom::Side> : public EnumAttributeAdapterBase<custom::Side> {
 public:
  AttributeAdapter(custom::Side& value) : EnumAttributeAdapterBase<custom::Side>(value) {}
  OPENVINO_RTTI("AttributeAdapter<Side>");
};

}  // namespace ov
