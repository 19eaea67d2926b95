#include "ops/reference/movement/unique.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>

#include "ops/reference/dispatch.hpp"
#include "ops/reference/element_copy.hpp"
#include "ops/reference/floats.hpp"
#include "ops/reference/parallel.hpp"
#include "ops/reference/results.hpp"
#include "ops/reference/sort/radix.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops::reference {
namespace {

/// What goes element by element is shared out; the sort is one thread's.
constexpr int64_t kTaskElements = 16384;

/// The slices to be compared: element k of slice i is at offset(i, k).
struct Slices {
  int64_t count, outer, inner;

  int64_t length() const { return outer * inner; }
  int64_t offset(int64_t slice, int64_t k) const { return (k / inner * count + slice) * inner + k % inner; }
};

/// Which group of equal slices each slice is in; the groups in the order of their values.
struct Groups {
  std::vector<int64_t> of_slice;
  std::vector<int64_t> first, sizes;  // of each group: its first slice, and how many it has
};

/// `slice_at(i)`: the i-th slice by value, equal ones in ascending order; `differs(i)`: whether the one before is in
/// another group.
template <class SliceAt, class Differs>
Groups number_groups(size_t count, const SliceAt& slice_at, const Differs& differs) {
  Groups groups;
  if (count == 0) return groups;
  size_t group = 0;
  for (size_t i = 1; i < count; ++i) group += differs(i);
  groups.of_slice.resize(count);
  groups.first.resize(group + 1);
  groups.sizes.resize(group + 1);
  // Backwards the first slice is the last one written: without a branch, which nothing foresees.
  for (size_t i = count; i-- > 0;) {
    const auto slice = static_cast<int64_t>(slice_at(i));
    groups.of_slice[static_cast<size_t>(slice)] = static_cast<int64_t>(group);
    groups.first[group] = slice;
    groups.sizes[group] = static_cast<int64_t>(i);  // where it begins
    group -= i > 0 && differs(i);
  }
  for (size_t g = 0; g < groups.sizes.size(); ++g)
    groups.sizes[g] =
        (g + 1 < groups.sizes.size() ? groups.sizes[g + 1] : static_cast<int64_t>(count)) - groups.sizes[g];
  return groups;
}

/// The same by comparing element after element.
template <class T>
Groups group_by_comparing(const T* elements, const Slices& slices) {
  const auto compare = [&](int64_t a, int64_t b) {
    for (int64_t k = 0; k < slices.length(); ++k) {
      const T &x = elements[slices.offset(a, k)], &y = elements[slices.offset(b, k)];
      if (x < y) return -1;
      if (y < x) return 1;
    }
    return 0;
  };
  std::vector<int64_t> order(static_cast<size_t>(slices.count));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const int found = compare(a, b);
    return found < 0 || (found == 0 && a < b);
  });
  return number_groups(
      order.size(), [&](size_t i) { return order[i]; }, [&](size_t i) { return compare(order[i - 1], order[i]) != 0; });
}

/// The same of numbers whose ranks these are.
template <class Rank>
[[gnu::noinline]] Groups group_ranks(const Rank* ranks, const Slices& slices) {
  if (slices.length() != 1 || slices.count > UINT32_MAX) return group_by_comparing(ranks, slices);
  using Key = decltype(ranked(Rank{}, 0));
  const auto n = static_cast<size_t>(slices.count);
  const auto keys = std::make_unique_for_overwrite<Key[]>(2 * n);
  parallel_ranges(slices.count, kTaskElements, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) keys[static_cast<size_t>(i)] = ranked(ranks[i], static_cast<uint32_t>(i));
  });
  const Key* sorted = sort_by_rank(keys.get(), keys.get() + n, slices.count);
  return number_groups(
      n, [=](size_t i) { return position_of(sorted[i]); },
      [=](size_t i) { return rank_of(sorted[i - 1]) != rank_of(sorted[i]); });
}

