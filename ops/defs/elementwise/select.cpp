// What: y = condition ? a : b, element by element.
// Shapes: numpy: all three broadcast to each other. pdpd: b is placed into a (ops/shape/broadcast.hpp), and so is the
// condition, at the same axis. none: all are equal.
// Types: the condition is boolean (any byte but 0 is true); a and b have any type. Source: operation page Select-1.
#include <algorithm>

#include "ops/defs/elementwise/binary.hpp"
#include "ops/shape/number_interval.hpp"

namespace terroir::ops {
namespace {

void infer_select(ir::InferContext& ctx) {
  ctx.require(ctx.type(0).compatible(element::boolean), "the condition (input 0) must be boolean, got ",
              ctx.type(0).get_type_name());
  const element::Type type = merged_type(ctx, 1, 2);
  const BroadcastRule& rule = ctx.attrs<BinaryAttrs>().broadcast;
  ctx.set_output(0, type, broadcast_shape(broadcast_shape(ctx.shape(1), ctx.shape(2), rule), ctx.shape(0), rule));
}

/// Whatever the type, only the width of elements matters.
template <class Bits>
void select_elements(const ir::EvalContext& ctx) {
  const ir::TensorView& condition = ctx.inputs[0];
  const ir::TensorView& a = ctx.inputs[1];
  const ir::TensorView& b = ctx.inputs[2];
  const BroadcastRule& rule = ctx.attrs<BinaryAttrs>().broadcast;
  const auto* flags = static_cast<const uint8_t*>(condition.data);
  const auto* pa = static_cast<const Bits*>(a.data);
  const auto* pb = static_cast<const Bits*>(b.data);
  auto* dst = static_cast<Bits*>(ctx.outputs[0].data);
  const ir::Dims& a_dims = a.dims;
  for (BroadcastWalk walk(ctx.outputs[0].dims,
                          {align_operand(a_dims, condition.dims, rule), a_dims, align_operand(a_dims, b.dims, rule)});
       walk.more(); walk.next())
    for (int64_t i = 0; i < walk.run(); ++i)
      dst[walk.position() + i] = flags[walk.offset(0) + i * walk.step(0)] != 0 ? pa[walk.offset(1) + i * walk.step(1)]
                                                                               : pb[walk.offset(2) + i * walk.step(2)];
}

void evaluate(const ir::EvalContext& ctx) {
  const element::Type type = ctx.inputs[1].type;
  if (type == element::string) return select_elements<std::string>(ctx);
  switch (type.bitwidth()) {
    case 8:
      return select_elements<uint8_t>(ctx);
    case 16:
      return select_elements<uint16_t>(ctx);
    case 32:
      return select_elements<uint32_t>(ctx);
    case 64:
      return select_elements<uint64_t>(ctx);
    default:
      throw_error(ErrorCode::unsupported, "Select is not implemented for ", type.get_type_name());
  }
}

std::optional<std::vector<Dimension>> select_dimensions(ir::InferContext& ctx) {
  const auto condition = known_numbers(ctx, 0);
  const auto a = known_numbers(ctx, 1);
  const auto b = known_numbers(ctx, 2);
  if (!condition || !a || !b) return std::nullopt;
  const size_t count = std::max({condition->size(), a->size(), b->size()});
  const auto at = [count](const auto& list, size_t i) { return list[list.size() == count ? i : 0]; };
  for (const size_t size : {condition->size(), a->size(), b->size()})
    if (size != count && size != 1) return std::nullopt;
  std::vector<KnownNumber> result;
  for (size_t i = 0; i < count; ++i) {
    const KnownNumber truth = at(*condition, i);
    const bool known = truth && (truth->low > 0 || truth->high == 0);
    result.push_back(!known ? either(at(*a, i), at(*b, i)) : truth->low > 0 ? at(*a, i) : at(*b, i));
  }
  return to_dimensions(result);
}

}  // namespace

ir::OpSchema select_1() {
  ir::OpSchema schema;
  schema.arity = {3, 3, 1};
  schema.make_attributes = &ir::make_attributes<BinaryAttrs>;
  schema.infer = &infer_select;
  schema.reference = &evaluate;
  schema.dimensions = &select_dimensions;
  schema.accuracy = ir::Accuracy::exact;
  schema.flags.elementwise = true;
  schema.flags.maps_zero_to_zero = true;
  return schema;
}

}  // namespace terroir::ops
