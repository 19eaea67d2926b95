// Elementwise operations.
#include "tests/differential/recipes.hpp"

namespace terroir::test {
namespace {

using ir::Value;

void unary(Draw& d) { d.op({d.data(kNumber, 0, 5)}); }
void unary_real(Draw& d) { d.op({d.data(kReal, 0, 5)}); }
void unary_jump(Draw& d) { d.op({d.exact(kNumber, 0, 5)}); }

/// Mostly inside of the function's domain, at times whatever comes.
void unary_within(Draw& d, double low, double high) {
  d.op({d.data(kReal, 0, 5, d.chance(70) ? Fill::in(low, high) : Fill{})});
}

/// Extents that broadcast to `dims` by numpy's rule.
ir::Dims stretched(Draw& d, ir::Dims dims) {
  if (d.chance(40)) return dims;
  if (d.chance(20)) return {};
  for (int64_t& extent : dims)
    if (d.chance(30)) extent = 1;
  if (d.chance(30)) dims.erase(dims.begin(), dims.begin() + d.below(static_cast<int64_t>(dims.size()) + 1));
  return dims;
}

void binary(Draw& d, const Types& types, bool jumps, Fill a = {}, Fill b = {}) {
  const Value x = jumps ? d.exact(types, 0, 5, a) : d.data(types, 0, 5, a);
  const ir::Dims dims = d.dims(x);
  const auto rank = static_cast<int64_t>(dims.size());
  AttributeTexts attributes = {{"auto_broadcast", "numpy"}};
  ir::Dims other = dims;
  if (d.chance(8)) {
    attributes[0].second = "none";
  } else if (d.chance(10) && rank > 0) {
    const int64_t axis = d.below(rank), size = d.between(1, rank - axis);
    other = {dims.begin() + axis, dims.begin() + axis + size};
    attributes = {{"auto_broadcast", "pdpd"}, {"auto_broadcast.auto_broadcast_axis", std::to_string(axis)}};
  } else {
    other = stretched(d, dims);
  }
  const element::Type type = d.type(x);
  const Value y = d.chance(25) ? d.weights(type, other, b)
                  : jumps      ? d.exact_like(type, other, b)
                               : d.like(type, other, b);
  const bool swaps = attributes[0].second == "numpy" && a.anything && b.anything && d.chance(30);
  d.op(swaps ? std::vector{y, x} : std::vector{x, y}, attributes);
}

void quotient(Draw& d, bool jumps) {
  if (d.chance(50))
    binary(d, kSigned, jumps, {}, Fill::in(1, 5));
  else
    binary(d, kNumber, jumps, {}, Fill::in(1, 4));
}

void power(Draw& d) {
  if (d.chance(20))
    binary(d, kInteger, false, Fill::in(0, 4), Fill::in(0, 3));
  else
    binary(d, kReal, false, Fill::in(0.125, 3), Fill::in(-2, 3));
}

void shift(Draw& d) { binary(d, kInteger, true, Fill::in(0, 100), Fill::in(0, 6)); }

void select(Draw& d) {
  const Value then = d.data(kAny, 0, 5);
  const ir::Dims dims = d.dims(then);
  const bool alike = d.chance(15);
  const Value condition = d.exact_like(element::boolean, alike ? dims : stretched(d, dims));
  const Value other = d.like(d.type(then), alike ? dims : stretched(d, dims));
  d.op({condition, then, other}, {{"auto_broadcast", alike ? "none" : "numpy"}});
}

void prelu(Draw& d) {
  const Value x = d.data(kReal, 1, 5);
  const ir::Dims dims = d.dims(x);
  const ir::Dims slope = d.chance(30) ? ir::Dims{1} : ir::Dims{dims.size() > 1 ? dims[1] : dims[0]};
  d.op({x, d.weights(d.type(x), slope, Fill::in(-1, 1))});
}

void with_scalars(Draw& d, std::vector<double> values) {
  const Value x = d.data(kReal, 0, 5);
  std::vector<Value> inputs = {x};
  for (const double value : values) inputs.push_back(d.reals({value}, d.type(x), true));
  d.op(inputs);
}

void clamp(Draw& d) {
  const double low = d.between(-2, 1);
  d.op({d.data(kNumber, 0, 5)},
       {{"min", list(std::vector<double>{low})}, {"max", list(std::vector<double>{low + 1.5})}});
}

const RecipeRow kElementwiseRows[] = {
    {"Abs-1 Negative-1 ReLU-1", unary},
    {"Sign-1 Ceiling-1 Floor-1 Round-5", unary_jump},
    {"Atan-1 Asinh-4 Cos-1 Cosh-1 Erf-1 Exp-1 Gelu-2 Gelu-7 HSigmoid-5 HSwish-4 Mish-4 Sigmoid-1 Sin-1 Sinh-1 "
     "SoftPlus-4 SoftSign-9 Tan-1 Tanh-1",
     unary_real},
    {"Asin-1 Acos-1 Atanh-4", [](Draw& d) { unary_within(d, -0.9, 0.9); }},
    {"Acosh-4", [](Draw& d) { unary_within(d, 1.1, 9); }},
    {"Log-1 Sqrt-1", [](Draw& d) { unary_within(d, 0.125, 9); }},
    {"IsFinite-10 IsInf-10 IsNaN-10", [](Draw& d) { d.op({d.exact(kReal, 0, 5)}); }},
    {"LogicalNot-1",
     [](Draw& d) {
       d.op({d.exact({element::boolean, element::f32, element::i32, element::u8}, 0, 5)});
     }},
    {"BitwiseNot-13", [](Draw& d) { d.op({d.exact(kInteger, 0, 5)}); }},
    {"Add-1 Subtract-1 Multiply-1 Maximum-1 Minimum-1 SquaredDifference-1", [](Draw& d) { binary(d, kNumber, false); }},
    {"Divide-1", [](Draw& d) { quotient(d, false); }},
    {"Mod-1 FloorMod-1", [](Draw& d) { quotient(d, true); }},
    {"Power-1", power},
    {"Equal-1 NotEqual-1 Greater-1 GreaterEqual-1 Less-1 LessEqual-1", [](Draw& d) { binary(d, kNumber, true); }},
    {"LogicalAnd-1 LogicalOr-1 LogicalXor-2 Xor-1", [](Draw& d) { binary(d, {element::boolean}, true); }},
    {"BitwiseAnd-13 BitwiseOr-13 BitwiseXor-13", [](Draw& d) { binary(d, kInteger, true); }},
    {"BitwiseLeftShift-15 BitwiseRightShift-15", shift},
    {"Select-1", select},
    {"PReLU-1", prelu},
    {"Clamp-1", clamp},
    {"Elu-1",
     [](Draw& d) {
       d.op({d.data(kReal, 0, 5)}, {{"alpha", d.one_of({"1", "0.5", "0"})}});
     }},
    {"HardSigmoid-1",
     [](Draw& d) {
       with_scalars(d, {0.25, 0.5});
     }},
    {"Selu-1",
     [](Draw& d) {
       with_scalars(d, {1.5, 1.0625});
     }},
    {"Swish-4", [](Draw& d) { with_scalars(d, d.chance(50) ? std::vector<double>{} : std::vector<double>{0.75}); }},
};

}  // namespace

std::span<const RecipeRow> elementwise_recipes() { return kElementwiseRows; }

}  // namespace terroir::test
