#pragma once
// What: MVN-2 (on its page called MVN-1) and MVN-6: subtracts the mean and may divide by the standard deviation.
// Formula: y = (x - mean) / sqrt(variance + eps), or / (sqrt(variance) + eps).
// Shapes: any; axes of MVN-6 0-D or 1-D -> shape of data.
// Edge cases: MVN-2 without reduction_axes normalises over all axes from 1 on (across_channels) or from 2 on. Without
//             axes every element is its own mean, and the result is zero.
// Source: operation pages MVN-1, MVN-6.
#include <vector>

#include "ir/schema/attributes.hpp"
#include "ops/reference/normalization/normalization.hpp"

namespace terroir::ops {

struct Mvn2Attrs {
  double eps = 0;
  bool across_channels = false;
  bool normalize_variance = true;
  std::vector<int64_t> reduction_axes;

  template <class V>
  void visit(V& v) {
    v("eps", eps, ir::Presence::required);
    v("across_channels", across_channels);
    v("normalize_variance", normalize_variance, ir::Presence::required);
    v("reduction_axes", reduction_axes);
  }
};

struct Mvn6Attrs {
  double eps = 0;
  bool normalize_variance = true;
  reference::EpsPlace eps_mode = reference::EpsPlace::inside_sqrt;

  template <class V>
  void visit(V& v) {
    v("eps", eps, ir::Presence::required);
    v("normalize_variance", normalize_variance, ir::Presence::required);
    v("eps_mode", eps_mode, ir::Presence::required);
  }
};

/// The axes that are normalised over, counted from the front.
std::vector<int64_t> mvn_axes(const Mvn2Attrs& attrs, size_t rank);

}  // namespace terroir::ops

template <>
struct terroir::ir::EnumSpellings<terroir::ops::reference::EpsPlace> {
  static constexpr std::string_view names[] = {"INSIDE_SQRT", "OUTSIDE_SQRT"};
};
