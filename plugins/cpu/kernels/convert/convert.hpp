// What: conversions between element types over contiguous elements.
// Formula: to f32: exact where representable, else to nearest even. f32 to f16 and bf16: to nearest even, overflow to
//   infinity, subnormals kept, NaN stays a NaN. f32 to integers: toward zero.
// Edge cases: f32 outside the range of the integer gives the nearer end of the range, NaN gives 0.
// Aliasing: none. Cost: memory bound. Threads: any ranges.
#pragma once

#include <cstdint>

namespace terroir::cpu {

// Declared only: the files of the buckets include this header, and isa.hpp brings in containers.
enum class Isa : int32_t;

struct ConvertKernels {
  void (*f16_to_f32)(const uint16_t* src, float* dst, int64_t n);
  void (*f32_to_f16)(const float* src, uint16_t* dst, int64_t n);
  void (*bf16_to_f32)(const uint16_t* src, float* dst, int64_t n);
  void (*f32_to_bf16)(const float* src, uint16_t* dst, int64_t n);
  void (*u8_to_f32)(const uint8_t* src, float* dst, int64_t n);
  void (*i8_to_f32)(const int8_t* src, float* dst, int64_t n);
  void (*i32_to_f32)(const int32_t* src, float* dst, int64_t n);
  void (*i64_to_f32)(const int64_t* src, float* dst, int64_t n);
  void (*f32_to_u8)(const float* src, uint8_t* dst, int64_t n);
  void (*f32_to_i32)(const float* src, int32_t* dst, int64_t n);
  void (*f32_to_i64)(const float* src, int64_t* dst, int64_t n);
};

const ConvertKernels& convert_kernels(Isa isa) noexcept;

}  // namespace terroir::cpu
