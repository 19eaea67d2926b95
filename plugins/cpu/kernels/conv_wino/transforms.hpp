// What: the one-dimensional transforms of F(4,3) and F(2,3); two of them, along columns and along rows, make F(4x4,3x3)
// and F(2x2,3x3).
// Formula: y = A^T ((G g) . (B^T d)) is the correlation of alpha = tile + 2 inputs d with 3 weights g. Row i of B^T are
//   the coefficients of the product of (x - p_j) over j != i; row i of G is (1, p_i, p_i^2) / product of (p_i - p_j);
//   row k of A^T is (p_0^k, ..., p_n^k), with 1 at infinity in the last row. The points come in pairs +-p, whose even
//   and odd parts are computed once.
// Parts: inputs and outputs come in two halves that share no arithmetic, so that a two-dimensional transform needs half
//   the registers: the points of one half of the columns' transforms go through the rows' before the other half begins.
// Source: S. Winograd, Arithmetic Complexity of Computations (1980); A. Lavin and S. Gray, Fast Algorithms for
//   Convolutional Neural Networks (2016); points: B. Barabasz et al., Error Analysis and Improving the Accuracy of
//   Winograd Convolution for Deep Neural Networks (2020), and the search described in wino_types.hpp.
// Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/conv/bucket.hpp"
#include "plugins/cpu/kernels/conv_wino/wino_types.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

constexpr int kTaps = 9;

template <int Tile>
struct Wino;  // kAlpha points

template <int Tile>
TERROIR_INLINE void transform_row(const V (&d)[Tile + 2], V (&v)[Tile + 2]) {
  constexpr int kHalf = (Tile + 2) / 2;
  V low[kHalf], high[kHalf];
  Wino<Tile>::template input<0>(d, low);
  Wino<Tile>::template input<1>(d, high);
#pragma GCC unroll 8
  for (int i = 0; i < kHalf; ++i) {
    v[i] = low[i];
    v[kHalf + i] = high[i];
  }
}

template <>
struct Wino<4> {
  static constexpr int kAlpha = 6;
  static constexpr float a = kWinoInner, b = kWinoOuter, a2 = a * a, b2 = b * b;

  // G is a diagonal matrix of these times one of rows (1, p, p^2), and (0, 0, 1).
  static constexpr float at_zero = 1.0f / (a2 * b2), at_a = 1.0f / (2 * a2 * (a2 - b2)),
                         at_b = 1.0f / (2 * b2 * (b2 - a2));
  static constexpr float kScale[6] = {at_zero, at_a, at_a, at_b, at_b, 1.0f};
  static constexpr float kAt[6] = {0, a, -a, b, -b, 0};  // p, of infinity nothing

  // Points 0 to 2 (Part 0) or 3 to 5.
  template <int Part>
  TERROIR_INLINE_MEMBER static void input(const V (&d)[6], V (&v)[3]) {
    const V product(a2 * b2), sum(a2 + b2);
    if constexpr (Part == 0) {
      const V even = fnma(V(b2), d[2], d[4]), odd = fnma(V(b2), d[1], d[3]);
      v[0] = fma(product, d[0], fnma(sum, d[2], d[4]));
      v[1] = fma(V(a), odd, even);
      v[2] = fnma(V(a), odd, even);
    } else {
      const V even = fnma(V(a2), d[2], d[4]), odd = fnma(V(a2), d[1], d[3]);
      v[0] = fma(V(b), odd, even);
      v[1] = fnma(V(b), odd, even);
      v[2] = fma(product, d[1], fnma(sum, d[3], d[5]));
    }
  }

  TERROIR_INLINE_MEMBER static void weights(const V (&g)[3], V (&u)[6]) {
    const V even_a = fma(V(at_a * a2), g[2], V(at_a) * g[0]), even_b = fma(V(at_b * b2), g[2], V(at_b) * g[0]);
    u[0] = V(at_zero) * g[0];
    u[1] = fma(V(at_a * a), g[1], even_a);
    u[2] = fnma(V(at_a * a), g[1], even_a);
    u[3] = fma(V(at_b * b), g[1], even_b);
    u[4] = fnma(V(at_b * b), g[1], even_b);
    u[5] = g[2];
  }

  // Rows 0 and 2 (Part 0) or 1 and 3.
  template <int Part>
  TERROIR_INLINE_MEMBER static void output(const V (&m)[6], V (&y)[2]) {
    if constexpr (Part == 0) {
      const V even_a = m[1] + m[2], even_b = m[3] + m[4];
      y[0] = m[0] + (even_a + even_b);
      y[1] = fma(V(b2), even_b, V(a2) * even_a);
    } else {
      const V odd_a = m[1] - m[2], odd_b = m[3] - m[4];
      y[0] = fma(V(b), odd_b, V(a) * odd_a);
      y[1] = fma(V(b2 * b), odd_b, fma(V(a2 * a), odd_a, m[5]));
    }
  }
};

template <>
struct Wino<2> {
  static constexpr int kAlpha = 4;

  template <int Part>
  TERROIR_INLINE_MEMBER static void input(const V (&d)[4], V (&v)[2]) {
    v[0] = Part == 0 ? d[0] - d[2] : d[2] - d[1];
    v[1] = Part == 0 ? d[1] + d[2] : d[3] - d[1];
  }

  TERROIR_INLINE_MEMBER static void weights(const V (&g)[3], V (&u)[4]) {
    const V half(0.5f), even = half * (g[0] + g[2]), odd = half * g[1];
    u[0] = g[0];
    u[1] = even + odd;
    u[2] = even - odd;
    u[3] = g[2];
  }

  template <int Part>
  TERROIR_INLINE_MEMBER static void output(const V (&m)[4], V (&y)[1]) {
    y[0] = Part == 0 ? m[0] + (m[1] + m[2]) : (m[1] - m[2]) + m[3];
  }
};

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
