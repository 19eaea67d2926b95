#pragma once
// What: the reference kernel of terroir1 Convolution.
#include "ir/base/tensor_view.hpp"
#include "ops/reference/terroir1/activation.hpp"
#include "ops/shape/conv_geometry.hpp"

namespace terroir::ops::reference {

struct FullConvolution {
  /// Without output_padding of a forward convolution: positions of dst behind `output` get no contributions.
  ConvGeometry geometry;
  bool backward = false;
  bool flipped = false;
  bool channels_last = false;
  Activation activation;
};

/// src [N, G*I, spatial] or [N, spatial, G*I], wei [G*O, I, kernel] or, backward, [G*I, O, kernel]; `bias` of G*O
/// elements or null. Sum, bias and activation in double, rounded once.
void full_convolution(const FullConvolution& problem, const ir::TensorView& src, const ir::TensorView& wei,
                      const ir::TensorView* bias, const ir::MutableTensorView& dst);

}  // namespace terroir::ops::reference
