#pragma once
// What: FakeConvert-13: element-wise rounding to the values of an 8-bit floating-point type, in the type of data.
// Shapes: data, scale, optional shift of the shape of scale -> shape of data; scale and shift broadcast to data.
// Source: operation page FakeConvert-13.
#include "ir/schema/attributes.hpp"

namespace terroir::ops {

struct FakeConvertAttrs {
  element::Type destination_type = element::f8e4m3;

  template <class V>
  void visit(V& v) {
    v("destination_type", destination_type, ir::Presence::required);
  }
};

}  // namespace terroir::ops
