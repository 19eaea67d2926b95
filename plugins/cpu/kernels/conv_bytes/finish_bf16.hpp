// What: the same as finish.hpp for sums of numbers of bf16: a bias, a sum with a tensor, the clamp and post-ops, and
// f32 or bf16, with the conversions of AVX512_BF16. Scales, roundings and biases by position are those of bytes alone.
#pragma once

#include "plugins/cpu/kernels/conv_bytes/finish.hpp"

namespace terroir::cpu::avx512_bf16 {

/// What of the sums is a stretch of row `r`.
void finish_bf16_in_row(const ByteConvRow& row, const ByteConvRows& rows, int64_t r, const Sums& sums);

}  // namespace terroir::cpu::avx512_bf16
