// Classes that operations of one kind are derived from, by OpenVINO's names: is_type(), as_type_ptr() and patterns take
// them for all of their kind. Those with functions of their own stand beside their operations.
#pragma once

#include <string>

#include "terroir/op/attribute_access.hpp"
#include "terroir/op/attributes.hpp"
#include "terroir/op/constant.hpp"
#include "terroir/op/layer.hpp"
#include "terroir/variable.hpp"

namespace terroir {
namespace op {

/// What acts and is no output of the model.
class Sink : public Node {
  TERROIR_LAYER_BASE(Node, Sink)
};

namespace util {

/// One operand, each element by itself.
class UnaryElementwiseArithmetic : public Node {
  TERROIR_LAYER_BASE(Node, UnaryElementwiseArithmetic)
};

/// Two operands that broadcast.
class BroadcastedOperands : public Node {
  TERROIR_LAYER_BASE(Node, BroadcastedOperands)
  AutoBroadcastSpec get_autob() const { return detail::broadcasting_of(*this); }
  void set_autob(const AutoBroadcastSpec& spec) { detail::set_attributes(*this, detail::broadcasting(spec)); }
};
class BinaryElementwiseArithmetic : public BroadcastedOperands {
  TERROIR_LAYER_BASE(BroadcastedOperands, BinaryElementwiseArithmetic)
};
class BinaryElementwiseComparison : public BroadcastedOperands {
  TERROIR_LAYER_BASE(BroadcastedOperands, BinaryElementwiseComparison)
};
class BinaryElementwiseLogical : public BroadcastedOperands {
  TERROIR_LAYER_BASE(BroadcastedOperands, BinaryElementwiseLogical)
};
class BinaryElementwiseBitwise : public BroadcastedOperands {
  TERROIR_LAYER_BASE(BroadcastedOperands, BinaryElementwiseBitwise)
};

/// Reductions over axes.
class ReductionBase : public Node {
  TERROIR_LAYER_BASE(Node, ReductionBase)
  bool get_keep_dims() const { return detail::attribute<bool>(*this, "keep_dims"); }
  void set_keep_dims(bool keep_dims) { detail::set_attribute(*this, "keep_dims", keep_dims); }
  bool reduction_axes_constant() const { return is_type<v0::Constant>(get_input_node_shared_ptr(1)); }
  /// Throws Exception (invalid_argument) if they are no Constant.
  const AxisSet get_reduction_axes() const {
    if (!reduction_axes_constant()) throw Exception(ErrorCode::invalid_argument, "the axes are no Constant");
    return detail::constant_axes(*this, 1);
  }
  /// The input becomes a Constant.
  void set_reduction_axes(const AxisSet& axes) {
    set_argument(1, std::make_shared<v0::Constant>(element::i64, Shape{axes.size()},
                                                   std::vector<size_t>(axes.begin(), axes.end())));
  }
};
class ArithmeticReduction : public ReductionBase {
  TERROIR_LAYER_BASE(ReductionBase, ArithmeticReduction)
};
class ArithmeticReductionKeepDims : public ArithmeticReduction {
  TERROIR_LAYER_BASE(ArithmeticReduction, ArithmeticReductionKeepDims)
};
class LogicalReduction : public ReductionBase {
  TERROIR_LAYER_BASE(ReductionBase, LogicalReduction)
};
class LogicalReductionKeepDims : public LogicalReduction {
  TERROIR_LAYER_BASE(LogicalReduction, LogicalReductionKeepDims)
};

class BroadcastBase : public Node {
  TERROIR_LAYER_BASE(Node, BroadcastBase)
};
class ShapeOfBase : public Node {
  TERROIR_LAYER_BASE(Node, ShapeOfBase)
};
class SqueezeBase : public Node {
  TERROIR_LAYER_BASE(Node, SqueezeBase)
};

class GatherNDBase : public Node {
  TERROIR_LAYER_BASE(Node, GatherNDBase)
  size_t get_batch_dims() const { return detail::attribute<size_t>(*this, "batch_dims"); }
  void set_batch_dims(size_t batch_dims) { detail::set_attribute(*this, "batch_dims", batch_dims); }
};
class ScatterBase : public Node {
  TERROIR_LAYER_BASE(Node, ScatterBase)
};
class ScatterElementsUpdateBase : public Node {
  TERROIR_LAYER_BASE(Node, ScatterElementsUpdateBase)
};
class ScatterNDBase : public Node {
  TERROIR_LAYER_BASE(Node, ScatterNDBase)
};

class EmbeddingBagOffsetsBase : public Node {
  TERROIR_LAYER_BASE(Node, EmbeddingBagOffsetsBase)
};
class EmbeddingBagPackedBase : public Node {
  TERROIR_LAYER_BASE(Node, EmbeddingBagPackedBase)
};

/// Fourier transforms.
class FFTBase : public Node {
  TERROIR_LAYER_BASE(Node, FFTBase)
};

/// Colours of cameras.
class ConvertColorNV12Base : public Node {
  TERROIR_LAYER_BASE(Node, ConvertColorNV12Base)
};
class ConvertColorI420Base : public Node {
  TERROIR_LAYER_BASE(Node, ConvertColorI420Base)
};

/// Layers of a variable.
class ReadValueBase : public Node, public VariableExtension {
  TERROIR_LAYER_BASE(Node, ReadValueBase)
  std::string get_variable_id() const override { return detail::attribute<std::string>(*this, "variable_id"); }
  void set_variable_id(const std::string& id) override { detail::set_attribute(*this, "variable_id", id); }
  std::shared_ptr<Variable> get_variable() const override;
  void set_variable(const std::shared_ptr<Variable>& variable) override;
};
class AssignBase : public Sink, public VariableExtension {
  TERROIR_LAYER_BASE(Sink, AssignBase)
  std::string get_variable_id() const override { return detail::attribute<std::string>(*this, "variable_id"); }
  void set_variable_id(const std::string& id) override { detail::set_attribute(*this, "variable_id", id); }
  std::shared_ptr<Variable> get_variable() const override;
  void set_variable(const std::shared_ptr<Variable>& variable) override;
};

}  // namespace util
}  // namespace op
}  // namespace terroir
