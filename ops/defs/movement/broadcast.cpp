#include "ops/defs/movement/broadcast.hpp"

#include "ir/schema/infer_context.hpp"
#include "ops/reference/movement/movement.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

bool is_explicit(BroadcastMode mode) { return mode == BroadcastMode::explicit_axes || mode == BroadcastMode::none; }

/// The target extents, some of them unknown; empty when not even their number is known.
std::optional<std::vector<Dimension>> target_of(ir::InferContext& ctx) {
  if (const auto numbers = ctx.integers(1)) {
    for (size_t i = 0; i < numbers->size(); ++i)
      ctx.require((*numbers)[i] >= 0, "target_shape[", i, "] must not be negative, got ", (*numbers)[i]);
  }
  if (auto known = ctx.dimensions(1)) return known;
  constexpr int64_t kMaxRank = 64;
  const auto length = known_length(ctx, 1);
  if (!length || *length > kMaxRank) return std::nullopt;
  return std::vector<Dimension>(static_cast<size_t>(*length));
}

void check_mapping(const std::vector<int64_t>& mapping, int64_t rank) {
  for (size_t i = 0; i < mapping.size(); ++i) {
    if (mapping[i] < 0 || mapping[i] >= rank)
      throw_error(ErrorCode::invalid_argument, "axes_mapping[", i, "] must be in [0, ", rank - 1, "], got ",
                  mapping[i]);
    if (i > 0 && mapping[i] <= mapping[i - 1])
      throw_error(ErrorCode::invalid_argument, "axes_mapping must be ascending, got ", mapping);
  }
}

/// Data axes onto the last axes of the output.
std::vector<int64_t> aligned_mapping(size_t data_rank, size_t output_rank) {
  std::vector<int64_t> mapping;
  for (size_t i = 0; i < data_rank; ++i) mapping.push_back(static_cast<int64_t>(output_rank - data_rank + i));
  return mapping;
}

void infer_bidirectional(ir::InferContext& ctx, std::vector<Dimension> target) {
  const PartialShape& data = ctx.shape(0);
  PartialShape output(target);
  ctx.require(PartialShape::broadcast_merge_into(output, data, op::AutoBroadcastType::NUMPY), "data ", data,
              " and target_shape ", PartialShape(target), " cannot be broadcast to each other");
  ctx.set_output(0, ctx.type(0), std::move(output));
}

void infer_with(ir::InferContext& ctx, bool with_bidirectional) {
  const BroadcastMode mode = ctx.attrs<BroadcastAttrs>().mode;
  ctx.require(with_bidirectional || mode != BroadcastMode::bidirectional, "mode bidirectional is known from opset3 on");
  require_integer_type(ctx, 1, "target_shape");
  require_rank(ctx, 1, "target_shape", 1, 1);
  const bool mapped = is_explicit(mode);
  // Writers give a mapping with the other modes too; it is not looked at then.
  ctx.require(!mapped || ctx.input_count() == 3, "mode explicit takes 3 inputs, got ", ctx.input_count());
  const auto target = target_of(ctx);
  const PartialShape& data = ctx.shape(0);
  if (!target || (mode == BroadcastMode::bidirectional && data.rank().is_dynamic())) {
    ctx.set_output(0, ctx.type(0), PartialShape::dynamic());
    return;
  }
  if (mode == BroadcastMode::bidirectional) return infer_bidirectional(ctx, *target);
  PartialShape output(*target);
  const size_t rank = target->size();
  std::optional<std::vector<int64_t>> mapping;
  if (mapped) {
    require_integer_type(ctx, 2, "axes_mapping");
    require_rank(ctx, 2, "axes_mapping", 1, 1);
    mapping = ctx.integers(2);
    if (mapping) {
      check_mapping(*mapping, static_cast<int64_t>(rank));
      // A scalar goes to every axis, whatever its mapping says.
      ctx.require(data.rank().is_dynamic() || data.size() == 0 || data.size() == mapping->size(),
                  "axes_mapping must have one element for each axis of data ", data, ", got ", mapping->size());
    }
  } else if (data.rank().is_static()) {
    ctx.require(data.size() <= rank, "data ", data, " has a higher rank than target_shape ", output);
    mapping = aligned_mapping(data.size(), rank);
  }
  if (mapping && data.rank().is_static()) {
    for (size_t i = 0; i < data.size(); ++i) {
      const Dimension& from = data[static_cast<std::ptrdiff_t>(i)];
      Dimension& to = output[(*mapping)[i]];
      if (from.compatible(Dimension(1))) continue;
      ctx.require(Dimension::merge(to, to, from), "extent ", from, " of data axis ", i, " cannot be broadcast to ", to);
    }
  }
  ctx.set_output(0, ctx.type(0), std::move(output));
}

void reference_broadcast(const ir::EvalContext& ctx) {
  const BroadcastMode mode = ctx.attrs<BroadcastAttrs>().mode;
  const ir::TensorView& data = ctx.inputs[0];
  const ir::MutableTensorView& output = ctx.outputs[0];
  ir::Dims target = ir::to_integers(ctx.inputs[1]);
  if (mode == BroadcastMode::bidirectional) {
    while (target.size() < data.dims.size()) target.insert(target.begin(), 1);
    const size_t shift = target.size() - data.dims.size();
    for (size_t i = 0; i < data.dims.size(); ++i)
      if (target[shift + i] == 1) target[shift + i] = data.dims[i];
  }
  require_dims(output, target, "Broadcast");
  const ir::TensorView* axes = ctx.inputs.size() > 2 ? &ctx.inputs[2] : nullptr;
  reference::broadcast(data, broadcast_mapping(mode, data.dims, output.dims, axes), output);
}

/// One number many times.
std::optional<std::vector<Dimension>> dimensions_of_broadcast(ir::InferContext& ctx) {
  const auto from = ctx.dimensions(0);
  const auto target = ctx.integers(1);
  constexpr int64_t kMaxLength = 64;
  if (!from || !target || target->size() != 1 || target->front() < 0 || target->front() > kMaxLength)
    return std::nullopt;
  const auto length = static_cast<size_t>(target->front());
  if (from->size() == 1) return std::vector<Dimension>(length, from->front());
  return from->size() == length || length == 1 ? from : std::nullopt;
}

ir::OpSchema schema_of(ir::InferFn infer) {
  ir::OpSchema schema;
  schema.arity = {2, 3, 1};
  schema.make_attributes = &ir::make_attributes<BroadcastAttrs>;
  schema.infer = infer;
  schema.reference = &reference_broadcast;
  schema.dimensions = &dimensions_of_broadcast;
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace

std::vector<int64_t> broadcast_mapping(BroadcastMode mode, const ir::Dims& data, const ir::Dims& output,
                                       const ir::TensorView* axes) {
  std::vector<int64_t> mapping;
  if (is_explicit(mode)) {
    mapping = ir::to_integers(*axes);
    check_mapping(mapping, static_cast<int64_t>(output.size()));
    if (data.empty()) mapping.clear();
  } else if (data.size() <= output.size()) {
    mapping = aligned_mapping(data.size(), output.size());
  }
  if (mapping.size() != data.size())
    throw_error(ErrorCode::shape_mismatch, "Broadcast: data ", data, " cannot be broadcast to ", output);
  return mapping;
}

ir::OpSchema broadcast_1() {
  return schema_of([](ir::InferContext& ctx) { infer_with(ctx, false); });
}

ir::OpSchema broadcast_3() {
  return schema_of([](ir::InferContext& ctx) { infer_with(ctx, true); });
}

}  // namespace terroir::ops
