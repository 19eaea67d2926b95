// Slice and StridedSlice with known bounds, Reverse and Roll with known axes: any element of whole bytes. A slice that
// is one run of the input's bytes (the first rows of a matrix, the last image of a batch) is no step but a view.
// Layouts and threads: axis_copy.hpp.
#include <span>

#include "ops/defs/movement/reverse.hpp"
#include "ops/defs/movement/strided_slice.hpp"
#include "plugins/cpu/nodes/axis_copy.hpp"

namespace terroir::cpu {
namespace {

AxisCopy copy_of_ranges(const NodeContext& context, const std::vector<ops::SliceRange>& ranges) {
  AxisCopy copy;
  copy.src_dims = context.inputs[0].dims;
  for (size_t axis = 0; axis < ranges.size(); ++axis) {
    const ops::ResolvedSlice part = ops::resolve(ranges[axis], copy.src_dims[axis]);
    copy.maps.push_back({part.count, part.count > 0 ? part.first : 0, part.step});
  }
  return copy;
}

/// begin, end and so on; nothing when one of them is known at run time only.
std::optional<std::vector<std::vector<int64_t>>> known_lists(const NodeContext& context) {
  std::vector<std::vector<int64_t>> lists;
  for (size_t i = 1; i < context.inputs.size(); ++i) {
    auto list = known_integers(context, i);
    if (!list) return std::nullopt;
    lists.push_back(std::move(*list));
  }
  return lists;
}

std::optional<AxisCopy> slice(const NodeContext& context) {
  const auto lists = known_lists(context);
  if (!lists) return std::nullopt;
  return copy_of_ranges(
      context, ops::slice_ranges((*lists)[0], (*lists)[1], (*lists)[2], lists->size() > 3 ? &(*lists)[3] : nullptr,
                                 context.inputs[0].rank()));
}

std::optional<AxisCopy> strided_slice(const NodeContext& context) {
  const auto lists = known_lists(context);
  if (!lists) return std::nullopt;
  return copy_of_ranges(
      context, ops::strided_slice_ranges(context.node.attrs<ops::StridedSliceAttrs>(), (*lists)[0], (*lists)[1],
                                         lists->size() > 2 ? &(*lists)[2] : nullptr, context.inputs[0].dims));
}

std::optional<AxisCopy> reverse(const NodeContext& context) {
  const auto given = known_integers(context, 1);
  if (!given) return std::nullopt;
  AxisCopy copy;
  copy.src_dims = context.inputs[0].dims;
  const auto reversed =
      ops::reversed_axes(context.node.attrs<ops::ReverseAttrs>().mode, *given, context.inputs[0].rank());
  for (size_t axis = 0; axis < reversed.size(); ++axis) {
    const int64_t extent = copy.src_dims[axis];
    copy.maps.push_back(reversed[axis] && extent > 0 ? AxisMap{extent, extent - 1, -1} : AxisMap{extent});
  }
  return copy;
}

std::optional<AxisCopy> roll(const NodeContext& context) {
  const auto shifts = known_integers(context, 1), axes = known_integers(context, 2);
  if (!shifts || !axes) return std::nullopt;
  AxisCopy copy;
  copy.src_dims = context.inputs[0].dims;
  const std::vector<int64_t> by_axis = ops::roll_shifts(*shifts, *axes, copy.src_dims);
  for (size_t axis = 0; axis < by_axis.size(); ++axis) {
    const int64_t extent = copy.src_dims[axis];
    copy.maps.push_back({extent});
    if (by_axis[axis] == 0) continue;
    append_run(copy.maps.back().runs, by_axis[axis], extent - by_axis[axis], 1);
    append_run(copy.maps.back().runs, extent - by_axis[axis], 0, 1);
  }
  return copy;
}

template <std::optional<AxisCopy> (*kCopy)(const NodeContext&)>
Proposal propose(const NodeContext& context) {
  const auto copy = kCopy(context);
  if (!copy) return Reject{"the places are known at run time only"};
  return propose_axis_copy(context, *copy);
}

constexpr char kSliceName[] = "slice", kReverseName[] = "reverse", kRollName[] = "roll";

template <std::optional<AxisCopy> (*kCopy)(const NodeContext&), const char* kName>
std::unique_ptr<const Executor> create(const NodeContext& context, const LayoutChoice&) {
  return create_axis_copy(context, *kCopy(context), kName);
}

constexpr Impl kSlice[] = {{"slice", &propose<&slice>, &create<&slice, kSliceName>}};
constexpr Impl kStridedSlice[] = {{"slice", &propose<&strided_slice>, &create<&strided_slice, kSliceName>}};
constexpr Impl kReverse[] = {{"reverse", &propose<&reverse>, &create<&reverse, kReverseName>}};
constexpr Impl kRoll[] = {{"roll", &propose<&roll>, &create<&roll, kRollName>}};

}  // namespace

std::span<const Impl> slice_impls() { return kSlice; }
std::span<const Impl> strided_slice_impls() { return kStridedSlice; }
std::span<const Impl> reverse_impls() { return kReverse; }
std::span<const Impl> roll_impls() { return kRoll; }

}  // namespace terroir::cpu
