#pragma once
// What: FusedAttrs, a base op with a chain of elementwise ops at its store.
#include <memory>
#include <string>
#include <vector>

#include "ir/schema/attributes.hpp"
#include "ir/schema/infer_context.hpp"
#include "ir/schema/op_schema.hpp"
#include "plugins/cpu/simd/post_op.hpp"

namespace terroir::cpu {

/// One op of a fused chain: a PostOp whose operands are inputs of the fused node.
struct FusedOp {
  PostOpKind kind;
  OperandMode mode = OperandMode::scalar;
  float alpha = 0, beta = 0;  // of a tensor of u8: alpha * operand + beta is added
  int operand = -1;           // input of the fused node; -1: none, or alpha in mode scalar
};
std::string to_string(const FusedOp& op);

/// A base op with a chain of elementwise ops at its store. The node's inputs are the base op's, then the operands.
struct FusedAttrs {
  const ir::OpSchema* base = nullptr;
  std::shared_ptr<const ir::Attributes> base_attributes;
  int base_inputs = 0;
  int channel_axis = 1;  // axis of the result that per_channel operands run along
  std::vector<FusedOp> chain;

  template <class V>
  void visit(V& v) {
    if (base_attributes) const_cast<ir::Attributes&>(*base_attributes).visit(v);  // none in default attributes
    std::vector<std::string> texts;
    for (const FusedOp& op : chain) texts.push_back(to_string(op));
    v("fused", texts);
  }
};

/// Type and shape of the base op's result, given those of its inputs.
ir::PortType infer_fused(ir::InferContext& outer, const FusedAttrs& attrs, std::vector<ir::PortType> inputs);

/// The oracle of fused kernels: the base op's reference, then every op of the chain over the whole tensor. `inputs`:
/// by input of the node, whose operands the chain names.
void compute_fused(const FusedAttrs& attrs, std::span<const ir::TensorView> inputs, const ir::MutableTensorView& dst);

}  // namespace terroir::cpu
