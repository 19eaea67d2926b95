// Elementwise operations with attributes or operands of their own, as code makes them.
#pragma once

#include <string>

#include "terroir/element_type.hpp"
#include "terroir/op/attribute_access.hpp"
#include "terroir/op/attributes.hpp"
#include "terroir/op/bases.hpp"
#include "terroir/op/layer.hpp"

namespace terroir {
namespace op {
namespace v0 {

class Clamp : public util::UnaryElementwiseArithmetic {
  TERROIR_LAYER_OF(util::UnaryElementwiseArithmetic, Clamp, "Clamp", "opset1")
  Clamp(const Output<Node>& data, double min, double max) : Clamp(OutputVector{data}, {{"min", min}, {"max", max}}) {}
  double get_min() const { return detail::attribute<double>(*this, "min"); }
  void set_min(double min) { detail::set_attribute(*this, "min", min); }
  double get_max() const { return detail::attribute<double>(*this, "max"); }
  void set_max(double max) { detail::set_attribute(*this, "max", max); }
};

class Convert : public Node {
  TERROIR_LAYER(Convert, "Convert", "opset1")
  Convert(const Output<Node>& data, const element::Type& destination_type)
      : Convert(OutputVector{data}, {{"destination_type", destination_type}}) {}
  const element::Type get_destination_type() const {
    return detail::attribute<element::Type>(*this, "destination_type");
  }
  void set_destination_type(const element::Type& destination_type) {
    detail::set_attribute(*this, "destination_type", destination_type);
  }
  const element::Type get_convert_element_type() const {
    return detail::attribute<element::Type>(*this, "destination_type");
  }
  void set_convert_element_type(const element::Type& destination_type) {
    detail::set_attribute(*this, "destination_type", destination_type);
  }
};

class Elu : public util::UnaryElementwiseArithmetic {
  TERROIR_LAYER_OF(util::UnaryElementwiseArithmetic, Elu, "Elu", "opset1")
  Elu(const Output<Node>& data, double alpha) : Elu(OutputVector{data}, {{"alpha", alpha}}) {}
  double get_alpha() const { return detail::attribute<double>(*this, "alpha"); }
  void set_alpha(double alpha) { detail::set_attribute(*this, "alpha", alpha); }
};

class FakeQuantize : public Node {
  TERROIR_LAYER(FakeQuantize, "FakeQuantize", "opset1")
  FakeQuantize(const Output<Node>& data, const Output<Node>& input_low, const Output<Node>& input_high,
               const Output<Node>& output_low, const Output<Node>& output_high, size_t levels,
               const AutoBroadcastSpec& auto_broadcast = AutoBroadcastType::NUMPY)
      : FakeQuantize(OutputVector{data, input_low, input_high, output_low, output_high},
                     with_levels(detail::broadcasting(auto_broadcast), levels)) {}
  size_t get_levels() const { return detail::attribute<size_t>(*this, "levels"); }
  void set_levels(size_t levels) { detail::set_attribute(*this, "levels", levels); }
  const AutoBroadcastSpec get_auto_broadcast() const { return detail::broadcasting_of(*this); }
  void set_auto_broadcast(const AutoBroadcastSpec& spec) { detail::set_attributes(*this, detail::broadcasting(spec)); }

