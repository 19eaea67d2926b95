#include "ops/reference/movement/unique.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "ops/reference/dispatch.hpp"
#include "ops/reference/element_copy.hpp"
#include "ops/reference/floats.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops::reference {
namespace {

/// The slices to be compared: element k of slice i is at offset(i, k).
struct Slices {
  int64_t count, outer, inner;

  int64_t length() const { return outer * inner; }
  int64_t offset(int64_t slice, int64_t k) const { return (k / inner * count + slice) * inner + k % inner; }
};

/// Which of two slices comes first: below 0, 0 or above 0. NaN elements are equal to each other and come last.
template <class T>
int compare(const T* data, const Slices& slices, int64_t a, int64_t b) {
  for (int64_t k = 0; k < slices.length(); ++k) {
    const T& x = data[slices.offset(a, k)];
    const T& y = data[slices.offset(b, k)];
    if (x < y) return -1;
    if (y < x) return 1;
    if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
      const bool x_nan = !(x == x);
      const bool y_nan = !(y == y);
      if (x_nan != y_nan) return x_nan ? 1 : -1;
    }
  }
  return 0;
}

/// Groups of equal slices, each in ascending order; the groups in the order of their values.
std::vector<std::vector<int64_t>> group(const ir::TensorView& data, const Slices& slices) {
  std::vector<int64_t> order(static_cast<size_t>(slices.count));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::vector<std::vector<int64_t>> groups;
  dispatch_type<TERROIR_NUMBERS, bool, std::string>(data.type, "Unique", [&](auto tag) {
    // Booleans are bytes of 0 and 1.
    using T = std::conditional_t<std::is_same_v<decltype(tag), bool>, uint8_t, decltype(tag)>;
    const auto* elements = static_cast<const T*>(data.data);
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return compare(elements, slices, a, b) < 0; });
    for (const int64_t slice : order) {
      if (groups.empty() || compare(elements, slices, groups.back().front(), slice) != 0) groups.emplace_back();
      groups.back().push_back(slice);
    }
  });
  return groups;
}

}  // namespace

void unique(const ir::EvalContext& ctx, bool sorted) {
  constexpr const char* kOp = "Unique";
  const ir::TensorView& data = ctx.inputs[0];
  Slices slices{data.count(), 1, 1};
  size_t axis = 0;
  const bool along_axis = ctx.inputs.size() > 1;
  if (along_axis) {
    axis = static_cast<size_t>(
        normalize_axis(read_integer(ctx.inputs[1], "axis"), static_cast<int64_t>(data.dims.size())));
    const auto at = data.dims.begin() + static_cast<std::ptrdiff_t>(axis);
    slices = {*at, ir::element_count({data.dims.begin(), at}), ir::element_count({at + 1, data.dims.end()})};
  }
  std::vector<std::vector<int64_t>> groups = group(data, slices);
  if (!sorted)
    std::sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) { return a.front() < b.front(); });

  const auto found = static_cast<int64_t>(groups.size());
  ir::Dims wanted{found};
  if (along_axis) {
    wanted = data.dims;
    wanted[axis] = found;
  }
  if (ctx.outputs[0].count() < ir::element_count(wanted) || ctx.outputs[1].count() < found ||
      ctx.outputs[2].count() != slices.count || ctx.outputs[3].count() < found)
    throw_error(ErrorCode::shape_mismatch, kOp, ": the outputs have no room for ", wanted);
  std::vector<int64_t> first, counts, reverse(static_cast<size_t>(slices.count));
  for (size_t i = 0; i < groups.size(); ++i) {
    first.push_back(groups[i].front());
    counts.push_back(static_cast<int64_t>(groups[i].size()));
    for (const int64_t slice : groups[i]) reverse[static_cast<size_t>(slice)] = static_cast<int64_t>(i);
  }
  ctx.outputs[0].dims = wanted;
  ctx.outputs[1].dims = {found};
  ctx.outputs[3].dims = {found};
  const ElementCopier copier(data.type, kOp);
  for (int64_t o = 0; o < slices.outer; ++o)
    for (int64_t i = 0; i < found; ++i)
      copier.copy(ctx.outputs[0].data, (o * found + i) * slices.inner, data.data,
                  (o * slices.count + first[static_cast<size_t>(i)]) * slices.inner, slices.inner);
  from_indices(first, ctx.outputs[1]);
  from_indices(reverse, ctx.outputs[2]);
  from_indices(counts, ctx.outputs[3]);
}

}  // namespace terroir::ops::reference
