#pragma once
// What: OpSchema, the immutable record of one (opset, type): identity, arity, attributes, inference, reference kernel.
// Nothing of ISA, layout or fusion lives here.
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/base/tensor_view.hpp"
#include "ir/schema/attributes.hpp"

namespace terroir::ir {

class InferContext;

/// What a reference kernel sees. Inputs and outputs agree with what `infer` accepted and computed.
struct EvalContext {
  const Attributes& attributes;
  std::span<const TensorView> inputs;
  /// Allocated for the inferred shape. An op whose output size depends on data finds room for its upper bound here
  /// and shrinks `dims` to what it wrote.
  std::span<MutableTensorView> outputs;

  template <class T>
  const T& attrs() const {
    return attributes_as<T>(attributes);
  }
};

using InferFn = void (*)(InferContext&);
/// For ops that compute shapes (ShapeOf, Gather, Concat ...): the 0-D or 1-D integer value of output 0 as dimensions,
/// some of them unknown, from InferContext::shape() and ::dimensions(); empty when nothing is known.
using DimensionsFn = std::optional<std::vector<Dimension>> (*)(InferContext&);
using ReferenceFn = void (*)(const EvalContext&);

/// How two right implementations may differ.
enum class Accuracy {
  exact,     // bit for bit: data movement, integers, comparisons
  rounding,  // floating-point arithmetic in another order
  random     // only the distribution is defined
};

inline constexpr int kVariadic = -1;

struct Arity {
  int min_inputs = 0;
  int max_inputs = 0;  // kVariadic: any number from min_inputs on
  int outputs = 1;     // kVariadic: `infer` says how many
};

/// Makes the attributes of a new node: the defaults. A function, or a value to copy where they are known at run time
/// only.
class AttributesFactory {
 public:
  using Function = std::unique_ptr<Attributes> (*)();
  AttributesFactory(Function make) : make_(make) {}  // NOLINT: implicit, schemas are written with it
  explicit AttributesFactory(std::shared_ptr<const Attributes> defaults) : defaults_(std::move(defaults)) {}
  std::unique_ptr<Attributes> operator()() const { return defaults_ ? defaults_->clone() : make_(); }

 private:
  Function make_ = nullptr;
  std::shared_ptr<const Attributes> defaults_;
};

struct OpFlags {
  bool pure = true;                // the same inputs give the same outputs, and nothing else happens
  bool elementwise = false;        // output element i depends on the (broadcast) input elements i alone
  bool maps_zero_to_zero = false;  // f(0, ..., 0) == 0, so zero-padded tails stay zero
};

struct OpSchema {
  std::string type;   // spelling in IR files: "Convolution", "Const"
  std::string opset;  // the set that introduced this version: "opset1"
  Arity arity;
  AttributesFactory make_attributes = &ir::make_attributes<NoAttrs>;
  InferFn infer = nullptr;
  ReferenceFn reference = nullptr;  // null: read and kept, but not run
  DimensionsFn dimensions = nullptr;
  bool from_extension = false;  // its functions are those of somebody else's library
  Accuracy accuracy = Accuracy::rounding;
  OpFlags flags;

  /// "Convolution-1" for opset1, "Reorder-cpu" for the set "cpu".
  std::string display_name() const;
};

}  // namespace terroir::ir
