#pragma once
// What: what an op's `infer` sees and fills: attributes, input types and partial shapes, values of inputs where they
// are known, and the outputs to be computed.
#include <optional>
#include <string>
#include <terroir/element_type.hpp>
#include <terroir/partial_shape.hpp>
#include <vector>

#include "ir/base/error.hpp"
#include "ir/base/tensor_view.hpp"
#include "ir/schema/op_schema.hpp"

namespace terroir::ir {

struct Body;  // ir/graph/graph.hpp

struct PortType {
  element::Type type = element::dynamic;
  PartialShape shape = PartialShape::dynamic();
};

class InferContext {
 public:
  virtual ~InferContext() = default;

  InferContext(const OpSchema& schema, const Attributes& attributes, std::vector<PortType> inputs)
      : schema_(schema), attributes_(attributes), inputs_(std::move(inputs)) {}

  const OpSchema& schema() const { return schema_; }
  template <class T>
  const T& attrs() const {
    return attributes_as<T>(attributes_);
  }

  int input_count() const { return static_cast<int>(inputs_.size()); }
  element::Type type(int input) const { return inputs_.at(static_cast<size_t>(input)).type; }
  const PartialShape& shape(int input) const { return inputs_.at(static_cast<size_t>(input)).shape; }

  /// The input's value when it is a constant or computable from constants and known shapes; else empty.
  virtual std::optional<TensorView> value(int) { return std::nullopt; }
  /// The value of an integer input as numbers; empty when it is not known.
  std::optional<std::vector<int64_t>> integers(int input);
  /// The value of a floating-point or integer input as numbers; empty when it is not known.
  std::optional<std::vector<double>> reals(int input);
  /// The value of a 0-D or 1-D integer input as dimensions of which some may be unknown (a shape computed from a
  /// partially known shape); empty when nothing is known, not even how many.
  virtual std::optional<std::vector<Dimension>> dimensions(int input);

  /// Outputs are set in any order; an op with a fixed number of them sets each.
  void set_output(int output, element::Type type, PartialShape shape);
  const std::vector<PortType>& outputs() const { return outputs_; }

  /// What the file declares for an output, where the graph came from one; for ops that only keep their outputs.
  virtual std::optional<PortType> declared(int) const { return std::nullopt; }

  /// The bodies of the node, of ops that have some.
  virtual const std::vector<Body>* bodies() const { return nullptr; }

  /// Refuses the op. The text says what was expected and what was found; the caller adds which layer of which file.
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    throw_error(ErrorCode::invalid_argument, parts...);
  }
  template <class... Parts>
  void require(bool condition, const Parts&... parts) const {
    if (!condition) fail(parts...);
  }

 private:
  const OpSchema& schema_;
  const Attributes& attributes_;
  std::vector<PortType> inputs_;
  std::vector<PortType> outputs_;
};

/// Elements of a tensor of any integer type (boolean too), widened; Exception for other types.
std::vector<int64_t> to_integers(const TensorView& tensor);
/// Elements of a tensor of any floating-point or integer type as double; Exception for others.
std::vector<double> to_reals(const TensorView& tensor);

}  // namespace terroir::ir
