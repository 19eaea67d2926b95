#pragma once
// What: the floating-point types of a byte and less as tables: nf4, f4e2m1, f8e4m3, f8e5m2, f8e8m0.
// Formula: decode is exact; encode takes the nearest value, ties to the even code.
// Edge cases: above the largest value f8e5m2 becomes infinite and f8e4m3, which has no infinity, NaN; the others
// saturate. NaN becomes NaN where there is one, else 0. f8e8m0 has neither zero nor sign: what is not positive becomes
// its smallest value 2^-127.
// Source: OCP 8-bit floating point specification; OCP microscaling formats; the NF4 values of the QLoRA paper.
#include <cstdint>
#include <terroir/element_type.hpp>

namespace terroir::ir {

bool is_small_float(element::Type type);

/// 256 values by code; those of 4-bit types repeat.
const float* small_float_values(element::Type type);

uint8_t encode_small_float(element::Type type, double value);

}  // namespace terroir::ir
