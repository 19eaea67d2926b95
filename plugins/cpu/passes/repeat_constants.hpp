#pragma once
// What: a constant of one image's extents meets the images of a batch as one tensor, as it meets an image alone:
//   Convolution [N,C,H,W] -> Add(constant [1,C,H,W] or [C,H,W])  =>  Add(constant [N,C,H,W])
// Why: so that steps and layouts, and with them the bits of an image, are the same for any N; and the sum joins the
// convolution's store. The constant takes no more memory than one value of the network at this place.
// Refuses: scalars and vectors along the channels, which fuse as they are; values that are never in the layout of a
// convolution, normalisation, reduction or interpolation of images, before or behind them, whose bits depend on it.
#include "ir/pass/pass_manager.hpp"
#include "ir/schema/registry.hpp"

namespace terroir::cpu {

ir::Pass repeat_constants(const ir::OpRegistry& registry);

}  // namespace terroir::cpu
