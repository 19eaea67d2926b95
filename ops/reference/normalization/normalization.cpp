#include "ops/reference/normalization/normalization.hpp"

#include <algorithm>
#include <cmath>

#include "ops/reference/accumulate.hpp"
#include "ops/reference/dispatch.hpp"
#include "ops/reference/element_copy.hpp"
#include "ops/reference/normalization/axis_groups.hpp"

namespace terroir::ops::reference {
namespace {

/// fn(sum so far, element as double) over each group, divided by `divisor`.
template <class T, class Fn>
std::vector<double> reduce(const AxisGroups& groups, const T* src, double divisor, Fn fn) {
  std::vector<double> result(static_cast<size_t>(groups.groups()), 0.0);
  groups.each(
      [&](int64_t i, int64_t g) { result[static_cast<size_t>(g)] += fn(to_sum(src[i]), static_cast<size_t>(g)); });
  for (double& value : result) value /= divisor;
  return result;
}

struct Statistics {
  std::vector<double> mean;
  std::vector<double> variance;
};

template <class T>
Statistics statistics(const AxisGroups& groups, const T* src) {
  const auto size = static_cast<double>(groups.size());
  Statistics result;
  result.mean = reduce(groups, src, size, [](double x, size_t) { return x; });
  result.variance = reduce(groups, src, size, [&](double x, size_t g) {
    const double difference = x - result.mean[g];
    return difference * difference;
  });
  return result;
}

}  // namespace

void normalize_l2(const ir::TensorView& src, const std::vector<int64_t>& axes, double eps, EpsMode mode,
                  const ir::MutableTensorView& dst, const char* op) {
  dispatch_type<TERROIR_FLOATS>(src.type, op, [&](auto tag) {
    using T = decltype(tag);
    const T* from = src.as<T>();
    T* to = dst.as<T>();
    if (axes.empty()) {
      std::transform(from, from + src.count(), to, [](T x) { return static_cast<T>(to_sum(x) == 0 ? 0.0f : 1.0f); });
      return;
    }
    const AxisGroups groups(src.dims, axes);
    const auto squares = reduce(groups, from, 1.0, [](double x, size_t) { return x * x; });
    groups.each([&](int64_t i, int64_t g) {
      const double sum = squares[static_cast<size_t>(g)];
      to[i] = from_sum<T>(to_sum(from[i]) / std::sqrt(mode == EpsMode::add ? sum + eps : std::max(sum, eps)));
    });
  });
}

void mean_variance_normalize(const ir::TensorView& src, const std::vector<int64_t>& axes, bool normalize_variance,
                             double eps, EpsPlace place, const ir::MutableTensorView& dst) {
  dispatch_type<TERROIR_FLOATS>(src.type, "MVN", [&](auto tag) {
    using T = decltype(tag);
    const T* from = src.as<T>();
    T* to = dst.as<T>();
    const AxisGroups groups(src.dims, axes);
    const Statistics of = statistics(groups, from);
    groups.each([&](int64_t i, int64_t g) {
      const auto group = static_cast<size_t>(g);
      double value = to_sum(from[i]) - of.mean[group];
      if (normalize_variance)
        value /=
            place == EpsPlace::inside_sqrt ? std::sqrt(of.variance[group] + eps) : std::sqrt(of.variance[group]) + eps;
      to[i] = from_sum<T>(value);
    });
  });
}

void batch_norm(const ir::TensorView& src, const ir::TensorView& gamma, const ir::TensorView& beta,
                const ir::TensorView& mean, const ir::TensorView& variance, double eps,
                const ir::MutableTensorView& dst) {
  if (src.count() == 0) return;
  dispatch_type<TERROIR_FLOATS>(src.type, "BatchNormInference", [&](auto tag) {
    using T = decltype(tag);
    const T* from = src.as<T>();
    T* to = dst.as<T>();
    const int64_t channels = src.dims[1];
    const int64_t plane = src.count() / src.dims[0] / channels;
    for (int64_t image = 0; image < src.dims[0] * channels; ++image) {
      const int64_t c = image % channels;
      const double factor = to_sum(gamma.as<T>()[c]) / std::sqrt(to_sum(variance.as<T>()[c]) + eps);
      for (int64_t i = image * plane; i < (image + 1) * plane; ++i)
        to[i] = from_sum<T>((to_sum(from[i]) - to_sum(mean.as<T>()[c])) * factor + to_sum(beta.as<T>()[c]));
    }
  });
}

void group_norm(const ir::TensorView& src, const ir::TensorView& scale, const ir::TensorView& bias, int64_t groups,
                double eps, const ir::MutableTensorView& dst) {
  if (src.count() == 0) return;
  dispatch_type<TERROIR_FLOATS>(src.type, "GroupNormalization", [&](auto tag) {
    using T = decltype(tag);
    const T* from = src.as<T>();
    T* to = dst.as<T>();
    const int64_t channels = src.dims[1];
    const int64_t plane = src.count() / src.dims[0] / channels;
    const AxisGroups split({src.dims[0], groups, channels / groups * plane}, {2});
    const Statistics of = statistics(split, from);
    split.each([&](int64_t i, int64_t g) {
      const auto group = static_cast<size_t>(g);
      const int64_t c = i / plane % channels;
      const double normal = (to_sum(from[i]) - of.mean[group]) / std::sqrt(of.variance[group] + eps);
      to[i] = from_sum<T>(normal * to_sum(scale.as<T>()[c]) + to_sum(bias.as<T>()[c]));
    });
  });
}

void lrn(const ir::TensorView& src, const std::vector<int64_t>& axes, const LrnParameters& parameters,
         const ir::MutableTensorView& dst) {
  if (src.count() == 0) return;
  dispatch_type<TERROIR_FLOATS>(src.type, "LRN", [&](auto tag) {
    using T = decltype(tag);
    const T* from = src.as<T>();
    T* to = dst.as<T>();
    const ir::Dims steps = ir::row_major(src.dims);
    const double scale = parameters.alpha / std::pow(parameters.size, axes.size());
    const int64_t reach = lrn_reach(parameters.size);
    ir::Dims extents(axes.size());  // of the region, cut at the borders
    int64_t i = 0;
    for_each_position(src.dims, [&](const ir::Dims& position) {
      int64_t origin = i;
      for (size_t a = 0; a < axes.size(); ++a) {
        const auto axis = static_cast<size_t>(axes[a]);
        const int64_t first = std::max<int64_t>(position[axis] - reach, 0);
        extents[a] = std::min(position[axis] + reach + 1, src.dims[axis]) - first;
        origin -= (position[axis] - first) * steps[axis];
      }
      double sum = 0;
      for_each_position(extents, [&](const ir::Dims& offset) {
        int64_t at = origin;
        for (size_t a = 0; a < axes.size(); ++a) at += offset[a] * steps[static_cast<size_t>(axes[a])];
        sum += to_sum(from[at]) * to_sum(from[at]);
      });
      to[i] = from_sum<T>(to_sum(from[i]) / std::pow(parameters.bias + scale * sum, parameters.beta));
      ++i;
    });
  });
}

}  // namespace terroir::ops::reference
