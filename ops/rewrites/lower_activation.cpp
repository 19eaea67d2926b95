#include "ops/rewrites/lower_activation.hpp"

#include <limits>

#include "ops/defs/elementwise/activation.hpp"

namespace terroir::ops {
namespace {

constexpr const char* kSuffix = "activation";

class Activating {
 public:
  Activating(NewNodes& nodes, ir::Value value) : nodes_(nodes), value_(value) {}

  Activating& then(const char* type, std::unique_ptr<ir::Attributes> attributes = nullptr) {
    value_ = nodes_.add(type, std::move(attributes), {value_}, kSuffix);
    return *this;
  }
  /// `neutral` is the operand that changes nothing.
  Activating& with_scalar(const char* type, double operand, double neutral) {
    if (operand != neutral) value_ = nodes_.add(type, nullptr, {value_, nodes_.scalar(operand, "operand")}, kSuffix);
    return *this;
  }
  Activating& times(double factor) { return with_scalar("Multiply", factor, 1); }
  Activating& plus(double summand) { return with_scalar("Add", summand, 0); }
  Activating& times(ir::Value factor) {
    value_ = nodes_.add("Multiply", nullptr, {value_, factor}, kSuffix);
    return *this;
  }
  Activating& clamp(double low, double high) { return then("Clamp", ir::make_attributes_of(ClampAttrs{low, high})); }
  Activating& elu(double alpha) { return then("Elu", ir::make_attributes_of(EluAttrs{alpha})); }
  ir::Value value() const { return value_; }

 private:
  NewNodes& nodes_;
  ir::Value value_;
};

}  // namespace

ir::Value lower_activation(NewNodes& nodes, const reference::Activation& f, ir::Value value) {
  Activating x(nodes, value);
  switch (f.kind) {
    case FusedActivation::identity:
      return value;
    case FusedActivation::relu:
      return x.then("ReLU").value();
    case FusedActivation::leaky_relu:
      return nodes.add("PReLU", nullptr, {value, nodes.scalar(f.a, "alpha", {1})}, kSuffix);
    case FusedActivation::clip:
      return x.clamp(f.a, f.b).value();
    case FusedActivation::hard_sigmoid:
      return x.times(f.a).plus(f.b).clamp(0, 1).value();
    case FusedActivation::sigmoid:
      return x.then("Sigmoid").value();
    case FusedActivation::tanh:
      return x.then("Tanh").value();
    case FusedActivation::elu:
      return x.elu(f.a).value();
    case FusedActivation::selu:
      return x.elu(f.a).times(f.b).value();
    case FusedActivation::celu:
      return x.times(1 / f.a).elu(1).times(f.a).value();
    case FusedActivation::gelu:
      return x.then("Gelu", ir::make_attributes_of(GeluAttrs{GeluMode::erf})).value();
    case FusedActivation::hard_swish:
      if (static_cast<float>(f.a) == 1.0f / 6 && f.b == 0.5) return x.then("HSwish").value();
      return x.times(f.a).plus(f.b).clamp(0, 1).times(value).value();
    case FusedActivation::linear:
      return x.times(f.a).plus(f.b).value();
    case FusedActivation::parametric_softplus:
      return x.times(f.b).then("SoftPlus").times(f.a).value();
    case FusedActivation::scaled_tanh:
      return x.times(f.b).then("Tanh").times(f.a).value();
    case FusedActivation::softplus:
      return x.times(f.a).then("SoftPlus").times(1 / f.a).value();
    case FusedActivation::softsign:
      return x.then("SoftSign").value();
    case FusedActivation::swish:
      return nodes.add("Swish", nullptr, {value, nodes.scalar(f.a, "beta")}, kSuffix);
    case FusedActivation::thresholded_relu: {
      // max(x, a) is finite below a, so that nothing times the zero of the step is NaN.
      const ir::Value step = Activating(nodes, value).plus(-f.a).then("ReLU").then("Sign").value();
      return x.with_scalar("Maximum", f.a, std::numeric_limits<double>::quiet_NaN()).times(step).value();
    }
  }
  return value;
}

}  // namespace terroir::ops
