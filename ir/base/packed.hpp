#pragma once
// What: elements of types narrower than a byte, which are packed over the whole tensor.
// Layouts: of 2 and 4 bits: a linear stream of bits, the lowest bit of a byte first; of 1 bit the highest first. u3 and
// u6 come in units of three bytes for eight or four elements: two bytes with the lower two thirds of each element, one
// with the upper thirds, the first element highest. Source: what OpenVINO's Constant stores in releases before
// September 2026. Later ones store u3 and u6 as a linear stream, too (its pull request 37430): files with such
// constants are refused for their size, or read as other numbers where it is the same.
#include <cstddef>
#include <cstdint>

namespace terroir::ir {

constexpr bool is_split_width(size_t width) { return width == 3 || width == 6; }

/// Where an element of u3 or u6 lies.
struct SplitPlace {
  int64_t unit;                // its first byte
  int low_byte;                // within the unit
  int low_shift, upper_shift;  // within that byte, and within the unit's last one
  int low_bits;

  SplitPlace(int64_t index, int width) {
    const int per_unit = 24 / width, per_byte = per_unit / 2, at = static_cast<int>(index % per_unit);
    low_bits = width / 3 * 2;
    unit = index / per_unit * 3;
    low_byte = at / per_byte;
    low_shift = (per_byte - 1 - at % per_byte) * low_bits;
    upper_shift = (per_unit - 1 - at) * (width - low_bits);
  }
};

inline uint8_t read_bits(const uint8_t* data, int64_t index, int width) {
  if (width == 1) return (data[index / 8] >> (7 - index % 8)) & 1;
  const int mask = (1 << width) - 1;
  if (is_split_width(static_cast<size_t>(width))) {
    const SplitPlace place(index, width);
    const uint8_t* unit = data + place.unit;
    const int low = unit[place.low_byte] >> place.low_shift & ((1 << place.low_bits) - 1);
    return static_cast<uint8_t>((unit[2] >> place.upper_shift << place.low_bits | low) & mask);
  }
  const int64_t first = index * width;
  return static_cast<uint8_t>(data[first / 8] >> (first % 8) & mask);
}

/// Bits above `width` of `value` are ignored.
inline void write_bits(uint8_t* data, int64_t index, int width, uint8_t value) {
  const auto put = [](uint8_t& byte, int shift, int mask, int bits) {
    byte = static_cast<uint8_t>((byte & ~(mask << shift)) | (bits & mask) << shift);
  };
  if (width == 1) return put(data[index / 8], static_cast<int>(7 - index % 8), 1, value);
  if (is_split_width(static_cast<size_t>(width))) {
    const SplitPlace place(index, width);
    uint8_t* unit = data + place.unit;
    put(unit[place.low_byte], place.low_shift, (1 << place.low_bits) - 1, value);
    return put(unit[2], place.upper_shift, (1 << (width - place.low_bits)) - 1, value >> place.low_bits);
  }
  const int64_t first = index * width;
  put(data[first / 8], static_cast<int>(first % 8), (1 << width) - 1, value);
}

}  // namespace terroir::ir
