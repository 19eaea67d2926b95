#pragma once
// What: Attention of the set "cpu": softmax(q k^T * scale + mask) v as one step, made by the pass fuse_attention.
// Formula: with x' = Transpose(x, order of x): out' = softmax(q' k'^T * scale + mask) v', out = Transpose(out', dst).
// Shapes: q' [.., L, E], k' [.., S, E], v' [.., S, V], all of one rank, the axes in front broadcast by numpy's rule;
//   the optional next input, mask, broadcasts to [.., L, S], and so does the one behind it, bias (if the attribute says
//   so), a second mask that is added as well; the last, sink (if the attribute says so), broadcasts to [.., L, 1].
//   Every order keeps the last axis, whose elements stay adjacent. With groups, every matrix of k' (v') stands for so
//   many heads in a row: its third axis from the end counts as that much longer. A mask may have more axes than q' if
//   the first ones are 1.
// Types: f32; the mask f32 (added) or boolean, which adds `forbidden` where it is `forbids`, or if it selects, puts
// that
//   in the place of the score, which may be anything.
// Edge cases: causal: target i looks at sources 0 to i. Targets that look at nothing: as ScaledDotProductAttention.
#include <limits>
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
  int64_t k_groups = 1, v_groups = 1;
  bool forbids = false;  // what a boolean mask says where a source may not be looked at
  double forbidden = std::numeric_limits<float>::lowest();
  bool selects = false;
  bool bias = false;  // behind the mask, which is f32 then

  template <class V>
  void visit(V& v) {
    v("q_order", q_order);
    v("k_order", k_order);
    v("v_order", v_order);
    v("dst_order", dst_order);
    v("scale", scale);
    v("causal", causal);
    v("sink", sink);
    v("k_groups", k_groups);
    v("v_groups", v_groups);
    v("forbids", forbids);
    v("forbidden", forbidden);
    v("selects", selects);
    v("bias", bias);
  }
};

ir::OpSchema attention_schema();

/// `dims` of k' or v' as all heads see it.
ir::Dims with_groups(ir::Dims dims, int64_t groups);

/// Which element along row-major `own` belongs to element `index` of `full`; own repeats where its extent is 1.
int64_t broadcast_index(int64_t index, const ir::Dims& own, const ir::Dims& full);

/// dims[order[i]] in place i.
ir::Dims permuted(const ir::Dims& dims, const std::vector<int64_t>& order);

}  // namespace terroir::cpu
