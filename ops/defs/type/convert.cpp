// What: element type conversion. Shapes: the output has the input's. Types: any but string.
// Edge cases: ops/reference/type/convert.hpp.
// Source: operation pages Convert-1, ConvertLike-1 (the type is that of input 1, whose values are not read).
#include "ops/defs/type/convert.hpp"

#include "ir/schema/infer_context.hpp"
#include "ops/reference/type/convert.hpp"
#include "ops/shape/number_interval.hpp"
#include "ops/shape/real_range.hpp"

namespace terroir::ops {
namespace {

std::optional<std::vector<KnownNumber>> whole_numbers(ir::InferContext& ctx) {
  if (!ctx.type(0).is_real()) return known_numbers(ctx, 0);
  const auto ranges = ranges_of(ctx, 0);
  if (!ranges) return std::nullopt;
  std::vector<KnownNumber> numbers;
  for (const auto& range : *ranges) numbers.push_back(truncated(range));
  return numbers;
}

std::optional<ir::Ranges> ranges_as(ir::InferContext& ctx, element::Type type) {
  auto ranges = known_ranges(ctx, 0);
  if (!ranges) return std::nullopt;
  for (auto& range : *ranges)
    if (range) range = rounded_range(range->low, range->high, type);
  return ranges;
}

/// Of truth values only whether numbers are 0 remains. Other numbers that do not fit their type are no dimensions
/// anyone computes with.
std::optional<std::vector<Dimension>> dimensions_as(ir::InferContext& ctx, element::Type type) {
  if (type.is_real()) return answer_ranges(ctx, ranges_as(ctx, type));
  if (type.is_dynamic() || (type == element::boolean && ctx.type(0).is_real())) return std::nullopt;
  auto numbers = whole_numbers(ctx);
  if (!numbers) return std::nullopt;
  if (type == element::boolean)
    for (KnownNumber& number : *numbers) number = not_equal(number, NumberInterval{0, 0});
  return to_dimensions(*numbers);
}

ir::OpSchema conversion(int inputs) {
  ir::OpSchema schema;
  schema.arity = {inputs, inputs, 1};
  schema.reference = [](const ir::EvalContext& ctx) { reference::convert(ctx.inputs[0], ctx.outputs[0]); };
  schema.flags.elementwise = true;
  schema.flags.maps_zero_to_zero = true;
  return schema;
}

}  // namespace

ir::OpSchema convert_1() {
  auto schema = conversion(1);
  schema.make_attributes = &ir::make_attributes<ConvertAttrs>;
  schema.infer = [](ir::InferContext& ctx) {
    const element::Type type = ctx.attrs<ConvertAttrs>().destination_type;
    ctx.require(type.is_static(), "destination_type must be a known type");
    ctx.set_output(0, type, ctx.shape(0));
  };
  schema.dimensions = [](ir::InferContext& ctx) {
    return dimensions_as(ctx, ctx.attrs<ConvertAttrs>().destination_type);
  };
  return schema;
}

ir::OpSchema convert_like_1() {
  auto schema = conversion(2);
  schema.infer = [](ir::InferContext& ctx) { ctx.set_output(0, ctx.type(1), ctx.shape(0)); };
  schema.dimensions = [](ir::InferContext& ctx) { return dimensions_as(ctx, ctx.type(1)); };
  // Input 1 has a shape of its own.
  schema.flags.elementwise = false;
  return schema;
}

}  // namespace terroir::ops
