// Building a model layer by layer.
//
// Use: ModelBuilder b("tiny");
//      auto x = b.parameter(element::f32, {1, 3, 8, 8}, "data");
//      auto w = b.constant(element::f32, Shape{4, 3, 3, 3}, weights);
//      auto y = b.op("Convolution", "opset1", {x, w},
//                    {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}}, "conv");
//      b.result(b.op("ReLU", "opset1", {y}), "prob");
//      std::shared_ptr<Model> model = b.build();
// What: types and shapes are inferred at each step, so a port tells its shape at once and an error comes from the line
//       that made it. Attributes have the names and meanings of IR files; values may be typed or texts, and those that
//       IR files may leave out may be left out here.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "terroir/any.hpp"
#include "terroir/element_type.hpp"
#include "terroir/export.hpp"
#include "terroir/model.hpp"
#include "terroir/node.hpp"
#include "terroir/partial_shape.hpp"
#include "terroir/tensor.hpp"

namespace terroir {

class Core;

class TERROIR_API ModelBuilder {
 public:
  explicit ModelBuilder(const std::string& name = {});
  /// The same with the layers of the Core's extensions, as they are now.
  explicit ModelBuilder(const Core& core, const std::string& name = {});
  /// Adds layers to the model that this port belongs to, which nothing reads yet: for custom steps of a
  /// PrePostProcessor. parameter(), result() and build() throw Exception (invalid_argument).
  explicit ModelBuilder(const Output<Node>& port);
  ~ModelBuilder();
  ModelBuilder(ModelBuilder&&) noexcept;
  ModelBuilder& operator=(ModelBuilder&&) noexcept;

  /// An input. `name` is the name of the layer and of its tensor; none: one is made.
  Output<Node> parameter(const element::Type& type, const PartialShape& shape, const std::string& name = {});

  /// A constant; the elements are copied unless they come as a continuous tensor, whose memory is then shared.
  Output<Node> constant(const Tensor& value, const std::string& name = {});
  /// Elements converted to `type`; one element fills the whole shape. Throws Exception (invalid_argument) for another
  /// number of elements or a type that takes no numbers.
  template <typename T>
  Output<Node> constant(const element::Type& type, const Shape& shape, const std::vector<T>& values,
                        const std::string& name = {}) {
    static_assert(std::is_arithmetic_v<T>, "elements must be numbers");
    if constexpr (std::is_integral_v<T>) {
      return integers(type, shape, std::vector<int64_t>(values.begin(), values.end()), name);
    } else {
      return reals(type, shape, std::vector<double>(values.begin(), values.end()), name);
    }
  }
  template <typename T>
  Output<Node> constant(const element::Type& type, const Shape& shape, std::initializer_list<T> values,
                        const std::string& name = {}) {
    return constant(type, shape, std::vector<T>(values), name);
  }

  /// A layer of `type` as the set `opset` ("opset1" ...) defines it; returns its first output, the others are
  /// get_node()->output(i). Throws Exception: unsupported for an operation and not_found for an attribute there is not
  /// (the text names the nearest), parse_error for a text that is no value, and what the operation refuses.
  Output<Node> op(const std::string& type, const std::string& opset, const std::vector<Output<Node>>& inputs,
                  const AnyMap& attributes = {}, const std::string& name = {});

  /// An output of the model; `name` becomes a name of the tensor.
  Output<Node> result(const Output<Node>& value, const std::string& name = {});

  /// The finished model; the builder is empty afterwards. Throws Exception (invalid_argument) without any result.
  std::shared_ptr<Model> build();

 private:
  struct State;
  Output<Node> integers(const element::Type& type, const Shape& shape, const std::vector<int64_t>& values,
                        const std::string& name);
  Output<Node> reals(const element::Type& type, const Shape& shape, const std::vector<double>& values,
                     const std::string& name);
  std::unique_ptr<State> state_;
};

}  // namespace terroir
