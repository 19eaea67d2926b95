// What: sums of rows of one bucket. Contract: fold.hpp. Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/fold/fold.hpp"
#include "plugins/cpu/simd/macros.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

/// Vectors side by side hide the latency of an addition; the compiler makes of a vector what the bucket has.
template <class T, bool kSquares>
void sum_row(const void* row, int64_t n, void* result) {
  constexpr int64_t kLanes = 32 / sizeof(T), kVectors = sizeof(T) == 8 ? 8 : 4;
  typedef T Vector __attribute__((vector_size(kLanes * sizeof(T))));
  const T* x = static_cast<const T*>(row);
  Vector sum[kVectors] = {};
  const auto add = [&](Vector& to, const T* from) TERROIR_INLINE_LAMBDA {
    Vector value;
    __builtin_memcpy(&value, from, sizeof(value));
    to += kSquares ? value * value : value;
  };
  int64_t i = 0;
  for (; i + kVectors * kLanes <= n; i += kVectors * kLanes) {
#pragma GCC unroll 8
    for (int64_t v = 0; v < kVectors; ++v) add(sum[v], x + i + v * kLanes);
  }
  for (; i + kLanes <= n; i += kLanes) add(sum[0], x + i);
  Vector all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  if constexpr (kVectors == 8) all += (sum[4] + sum[5]) + (sum[6] + sum[7]);
  T lanes[kLanes], total;
  __builtin_memcpy(lanes, &all, sizeof(all));
  __builtin_memcpy(&total, result, sizeof(total));
  for (int64_t lane = 0; lane < kLanes; ++lane) total = static_cast<T>(total + lanes[lane]);
  for (; i < n; ++i) total = static_cast<T>(total + (kSquares ? x[i] * x[i] : x[i]));
  __builtin_memcpy(result, &total, sizeof(total));
}

}  // namespace

RowFold row_fold(RowFoldKind kind, NumberType type) {
  const bool squares = kind == RowFoldKind::squares;
  if (type == NumberType::f64) return squares ? &sum_row<double, true> : &sum_row<double, false>;
  if (squares) return nullptr;
  switch (type) {
    case NumberType::i8:
    case NumberType::u8:
      return &sum_row<uint8_t, false>;
    case NumberType::i16:
    case NumberType::u16:
      return &sum_row<uint16_t, false>;
    case NumberType::i32:
    case NumberType::u32:
      return &sum_row<uint32_t, false>;
    case NumberType::i64:
    case NumberType::u64:
      return &sum_row<uint64_t, false>;
    default:
      return nullptr;
  }
}

}  // namespace terroir::cpu::TERROIR_ISA
