// What: converts two tensors to a common type. Shapes: the outputs have their inputs'.
// Formula: floating point wins over integers, these over boolean. Within integers: the narrowest type that holds both
// ranges (u64 with a signed one: an attribute); within floating point: the narrowest that holds both mantissas and
// exponents (f8e4m3 with f8e5m2: f16). A scalar beside a tensor of the same kind takes the tensor's type when
// pytorch_scalar_promotion is on.
// Edge cases: without promote_unsafe these are refused: a type wider than both, u64 with a signed type, and integers
// into floating point of less than twice their bits; and a scalar of more bits than the tensor's type, or twice as many
// where that one alone has a sign, or with a sign where it has none. Below that a scalar may lose values, as in
// OpenVINO.
// Source: operation page ConvertPromoteTypes-14.
#include "ops/defs/type/promote_types.hpp"

#include <algorithm>

#include "ops/reference/parallel.hpp"
#include "ops/reference/type/convert.hpp"

namespace terroir::ops {
namespace {

enum class Kind { boolean, integer, real };

Kind kind_of(element::Type type) {
  if (type == element::boolean) return Kind::boolean;
  return type.is_real() ? Kind::real : Kind::integer;
}

struct FloatFormat {
  element::Type type;
  int exponent, mantissa;
  bool holds(const FloatFormat& other) const { return exponent >= other.exponent && mantissa >= other.mantissa; }
};
// Narrowest first; f16 before bf16, so that it is the common type of the two 8-bit formats.
constexpr FloatFormat kFormats[] = {{element::f4e2m1, 2, 1}, {element::f8e4m3, 4, 3}, {element::f8e5m2, 5, 2},
                                    {element::f8e8m0, 8, 0}, {element::f16, 5, 10},   {element::bf16, 8, 7},
                                    {element::f32, 8, 23},   {element::f64, 11, 52}};

FloatFormat format_of(element::Type type) {
  for (const FloatFormat& format : kFormats)
    if (format.type == type) return format;
  return {type, 8, 23};  // nf4: its values are those of f32
}

element::Type common_real(element::Type a, element::Type b) {
  const FloatFormat fa = format_of(a);
  const FloatFormat fb = format_of(b);
  if (fa.holds(fb)) return a;
  if (fb.holds(fa)) return b;
  for (const FloatFormat& format : kFormats)
    if (format.holds(fa) && format.holds(fb)) return format.type;
  return element::f64;
}

/// Dynamic when no integer type holds both.
element::Type common_integer(element::Type a, element::Type b) {
  if (a.is_signed() == b.is_signed()) return a.bitwidth() >= b.bitwidth() ? a : b;
  const element::Type with_sign = a.is_signed() ? a : b;
  const size_t unsigned_bits = (a.is_signed() ? b : a).bitwidth();
  if (with_sign.bitwidth() > unsigned_bits && unsigned_bits < 64) return with_sign;
  for (const element::Type type : {element::i4, element::i8, element::i16, element::i32, element::i64})
    if (type.bitwidth() >= 2 * unsigned_bits) return type;
  return element::dynamic;
}

element::Type common_of_kind(element::Type a, element::Type b) {
  switch (kind_of(a)) {
    case Kind::boolean:
      return a;
    case Kind::integer:
      return common_integer(a, b);
    case Kind::real:
      return common_real(a, b);
  }
  return a;
}

/// On threads, where elements can be told apart by their bytes.
void convert_in_parts(const ir::TensorView& src, const ir::MutableTensorView& dst) {
  const size_t from = src.type.bitwidth(), to = dst.type.bitwidth();
  if (from % 8 != 0 || to % 8 != 0) return reference::convert(src, dst);
  reference::parallel_ranges(src.count(), 16384, [&](int64_t begin, int64_t end) {
    const auto at = static_cast<size_t>(begin);
    reference::convert({src.type, {end - begin}, static_cast<const char*>(src.data) + at * from / 8},
                       {dst.type, {end - begin}, static_cast<char*>(dst.data) + at * to / 8});
  });
}

void infer_promote_types(ir::InferContext& ctx) {
  const element::Type type = promoted_type(ctx, ctx.attrs<ConvertPromoteTypesAttrs>());
  ctx.set_output(0, type, ctx.shape(0));
  ctx.set_output(1, type, ctx.shape(1));
}

}  // namespace

element::Type promoted_type(const ir::InferContext& ctx, const ConvertPromoteTypesAttrs& attrs) {
  const element::Type a = ctx.type(0);
  const element::Type b = ctx.type(1);
  if (a.is_dynamic() || b.is_dynamic()) return element::dynamic;
  if (a == b) return a;
  const auto require_safe = [&](bool safe, element::Type result) {
    ctx.require(safe || attrs.promote_unsafe, "promoting ", a.get_type_name(), " and ", b.get_type_name(), " to ",
                result.get_type_name(), " may lose values; it needs promote_unsafe");
    return result;
  };
  if (kind_of(a) != kind_of(b)) {
    const element::Type winner = kind_of(a) > kind_of(b) ? a : b;
    const element::Type loser = kind_of(a) > kind_of(b) ? b : a;
    return require_safe(kind_of(loser) == Kind::boolean || winner.bitwidth() >= 2 * loser.bitwidth(), winner);
  }
  const element::Type common = common_of_kind(a, b);
  if (attrs.pytorch_scalar_promotion) {
    if (ctx.shape(0).rank().is_dynamic() || ctx.shape(1).rank().is_dynamic()) return element::dynamic;
    const bool scalar_a = ctx.shape(0).size() == 0;
    const bool scalar_b = ctx.shape(1).size() == 0;
    if (scalar_a != scalar_b) {
      const element::Type tensor = scalar_a ? b : a, scalar = scalar_a ? a : b;
      const bool sign_fits = tensor.is_signed() == scalar.is_signed() || tensor.is_signed();
      const size_t enough_bits = tensor.bitwidth() * (tensor.is_signed() == scalar.is_signed() ? 1 : 2);
      return require_safe(sign_fits && enough_bits >= scalar.bitwidth(), tensor);
    }
  }
  if (common.is_dynamic()) return require_safe(false, attrs.u64_integer_promotion_target);
  return require_safe(common == a || common == b, common);
}

ir::OpSchema convert_promote_types_14() {
  ir::OpSchema schema;
  schema.arity = {2, 2, 2};
  schema.make_attributes = &ir::make_attributes<ConvertPromoteTypesAttrs>;
  schema.infer = &infer_promote_types;
  schema.reference = [](const ir::EvalContext& ctx) {
    for (size_t i = 0; i < 2; ++i) convert_in_parts(ctx.inputs[i], ctx.outputs[i]);
  };
  return schema;
}

}  // namespace terroir::ops
