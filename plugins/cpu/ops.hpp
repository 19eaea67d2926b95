#pragma once
// What: ops that exist inside the CPU pipeline only (set "cpu"): fused ones, and reorders between layouts.
#include <memory>
#include <vector>

#include "ir/graph/graph.hpp"
#include "ir/schema/registry.hpp"
#include "plugins/cpu/attention_op.hpp"
#include "plugins/cpu/convolution_chain_op.hpp"
#include "plugins/cpu/elementwise_op.hpp"
#include "plugins/cpu/layout/layout.hpp"
#include "plugins/cpu/rms_norm_op.hpp"
#include "plugins/cpu/simd/post_op.hpp"

namespace terroir::cpu {

inline constexpr std::string_view kReorderType = "Reorder";

/// Copies a tensor from one layout to another. Type and logical shape stay.
struct ReorderAttrs {
  Layout from, to;

  template <class V>
  void visit(V& v) {
    std::string from_name = from.name(), to_name = to.name();
    v("from", from_name);
    v("to", to_name);
  }
};

/// One op of a fused chain: a PostOp whose operands are inputs of the fused node.
struct FusedOp {
  PostOpKind kind;
  OperandMode mode = OperandMode::scalar;
  float alpha = 0, beta = 0;
  int operand = -1;  // input of the fused node; -1: none, or alpha in mode scalar
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

/// Schemas of the set "cpu": Reorder, Attention, RmsNorm, ConvolutionChain, Elementwise, and for every op that takes a
/// chain its fused twin, of the same type name.
class CpuOps {
 public:
  explicit CpuOps(const ir::OpRegistry& registry);
  const ir::OpSchema& reorder() const { return *reorder_; }
  const ir::OpSchema& attention() const { return *attention_; }
  const ir::OpSchema& rms_norm() const { return *rms_norm_; }
  const ir::OpSchema& convolution_chain() const { return *convolution_chain_; }
  const ir::OpSchema& elementwise() const { return *elementwise_; }
  /// Null when the op takes no chain.
  const ir::OpSchema* fused(const ir::OpSchema& base) const;

 private:
  ir::OpRegistry own_;
  const ir::OpSchema* reorder_;
  const ir::OpSchema* attention_;
  const ir::OpSchema* rms_norm_;
  const ir::OpSchema* convolution_chain_;
  const ir::OpSchema* elementwise_;
};

inline bool is_cpu_op(const ir::Node& node) { return node.schema->opset == "cpu"; }
/// Whether it is the twin of a base op, with FusedAttrs.
inline bool is_fused(const ir::Node& node) {
  const std::string& type = node.schema->type;
  return is_cpu_op(node) && type != kReorderType && type != kAttentionType && type != kRmsNormType &&
         type != kConvolutionChainType && type != kElementwiseType;
}
/// The attributes of a node, or of the base op of a fused one.
const ir::Attributes& base_attributes(const ir::Node& node);
/// The schema of a node, or of the base op of a fused one.
const ir::OpSchema& base_schema(const ir::Node& node);
/// Inputs of the op itself, without operands of a chain.
int base_input_count(const ir::Node& node);

}  // namespace terroir::cpu
