#pragma once
// What: converts images whose colour planes have half the resolution (NV12, I420) to interleaved colours.
// Formula: R = 1.164 (Y - 16) + 1.596 (V - 128); G = 1.164 (Y - 16) - 0.813 (V - 128) - 0.391 (U - 128);
//          B = 1.164 (Y - 16) + 2.018 (U - 128); each held within [0, 255].
// Layouts: Y [N, H, W, 1]; NV12: UV [N, H/2, W/2, 2]; I420: U and V [N, H/2, W/2, 1]; or all in one tensor
//          [N, 3/2 H, W, 1], per image Y before the others. dst [N, H, W, 3].
// Element types: u8 (rounded) and the floating-point ones. Edge cases: NaN becomes 0.
// Source: operation pages NV12toRGB-8, I420toRGB-8.
#include <span>

#include "ir/base/tensor_view.hpp"

namespace terroir::ops::reference {

enum class YuvLayout { nv12, i420 };
enum class ColorOrder { rgb, bgr };

void yuv_to_color(std::span<const ir::TensorView> planes, YuvLayout layout, ColorOrder order,
                  const ir::MutableTensorView& dst);

}  // namespace terroir::ops::reference
