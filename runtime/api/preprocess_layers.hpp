// Adds the layers of a step to the model.
#pragma once

#include <string>
#include <vector>

#include "runtime/api/preprocess_steps.hpp"
#include "terroir/model_builder.hpp"

namespace terroir::preprocess::detail {

/// The only value of the flow. Throws Exception (invalid_argument), saying that one cannot `verb` several planes.
const Output<Node>& only_value(const Flow& flow, const char* verb);

class Layers {
 public:
  /// Layers of the model of `flow`, named "NAME/suffix" after it.
  explicit Layers(const Flow& flow) : builder_(flow.values.at(0)), prefix_(flow.name + "/") {}

  Output<Node> add(const char* type, const char* opset, const std::vector<Output<Node>>& inputs, const char* suffix,
                   const AnyMap& attributes = {});
  /// A list of indices.
  template <typename T>
  Output<Node> indices(const std::vector<T>& values) {
    return builder_.constant(element::i64, Shape{values.size()}, values);
  }
  Output<Node> scalar(const element::Type& type, double value) { return builder_.constant(type, Shape{}, {value}); }
  Output<Node> numbers(const element::Type& type, const Shape& shape, const std::vector<float>& values) {
    return builder_.constant(type, shape, values);
  }

 private:
  ModelBuilder builder_;
  std::string prefix_;
};

}  // namespace terroir::preprocess::detail
