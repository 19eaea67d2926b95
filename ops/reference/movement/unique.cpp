#include "ops/reference/movement/unique.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "ops/reference/dispatch.hpp"
#include "ops/reference/element_copy.hpp"
#include "ops/reference/floats.hpp"
#include "ops/reference/sort/radix.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops::reference {
namespace {

/// The slices to be compared: element k of slice i is at offset(i, k).
struct Slices {
  int64_t count, outer, inner;

  int64_t length() const { return outer * inner; }
  int64_t offset(int64_t slice, int64_t k) const { return (k / inner * count + slice) * inner + k % inner; }
};

/// Which of two elements comes first: below 0, 0 or above 0. NaNs are equal to each other and come last.
template <class T>
int compare(const T& x, const T& y) {
  if (x < y) return -1;
  if (y < x) return 1;
  if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    const bool x_nan = !(x == x);
    const bool y_nan = !(y == y);
    if (x_nan != y_nan) return x_nan ? 1 : -1;
  }
  return 0;
}

/// The same of two slices, by their first elements that differ.
template <class T>
int compare(const T* data, const Slices& slices, int64_t a, int64_t b) {
  for (int64_t k = 0; k < slices.length(); ++k)
    if (const int found = compare(data[slices.offset(a, k)], data[slices.offset(b, k)])) return found;
  return 0;
}

/// Groups of equal slices, each in ascending order; the groups in the order of their values.
struct Groups {
  std::vector<int64_t> slices;
  std::vector<size_t> starts;  // of each group in `slices`

  size_t end(size_t group) const { return group + 1 < starts.size() ? starts[group + 1] : slices.size(); }
};

/// `compare(a, b)`: below 0, 0 or above 0.
template <class Compare>
void group_by(Groups& groups, const Compare& compare) {
  std::vector<int64_t>& order = groups.slices;
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const int found = compare(a, b);
    return found < 0 || (found == 0 && a < b);
  });
  for (size_t i = 0; i < order.size(); ++i)
    if (i == 0 || compare(order[i - 1], order[i]) != 0) groups.starts.push_back(i);
}

/// The same of single elements, by their ranks.
template <class T>
void group_by_rank(Groups& groups, const T* elements) {
  using Key = decltype(ranked(ascending_rank(T{}), 0));
  const size_t n = groups.slices.size();
  std::vector<Key> keys(2 * n);
  for (size_t i = 0; i < n; ++i) keys[i] = ranked(ascending_rank(elements[i]), static_cast<uint32_t>(i));
  const Key* sorted = sort_by_rank(keys.data(), keys.data() + n, static_cast<int64_t>(n));
  for (size_t i = 0; i < n; ++i) {
    groups.slices[i] = position_of(sorted[i]);
    if (i == 0 || rank_of(sorted[i - 1]) != rank_of(sorted[i])) groups.starts.push_back(i);
  }
}

Groups group(const ir::TensorView& data, const Slices& slices) {
  Groups groups;
  groups.slices.resize(static_cast<size_t>(slices.count));
  std::iota(groups.slices.begin(), groups.slices.end(), int64_t{0});
  dispatch_type<TERROIR_NUMBERS, bool, std::string>(data.type, "Unique", [&](auto tag) {
    // Booleans are bytes of 0 and 1.
    using T = std::conditional_t<std::is_same_v<decltype(tag), bool>, uint8_t, decltype(tag)>;
    const auto* elements = static_cast<const T*>(data.data);
    if constexpr (!std::is_same_v<T, std::string>)
      if (slices.length() == 1 && slices.count <= UINT32_MAX) return group_by_rank(groups, elements);
    if (slices.length() == 1)
      group_by(groups, [&](int64_t a, int64_t b) { return compare(elements[a], elements[b]); });
    else
      group_by(groups, [&](int64_t a, int64_t b) { return compare(elements, slices, a, b); });
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
  const Groups groups = group(data, slices);
  const auto first_of = [&](size_t group) { return groups.slices[groups.starts[group]]; };
  std::vector<size_t> order(groups.starts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (!sorted) std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return first_of(a) < first_of(b); });

  const auto found = static_cast<int64_t>(order.size());
  ir::Dims wanted{found};
  if (along_axis) {
    wanted = data.dims;
    wanted[axis] = found;
  }
  if (ctx.outputs[0].count() < ir::element_count(wanted) || ctx.outputs[1].count() < found ||
      ctx.outputs[2].count() != slices.count || ctx.outputs[3].count() < found)
    throw_error(ErrorCode::shape_mismatch, kOp, ": the outputs have no room for ", wanted);
  std::vector<int64_t> first, counts, reverse(static_cast<size_t>(slices.count));
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t begin = groups.starts[order[i]], end = groups.end(order[i]);
    first.push_back(groups.slices[begin]);
    counts.push_back(static_cast<int64_t>(end - begin));
    for (size_t k = begin; k < end; ++k) reverse[static_cast<size_t>(groups.slices[k])] = static_cast<int64_t>(i);
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
