#pragma once
// What: ScaledDotProductAttention: softmax(query key^T * scale + mask) value. Inputs: query [.., L, E], key [.., S, E],
// value [.., S, V], and optionally attention_mask (broadcasts to [.., L, S]; boolean: true may be looked at; else it is
// added), scale (one element; 1 / sqrt(E)) and sink (broadcasts to [.., L, 1]: one more score in every softmax, whose
// weight goes nowhere). Shapes: [.., L, V]; the axes in front, also those of the mask, broadcast by numpy's rule.
// Edge cases: causal ignores the mask and looks at no source after its target, both counted from their first, as the
// page says; where L and S differ, the CPU device of OpenVINO counts them from their last. A target whose boolean mask
// allows nothing takes the mean of all values (nothing, with a sink); one that an added mask of minus infinity leaves
// without any source gives NaN, or with a sink nothing. Source: operation page ScaledDotProductAttention-13, with the
// sink that it has since 2025.
#include "ir/schema/attributes.hpp"

namespace terroir::ops {

struct AttentionAttrs {
  bool causal = false;

  template <class V>
  void visit(V& v) {
    v("causal", causal, ir::Presence::required);
  }
};

}  // namespace terroir::ops
