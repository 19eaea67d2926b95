// What: the arithmetic of every PostOp kind over strided rows. Include one bucket header first.
// Formula: see PostOpKind in simd/post_op.hpp. Contract of run_post_ops: simd/post_ops.hpp.
// Cost: the chain is applied strip by strip, each strip small enough for the L1 cache, so memory is read and written
// once however long the chain.
#pragma once

#include "plugins/cpu/simd/activations.hpp"
#include "plugins/cpu/simd/post_ops.hpp"
#include "plugins/cpu/simd/power.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

// out[i] = f(in[i], at(row, i)) over a region; `at` gives the operand vector, whole or cut by a tail.
template <typename F, typename At>
TERROIR_INLINE void for_each_vector(const PostOpRows& g, F f, At at) {
  if (g.n == kLanes) {  // a block of channels, or half of one: no loop in the loop
    const float* in = g.in;
    float* out = g.out;
    for (int64_t r = 0; r < g.rows; ++r, in += g.in_stride, out += g.out_stride)
      storeu(out, f(loadu(in), at(r, 0, [](const float* p) TERROIR_INLINE_LAMBDA { return loadu(p); })));
    return;
  }
  for (int64_t r = 0; r < g.rows; ++r) {
    const float* in = g.in + r * g.in_stride;
    float* out = g.out + r * g.out_stride;
    int64_t i = 0;
    for (; i + kLanes <= g.n; i += kLanes) {
      storeu(out + i, f(loadu(in + i), at(r, i, [](const float* p) TERROIR_INLINE_LAMBDA { return loadu(p); })));
    }
    if (i < g.n) {
      const Tail t = tail(g.n - i);
      store_tail(
          out + i,
          f(load_tail(in + i, t), at(r, i, [t](const float* p) TERROIR_INLINE_LAMBDA { return load_tail(p, t); })), t);
    }
  }
}

template <typename F>
TERROIR_INLINE void unary(const PostOpRows& g, F f) {
  for_each_vector(
      g, [f](V x, int) TERROIR_INLINE_LAMBDA { return f(x); },
      [](int64_t, int64_t, auto) TERROIR_INLINE_LAMBDA { return 0; });
}

template <typename F>
TERROIR_INLINE void binary(const PostOpRows& g, const PostOp& op, F f) {
  const float* operand = op.operand;
  if (op.mode == OperandMode::scalar) {
    const V b(op.alpha);
    for_each_vector(g, f, [b](int64_t, int64_t, auto) TERROIR_INLINE_LAMBDA { return b; });
  } else if (op.mode == OperandMode::tensor) {
    for_each_vector(g, f, [operand, &g](int64_t r, int64_t i, auto fetch) TERROIR_INLINE_LAMBDA {
      return fetch(operand + g.offset + r * g.offset_stride + i);
    });
  } else if (g.channel_axis == ChannelAxis::lanes) {
    for_each_vector(g, f, [operand, &g](int64_t, int64_t i, auto fetch) TERROIR_INLINE_LAMBDA {
      return fetch(operand + g.channel + i);
    });
  } else {
    for_each_vector(
        g, f, [operand, &g](int64_t r, int64_t, auto) TERROIR_INLINE_LAMBDA { return V(operand[g.channel + r]); });
  }
}

struct Pair {
  V scale, shift;
};

TERROIR_INLINE void scale_shift(const PostOpRows& g, const PostOp& op) {
  const float *scale = op.operand, *shift = op.operand2;
  if (shift == nullptr) {
    PostOp mul = op;
    mul.mode = OperandMode::per_channel;
    return binary(g, mul, [](V x, V b) TERROIR_INLINE_LAMBDA { return x * b; });
  }
  const auto f = [](V x, Pair p) TERROIR_INLINE_LAMBDA { return fma(x, p.scale, p.shift); };
  if (g.channel_axis == ChannelAxis::lanes) {
    for_each_vector(g, f, [=, &g](int64_t, int64_t i, auto fetch) TERROIR_INLINE_LAMBDA {
      return Pair{fetch(scale + g.channel + i), fetch(shift + g.channel + i)};
    });
  } else {
    for_each_vector(g, f, [=, &g](int64_t r, int64_t, auto) TERROIR_INLINE_LAMBDA {
      return Pair{V(scale[g.channel + r]), V(shift[g.channel + r])};
    });
  }
}

TERROIR_INLINE V elu(V x, V alpha) { return select(x > zero(), x, alpha * expm1_bounded(min(zero(), x))); }

TERROIR_INLINE V softplus(V x) { return max(zero(), x) + log1p_unit(exp(-abs(x))); }

