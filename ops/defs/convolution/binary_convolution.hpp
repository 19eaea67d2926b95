#pragma once
// What: BinaryConvolution-1: 2-D convolution of data of zeros and ones with bits.
// Shapes: data [N, I, Y, X], weights u1 [O, I, KY, KX] -> [N, O, Y', X'] of the type of data.
// Edge cases: pad_value takes the type of data (integers: truncated towards zero, saturated). Where that is neither 0
//             nor 1, it agrees with no bit, so every weight in the padding takes one off the sum.
// Source: operation page BinaryConvolution-1.
#include "ops/shape/conv_geometry.hpp"

namespace terroir::ops {

enum class BinaryConvolutionMode { xnor_popcount };

struct BinaryConvolutionAttrs {
  std::vector<int64_t> strides;
  std::vector<int64_t> pads_begin;
  std::vector<int64_t> pads_end;
  std::vector<int64_t> dilations;
  BinaryConvolutionMode mode = BinaryConvolutionMode::xnor_popcount;
  double pad_value = 0;
  AutoPad auto_pad = AutoPad::explicit_pads;

  template <class V>
  void visit(V& v) {
    v("strides", strides, ir::Presence::required);
    v("pads_begin", pads_begin, ir::Presence::required);
    v("pads_end", pads_end, ir::Presence::required);
    v("dilations", dilations, ir::Presence::required);
    v("mode", mode, ir::Presence::required);
    v("pad_value", pad_value, ir::Presence::required);
    v("auto_pad", auto_pad);
  }

  WindowLists window() const { return {&strides, &dilations, &pads_begin, &pads_end, nullptr, auto_pad, {}}; }
};

}  // namespace terroir::ops

template <>
struct terroir::ir::EnumSpellings<terroir::ops::BinaryConvolutionMode> {
  static constexpr std::string_view names[] = {"xnor-popcount"};
};
