#pragma once
// What: Broadcast: repeats data to a target shape. Inputs: data, target_shape (1-D), axes_mapping (1-D, only for the
// mode "explicit").
// Shapes: numpy: aligned at the last axis, extents equal or 1 in data. bidirectional (Broadcast-3): extents equal or 1
// on either side. explicit: data axis i is output axis axes_mapping[i], ascending. pdpd: as numpy.
// Edge cases: extent 0 in the target makes the output empty. Source: operation pages Broadcast-1, Broadcast-3.
#include "ir/base/tensor_view.hpp"
#include "ir/schema/attributes.hpp"

namespace terroir::ops {

/// `none` is an older spelling of `explicit_axes`.
enum class BroadcastMode { numpy, explicit_axes, bidirectional, none, pdpd };

struct BroadcastAttrs {
  BroadcastMode mode = BroadcastMode::numpy;

  template <class V>
  void visit(V& v) {
    v("mode", mode);
  }
};

/// The output axis of each data axis. `axes`: input 2, read by the modes that take it. Exception when data of shape
/// `data` cannot be broadcast to `output`.
std::vector<int64_t> broadcast_mapping(BroadcastMode mode, const ir::Dims& data, const ir::Dims& output,
                                       const ir::TensorView* axes);

}  // namespace terroir::ops

template <>
struct terroir::ir::EnumSpellings<terroir::ops::BroadcastMode> {
  static constexpr std::string_view names[] = {"numpy", "explicit", "bidirectional", "none", "pdpd"};
};