Groups group(const ir::TensorView& data, const Slices& slices) {
  if (data.type == element::string) return group_by_comparing(static_cast<const std::string*>(data.data), slices);
  Groups groups;
  dispatch_type<TERROIR_NUMBERS, bool>(data.type, "Unique", [&](auto tag) {
    // Booleans are bytes of 0 and 1.
    using T = std::conditional_t<std::is_same_v<decltype(tag), bool>, uint8_t, decltype(tag)>;
    using Rank = decltype(ascending_rank(T{}));
    const auto count = static_cast<size_t>(data.count());
    const auto ranks = std::make_unique_for_overwrite<Rank[]>(count);
    parallel_ranges(data.count(), kTaskElements, [&](int64_t begin, int64_t end) {
      if constexpr (std::is_same_v<T, float>)
        rank_floats(data.as<float>() + begin, end - begin, 0, ranks.get() + begin);
      else
        for (int64_t i = begin; i < end; ++i)
          ranks[static_cast<size_t>(i)] = ascending_rank(static_cast<const T*>(data.data)[i]);
    });
    groups = group_ranks(ranks.get(), slices);
  });
  return groups;
}

/// The same groups in the order of their first slices.
void number_by_first(Groups& groups) {
  std::vector<int64_t> number(groups.first.size(), -1);
  Groups renumbered;
  for (int64_t& group : groups.of_slice) {
    int64_t& mine = number[static_cast<size_t>(group)];
    if (mine < 0) {
      mine = static_cast<int64_t>(renumbered.first.size());
      renumbered.first.push_back(groups.first[static_cast<size_t>(group)]);
      renumbered.sizes.push_back(groups.sizes[static_cast<size_t>(group)]);
    }
    group = mine;
  }
  groups.first = std::move(renumbered.first);
  groups.sizes = std::move(renumbered.sizes);
}

/// Elements of one word each, where a call for each would take longer than all else.
template <class Word>
void pick(const void* data, const std::vector<int64_t>& places, void* result) {
  auto* to = static_cast<Word*>(result);
  parallel_ranges(static_cast<int64_t>(places.size()), kTaskElements, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = static_cast<const Word*>(data)[places[static_cast<size_t>(i)]];
  });
}

void copy_slices(const ir::TensorView& data, const Slices& slices, const std::vector<int64_t>& places, void* result) {
  const ElementCopier copier(data.type, "Unique");
  for (int64_t o = 0; o < slices.outer; ++o)
    for (size_t i = 0; i < places.size(); ++i)
      copier.copy(result, (o * static_cast<int64_t>(places.size()) + static_cast<int64_t>(i)) * slices.inner, data.data,
                  (o * slices.count + places[i]) * slices.inner, slices.inner);
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
  Groups groups = group(data, slices);
  if (!sorted) number_by_first(groups);

  const auto found = static_cast<int64_t>(groups.first.size());
  ir::Dims wanted{found};
  if (along_axis) {
    wanted = data.dims;
    wanted[axis] = found;
  }
  if (ctx.outputs[0].count() < ir::element_count(wanted) || ctx.outputs[1].count() < found ||
      ctx.outputs[2].count() != slices.count || ctx.outputs[3].count() < found)
    throw_error(ErrorCode::shape_mismatch, kOp, ": the outputs have no room for ", wanted);
  settle(ctx, 0, wanted);
  settle(ctx, 1, {found});
  settle(ctx, 3, {found});
  if (slices.length() == 1 && data.type.bitwidth() == 32)
    pick<uint32_t>(data.data, groups.first, ctx.outputs[0].data);
  else if (slices.length() == 1 && data.type.bitwidth() == 64)
    pick<uint64_t>(data.data, groups.first, ctx.outputs[0].data);
  else
    copy_slices(data, slices, groups.first, ctx.outputs[0].data);
  from_indices(groups.first, ctx.outputs[1]);
  from_indices(groups.of_slice, ctx.outputs[2]);
  from_indices(groups.sizes, ctx.outputs[3]);
}

}  // namespace terroir::ops::reference