 private:
  static AnyMap with_levels(AnyMap attributes, size_t levels) {
    attributes.emplace("levels", static_cast<int64_t>(levels));
    return attributes;
  }
};

class Gelu : public util::UnaryElementwiseArithmetic {
  TERROIR_LAYER_OF(util::UnaryElementwiseArithmetic, Gelu, "Gelu", "opset2")
  explicit Gelu(const Output<Node>& data) : Gelu(OutputVector{data}) {}
};

class HardSigmoid : public Node {
  TERROIR_LAYER(HardSigmoid, "HardSigmoid", "opset1")
  HardSigmoid(const Output<Node>& data, const Output<Node>& alpha, const Output<Node>& beta)
      : HardSigmoid(OutputVector{data, alpha, beta}) {}
};

class PRelu : public Node {
  TERROIR_LAYER(PRelu, "PReLU", "opset1")
  PRelu(const Output<Node>& data, const Output<Node>& slope) : PRelu(OutputVector{data, slope}) {}
};

class Selu : public Node {
  TERROIR_LAYER(Selu, "Selu", "opset1")
  Selu(const Output<Node>& data, const Output<Node>& alpha, const Output<Node>& lambda)
      : Selu(OutputVector{data, alpha, lambda}) {}
};

}  // namespace v0

namespace v1 {

class ConvertLike : public Node {
  TERROIR_LAYER(ConvertLike, "ConvertLike", "opset1")
  ConvertLike(const Output<Node>& data, const Output<Node>& like) : ConvertLike(OutputVector{data, like}) {}
};

/// `pythondiv`: quotients of integers are rounded down, not towards zero.
class Divide : public util::BinaryElementwiseArithmetic {
  TERROIR_LAYER_OF(util::BinaryElementwiseArithmetic, Divide, "Divide", "opset1")
  Divide(const Output<Node>& a, const Output<Node>& b,
         const AutoBroadcastSpec& auto_broadcast = AutoBroadcastType::NUMPY)
      : Divide(OutputVector{a, b}, detail::broadcasting(auto_broadcast)) {}
  Divide(const Output<Node>& a, const Output<Node>& b, bool pythondiv,
         const AutoBroadcastSpec& auto_broadcast = AutoBroadcastType::NUMPY)
      : Divide(OutputVector{a, b}, with_rounding(detail::broadcasting(auto_broadcast), pythondiv)) {}
  bool is_pythondiv() const { return detail::attribute<bool>(*this, "m_pythondiv"); }
  void set_is_pythondiv(bool pythondiv) { detail::set_attribute(*this, "m_pythondiv", pythondiv); }

 private:
  static AnyMap with_rounding(AnyMap attributes, bool pythondiv) {
    attributes.emplace("m_pythondiv", pythondiv);
    return attributes;
  }
};

class Select : public Node {
  TERROIR_LAYER(Select, "Select", "opset1")
  Select(const Output<Node>& condition, const Output<Node>& then, const Output<Node>& otherwise,
         const AutoBroadcastSpec& auto_broadcast = AutoBroadcastType::NUMPY)
      : Select(OutputVector{condition, then, otherwise}, detail::broadcasting(auto_broadcast)) {}
  const AutoBroadcastSpec get_auto_broadcast() const { return detail::broadcasting_of(*this); }
  void set_auto_broadcast(const AutoBroadcastSpec& spec) { detail::set_attributes(*this, detail::broadcasting(spec)); }
};

}  // namespace v1

namespace v4 {

class Swish : public Node {
  TERROIR_LAYER(Swish, "Swish", "opset4")
  explicit Swish(const Output<Node>& data) : Swish(OutputVector{data}) {}
  Swish(const Output<Node>& data, const Output<Node>& beta) : Swish(OutputVector{data, beta}) {}
};

}  // namespace v4

namespace v5 {

class Round : public util::UnaryElementwiseArithmetic {
  TERROIR_LAYER_OF(util::UnaryElementwiseArithmetic, Round, "Round", "opset5")
  enum class RoundMode { HALF_TO_EVEN, HALF_AWAY_FROM_ZERO };
  friend detail::Names<2> spellings(RoundMode) { return {"half_to_even", "half_away_from_zero"}; }
  Round(const Output<Node>& data, RoundMode mode) : Round(OutputVector{data}, {{"mode", detail::spelling(mode)}}) {}
  RoundMode get_mode() const { return detail::attribute<RoundMode>(*this, "mode"); }
  void set_mode(RoundMode mode) { detail::set_attribute(*this, "mode", mode); }
};

}  // namespace v5

namespace v7 {

class Gelu : public util::UnaryElementwiseArithmetic {
  TERROIR_LAYER_OF(util::UnaryElementwiseArithmetic, Gelu, "Gelu", "opset7")
  explicit Gelu(const Output<Node>& data, GeluApproximationMode mode = GeluApproximationMode::ERF)
      : Gelu(OutputVector{data}, {{"approximation_mode", detail::spelling(mode)}}) {}
  GeluApproximationMode get_approximation_mode() const {
    return detail::attribute<GeluApproximationMode>(*this, "approximation_mode");
  }
  void set_approximation_mode(GeluApproximationMode approximation_mode) {
    detail::set_attribute(*this, "approximation_mode", approximation_mode);
  }
};

}  // namespace v7

namespace v10 {

class IsInf : public Node {
  TERROIR_LAYER(IsInf, "IsInf", "opset10")
  struct Attributes {
    Attributes() = default;
    Attributes(bool negative, bool positive) : detect_negative(negative), detect_positive(positive) {}
    bool detect_negative = true;
    bool detect_positive = true;

