#pragma once
// What: ExtractImagePatches: the elements under a sliding window, as channels. Input: data [N, C, H, W].
// Formula: output[n, (i * KW + j) * C + c, y, x] = data[n, c, y * stride - pad + i * rate, ...], 0 outside of data.
// Shapes: [N, C * KH * KW, H', W'] with H' = ceil(H / stride) for same_*, the number of windows that fit for valid.
// Source: operation page ExtractImagePatches-3.
#include "ir/schema/attributes.hpp"
#include "ops/reference/movement/rearrange.hpp"

namespace terroir::ops {

enum class PatchPad { same_upper, same_lower, valid };

struct ExtractImagePatchesAttrs {
  std::vector<int64_t> sizes, strides, rates;
  PatchPad auto_pad = PatchPad::valid;

  template <class V>
  void visit(V& v) {
    v("sizes", sizes, ir::Presence::required);
    v("strides", strides, ir::Presence::required);
    v("rates", rates, ir::Presence::required);
    v("auto_pad", auto_pad, ir::Presence::required);
  }
};

/// The window over data of this shape.
reference::PatchParams patch_params(const ExtractImagePatchesAttrs& attrs, const ir::Dims& data);

}  // namespace terroir::ops

template <>
struct terroir::ir::EnumSpellings<terroir::ops::PatchPad> {
  static constexpr std::string_view names[] = {"same_upper", "same_lower", "valid"};
};
