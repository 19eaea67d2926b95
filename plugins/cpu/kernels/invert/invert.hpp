// What: inverses of square matrices of f64, a panel of columns at a time (Gauss-Jordan with row pivots, in place).
// Formula: with the rows K of a panel of columns K, all others R, and the other columns C, one step is
//   A_KK := inverse(A_KK), A_RK := -A_RK A_KK          (invert_panel: the panel alone, element by element)
//   T := A_KC, A_KC := A_KK T, A_RC := A_RC + A_RK T   (update_columns: any range of C)
//   After the steps of all panels A is the inverse, but for its columns: exchanged rows become exchanged columns, the
//   last exchange first.
// Shapes: panels are n x kInvertPanel, packed; A has n rows, `ld` elements apart, a multiple of kInvertPad.
// Alignment: none. Aliasing: none.
// Threads: ranges of columns are independent; each element is a sum over the panels in their order, so any cut into
//   ranges gives the same bits.
// Edge cases: a pivot that is 0 or no number gives infinities and NaN.
// Source: E. S. Quintana, G. Quintana, X. Sun, R. van de Geijn, A note on parallel matrix inversion, SIAM J. Sci.
//   Comput. 22 (2001).
#pragma once

#include <cstdint>

namespace terroir::cpu {

enum class Isa : int32_t;

/// Columns of a panel.
inline constexpr int64_t kInvertPanel = 16;
/// Columns are updated in vectors of up to so many.
inline constexpr int64_t kInvertPad = 8;
/// Columns that update_columns() takes at most: what it puts aside of them stays in the first cache.
inline constexpr int64_t kInvertColumns = 96;
/// So many matrices lie side by side, element by element, each in a lane of its own.
inline constexpr int64_t kInvertTogether = 8;

struct InvertKernels {
  /// The panel of columns first ... first + width - 1. pivots[j]: the row that was exchanged with row first + j.
  /// `determinant` is multiplied by that of A_KK, with its sign. False: a pivot was 0 or not finite.
  bool (*panel)(double* panel, int64_t n, int64_t first, int64_t width, int64_t* pivots, double* determinant);
  /// Columns begin ... end - 1 of A for the finished panel: exchanged, then updated. At most kInvertColumns, multiples
  /// of kInvertPad, none of them the panel's. `aside`: kInvertPanel * kInvertColumns elements.
  void (*columns)(double* a, int64_t ld, int64_t n, const double* panel, int64_t first, int64_t width,
                  const int64_t* pivots, int64_t begin, int64_t end, double* aside);
  /// Inverts kInvertTogether matrices of n x n, n at most kInvertPanel, to the same bits as the panel alone would:
  /// element (r, c) of matrix i is a[(r * n + c) * kInvertTogether + i]. By matrix its determinant; the sum of 1 << i
  /// for those that are singular, whose elements are of no use.
  int32_t (*together)(double* a, int64_t n, double* determinants);
};

InvertKernels invert_kernels(Isa isa) noexcept;

}  // namespace terroir::cpu