    template <typename Visit>
    void visit(const Visit& visit_one) {
      visit_one("detect_negative", detect_negative);
      visit_one("detect_positive", detect_positive);
    }
  };
  explicit IsInf(const Output<Node>& data) : IsInf(data, Attributes()) {}
  IsInf(const Output<Node>& data, const Attributes& attributes)
      : IsInf(OutputVector{data}, detail::by_name(attributes)) {}
  const Attributes get_attributes() const { return detail::attributes_of<Attributes>(*this); }
  void set_attributes(const Attributes& attributes) { detail::set_attributes(*this, detail::by_name(attributes)); }
};

}  // namespace v10

namespace v13 {

class FakeConvert : public Node {
  TERROIR_LAYER(FakeConvert, "FakeConvert", "opset13")
  FakeConvert(const Output<Node>& data, const Output<Node>& scale, const std::string& destination_type = "f8e4m3")
      : FakeConvert(OutputVector{data, scale}, {{"destination_type", destination_type}}) {}
  FakeConvert(const Output<Node>& data, const Output<Node>& scale, const element::Type& destination_type)
      : FakeConvert(OutputVector{data, scale}, {{"destination_type", destination_type}}) {}
  FakeConvert(const Output<Node>& data, const Output<Node>& scale, const Output<Node>& shift,
              const std::string& destination_type = "f8e4m3")
      : FakeConvert(OutputVector{data, scale, shift}, {{"destination_type", destination_type}}) {}
  FakeConvert(const Output<Node>& data, const Output<Node>& scale, const Output<Node>& shift,
              const element::Type& destination_type)
      : FakeConvert(OutputVector{data, scale, shift}, {{"destination_type", destination_type}}) {}
  const std::string get_destination_type() const { return detail::attribute<std::string>(*this, "destination_type"); }
  const element::Type get_destination_element_type() const {
    return detail::attribute<element::Type>(*this, "destination_type");
  }
  void set_destination_type(const element::Type& destination_type) {
    detail::set_attribute(*this, "destination_type", destination_type);
  }
};

}  // namespace v13

namespace v14 {

class ConvertPromoteTypes : public Node {
  TERROIR_LAYER(ConvertPromoteTypes, "ConvertPromoteTypes", "opset14")
  ConvertPromoteTypes(const Output<Node>& a, const Output<Node>& b, bool promote_unsafe = false,
                      bool pytorch_scalar_promotion = false,
                      const element::Type& u64_integer_promotion_target = element::f32)
      : ConvertPromoteTypes(OutputVector{a, b}, {{"promote_unsafe", promote_unsafe},
                                                 {"pytorch_scalar_promotion", pytorch_scalar_promotion},
                                                 {"u64_integer_promotion_target", u64_integer_promotion_target}}) {}
  bool get_promote_unsafe() const { return detail::attribute<bool>(*this, "promote_unsafe"); }
  void set_promote_unsafe(bool promote_unsafe) { detail::set_attribute(*this, "promote_unsafe", promote_unsafe); }
  bool get_pytorch_scalar_promotion() const { return detail::attribute<bool>(*this, "pytorch_scalar_promotion"); }
  void set_pytorch_scalar_promotion(bool pytorch_scalar_promotion) {
    detail::set_attribute(*this, "pytorch_scalar_promotion", pytorch_scalar_promotion);
  }
  const element::Type get_u64_integer_promotion_target() const {
    return detail::attribute<element::Type>(*this, "u64_integer_promotion_target");
  }
  void set_u64_integer_promotion_target(const element::Type& u64_integer_promotion_target) {
    detail::set_attribute(*this, "u64_integer_promotion_target", u64_integer_promotion_target);
  }
};

}  // namespace v14
}  // namespace op
}  // namespace terroir
