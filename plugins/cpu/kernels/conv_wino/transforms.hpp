// What: the one-dimensional transforms of F(4,3) and F(2,3), and of F(2,3) with stride 2; two of them, along columns
//   and along rows, make F(4x4,3x3) and F(2x2,3x3).
// Formula: y = A^T ((G g) . (B^T d)) is the correlation of alpha = tile + 2 inputs d with 3 weights g. Row i of B^T are
//   the coefficients of the product of (x - p_j) over j != i; row i of G is (1, p_i, p_i^2) / product of (p_i - p_j);
//   row k of A^T is (p_0^k, ..., p_n^k), with 1 at infinity in the last row. The points come in pairs +-p, whose even
//   and odd parts are computed once.
// Stride 2: two outputs of inputs x0 to x4 are, by even and odd inputs,
//     y0 = A + B, y1 = B + C,   A = (x0 - x2) g0 + x1 g1, B = x2 (g0 + g2), C = x3 g1 + (x4 - x2) g2,
//   five products instead of six in three sums, in each of which a product more is as an input channel more. Along two
//   axes 25 products in nine sums serve four outputs, which take 36 directly.
// Parts: inputs and outputs come in parts that share no arithmetic, so that a two-dimensional transform needs fewer
//   registers: the points of one part of the columns' transforms go through the rows' before the next part begins.
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

// Rows [first, first + rows) of sums whose weights are transformed together, and the rows of weights that they want, in
// the order in which a sum comes to its products.
struct SumGroup {
  int first, rows;
  int weights[kStagedRows], weight_rows;
};

// An axis at stride 1: a point is one product with one weight, and the sum of all input channels.
template <int Tile>
struct WinoPoints {
  static constexpr int kTile = Tile, kStride = 1;
  static constexpr int kAlpha = Tile + 2;  // inputs of a tile, and products
  static constexpr int kSums = kAlpha, kWeights = kAlpha;
  static constexpr int kInputParts = 2;
  // Of a sum: its products, the first one of them and its weight, the step from that weight to the next one's.
  static constexpr int products(int) { return 1; }
  static constexpr int first(int sum) { return sum; }
  static constexpr int weight(int sum) { return sum; }
  static constexpr int weight_step(int) { return 0; }
  static constexpr int sum_of(int product) { return product; }
  // Rows of weights that share arithmetic: pairs of points +-p, and each of the others.
  static constexpr int kGroups = Tile / 2 + 2;
  static constexpr SumGroup group(int g) {
    if (g == 0) return {0, 1, {0}, 1};
    return g + 1 < kGroups ? SumGroup{2 * g - 1, 2, {2 * g - 1, 2 * g}, 2} : SumGroup{kAlpha - 1, 1, {kAlpha - 1}, 1};
  }
};

template <int Tile>
struct Wino;  // F(Tile,3)

template <typename W, int Part = 0>
TERROIR_INLINE void transform_row(const V (&d)[W::kAlpha], V (&v)[W::kAlpha]) {
  constexpr int kPart = W::kAlpha / W::kInputParts;
  V part[kPart];
  W::template input<Part>(d, part);
#pragma GCC unroll 8
  for (int i = 0; i < kPart; ++i) v[Part * kPart + i] = part[i];
  if constexpr (Part + 1 < W::kInputParts) transform_row<W, Part + 1>(d, v);
}