TERROIR_INLINE V mish(V x) {
  // tanh(log(1 + e^x)) = (e^2x + 2 e^x) / (e^2x + 2 e^x + 2), which is 1 in float from 10 on.
  const V e = exp(min(V(30.0f), x));
  const V n = e * (e + V(2.0f));
  return x * (n / (n + V(2.0f)));
}

TERROIR_INLINE V round_away(V x) {
  const V whole = trunc(x);
  const V step = select(abs(x - whole) >= V(0.5f), copy_sign(V(1.0f), x), zero());
  return select(step == zero(), whole, whole + step);
}

TERROIR_INLINE V sign(V x) { return select(x > zero(), V(1.0f), select(x < zero(), V(-1.0f), x)); }

TERROIR_INLINE V gelu_erf(V x) {
  const V half = x * V(0.5f);
  return fma(half, erf(x * V(0.70710678118f)), half);
}

TERROIR_INLINE V gelu_tanh(V x) {
  const V half = x * V(0.5f);
  const V inner = V(0.7978845608f) * fma(V(0.044715f) * x * x, x, x);
  return fma(half, tanh(inner), half);
}

// The square root; as a power, of -0 and -inf too. Loops are shared where that costs a step or two: they are what is
// long here.
struct Root {
  V added, infinite;
  // -0 changes nothing, and nothing equals NaN.
  TERROIR_INLINE_MEMBER explicit Root(bool is_power)
      : added(is_power ? 0.0f : -0.0f), infinite(is_power ? -__builtin_inff() : __builtin_nanf("")) {}
  TERROIR_INLINE_MEMBER V operator()(V x) const { return select(x == infinite, V(__builtin_inff()), sqrt(x + added)); }
};

