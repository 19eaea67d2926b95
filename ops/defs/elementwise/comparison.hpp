#pragma once
// What: attributes of IsInf. Source: operation page IsInf-10.
#include "ir/schema/attributes.hpp"

namespace terroir::ops {

struct IsInfAttrs {
  bool detect_negative = true;
  bool detect_positive = true;

  template <class V>
  void visit(V& v) {
    v("detect_negative", detect_negative);
    v("detect_positive", detect_positive);
  }
};

}  // namespace terroir::ops
