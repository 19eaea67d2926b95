// Normalisations and softmax, as code makes them.
#pragma once

#include "terroir/op/attribute_access.hpp"
#include "terroir/op/attributes.hpp"
#include "terroir/op/constant.hpp"
#include "terroir/op/layer.hpp"

namespace terroir {
namespace op {
namespace v0 {

class BatchNormInference : public Node {
  TERROIR_LAYER(BatchNormInference, "BatchNormInference", "opset1")
  BatchNormInference(const Output<Node>& data, const Output<Node>& gamma, const Output<Node>& beta,
                     const Output<Node>& mean, const Output<Node>& variance, double epsilon)
      : BatchNormInference(OutputVector{gamma, beta, data, mean, variance}, {{"epsilon", epsilon}}) {}
  double get_eps_value() const { return detail::attribute<double>(*this, "epsilon"); }
  void set_eps_value(double eps_value) { detail::set_attribute(*this, "epsilon", eps_value); }
};

class LRN : public Node {
  TERROIR_LAYER(LRN, "LRN", "opset1")
  LRN(const Output<Node>& data, const Output<Node>& axes, double alpha, double beta, double bias, size_t size)
      : LRN(OutputVector{data, axes},
            {{"alpha", alpha}, {"beta", beta}, {"bias", bias}, {"size", static_cast<int64_t>(size)}}) {}
  double get_alpha() const { return detail::attribute<double>(*this, "alpha"); }
  void set_alpha(double alpha) { detail::set_attribute(*this, "alpha", alpha); }
  double get_beta() const { return detail::attribute<double>(*this, "beta"); }
  void set_beta(double beta) { detail::set_attribute(*this, "beta", beta); }
  double get_bias() const { return detail::attribute<double>(*this, "bias"); }
  void set_bias(double bias) { detail::set_attribute(*this, "bias", bias); }
  size_t get_nsize() const { return detail::attribute<size_t>(*this, "size"); }
  void set_nsize(size_t nsize) { detail::set_attribute(*this, "size", nsize); }
  const AxisSet get_reduction_axes() const { return detail::constant_axes(*this, 1); }
};

class MVN : public Node {
  TERROIR_LAYER(MVN, "MVN", "opset2")
  explicit MVN(const Output<Node>& data, bool across_channels = true, bool normalize_variance = true, double eps = 1e-9)
      : MVN(OutputVector{data},
            {{"across_channels", across_channels}, {"normalize_variance", normalize_variance}, {"eps", eps}}) {}
  MVN(const Output<Node>& data, const AxisSet& reduction_axes, bool normalize_variance = true, double eps = 1e-9)
      : MVN(OutputVector{data}, {{"across_channels", reduction_axes.count(1) != 0},
                                 {"normalize_variance", normalize_variance},
                                 {"eps", eps},
                                 {"reduction_axes", detail::integers(reduction_axes)}}) {}
  /// Those that it was made with; else they follow from get_across_channels() and the rank of the data, which has to be
  /// known. Throws Exception (invalid_argument).
  const AxisSet get_reduction_axes() const {
    AxisSet axes = detail::attribute<AxisSet>(*this, "reduction_axes");
    if (!axes.empty()) return axes;
    const Dimension rank = get_input_partial_shape(0).rank();
    if (rank.is_dynamic()) throw Exception(ErrorCode::invalid_argument, "the axes of data of unknown rank");
    for (int64_t axis = get_across_channels() ? 1 : 2; axis < rank.get_length(); ++axis)
      axes.insert(static_cast<size_t>(axis));
    return axes;
  }
  void set_reduction_axes(const AxisSet& axes) { detail::set_attribute(*this, "reduction_axes", axes); }
  double get_eps() const { return detail::attribute<double>(*this, "eps"); }
  void set_eps(double eps) { detail::set_attribute(*this, "eps", eps); }
  bool get_across_channels() const { return detail::attribute<bool>(*this, "across_channels"); }
  void set_across_channels(bool across_channels) { detail::set_attribute(*this, "across_channels", across_channels); }
  bool get_normalize_variance() const { return detail::attribute<bool>(*this, "normalize_variance"); }
  void set_normalize_variance(bool normalize_variance) {
    detail::set_attribute(*this, "normalize_variance", normalize_variance);
  }
};

class NormalizeL2 : public Node {
  TERROIR_LAYER(NormalizeL2, "NormalizeL2", "opset1")
  NormalizeL2(const Output<Node>& data, const Output<Node>& axes, float eps, EpsMode eps_mode)
      : NormalizeL2(OutputVector{data, axes}, {{"eps", eps}, {"eps_mode", detail::spelling(eps_mode)}}) {}
  float get_eps() const { return detail::attribute<float>(*this, "eps"); }
  EpsMode get_eps_mode() const { return detail::attribute<EpsMode>(*this, "eps_mode"); }
  const AxisSet get_reduction_axes() const { return detail::constant_axes(*this, 1); }
};

class GRN : public Node {
  TERROIR_LAYER(GRN, "GRN", "opset1")
  GRN(const Output<Node>& data, float bias) : GRN(OutputVector{data}, AnyMap{{"bias", bias}}) {}
  float get_bias() const { return detail::attribute<float>(*this, "bias"); }
};

}  // namespace v0

namespace v1 {

class Softmax : public Node {
  TERROIR_LAYER(Softmax, "SoftMax", "opset1")
  explicit Softmax(const Output<Node>& data, size_t axis = 1)
      : Softmax(OutputVector{data}, {{"axis", static_cast<int64_t>(axis)}}) {}
  size_t get_axis() const { return detail::attribute<size_t>(*this, "axis"); }
  void set_axis(size_t axis) { detail::set_attribute(*this, "axis", axis); }
};

}  // namespace v1

namespace v5 {

class BatchNormInference : public Node {
  TERROIR_LAYER(BatchNormInference, "BatchNormInference", "opset5")
  BatchNormInference(const Output<Node>& data, const Output<Node>& gamma, const Output<Node>& beta,
                     const Output<Node>& mean, const Output<Node>& variance, double epsilon)
      : BatchNormInference(OutputVector{data, gamma, beta, mean, variance}, {{"epsilon", epsilon}}) {}
  double get_eps_value() const { return detail::attribute<double>(*this, "epsilon"); }
  void set_eps_value(double eps_value) { detail::set_attribute(*this, "epsilon", eps_value); }
};

class LogSoftmax : public Node {
  TERROIR_LAYER(LogSoftmax, "LogSoftmax", "opset5")
  LogSoftmax(const Output<Node>& data, int64_t axis) : LogSoftmax(OutputVector{data}, {{"axis", axis}}) {}
  int64_t get_axis() const { return detail::attribute<int64_t>(*this, "axis"); }
  void set_axis(int64_t axis) { detail::set_attribute(*this, "axis", axis); }
};

}  // namespace v5

namespace v6 {

class MVN : public Node {
  TERROIR_LAYER(MVN, "MVN", "opset6")
  MVN(const Output<Node>& data, const Output<Node>& axes, bool normalize_variance, float eps, MVNEpsMode eps_mode)
      : MVN(OutputVector{data, axes},
            {{"normalize_variance", normalize_variance}, {"eps", eps}, {"eps_mode", detail::spelling(eps_mode)}}) {}
  float get_eps() const { return detail::attribute<float>(*this, "eps"); }
  void set_eps(float eps) { detail::set_attribute(*this, "eps", eps); }
  bool get_normalize_variance() const { return detail::attribute<bool>(*this, "normalize_variance"); }
  void set_normalize_variance(bool normalize_variance) {
    detail::set_attribute(*this, "normalize_variance", normalize_variance);
  }
  MVNEpsMode get_eps_mode() const { return detail::attribute<MVNEpsMode>(*this, "eps_mode"); }
  void set_eps_mode(MVNEpsMode eps_mode) { detail::set_attribute(*this, "eps_mode", eps_mode); }
};

}  // namespace v6

namespace v8 {

class Softmax : public Node {
  TERROIR_LAYER(Softmax, "SoftMax", "opset8")
  explicit Softmax(const Output<Node>& data, int64_t axis = 1) : Softmax(OutputVector{data}, {{"axis", axis}}) {}
  int64_t get_axis() const { return detail::attribute<int64_t>(*this, "axis"); }
  void set_axis(int64_t axis) { detail::set_attribute(*this, "axis", axis); }
};

}  // namespace v8

namespace v12 {

class GroupNormalization : public Node {
  TERROIR_LAYER(GroupNormalization, "GroupNormalization", "opset12")
  GroupNormalization(const Output<Node>& data, const Output<Node>& scale, const Output<Node>& bias, int64_t num_groups,
                     double epsilon)
      : GroupNormalization(OutputVector{data, scale, bias}, {{"num_groups", num_groups}, {"epsilon", epsilon}}) {}
  int64_t get_num_groups() const { return detail::attribute<int64_t>(*this, "num_groups"); }
  void set_num_groups(int64_t num_groups) { detail::set_attribute(*this, "num_groups", num_groups); }
  double get_epsilon() const { return detail::attribute<double>(*this, "epsilon"); }
  void set_epsilon(double epsilon) { detail::set_attribute(*this, "epsilon", epsilon); }
};

}  // namespace v12
}  // namespace op
}  // namespace terroir
