// What: the elementwise steps that follow a convolution or matrix product at the store, and that make up elementwise
// chains. Plain data, seen by every bucket and by the nodes; the arithmetic is in post_ops.hpp.
// Layouts: the operand of a binary step has the layout of the destination (tensor), or one value per channel in order
// of channels, padded with zeros to a whole number of channel blocks when the destination is blocked (per_channel), or
// is alpha (scalar).
// Edge cases: a NaN in either operand gives NaN (but for pow(1, NaN) and pow(NaN, 0), which are 1). cube, root and
// inverse_root have the zeros and infinities of pow: root is 0 of -0, and inf of -inf.
#pragma once

#include <cstdint>

namespace terroir::cpu {

enum class PostOpKind : int32_t {
  // One operand.
  relu,
  clamp,         // [alpha, beta]
  sigmoid,       //
  tanh,          //
  elu,           // x > 0 ? x : alpha * (e^x - 1)
  selu,          // beta * elu(x, alpha)
  hswish,        // x * min(max(x + 3, 0), 6) / 6
  hsigmoid,      // min(max(x + 3, 0), 6) / 6
  hard_sigmoid,  // min(max(alpha * x + beta, 0), 1)
  swish,         // x * sigmoid(alpha * x)
  mish,          // x * tanh(softplus(x))
  softplus,      // log(1 + e^x)
  softsign,      // x / (1 + |x|)
  gelu_erf,      // x * (1 + erf(x / sqrt(2))) / 2
  gelu_tanh,     // x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2
  exp,
  log,
  erf,
  abs,
  neg,
  sqrt,
  square,
  sign,
  floor,
  ceil,
  round_even,
  round_away,  // halves away from zero
  linear,      // alpha * x + beta
  // Per channel only: x * operand[c] + operand2[c]; operand2 may be null.
  scale_shift,
  // Two operands, a = x and b = operand.
  prelu,  // x < 0 ? b * x : x; the scalar form is leaky relu
  add,
  sub,
  rsub,  // b - x
  mul,
  div,
  rdiv,  // b / x
  max,
  min,
  squared_difference,
  pow,
  rpow,  // b ^ x
  // One operand again.
  cube,
  root,         // x ^ 0.5
  inverse_root  // x ^ -0.5
};

enum class OperandMode : int32_t { scalar, per_channel, tensor };

struct PostOp {
  PostOpKind kind = PostOpKind::relu;
  OperandMode mode = OperandMode::scalar;
  float alpha = 0.0f;
  float beta = 0.0f;
  const float* operand = nullptr;
  const float* operand2 = nullptr;
};

// Where the channels of the values in a region lie.
enum class ChannelAxis : int32_t {
  lanes,  // consecutive elements are consecutive channels: blocked layouts, nhwc, columns of a matrix product
  rows    // row r of the region is channel `channel + r`: plain nchw
};

// A region of values in two strided rows-of-elements views, with its place in the destination tensor.
struct PostOpRows {
  const float* in;
  float* out;  // may be `in`
  int64_t rows;
  int64_t n;           // elements of a row
  int64_t in_stride;   // elements between rows of in
  int64_t out_stride;  // and of out
  int64_t offset;      // of the first element, from the base of the destination: where tensor operands are read
  int64_t offset_stride;
  int64_t channel;  // of the first element
  ChannelAxis channel_axis;
};

// Whether the step sends 0 to 0, so that zero padding of channel tails survives it. Operands per channel and tensor
// operands are taken to be zero in the padding.
constexpr bool maps_zero_to_zero(const PostOp& op) noexcept {
  const bool scalar = op.mode == OperandMode::scalar;
  switch (op.kind) {
    case PostOpKind::sigmoid:
    case PostOpKind::hsigmoid:
    case PostOpKind::softplus:
    case PostOpKind::exp:
    case PostOpKind::log:
    case PostOpKind::pow:
    case PostOpKind::rpow:
    case PostOpKind::rdiv:
    case PostOpKind::inverse_root:
      return false;
    case PostOpKind::clamp:
      return op.alpha <= 0.0f && op.beta >= 0.0f;
    case PostOpKind::hard_sigmoid:
      return op.beta <= 0.0f;
    case PostOpKind::linear:
      return op.beta == 0.0f;
    case PostOpKind::add:
    case PostOpKind::sub:
    case PostOpKind::rsub:
    case PostOpKind::squared_difference:
      return !scalar || op.alpha == 0.0f;
    case PostOpKind::div:
      return scalar && op.alpha != 0.0f;
    case PostOpKind::max:
      return !scalar || op.alpha <= 0.0f;
    case PostOpKind::min:
      return !scalar || op.alpha >= 0.0f;
    default:
      return true;
  }
}

constexpr bool maps_zero_to_zero(const PostOp* ops, int64_t n) noexcept {
  for (int64_t i = 0; i < n; ++i) {
    if (!maps_zero_to_zero(ops[i])) return false;
  }
  return true;
}

}  // namespace terroir::cpu
