// Pad with known pads: every mode, pads of both signs, any element of whole bytes. Layouts and threads: axis_copy.hpp.
#include <algorithm>
#include <span>

#include "ops/defs/movement/pad.hpp"
#include "plugins/cpu/nodes/axis_copy.hpp"

namespace terroir::cpu {
namespace {

AxisMap map_of(ops::reference::PadMode mode, int64_t extent, int64_t begin, int64_t padded) {
  AxisMap map;
  map.count = padded;
  map.first = -begin;
  if (begin <= 0 && padded - begin <= extent) return map;  // cropped at most
  if (mode == ops::reference::PadMode::constant) {
    map.runs = runs_within(padded, -begin, 1, extent);
    return map;
  }
  const auto source = [&](int64_t i) { return ops::reference::pad_source(i - begin, extent, mode); };
  const int64_t step = mode == ops::reference::PadMode::edge ? 0 : -1;
  const int64_t before = std::clamp<int64_t>(begin, 0, padded);
  const int64_t inside = std::clamp<int64_t>(extent + begin, before, padded);
  if (before > 0) append_run(map.runs, before, source(0), step);
  if (inside > before) append_run(map.runs, inside - before, source(before), 1);
  if (padded > inside) append_run(map.runs, padded - inside, source(inside), step);
  return map;
}

Fill fill_of(const NodeContext& context) {
  Fill fill;
  if (context.inputs.size() < 4 || context.inputs[3].count() != 1) return fill;
  if (const ir::Constant* value = context.constants[3]) {
    const auto* bytes = static_cast<const uint8_t*>(value->view.data);
    fill.element.assign(bytes, bytes + value->view.type.size());
  } else {
    fill.input = 3;
  }
  return fill;
}

AxisCopy copy_of(const NodeContext& context, const std::vector<int64_t>& begin) {
  const auto mode = context.node.attrs<ops::PadAttrs>().pad_mode;
  AxisCopy copy;
  copy.src_dims = context.inputs[0].dims;
  for (size_t axis = 0; axis < copy.src_dims.size(); ++axis)
    copy.maps.push_back(map_of(mode, copy.src_dims[axis], begin[axis], context.outputs[0].dims[axis]));
  if (mode == ops::reference::PadMode::constant) copy.fill = fill_of(context);
  return copy;
}

Proposal propose(const NodeContext& context) {
  const auto begin = known_integers(context, 1);
  if (!begin || !context.constants[2]) return Reject{"the pads are known at run time only"};
  if (context.outputs[0].count() == 0) return Reject{"nothing to write"};
  return propose_axis_copy(context, copy_of(context, *begin));
}

std::unique_ptr<const Executor> create(const NodeContext& context, const LayoutChoice&) {
  return create_axis_copy(context, copy_of(context, *known_integers(context, 1)), "pad");
}

constexpr Impl kPad[] = {{"pad", &propose, &create}};

}  // namespace

std::span<const Impl> pad_impls() { return kPad; }

}  // namespace terroir::cpu