template <>
struct Wino<4> : WinoPoints<4> {
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
struct Wino<2> : WinoPoints<2> {
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

// F(2,3) with stride 2. The weights lie in the order in which the sums A, B, C come to want them.
struct StridedWino {
  static constexpr int kTile = 2, kStride = 2;
  static constexpr int kAlpha = 5, kSums = 3, kWeights = 4;
  static constexpr int kInputParts = 5;
  static constexpr int products(int sum) { return sum == 1 ? 1 : 2; }
  static constexpr int first(int sum) { return sum == 0 ? 0 : sum + 1; }
  static constexpr int weight(int sum) { return sum == 0 ? 0 : 3 - sum; }
  static constexpr int weight_step(int sum) { return sum == 1 ? 0 : sum == 0 ? 1 : 2; }
  static constexpr int sum_of(int product) { return product / 2 + (product == 3 ? 1 : 0); }
  static constexpr int kGroups = kSums;
  static constexpr SumGroup group(int sum) {
    return {sum, 1, {weight(sum), weight(sum) + weight_step(sum)}, products(sum)};
  }
  // The first weight that no sum before `sum` wants.
  static constexpr int new_weights(int sum) { return sum == 0 ? 0 : sum + 1; }

  template <int Part>
  TERROIR_INLINE_MEMBER static void input(const V (&d)[5], V (&v)[1]) {
    if constexpr (Part == 0) {
      v[0] = d[0] - d[2];
    } else if constexpr (Part == 4) {
      v[0] = d[4] - d[2];
    } else {
      v[0] = d[Part];
    }
  }

  TERROIR_INLINE_MEMBER static void weights(const V (&g)[3], V (&u)[4]) {
    u[0] = g[0];
    u[1] = g[1];
    u[2] = g[0] + g[2];
    u[3] = g[2];
  }

  template <int Part>
  TERROIR_INLINE_MEMBER static void output(const V (&m)[3], V (&y)[1]) {
    y[0] = m[Part] + m[Part + 1];
  }
};

// A sum of a tile: its products, which lie one behind the other, its first weight, and the steps to the next product's
// weight: after every second product step[1].
struct WinoSum {
  int slot, products, weight, step[2];
  int point_class;
};

// Of all rows of weights, the sum begins with row `weight_row` and goes on with the one `row_step` behind it.
template <typename W>
constexpr WinoSum sum_at(int k, int weight_row, int row_step) {
  const int a = k / W::kSums, b = k % W::kSums;
  const int row = row_step * W::kWeights, column = W::weight_step(b);
  WinoSum s{};
  s.slot = W::first(a) * W::kAlpha + W::products(a) * W::first(b);
  s.products = W::products(a) * W::products(b);
  s.weight = weight_row * W::kWeights + W::weight(b);
  s.step[0] = W::products(b) == 1 ? row : column;
  s.step[1] = W::products(b) == 1 ? row : row - column;
  s.point_class = (a == W::kSums - 1 ? 2 : 0) + (b == W::kSums - 1 ? 1 : 0);
  return s;
}

template <typename W>
struct WinoSums {
  WinoSum of[W::kSums * W::kSums];
};

template <typename W>
constexpr WinoSums<W> all_sums() {
  WinoSums<W> sums{};
  for (int k = 0; k < W::kSums * W::kSums; ++k) {
    const int a = k / W::kSums;
    sums.of[k] = sum_at<W>(k, W::weight(a), W::weight_step(a));
  }
  return sums;
}

// With weights of which each group's rows alone are there.
template <typename W>
constexpr WinoSums<W> grouped_sums() {
  WinoSums<W> sums{};
  for (int g = 0; g < W::kGroups; ++g) {
    const SumGroup group = W::group(g);
    for (int k = group.first * W::kSums; k < (group.first + group.rows) * W::kSums; ++k)
      sums.of[k] = sum_at<W>(k, k / W::kSums - group.first, group.weight_rows / group.rows - 1);
  }
  return sums;
}

template <typename W>
constexpr WinoSums<W> kSumsOf = all_sums<W>();
template <typename W>
constexpr WinoSums<W> kGroupedSumsOf = grouped_sums<W>();

// Where product (i, j) of a tile lies.
template <typename W>
constexpr int slot_at(int i, int j) {
  const int a = W::sum_of(i), b = W::sum_of(j);
  return W::first(a) * W::kAlpha + W::products(a) * W::first(b) + (i - W::first(a)) * W::products(b) + j - W::first(b);
}

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
