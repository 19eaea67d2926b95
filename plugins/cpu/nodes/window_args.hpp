#pragma once
// What: one spatial axis of a window into the arguments of a kernel that keep extents, strides and pads in arrays.
#include <cstddef>

#include "ops/shape/window.hpp"

namespace terroir::cpu {

template <class Args>
void set_axis(Args& args, size_t i, const ops::WindowAxis& axis) {
  args.in[i] = axis.input;
  args.out[i] = axis.output;
  args.kernel[i] = axis.kernel;
  args.stride[i] = axis.stride;
  args.dilation[i] = axis.dilation;
  args.pad[i] = axis.pad_begin;
}

}  // namespace terroir::cpu
