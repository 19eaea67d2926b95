// What: the same as finish.hpp for sums of numbers of bf16, unless something is rounded at the store: with the
// conversions of AVX512_BF16.
#pragma once

#include "plugins/cpu/kernels/conv_bytes/finish.hpp"

namespace terroir::cpu::avx512_amx {

/// Whether the row is such a one.
inline bool rounds_nothing(const ByteConvRow& row) {
  return !row.residual_bytes && !row.rounding && !row.bias_offsets && row.first_op_count == 0;
}

/// What of the sums is a stretch of row `r`.
void finish_bf16_in_row(const ByteConvRow& row, const ByteConvRows& rows, int64_t r, const Sums& sums);

}  // namespace terroir::cpu::avx512_amx
