#include "ops/defs/movement/pad.hpp"

#include <algorithm>

#include "ir/schema/infer_context.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

using reference::PadMode;

// So that an extent plus two pads cannot overflow.
constexpr int64_t kMaxPad = int64_t{1} << 61;

/// Values of pads_begin or pads_end; empty when unknown. Exception for a wrong type or length.
std::optional<std::vector<int64_t>> read_pads(ir::InferContext& ctx, int input, const char* name) {
  require_integer_type(ctx, input, name);
  require_rank(ctx, input, name, 1, 1);
  const Rank rank = ctx.shape(0).rank();
  const auto length = known_length(ctx, input);
  if (rank.is_static() && length)
    ctx.require(*length == rank.get_length(), name, " (input ", input, ") must have one entry for each of ", rank,
                " axes, got ", *length);
  auto values = ctx.integers(input);
  for (size_t axis = 0; values && axis < values->size(); ++axis)
    ctx.require((*values)[axis] >= -kMaxPad && (*values)[axis] <= kMaxPad, name, "[", axis,
                "] must be within 2^61, got ", (*values)[axis]);
  return values;
}

/// The most that `mode` can add at one side of an axis.
int64_t longest_pad(PadMode mode, const Dimension& extent) {
  const int64_t longest = extent.has_upper_bound() ? extent.get_max_length() : kMaxPad;
  switch (mode) {
    case PadMode::reflect:
      return std::max<int64_t>(longest - 1, 0);
    case PadMode::symmetric:
      return longest;
    case PadMode::edge:
      return longest > 0 ? kMaxPad : 0;
    default:
      return kMaxPad;
  }
}

Dimension padded(const ir::InferContext& ctx, const Dimension& extent, int64_t begin, int64_t end) {
  const int64_t pads = begin + end;
  const auto bound = [&](int64_t length) {
    ctx.require(length <= kMaxPad || pads <= 0, "an axis of ", extent, " padded by ", begin, " and ", end,
                " is too long");
    return std::max<int64_t>(length + pads, 0);
  };
  return {bound(extent.get_min_length()), extent.has_upper_bound() ? bound(extent.get_max_length()) : -1};
}

void infer_pad(ir::InferContext& ctx) {
  const auto& attrs = ctx.attrs<PadAttrs>();
  element::Type type = ctx.type(0);
  if (ctx.input_count() == 4) {
    type = merged_type(ctx, 0, 3, "data", "pad_value");
    require_rank(ctx, 3, "pad_value", 0, 1);
    if (ctx.shape(3).rank().is_static() && ctx.shape(3).size() == 1)
      ctx.require(ctx.shape(3)[0].compatible(1), "pad_value (input 3) must have one element, got shape ", ctx.shape(3));
  }
  const auto begin = read_pads(ctx, 1, "pads_begin"), end = read_pads(ctx, 2, "pads_end");
  const auto rank_of_pads = known_length(ctx, 1) ? known_length(ctx, 1) : known_length(ctx, 2);
  const PartialShape& data = ctx.shape(0);
  if (data.rank().is_dynamic())
    return ctx.set_output(0, type, PartialShape::dynamic(rank_of_pads ? Rank(*rank_of_pads) : Rank::dynamic()));

  PartialShape output = PartialShape::dynamic(data.rank());
  for (size_t i = 0; begin && end && i < data.size(); ++i) {
    const auto axis = static_cast<std::ptrdiff_t>(i);
    const int64_t longest = longest_pad(attrs.pad_mode, data[axis]);
    for (const auto& [name, pad] : {std::pair{"pads_begin", (*begin)[i]}, std::pair{"pads_end", (*end)[i]}})
      ctx.require(pad <= longest, name, "[", i, "] must be at most ", longest, " for pad_mode ",
                  ir::EnumSpellings<PadMode>::names[static_cast<size_t>(attrs.pad_mode)], " and extent ", data[axis],
                  ", got ", pad);
    output[axis] = padded(ctx, data[axis], (*begin)[i], (*end)[i]);
  }
  ctx.set_output(0, type, std::move(output));
}

void evaluate_pad(const ir::EvalContext& ctx) {
  const auto begin = ir::to_integers(ctx.inputs[1]), end = ir::to_integers(ctx.inputs[2]);
  const ir::Dims& data = ctx.inputs[0].dims;
  if (begin.size() != data.size() || end.size() != data.size())
    throw_error(ErrorCode::shape_mismatch, "Pad: pads ", begin, " and ", end, " do not fit data of shape ", data);
  ir::Dims wanted(data.size());
  for (size_t axis = 0; axis < data.size(); ++axis) {
    if (std::min(begin[axis], end[axis]) < -kMaxPad || std::max({begin[axis], end[axis], data[axis]}) > kMaxPad)
      throw_error(ErrorCode::invalid_argument, "Pad: an axis of ", data[axis], " padded by ", begin[axis], " and ",
                  end[axis], " is too long");
    wanted[axis] = std::max<int64_t>(data[axis] + begin[axis] + end[axis], 0);
  }
  require_dims(ctx.outputs[0], wanted, "Pad");
  const bool has_value = ctx.inputs.size() == 4 && ctx.inputs[3].count() == 1;
  reference::pad(ctx.inputs[0], ctx.attrs<PadAttrs>().pad_mode, begin, has_value ? ctx.inputs[3].data : nullptr,
                 ctx.outputs[0]);
}

}  // namespace

ir::OpSchema pad_1() {
  ir::OpSchema schema;
  schema.arity = {3, 4, 1};
  schema.make_attributes = &ir::make_attributes<PadAttrs>;
  schema.infer = &infer_pad;
  schema.reference = &evaluate_pad;
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

ir::OpSchema pad_12() { return pad_1(); }

}  // namespace terroir::ops
