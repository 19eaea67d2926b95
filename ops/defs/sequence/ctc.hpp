#pragma once
// What: CTCGreedyDecoder (data [T, N, C], mask [T, N]; stops at the first 0 of the mask), CTCGreedyDecoderSeqLen (data
// [N, T, C], lengths [N], optionally the blank): the best class of each step, without blanks and (merge_repeated)
// repeats. CTCLoss (logits [N, T, C], lengths [N], labels [N, T], lengths [N], optionally the blank): the negative
// logarithm of the probability of all paths that decode to the labels. Shapes: [N, T, 1, 1]; [N, T] and [N]; [N]. Edge
// cases: the blank is the last class unless given; -1 follows the last class; a loss without a path is infinite;
// lengths and labels out of range are errors at run time. Source: operation pages CTCGreedyDecoder-1,
// CTCGreedyDecoderSeqLen-6, CTCLoss-4; Graves et al. 2006, section 4.1.
#include "ir/schema/attributes.hpp"
#include "ops/reference/sequence/ctc.hpp"

namespace terroir::ops {

struct CtcGreedyDecoderAttrs {
  bool ctc_merge_repeated = true;

  template <class V>
  void visit(V& v) {
    v("ctc_merge_repeated", ctc_merge_repeated);
  }
};

struct CtcGreedyDecoderSeqLenAttrs {
  bool merge_repeated = true;
  element::Type classes_index_type = element::i32;
  element::Type sequence_length_type = element::i32;

  template <class V>
  void visit(V& v) {
    v("merge_repeated", merge_repeated);
    v("classes_index_type", classes_index_type);
    v("sequence_length_type", sequence_length_type);
  }
};

struct CtcLossAttrs : reference::CtcLossParams {
  template <class V>
  void visit(V& v) {
    v("preprocess_collapse_repeated", preprocess_collapse_repeated);
    v("ctc_merge_repeated", ctc_merge_repeated);
    v("unique", unique);
  }
};

}  // namespace terroir::ops
