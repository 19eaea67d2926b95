#pragma once
// What: the references of connectionist temporal classification: greedy decoding and loss. Types: any floating-point
// type, computed in f32 (the loss in f64).
#include "ir/schema/op_schema.hpp"

namespace terroir::ops::reference {

/// Inputs: data [T, N, C], mask [T, N]. Output [N, T, 1, 1], -1 after the last class. The blank is the last class.
void ctc_greedy_decoder(const ir::EvalContext& ctx, bool merge_repeated);
/// Inputs: data [N, T, C], lengths [N], and optionally the blank. Outputs: classes [N, T], -1 after the last, and [N].
void ctc_greedy_decoder_seq_len(const ir::EvalContext& ctx, bool merge_repeated);

struct CtcLossParams {
  bool preprocess_collapse_repeated = false;
  bool ctc_merge_repeated = true;
  bool unique = false;
};
/// Inputs: logits [N, T, C], logit lengths [N], labels [N, T], label lengths [N], and optionally the blank.
void ctc_loss(const ir::EvalContext& ctx, const CtcLossParams& params);

}  // namespace terroir::ops::reference
