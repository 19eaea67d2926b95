#include "ops/reference/matrix/einsum.hpp"

#include <algorithm>

#include "ops/reference/accumulate.hpp"
#include "ops/reference/dispatch.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops::reference {
namespace {

/// The axes of one loop nest and how far every operand moves along each.
struct Nest {
  struct Axis {
    int64_t extent;
    std::vector<int64_t> steps;  // by operand
  };
  std::vector<Axis> axes;

  bool empty() const {
    return std::any_of(axes.begin(), axes.end(), [](const Axis& axis) { return axis.extent == 0; });
  }
  /// Moves on by one, innermost axis first; false after the last position, with everything at the start again.
  bool next(std::vector<int64_t>& index, std::vector<int64_t>& offsets) const {
    for (size_t i = axes.size(); i-- > 0;) {
      const Axis& axis = axes[i];
      const bool wraps = ++index[i] == axis.extent;
      const int64_t moves = wraps ? 1 - axis.extent : 1;
      for (size_t k = 0; k < offsets.size(); ++k) offsets[k] += moves * axis.steps[k];
      if (!wraps) return true;
      index[i] = 0;
    }
    return false;
  }
};

struct Nests {
  Nest kept, summed;
  ir::Dims dims;  // of the output
};

Nests plan(const EinsumEquation& equation, std::span<const ir::TensorView> inputs) {
  int64_t ellipsis_rank = 0;
  for (size_t k = 0; k < inputs.size(); ++k)
    ellipsis_rank = std::max(ellipsis_rank, equation.ellipsis_rank(k, static_cast<int64_t>(inputs[k].dims.size())));
  EinsumLabels labels = equation.output_labels(ellipsis_rank);
  const size_t kept = labels.size();
  std::vector<Nest::Axis> axes(kept, {1, std::vector<int64_t>(inputs.size())});
  for (size_t k = 0; k < inputs.size(); ++k) {
    const ir::Dims& dims = inputs[k].dims;
    const EinsumLabels own = equation.input_labels(k, static_cast<int64_t>(dims.size()));
    const bool is_empty = inputs[k].count() == 0;
    int64_t stride = 1;
    for (size_t i = own.size(); i-- > 0;) {
      const auto at = static_cast<size_t>(std::find(labels.begin(), labels.end(), own[i]) - labels.begin());
      if (at == labels.size()) {
        labels.push_back(own[i]);
        axes.push_back({1, std::vector<int64_t>(inputs.size())});
      }
      Nest::Axis& axis = axes[at];
      if (dims[i] != 1) {
        // Inference made sure that extents are equal or 1; memory safety does not rely on it.
        if (axis.extent != 1 && axis.extent != dims[i])
          throw_error(ErrorCode::shape_mismatch, "Einsum: the extents ", axis.extent, " and ", dims[i],
                      " of an axis differ");
        axis.extent = dims[i];
        axis.steps[k] += stride;
      }
      if (!is_empty) stride *= dims[i];
    }
  }
  Nests nests;
  nests.kept.axes.assign(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(kept));
  nests.summed.axes.assign(axes.begin() + static_cast<std::ptrdiff_t>(kept), axes.end());
  for (const Nest::Axis& axis : nests.kept.axes) nests.dims.push_back(axis.extent);
  return nests;
}

}  // namespace

void einsum(const EinsumEquation& equation, std::span<const ir::TensorView> inputs, const ir::MutableTensorView& dst) {
  const Nests nests = plan(equation, inputs);
  require_dims(dst, nests.dims, "Einsum");
  if (dst.count() == 0) return;
  const bool nothing_to_sum = nests.summed.empty();
  dispatch_type<TERROIR_NUMBERS>(dst.type, "Einsum", [&](auto tag) {
    using T = decltype(tag);
    std::vector<const T*> data;
    for (const ir::TensorView& input : inputs) data.push_back(input.as<T>());
    std::vector<int64_t> offsets(inputs.size());
    std::vector<int64_t> kept_index(nests.kept.axes.size());
    std::vector<int64_t> summed_index(nests.summed.axes.size());
    T* out = dst.as<T>();
    do {
      sum_t<T> sum{};
      if (!nothing_to_sum) {
        do {
          sum_t<T> product{1};
          for (size_t k = 0; k < data.size(); ++k) product *= to_sum(data[k][offsets[k]]);
          sum += product;
        } while (nests.summed.next(summed_index, offsets));
      }
      *out++ = from_sum<T>(sum);
    } while (nests.kept.next(kept_index, offsets));
  });
}

}  // namespace terroir::ops::reference
