// What: one number of a whole row, for reductions of other types than f32.
// Formula: sum: result += x_0 + ... + x_(n-1), integers modulo 2^N in their own type. squares: += the sum of the
//   squares, of f64.
// Cost: memory bound. Threads: rows are independent; the order of a sum depends on n alone. Edge cases: an empty row
//   adds 0.
#pragma once

#include "plugins/cpu/kernels/typed/typed.hpp"

namespace terroir::cpu {

/// `result` is one element of the row's type.
using RowFold = void (*)(const void* row, int64_t n, void* result);

enum class RowFoldKind : int32_t { sum, squares };

/// Null: no loop for the type.
RowFold row_fold(RowFoldKind kind, NumberType type, Isa isa) noexcept;

}  // namespace terroir::cpu
