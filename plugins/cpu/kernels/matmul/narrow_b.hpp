// What: B of a product in whole numbers of 8 or 4 bits, which stand for (number - zero) * scale in f32: in the order,
//   and with the rounding, of a model that computes its weights so, so that products have the same bits.
// Layouts: scales and zeros are [panels][groups][panel], numbers [panels][K][panel]; of 4 bits a byte holds two columns
//   that are half a panel apart, the first one in its low half. The last panel is padded with zeros.
// Groups: of `group` rows of B each, which share their scales and zeros; K is groups * group.
#pragma once

#include <cstdint>

namespace terroir::cpu {

enum class NarrowType : int32_t { i8, u8, i4, u4 };

constexpr bool is_half_byte(NarrowType type) { return type == NarrowType::i4 || type == NarrowType::u4; }

struct NarrowB {
  NarrowType type = NarrowType::i8;
  int64_t groups = 1, group = 1;
  const uint8_t* numbers = nullptr;
  const float* scales = nullptr;
  const float* zeros = nullptr;  // or null

  // Of a panel of so many columns.
  constexpr int64_t row_bytes(int64_t panel) const { return is_half_byte(type) ? panel / 2 : panel; }
  constexpr int64_t panel_bytes(int64_t panel) const { return groups * group * row_bytes(panel); }
};

}  // namespace terroir::cpu
