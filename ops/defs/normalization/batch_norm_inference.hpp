#pragma once
// What: BatchNormInference-1 and BatchNormInference-5: normalises each channel with given statistics.
// Formula: y = (x - mean) / sqrt(variance + epsilon) * gamma + beta.
// Shapes: data [N, C, ...], gamma, beta, mean, variance [C] -> shape of data.
// Edge cases: inputs of opset5 are data, gamma, beta, mean, variance. The page of opset1 says the same, but its files
//             have gamma, beta, data, mean, variance; the ranks tell which, and where they do not, the files are right.
// Source: operation pages BatchNormInference-1, BatchNormInference-5.
#include "ir/schema/infer_context.hpp"

namespace terroir::ops {

struct BatchNormInferenceAttrs {
  double epsilon = 0;

  template <class V>
  void visit(V& v) {
    v("epsilon", epsilon, ir::Presence::required);
  }
};

/// Positions of the inputs.
struct BatchNormInputs {
  int data, gamma, beta, mean, variance;
};
inline constexpr BatchNormInputs kDataFirst{0, 1, 2, 3, 4};
inline constexpr BatchNormInputs kDataThird{2, 0, 1, 3, 4};
/// For opset1, from the ranks of inputs 0 and 2, as far as they are known: data has more than one axis.
inline BatchNormInputs batch_norm_1_inputs(const Rank& first, const Rank& third) {
  if (first.is_static()) return first.get_length() != 1 ? kDataFirst : kDataThird;
  return third.is_static() && third.get_length() == 1 ? kDataFirst : kDataThird;
}

}  // namespace terroir::ops