TERROIR_INLINE void run_one(const PostOpRows& g, const PostOp& op) {
  const V alpha(op.alpha), beta(op.beta);
  switch (op.kind) {
    case PostOpKind::relu:
      return unary(g, [](V x) TERROIR_INLINE_LAMBDA { return max(zero(), x); });
    case PostOpKind::clamp:
      return unary(g, [=](V x) TERROIR_INLINE_LAMBDA { return min(beta, max(alpha, x)); });
    case PostOpKind::sigmoid:
      return unary(g, [](V x) TERROIR_INLINE_LAMBDA { return sigmoid(x); });
    case PostOpKind::tanh:
      return unary(g, [](V x) TERROIR_INLINE_LAMBDA { return tanh(x); });
    case PostOpKind::elu:
      return unary(g, [=](V x) TERROIR_INLINE_LAMBDA { return elu(x, alpha); });
    case PostOpKind::selu:
      return unary(g, [=](V x) TERROIR_INLINE_LAMBDA { return beta * elu(x, alpha); });
    case PostOpKind::hswish:
      return unary(g, [](V x) TERROIR_INLINE_LAMBDA { return hswish(x); });
    case PostOpKind::hsigmoid:
      return unary(g, [](V x) TERROIR_INLINE_LAMBDA { return hsigmoid(x); });
    case PostOpKind::hard_sigmoid:
      return unary(g, [=](V x) TERROIR_INLINE_LAMBDA { return min(V(1.0f), max(zero(), fma(alpha, x, beta))); });
    case PostOpKind::swish:
      return unary(g, [=](V x) TERROIR_INLINE_LAMBDA { return swish(x, alpha); });
    case PostOpKind::mish:
      return unary(g, [](V x) TERROIR_INLINE_LAMBDA { return mish(x); });
    case PostOpKind::softplus:
      return unary(g, [](V x) TERROIR_INLINE_LAMBDA { return softplus(x); });
    case PostOpKind::softsign:
      return unary(g, [](V x) TERROIR_INLINE_LAMBDA { return x / (V(1.0f) + abs(x)); });
    case PostOpKind::gelu_erf:
      return unary(g, [](V x) TERROIR_INLINE_LAMBDA { return gelu_erf(x); });
    case PostOpKind::gelu_tanh:
      return unary(g, [](V x) TERROIR_INLINE_LAMBDA { return gelu_tanh(x); });
    case PostOpKind::exp:
      return unary(g, [](V x) TERROIR_INLINE_LAMBDA { return exp(x); });
    case PostOpKind::log:
      return unary(g, [](V x) TERROIR_INLINE_LAMBDA { return log(x); });
    case PostOpKind::erf:
      return unary(g, [](V x) TERROIR_INLINE_LAMBDA { return erf(x); });
    case PostOpKind::abs:
      return unary(g, [](V x) TERROIR_INLINE_LAMBDA { return abs(x); });
    case PostOpKind::neg:
      return unary(g, [](V x) TERROIR_INLINE_LAMBDA { return -x; });
    case PostOpKind::sqrt:
    case PostOpKind::root: {
      const Root root(op.kind == PostOpKind::root);
      return unary(g, [root](V x) TERROIR_INLINE_LAMBDA { return root(x); });
    }
    case PostOpKind::inverse_root: {
      const Root root(true);
      return unary(g, [root](V x) TERROIR_INLINE_LAMBDA { return V(1.0f) / root(x); });
    }
    case PostOpKind::square:
    case PostOpKind::cube: {
      const M is_cube = V(op.kind == PostOpKind::cube ? 1.0f : 0.0f) > zero();
      return unary(g, [is_cube](V x) TERROIR_INLINE_LAMBDA { return x * x * select(is_cube, x, V(1.0f)); });
    }
    case PostOpKind::sign:
      return unary(g, [](V x) TERROIR_INLINE_LAMBDA { return sign(x); });
    case PostOpKind::floor:
      return unary(g, [](V x) TERROIR_INLINE_LAMBDA { return floor(x); });
    case PostOpKind::ceil:
      return unary(g, [](V x) TERROIR_INLINE_LAMBDA { return ceil(x); });
    case PostOpKind::round_even:
      return unary(g, [](V x) TERROIR_INLINE_LAMBDA { return round_even(x); });
    case PostOpKind::round_away:
      return unary(g, [](V x) TERROIR_INLINE_LAMBDA { return round_away(x); });
    case PostOpKind::linear:
      return unary(g, [=](V x) TERROIR_INLINE_LAMBDA { return fma(alpha, x, beta); });
    case PostOpKind::scale_shift:
      return scale_shift(g, op);
    case PostOpKind::prelu:
      return binary(g, op, [](V x, V b) TERROIR_INLINE_LAMBDA { return select(x < zero(), b * x, x); });
    case PostOpKind::add:
      return binary(g, op, [](V x, V b) TERROIR_INLINE_LAMBDA { return x + b; });
    case PostOpKind::sub:
      return binary(g, op, [](V x, V b) TERROIR_INLINE_LAMBDA { return x - b; });
    case PostOpKind::rsub:
      return binary(g, op, [](V x, V b) TERROIR_INLINE_LAMBDA { return b - x; });
    case PostOpKind::mul:
      return binary(g, op, [](V x, V b) TERROIR_INLINE_LAMBDA { return x * b; });
    case PostOpKind::div:
      return binary(g, op, [](V x, V b) TERROIR_INLINE_LAMBDA { return x / b; });
    case PostOpKind::rdiv:
      return binary(g, op, [](V x, V b) TERROIR_INLINE_LAMBDA { return b / x; });
    case PostOpKind::max:
      return binary(g, op, [](V x, V b) TERROIR_INLINE_LAMBDA { return max_nan(x, b); });
    case PostOpKind::min:
      return binary(g, op, [](V x, V b) TERROIR_INLINE_LAMBDA { return min_nan(x, b); });
    case PostOpKind::squared_difference:
      return binary(g, op, [](V x, V b) TERROIR_INLINE_LAMBDA { return (x - b) * (x - b); });
    case PostOpKind::pow:
      return binary(g, op, [](V x, V b) TERROIR_INLINE_LAMBDA { return pow(x, b); });
    case PostOpKind::rpow:
      return binary(g, op, [](V x, V b) TERROIR_INLINE_LAMBDA { return pow(b, x); });
  }
}

void run_chain(PostOpRows g, const PostOp* ops, int64_t n_ops) {
  for (int64_t k = 0; k < n_ops; ++k) {
    run_one(g, ops[k]);
    g.in = g.out;
    g.in_stride = g.out_stride;
  }
}

}  // namespace

void run_post_ops(const PostOpRows& region, const PostOp* ops, int64_t n_ops) {
  constexpr int64_t kStrip = 4096;  // elements: 16 KiB, half of a small L1 cache
  if (n_ops <= 1 || region.rows * region.n <= kStrip) return run_chain(region, ops, n_ops);
  const int64_t rows_at_once = region.n >= kStrip ? 1 : kStrip / region.n;
  const int64_t columns_at_once = region.n >= kStrip ? kStrip : region.n;
  for (int64_t r = 0; r < region.rows; r += rows_at_once) {
    for (int64_t i = 0; i < region.n; i += columns_at_once) {
      PostOpRows strip = region;
      strip.rows = region.rows - r < rows_at_once ? region.rows - r : rows_at_once;
      strip.n = region.n - i < columns_at_once ? region.n - i : columns_at_once;
      strip.in += r * region.in_stride + i;
      strip.out += r * region.out_stride + i;
      strip.offset += r * region.offset_stride + i;
      strip.channel += region.channel_axis == ChannelAxis::lanes ? i : r;
      run_chain(strip, ops, n_ops);
    }
  }
}

}  // namespace terroir::cpu::TERROIR_ISA
