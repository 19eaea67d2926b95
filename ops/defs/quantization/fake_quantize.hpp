#pragma once
// What: FakeQuantize-1: element-wise linear quantisation to `levels` values, in floating point.
// Shapes: X, input_low, input_high, output_low, output_high -> shape of X; the limits broadcast to X, never X to them.
// Edge cases: a limit of higher rank than X may have leading ones.
// Source: operation page FakeQuantize-1.
#include "ir/base/tensor_view.hpp"
#include "ops/shape/broadcast.hpp"

namespace terroir::ops {

struct FakeQuantizeAttrs {
  int64_t levels = 0;
  BroadcastRule broadcast;

  template <class V>
  void visit(V& v) {
    v("levels", levels, ir::Presence::required);
    broadcast.visit(v);
  }
};

/// Extents of a limit written with the rank of X, each 1 or that of X; Exception if it does not broadcast to X.
ir::Dims align_limit(const FakeQuantizeAttrs& attrs, const ir::Dims& x, const ir::Dims& limit);

}  // namespace terroir::ops
