#pragma once
// What: the references of connectionist temporal classification: greedy decoding and loss. Types: any floating-point
// type, computed in f32 (the loss in f64).
#include "ir/schema/op_schema.hpp"

namespace terroir::ops::reference {

/// The first of the largest of a row; classes of NaN count only as the first one of all, which nothing exceeds.
using BestClass = int64_t (*)(const float* row, int64_t classes);
int64_t best_class(const float* row, int64_t classes);

/// Inputs: data [T, N, C], mask [T, N]. Output [N, T, 1, 1], -1 after the last class. The blank is the last class.
void ctc_greedy_decoder(const ir::EvalContext& ctx, bool merge_repeated, BestClass best = &best_class);
/// Inputs: data [N, T, C], lengths [N], and optionally the blank. Outputs: classes [N, T], -1 after the last, and [N].
void ctc_greedy_decoder_seq_len(const ir::EvalContext& ctx, bool merge_repeated, BestClass best = &best_class);

struct CtcLossParams {
  bool preprocess_collapse_repeated = false;
  bool ctc_merge_repeated = true;
  bool unique = false;
};
/// Inputs: logits [N, T, C], logit lengths [N], labels [N, T], label lengths [N], and optionally the blank.
void ctc_loss(const ir::EvalContext& ctx, const CtcLossParams& params);

}  // namespace terroir::ops::reference
