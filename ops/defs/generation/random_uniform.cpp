// What: random numbers, uniform in [minval, maxval), reproducible for given seeds.
// Formula: floating point: u * (maxval - minval) + minval with u in [0, 1) made of the mantissa bits of the random
// words (ops/reference/generation/random.hpp); integers: word mod (maxval - minval) + minval. f64 takes two words, i64
// one or two.
// Shapes: inputs: shape (a vector), minval, maxval (one element each, of the output's type).
// Edge cases: minval must be below maxval. Seeds 0 and 0: another sequence each time; other seeds: the same each time.
// Source: operation page RandomUniform-8.
#include <algorithm>
#include <iterator>
#include <limits>
#include <string_view>

#include "ops/reference/dispatch.hpp"
#include "ops/reference/generation/random.hpp"
#include "ops/reference/numeric.hpp"
#include "ops/shape/inputs.hpp"

template <>
struct terroir::ir::EnumSpellings<terroir::ops::reference::RandomAlignment> {
  static constexpr std::string_view names[] = {"tensorflow", "pytorch"};
};

namespace terroir::ops {
namespace {

using reference::RandomAlignment;
using reference::RandomWords;

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
  constexpr element::Type_t kTypes[] = {element::Type_t::f16, element::Type_t::bf16, element::Type_t::f32,
                                        element::Type_t::f64, element::Type_t::i32,  element::Type_t::i64};
  ctx.require(std::find(std::begin(kTypes), std::end(kTypes), static_cast<element::Type_t>(type)) != std::end(kTypes),
              "output_type must be f16, bf16, f32, f64, i32 or i64, got ", type.get_type_name());
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

/// In [0, 1). Philox fills the mantissa of a number in [1, 2), the twister scales an integer of one bit more.
template <class T>
double unit(RandomWords& words, RandomAlignment alignment) {
  constexpr int kDigits = std::numeric_limits<T>::digits;
  constexpr bool kPair = kDigits > 32;
  const int bits = alignment == RandomAlignment::pytorch ? kDigits : kDigits - 1;
  const uint64_t word = kPair ? words.next_pair() : words.next();
  return static_cast<double>(word & ((uint64_t{1} << bits) - 1)) / static_cast<double>(uint64_t{1} << bits);
}

template <class T>
void fill_real(RandomWords& words, RandomAlignment alignment, double low, double high, T* out, int64_t count) {
  using C = reference::compute_t<T>;
  const C width = static_cast<C>(high) - static_cast<C>(low);
  for (int64_t i = 0; i < count; ++i)
    out[i] = static_cast<T>(static_cast<C>(unit<T>(words, alignment)) * width + static_cast<C>(low));
}

template <class T>
void fill_integer(RandomWords& words, RandomAlignment alignment, int64_t low, int64_t high, T* out, int64_t count) {
  // A difference of 2^63 and more is right as a number without sign.
  const uint64_t width = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  constexpr int64_t kWord = std::numeric_limits<uint32_t>::max();
  const bool one_word = sizeof(T) == 4 || (alignment == RandomAlignment::pytorch && low <= kWord && high <= kWord);
  for (int64_t i = 0; i < count; ++i) {
    uint64_t word = words.next();
    // TensorFlow puts the first word into the lower half, PyTorch into the upper one.
    if (!one_word) {
      const uint64_t second = words.next();
      word = alignment == RandomAlignment::pytorch ? word << 32 | second : second << 32 | word;
    }
    out[i] = static_cast<T>(static_cast<uint64_t>(low) + word % width);
  }
}

void evaluate(const ir::EvalContext& ctx) {
  const auto& attrs = ctx.attrs<RandomUniformAttrs>();
  const ir::MutableTensorView& dst = ctx.outputs[0];
  require_dims(dst, ir::to_integers(ctx.inputs[0]), "RandomUniform");
  for (size_t i = 1; i < 3; ++i)
    if (ctx.inputs[i].count() != 1)
      throw_error(ErrorCode::shape_mismatch, "input ", i, " must have one element, its shape is ", ctx.inputs[i].dims);
  RandomWords words(attrs.alignment, static_cast<uint64_t>(attrs.global_seed), static_cast<uint64_t>(attrs.op_seed));
  const int64_t count = dst.count();
  if (!dst.type.is_real()) {
    const int64_t low = ir::to_integers(ctx.inputs[1])[0];
    const int64_t high = ir::to_integers(ctx.inputs[2])[0];
    if (low >= high) throw_error(ErrorCode::invalid_argument, "minval must be below maxval, got ", low, " and ", high);
    if (dst.type == element::i32) return fill_integer(words, attrs.alignment, low, high, dst.as<int32_t>(), count);
    return fill_integer(words, attrs.alignment, low, high, dst.as<int64_t>(), count);
  }
  const double low = ir::to_reals(ctx.inputs[1])[0];
  const double high = ir::to_reals(ctx.inputs[2])[0];
  check_bounds(low, high);
  reference::dispatch_type<TERROIR_FLOATS>(dst.type, "RandomUniform", [&](auto tag) {
    using T = decltype(tag);
    fill_real(words, attrs.alignment, low, high, dst.as<T>(), count);
  });
}

}  // namespace

ir::OpSchema random_uniform_8() {
  ir::OpSchema schema;
  schema.arity = {3, 3, 1};
  schema.make_attributes = &ir::make_attributes<RandomUniformAttrs>;
  schema.infer = &infer_random_uniform;
  schema.reference = &evaluate;
  schema.accuracy = ir::Accuracy::random;
  schema.flags.pure = false;
  return schema;
}

}  // namespace terroir::ops
