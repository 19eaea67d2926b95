#pragma once
// What: elements of types narrower than a byte, which are packed over the whole tensor.
// Layouts: a linear stream of bits; element i takes the bits [i * width, (i + 1) * width), the lowest bit of a byte
// first, but u1, whose first element is the highest bit. u3 and u6 may straddle bytes.
#include <cstdint>

namespace terroir::ir {

inline uint8_t read_bits(const uint8_t* data, int64_t index, int width) {
  if (width == 1) return (data[index / 8] >> (7 - index % 8)) & 1;
  const int64_t first = index * width;
  const uint8_t* at = data + first / 8;
  const int shift = static_cast<int>(first % 8);
  int bits = at[0] >> shift;
  if (shift + width > 8) bits |= at[1] << (8 - shift);
  return static_cast<uint8_t>(bits & ((1 << width) - 1));
}

/// Bits above `width` of `value` are ignored.
inline void write_bits(uint8_t* data, int64_t index, int width, uint8_t value) {
  const int mask = (1 << width) - 1;
  const int bits = value & mask;
  if (width == 1) {
    const int shift = static_cast<int>(7 - index % 8);
    data[index / 8] = static_cast<uint8_t>((data[index / 8] & ~(1 << shift)) | (bits << shift));
    return;
  }
  const int64_t first = index * width;
  uint8_t* at = data + first / 8;
  const int shift = static_cast<int>(first % 8);
  at[0] = static_cast<uint8_t>((at[0] & ~(mask << shift)) | (bits << shift));
  if (shift + width > 8) at[1] = static_cast<uint8_t>((at[1] & ~(mask >> (8 - shift))) | (bits >> (8 - shift)));
}

}  // namespace terroir::ir
