#pragma once
// What: the references of the normalisations. Statistics and results are computed in double and rounded once.
// Element types: the floating-point ones. Axes are within [0, rank).
// Source: operation pages BatchNormInference-5, LRN-1, NormalizeL2-1, MVN-1, MVN-6, GRN-1, GroupNormalization-12.
#include <vector>

#include "ir/base/tensor_view.hpp"

namespace terroir::ops::reference {

enum class EpsMode { add, max };

/// dst = src / sqrt(sum of squares over `axes`, plus `eps` or at least `eps`); without axes 1 where src is not 0.
void normalize_l2(const ir::TensorView& src, const std::vector<int64_t>& axes, double eps, EpsMode mode,
                  const ir::MutableTensorView& dst, const char* op);

enum class EpsPlace { inside_sqrt, outside_sqrt };

/// dst = src - mean over `axes`, if asked divided by the standard deviation over `axes`.
void mean_variance_normalize(const ir::TensorView& src, const std::vector<int64_t>& axes, bool normalize_variance,
                             double eps, EpsPlace place, const ir::MutableTensorView& dst);

/// dst = (src - mean) / sqrt(variance + eps) * gamma + beta, all per channel (axis 1).
void batch_norm(const ir::TensorView& src, const ir::TensorView& gamma, const ir::TensorView& beta,
                const ir::TensorView& mean, const ir::TensorView& variance, double eps,
                const ir::MutableTensorView& dst);

/// As batch_norm with mean and variance taken per batch over each of `groups` groups of channels.
void group_norm(const ir::TensorView& src, const ir::TensorView& scale, const ir::TensorView& bias, int64_t groups,
                double eps, const ir::MutableTensorView& dst);

struct LrnParameters {
  double alpha;
  double beta;
  double bias;
  int64_t size;
};
/// How far the region reaches to both sides: an even size acts as the odd one below.
inline int64_t lrn_reach(int64_t size) { return (size - 1) / 2; }

/// dst = src / (bias + alpha / size^axes * sum of squares in the region around the element) ^ beta; the region reaches
/// lrn_reach(size) elements to both sides along each of `axes`.
void lrn(const ir::TensorView& src, const std::vector<int64_t>& axes, const LrnParameters& parameters,
         const ir::MutableTensorView& dst);

}  // namespace terroir::ops::reference
