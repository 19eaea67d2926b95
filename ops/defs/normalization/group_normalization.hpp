#pragma once
// What: GroupNormalization-12: normalises groups of channels of each batch, then scales and shifts each channel.
// Formula: y = scale * (x - mean) / sqrt(variance + epsilon) + bias.
// Shapes: data [N, C, ...], scale, bias [C] -> shape of data. Edge cases: the groups divide the channels evenly.
// Source: operation page GroupNormalization-12.
#include "ir/schema/attributes.hpp"

namespace terroir::ops {

struct GroupNormalizationAttrs {
  int64_t num_groups = 1;
  double epsilon = 0;

  template <class V>
  void visit(V& v) {
    v("num_groups", num_groups, ir::Presence::required);
    v("epsilon", epsilon, ir::Presence::required);
  }
};

}  // namespace terroir::ops
