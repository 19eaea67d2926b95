#pragma once
// What: which ops of a graph can be steps of a fused chain, as rows; and the plain arithmetic of each step, the oracle
// of the vectorised one.
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/graph/graph.hpp"
#include "plugins/cpu/simd/post_op.hpp"

namespace terroir::cpu {

struct FusedOp;

/// An op type and the step it becomes. Binary ops have one row per side that the chain's value may come in at.
struct PostOpRow {
  std::string_view type;
  PostOpKind kind;
  bool binary = false;
  int data_input = 0;                     // where the value of the chain comes in
  std::string_view alpha_attribute = {};  // numeric attributes that become alpha and beta
  std::string_view beta_attribute = {};
  float alpha = 0, beta = 0;        // where there is no attribute
  std::string_view condition = {};  // attribute which must equal condition_value for the row to apply
  double condition_value = 0;
};
std::span<const PostOpRow> post_op_rows();

/// The binary step with a constant as its operand. Powers of some exponents become steps that take a tenth of the time,
/// round twice at most, and have the zeros, infinities and NaNs of pow. Not for operands that come at run time: whether
/// such a one is a scalar may depend on the batch, and so would the bits.
PostOp with_scalar(PostOpKind kind, float value);

/// What deciding about a step needs to know of an op.
struct StepView {
  const ir::OpSchema& schema;
  const ir::Attributes& attributes;
  std::vector<ir::PortType> inputs;
  std::vector<const ir::Constant*> constants;  // by input; null where the value comes at run time
  ir::PortType output;
};

/// The op as a step on the value at its input `data_input`: the row that fits, with the operand's input index in
/// FusedOp::operand still that of the op (not of a fused node). Empty when it is no step: another type than f32, an
/// operand that broadcasts in another way than scalar, per channel along `channel_axis`, or full, or a result of
/// another shape than the value. `channel_axis` -1: the first per-channel operand decides it.
std::optional<FusedOp> as_post_op(const StepView& op, int data_input, int& channel_axis);
std::optional<FusedOp> as_post_op(const ir::Graph& graph, const ir::Node& node, int data_input, int& channel_axis);

const char* post_op_name(PostOpKind kind);

/// One step on one value, in double where a function is not exact.
float apply_post_op(const FusedOp& op, float x, float operand);

}  // namespace terroir::cpu
