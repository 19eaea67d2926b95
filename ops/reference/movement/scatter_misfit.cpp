#include "ops/reference/movement/scatter_misfit.hpp"

#include <algorithm>

#include "ir/base/error.hpp"

namespace terroir::ops::reference {
namespace {

int64_t product_from(const ir::Dims& dims, size_t from) {
  return ir::element_count({dims.begin() + static_cast<std::ptrdiff_t>(from), dims.end()});
}

size_t stepped_axis(const ir::Dims& data, const ir::Dims& updates, size_t axis, size_t index_rank) {
  const int64_t inner = product_from(data, axis + 1);
  size_t larger = 0, ones = 0;
  for (size_t i = axis + 1; i < updates.size(); ++i) {
    if (product_from(updates, i) > inner) ++larger;
    if (updates[i] == 1) ++ones;
  }
  return std::min(axis + (larger > 0 ? larger : index_rank - 1) + ones, updates.size() - 1);
}

/// The offsets, in row-major order, of what is at 0 on axes [first, first + count).
std::vector<int64_t> offsets_at_zero(ir::Dims dims, size_t first, size_t count) {
  const ir::Dims steps = ir::row_major(dims);
  std::fill_n(dims.begin() + static_cast<std::ptrdiff_t>(first), count, 1);
  std::vector<int64_t> offsets;
  for_each_position(dims, [&](const ir::Dims& position) {
    int64_t offset = 0;
    for (size_t i = 0; i < position.size(); ++i) offset += position[i] * steps[i];
    offsets.push_back(offset);
  });
  return offsets;
}

}  // namespace

void scatter_misfit(const ir::MutableTensorView& output, const std::vector<int64_t>& indices, size_t index_rank,
                    const ir::TensorView& updates, size_t axis) {
  const auto begin = updates.dims.begin() + static_cast<std::ptrdiff_t>(axis);
  const int64_t slices = ir::element_count({begin, begin + static_cast<std::ptrdiff_t>(index_rank)});
  const auto used = std::min(static_cast<int64_t>(indices.size()), slices);
  const auto to = offsets_at_zero(output.dims, axis, 1), from = offsets_at_zero(updates.dims, axis, index_rank);
  const size_t pairs = std::min(to.size(), from.size());
  if (used == 0 || pairs == 0) return;
  const int64_t slice = ir::row_major(output.dims)[axis], count = updates.count();
  // A scalar index of a vector leaves updates no axis to step along; there is one slice then.
  const int64_t step =
      updates.dims.empty() ? 0 : ir::row_major(updates.dims)[stepped_axis(output.dims, updates.dims, axis, index_rank)];
  const ElementCopier copier(output.type, "ScatterUpdate");
  for (int64_t k = 0; k < used; ++k)
    for (size_t i = 0; i < pairs; ++i) {
      const int64_t source = from[i] + k * step;
      if (source >= count)
        throw_error(ErrorCode::shape_mismatch, "ScatterUpdate: updates ", updates.dims, " have no slice ", k,
                    " for data ", output.dims, " on axis ", axis);
      copier.copy(output.data, to[i] + indices[static_cast<size_t>(k)] * slice, updates.data, source, 1);
    }
}

}  // namespace terroir::ops::reference
