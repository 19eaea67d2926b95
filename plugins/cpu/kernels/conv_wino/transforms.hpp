// What: the one-dimensional transforms of F(4,3) and F(2,3), with stride 1 and with stride 2; two of them, of columns
//   and of rows, make F(4x4,3x3) and F(2x2,3x3).
// Formula: y = A^T ((G g) . (B^T d)) is the correlation of alpha = tile + 2 inputs d with 3 weights g. Row i of B^T are
//   the coefficients of the product of (x - p_j) over j != i; row i of G is (1, p_i, p_i^2) / product of (p_i - p_j);
//   row k of A^T is (p_0^k, ..., p_n^k), with 1 at infinity in the last row. The points come in pairs +-p, whose even
//   and odd parts are computed once.
// Stride 2: two outputs of inputs x0 to x4 are, by even and odd inputs,
//     y0 = A + B, y1 = B + C,   A = (x0 - x2) g0 + x1 g1, B = x2 (g0 + g2), C = x3 g1 + (x4 - x2) g2,
//   five products instead of six in three sums, in each of which a product more is as an input channel more. Along two
//   axes 25 products in nine sums serve four outputs, which take 36 directly.
//   Four outputs: even inputs and g0, g2 are F(4,2), five products, at 0, a, -a, b and infinity. What odd inputs add to
//   an output is z_i = x(2i+1) g1. A^T without its column at b has an inverse, so what these four z add to the sums at
//   0, a, -a and infinity is known: z0 - z2/a^2, (z2/a^2 + z1/a)/2, (z2/a^2 - z1/a)/2, z3 - a^2 z1; and g1 is the
//   weight of all of them. Nine products instead of twelve in five sums; along two axes 81 in 25 instead of 144.
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

constexpr int kSegment = 3, kTaps = kSegment * kSegment;

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
#pragma GCC unroll 9
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

// An axis at stride 2: the last sum but one is of one product, the others of two, one of even and one of odd inputs.
// The weights lie in the order in which the sums come to want them; that of odd inputs is the second one.
template <int Tile>
struct StridedPoints {
  static constexpr int kTile = Tile, kStride = 2;
  static constexpr int kAlpha = 2 * Tile + 1, kSums = Tile + 1, kWeights = Tile + 2;
  static constexpr int kLast = kSums - 1, kSingle = kSums - 2;
  static constexpr int products(int sum) { return sum == kSingle ? 1 : 2; }
  static constexpr int first(int sum) { return sum == kLast ? 2 * sum - 1 : 2 * sum; }
  static constexpr int weight(int sum) { return sum == 0 ? 0 : sum == kLast ? 1 : sum + 1; }
  static constexpr int weight_step(int sum) {
    return sum == 0 ? 1 : sum == kSingle ? 0 : sum == kLast ? kWeights - 2 : -sum;
  }
  static constexpr int sum_of(int product) { return product < first(kLast) ? product / 2 : kLast; }
  static constexpr int kGroups = kSums;
  static constexpr SumGroup group(int sum) {
    return {sum, 1, {weight(sum), weight(sum) + weight_step(sum)}, products(sum)};
  }
  // The first weight that no sum before `sum` wants.
  static constexpr int new_weights(int sum) { return sum == 0 ? 0 : sum + 1; }
};

template <int Tile>
struct StridedWino;  // F(Tile,3) with stride 2

template <>
struct StridedWino<2> : StridedPoints<2> {
  static constexpr int kInputParts = 5;

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

template <>
struct StridedWino<4> : StridedPoints<4> {
  static constexpr int kInputParts = 3;
  static constexpr float a = kWinoStridedPair, b = kWinoStridedSingle, a2 = a * a;

  // Of even inputs at 0, a, -a, b: over the product of the point's distances from the others, so that weights need no
  // scale.
  static constexpr float at_a = 1 / (2 * a2 * (a - b)), at_minus_a = -1 / (2 * a2 * (a + b)),
                         at_b = 1 / (b * (b * b - a2));

  template <int Part>
  TERROIR_INLINE_MEMBER static void input(const V (&d)[9], V (&v)[3]) {
    if constexpr (Part == 0) {
      v[0] = fnma(V(1 / b), fnma(V(1 / a2), d[6], d[2]), fnma(V(1 / a2), d[4], d[0]));
      v[1] = fnma(V(1 / a2), d[5], d[1]);
      v[2] = fma(V(at_a), d[6], fma(V(at_a * (a - b)), d[4], V(-at_a * a * b) * d[2]));
    } else if constexpr (Part == 1) {
      const V even = V(1 / (2 * a2)) * d[5];
      v[0] = fma(V(1 / (2 * a)), d[3], even);
      v[1] = fma(V(at_minus_a), d[6], fma(V(-at_minus_a * (a + b)), d[4], V(at_minus_a * a * b) * d[2]));
      v[2] = fnma(V(1 / (2 * a)), d[3], even);
    } else {
      const V odd = fnma(V(a2), d[2], d[6]);
      v[0] = V(at_b) * odd;
      v[1] = fnma(V(a2), d[3], d[7]);
      v[2] = fnma(V(b), odd, fnma(V(a2), d[4], d[8]));
    }
  }

  TERROIR_INLINE_MEMBER static void weights(const V (&g)[3], V (&u)[6]) {
    u[0] = g[0];
    u[1] = g[1];
    u[2] = fma(V(a), g[2], g[0]);
    u[3] = fnma(V(a), g[2], g[0]);
    u[4] = fma(V(b), g[2], g[0]);
    u[5] = g[2];
  }

  // Rows 0 and 2 (Part 0) or 1 and 3.
  template <int Part>
  TERROIR_INLINE_MEMBER static void output(const V (&m)[5], V (&y)[2]) {
    if constexpr (Part == 0) {
      const V even = m[1] + m[2];
      y[0] = m[0] + (even + m[3]);
      y[1] = fma(V(b * b), m[3], V(a2) * even);
    } else {
      const V odd = m[1] - m[2];
      y[0] = fma(V(b), m[3], V(a) * odd);
      y[1] = fma(V(b * b * b), m[3], fma(V(a2 * a), odd, m[4]));
    }
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
