#pragma once
// What: which elements of an axis an output of adaptive pooling covers.
// Formula: from floor(o * in / out) to ceil((o + 1) * in / out). Source: operation page AdaptiveAvgPool-8.
#include <cstdint>

namespace terroir::ops {

struct AdaptiveCells {
  int64_t input = 1;
  int64_t output = 1;

  // Both as quotient and remainder of in / out, for o * in need not fit.
  int64_t begin(int64_t o) const { return o * (input / output) + o * (input % output) / output; }
  int64_t end(int64_t o) const {
    return (o + 1) * (input / output) + ((o + 1) * (input % output) + output - 1) / output;
  }
};

}  // namespace terroir::ops
