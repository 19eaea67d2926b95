// Normalisations and softmax, as code makes them.
#pragma once

#include "terroir/op/attributes.hpp"
#include "terroir/op/layer.hpp"

namespace terroir {
namespace op {
namespace v0 {

class BatchNormInference : public Node {
  TERROIR_LAYER(BatchNormInference, "BatchNormInference", "opset1")
  BatchNormInference(const Output<Node>& data, const Output<Node>& gamma, const Output<Node>& beta,
                     const Output<Node>& mean, const Output<Node>& variance, double epsilon)
      : BatchNormInference(OutputVector{gamma, beta, data, mean, variance}, {{"epsilon", epsilon}}) {}
};

class LRN : public Node {
  TERROIR_LAYER(LRN, "LRN", "opset1")
  LRN(const Output<Node>& data, const Output<Node>& axes, double alpha, double beta, double bias, size_t size)
      : LRN(OutputVector{data, axes},
            {{"alpha", alpha}, {"beta", beta}, {"bias", bias}, {"size", static_cast<int64_t>(size)}}) {}
};

class MVN : public Node {
  TERROIR_LAYER(MVN, "MVN", "opset2")
  explicit MVN(const Output<Node>& data, bool across_channels = true, bool normalize_variance = true, double eps = 1e-9)
      : MVN(OutputVector{data},
            {{"across_channels", across_channels}, {"normalize_variance", normalize_variance}, {"eps", eps}}) {}
};

class NormalizeL2 : public Node {
  TERROIR_LAYER(NormalizeL2, "NormalizeL2", "opset1")
  NormalizeL2(const Output<Node>& data, const Output<Node>& axes, float eps, EpsMode eps_mode)
      : NormalizeL2(OutputVector{data, axes}, {{"eps", eps}, {"eps_mode", detail::spelling(eps_mode)}}) {}
};

class GRN : public Node {
  TERROIR_LAYER(GRN, "GRN", "opset1")
  GRN(const Output<Node>& data, float bias) : GRN(OutputVector{data}, AnyMap{{"bias", bias}}) {}
};

}  // namespace v0

namespace v1 {

class Softmax : public Node {
  TERROIR_LAYER(Softmax, "SoftMax", "opset1")
  explicit Softmax(const Output<Node>& data, size_t axis = 1)
      : Softmax(OutputVector{data}, {{"axis", static_cast<int64_t>(axis)}}) {}
};

}  // namespace v1

namespace v5 {

class BatchNormInference : public Node {
  TERROIR_LAYER(BatchNormInference, "BatchNormInference", "opset5")
  BatchNormInference(const Output<Node>& data, const Output<Node>& gamma, const Output<Node>& beta,
                     const Output<Node>& mean, const Output<Node>& variance, double epsilon)
      : BatchNormInference(OutputVector{data, gamma, beta, mean, variance}, {{"epsilon", epsilon}}) {}
};

class LogSoftmax : public Node {
  TERROIR_LAYER(LogSoftmax, "LogSoftmax", "opset5")
  LogSoftmax(const Output<Node>& data, int64_t axis) : LogSoftmax(OutputVector{data}, {{"axis", axis}}) {}
};

}  // namespace v5

namespace v6 {

class MVN : public Node {
  TERROIR_LAYER(MVN, "MVN", "opset6")
  MVN(const Output<Node>& data, const Output<Node>& axes, bool normalize_variance, float eps, MVNEpsMode eps_mode)
      : MVN(OutputVector{data, axes},
            {{"normalize_variance", normalize_variance}, {"eps", eps}, {"eps_mode", detail::spelling(eps_mode)}}) {}
};

}  // namespace v6

namespace v8 {

class Softmax : public Node {
  TERROIR_LAYER(Softmax, "SoftMax", "opset8")
  explicit Softmax(const Output<Node>& data, int64_t axis = 1) : Softmax(OutputVector{data}, {{"axis", axis}}) {}
};

}  // namespace v8

namespace v12 {

class GroupNormalization : public Node {
  TERROIR_LAYER(GroupNormalization, "GroupNormalization", "opset12")
  GroupNormalization(const Output<Node>& data, const Output<Node>& scale, const Output<Node>& bias, int64_t num_groups,
                     double epsilon)
      : GroupNormalization(OutputVector{data, scale, bias}, {{"num_groups", num_groups}, {"epsilon", epsilon}}) {}
};

}  // namespace v12
}  // namespace op
}  // namespace terroir
