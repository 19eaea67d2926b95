#pragma once
// What: Pad-1 and Pad-12: extends a tensor at its borders; negative pads crop.
// Shapes: data of rank r, pads_begin [r], pads_end [r], optional pad_value (scalar) -> max(0, data + pads_begin +
// pads_end). Edge cases: reflect needs pads below the extent, symmetric pads up to it, edge a non-empty axis. Negative
// pads are
//             specified from opset12 on and accepted in both versions. pad_value matters to constant only.
// Source: operation pages Pad-1, Pad-12.
#include "ir/schema/attributes.hpp"
#include "ops/reference/movement/pad.hpp"

namespace terroir::ops {

struct PadAttrs {
  reference::PadMode pad_mode = reference::PadMode::constant;

  template <class V>
  void visit(V& v) {
    v("pad_mode", pad_mode, ir::Presence::required);
  }
};

}  // namespace terroir::ops

template <>
struct terroir::ir::EnumSpellings<terroir::ops::reference::PadMode> {
  static constexpr std::string_view names[] = {"constant", "edge", "reflect", "symmetric"};
};
