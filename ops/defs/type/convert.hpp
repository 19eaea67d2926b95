#pragma once
// What: attributes of Convert-1 and ConvertPromoteTypes-14, and the promotion rule.
#include "ir/schema/attributes.hpp"

namespace terroir::ops {

/// Source: operation page Convert-1.
struct ConvertAttrs {
  element::Type destination_type = element::dynamic;

  template <class V>
  void visit(V& v) {
    v("destination_type", destination_type, ir::Presence::required);
  }
};

/// Source: operation page ConvertPromoteTypes-14.
struct ConvertPromoteTypesAttrs {
  bool promote_unsafe = false;
  bool pytorch_scalar_promotion = false;
  element::Type u64_integer_promotion_target = element::f32;

  template <class V>
  void visit(V& v) {
    v("promote_unsafe", promote_unsafe);
    v("pytorch_scalar_promotion", pytorch_scalar_promotion);
    v("u64_integer_promotion_target", u64_integer_promotion_target);
  }
};

}  // namespace terroir::ops
