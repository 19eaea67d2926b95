#pragma once
// What: Attention of the set "cpu": softmax(q k^T * scale + mask) v as one step, made by the pass fuse_attention.
// Formula: with x' = Transpose(x, order of x): out' = softmax(q' k'^T * scale + mask) v', out = Transpose(out', dst).
// Shapes: q' [.., L, E], k' [.., S, E], v' [.., S, V], all of one rank, the axes in front broadcast by numpy's rule;
//   the optional next input, mask, broadcasts to [.., L, S], and the last, sink (if the attribute says so), to [.., L,
//   1]. Every order keeps the last axis, whose elements stay adjacent.
// Types: f32; the mask f32 (added) or boolean (true: may be looked at).
// Edge cases: causal: target i looks at sources 0 to i. Targets that look at nothing: as ScaledDotProductAttention.
#include <vector>

#include "ir/schema/attributes.hpp"
#include "ir/schema/op_schema.hpp"

namespace terroir::cpu {

inline constexpr std::string_view kAttentionType = "Attention";

struct FusedAttentionAttrs {
  std::vector<int64_t> q_order, k_order, v_order, dst_order;
  double scale = 1;
  bool causal = false;
  bool sink = false;  // the last input is one

  template <class V>
  void visit(V& v) {
    v("q_order", q_order);
    v("k_order", k_order);
    v("v_order", v_order);
    v("dst_order", dst_order);
    v("scale", scale);
    v("causal", causal);
    v("sink", sink);
  }
};

ir::OpSchema attention_schema();

/// dims[order[i]] in place i.
ir::Dims permuted(const ir::Dims& dims, const std::vector<int64_t>& order);

}  // namespace terroir::cpu
