// What: random numbers, uniform in [minval, maxval), reproducible for given seeds.
// Formula: floating point: u * (maxval - minval) + minval with u in [0, 1) made of the mantissa bits of the random
// words (ops/reference/generation/random.hpp); integers: word mod (maxval - minval) + minval. f64 takes two words, i64
// one or two.
// Shapes: inputs: shape (a vector), minval, maxval (one element each, of the output's type).
// Edge cases: minval must be below maxval. Seeds 0 and 0: another sequence each time; other seeds: the same in
// each inference, but other numbers in each iteration of a loop.
// Source: operation page RandomUniform-8.
#include <algorithm>
#include <iterator>
#include <string_view>

#include "ops/reference/generation/random.hpp"
#include "ops/shape/inputs.hpp"

template <>
struct terroir::ir::EnumSpellings<terroir::ops::reference::RandomAlignment> {
  static constexpr std::string_view names[] = {"tensorflow", "pytorch"};
};

namespace terroir::ops {
namespace {

using reference::RandomAlignment;

struct RandomUniformAttrs {
  element::Type output_type = element::f32;
  int64_t global_seed = 0;
  int64_t op_seed = 0;
  RandomAlignment alignment = RandomAlignment::tensorflow;

  template <class V>
  void visit(V& v) {
    v("output_type", output_type, ir::Presence::required);
    v("global_seed", global_seed);
    v("op_seed", op_seed);
    v("alignment", alignment);
  }
};

void check_bounds(double low, double high) {
  // Written so that NaN is refused too.
  if (!(low < high)) throw_error(ErrorCode::invalid_argument, "minval must be below maxval, got ", low, " and ", high);
}

void infer_random_uniform(ir::InferContext& ctx) {
  const element::Type type = ctx.attrs<RandomUniformAttrs>().output_type;
  require_integer_type(ctx, 0, "shape");
  require_rank(ctx, 0, "shape", 1, 1);
  for (int i = 1; i < 3; ++i) {
    const char* name = i == 1 ? "minval" : "maxval";
    ctx.require(ctx.type(i).compatible(type), name, " must have the output type ", type.get_type_name(), ", got ",
                ctx.type(i).get_type_name());
    const PartialShape& shape = ctx.shape(i);
    ctx.require(shape.rank().is_dynamic() || shape.size() == 0 || (shape.size() == 1 && shape[0].compatible(1)), name,
                " must have one element, its shape is ", shape);
  }
  const auto low = ctx.reals(1);
  const auto high = ctx.reals(2);
  if (low && high && low->size() == 1 && high->size() == 1) check_bounds((*low)[0], (*high)[0]);
  if (const auto extents = ctx.integers(0)) {
    for (int64_t extent : *extents) ctx.require(extent >= 0, "shape must not be negative, got ", extent);
    return ctx.set_output(0, type, PartialShape(*extents));
  }
  const auto dims = ctx.dimensions(0);
  ctx.set_output(0, type, dims ? PartialShape(*dims) : PartialShape::dynamic());
}

void evaluate_random_uniform(const ir::EvalContext& ctx) {
  const auto& attrs = ctx.attrs<RandomUniformAttrs>();
  const ir::MutableTensorView& dst = ctx.outputs[0];
  require_dims(dst, ir::to_integers(ctx.inputs[0]), "RandomUniform");
  for (size_t i = 1; i < 3; ++i)
    if (ctx.inputs[i].count() != 1)
      throw_error(ErrorCode::shape_mismatch, "input ", i, " must have one element, its shape is ", ctx.inputs[i].dims);
  const reference::RandomWords words(attrs.alignment, static_cast<uint64_t>(attrs.global_seed),
                                     static_cast<uint64_t>(attrs.op_seed), dst.count());
  if (!dst.type.is_real()) {
    const int64_t low = ir::to_integers(ctx.inputs[1])[0];
    const int64_t high = ir::to_integers(ctx.inputs[2])[0];
    if (low >= high) throw_error(ErrorCode::invalid_argument, "minval must be below maxval, got ", low, " and ", high);
    return reference::fill_random_integers(words, low, high, dst);
  }
  const double low = ir::to_reals(ctx.inputs[1])[0];
  const double high = ir::to_reals(ctx.inputs[2])[0];
  check_bounds(low, high);
  reference::fill_random_reals(words, low, high, dst);
}

}  // namespace

ir::OpSchema random_uniform_8() {
  ir::OpSchema schema;
  schema.arity = {3, 3, 1};
  schema.make_attributes = &ir::make_attributes<RandomUniformAttrs>;
  schema.infer = &infer_random_uniform;
  schema.reference = &evaluate_random_uniform;
  schema.accuracy = ir::Accuracy::random;
  schema.flags.pure = false;
  return schema;
}

}  // namespace terroir::ops
