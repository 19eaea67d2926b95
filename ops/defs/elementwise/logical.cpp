// What: logical and bitwise ops. Types: boolean for the logical ones, integer or boolean for the bitwise ones, integer
// for the shifts; LogicalNot also takes numbers, as files have it that are older than the type boolean: 1 of the same
// type where one is 0, else 0.
// Edge cases: a shift by a negative count or by the width of the type and more moves every bit out: 0, or the sign for
// a right shift of a signed type. The right shift of signed types keeps the sign.
// Source: operation pages LogicalAnd-1, LogicalOr-1, LogicalXor-1, LogicalNot-1, BitwiseAnd-13, BitwiseOr-13,
// BitwiseXor-13, BitwiseNot-13, BitwiseLeftShift-15, BitwiseRightShift-15; Xor-1 is opset1's name of LogicalXor.
#include "ops/defs/elementwise/binary.hpp"
#include "ops/reference/elementwise/binary.hpp"
#include "ops/reference/elementwise/unary.hpp"
#include "ops/reference/type/convert.hpp"

namespace terroir::ops {
namespace {

#define TERROIR_BITS TERROIR_INTEGERS, char

constexpr UnaryTraits kExact{.maps_zero_to_zero = false, .accuracy = ir::Accuracy::exact};

ir::OpSchema exact_binary(ir::ReferenceFn reference) { return binary_schema<>(reference, kExactZeroToZero); }

template <class T>
T shift_left(T a, T count) {
  constexpr T kWidth = 8 * sizeof(T);
  return count < 0 || count >= kWidth ? T{0} : reference::wrap<T>(static_cast<uint64_t>(a) << count);
}

template <class T>
T shift_right(T a, T count) {
  constexpr T kWidth = 8 * sizeof(T);
  if (count < 0 || count >= kWidth) return a < 0 ? static_cast<T>(-1) : T{0};
  return static_cast<T>(a >> count);
}

template <class T>
T invert(T x) {
  if constexpr (std::is_same_v<T, bool>)
    return !x;
  else
    return static_cast<T>(~x);
}

void logical_not(const ir::EvalContext& ctx) {
  const ir::TensorView& src = ctx.inputs[0];
  if (src.type == element::boolean) return reference::unary_loop<char>(ctx, "LogicalNot", [](bool x) { return !x; });
  std::vector<double> numbers = ir::to_reals(src);
  for (double& x : numbers) x = x == 0 ? 1 : 0;
  reference::convert({element::f64, src.dims, numbers.data()}, ctx.outputs[0]);
}

}  // namespace

ir::OpSchema logical_and_1() { return exact_binary(TERROIR_BINARY("LogicalAnd", char, a&& b)); }
ir::OpSchema logical_or_1() { return exact_binary(TERROIR_BINARY("LogicalOr", char, a || b)); }
ir::OpSchema logical_xor_2() { return exact_binary(TERROIR_BINARY("LogicalXor", char, a != b)); }
ir::OpSchema xor_1() { return logical_xor_2(); }
ir::OpSchema logical_not_1() { return unary_schema<>(&logical_not, kExact); }

ir::OpSchema bitwise_and_13() {
  return exact_binary(TERROIR_BINARY("BitwiseAnd", TERROIR_BITS, static_cast<decltype(a)>(a & b)));
}
ir::OpSchema bitwise_or_13() {
  return exact_binary(TERROIR_BINARY("BitwiseOr", TERROIR_BITS, static_cast<decltype(a)>(a | b)));
}
ir::OpSchema bitwise_xor_13() {
  return exact_binary(TERROIR_BINARY("BitwiseXor", TERROIR_BITS, static_cast<decltype(a)>(a ^ b)));
}
ir::OpSchema bitwise_not_13() {
  return unary_schema<>(TERROIR_UNARY("BitwiseNot", unary_loop<TERROIR_BITS>, invert(x)), kExact);
}
ir::OpSchema bitwise_left_shift_15() {
  return exact_binary(TERROIR_BINARY("BitwiseLeftShift", TERROIR_INTEGERS, shift_left(a, b)));
}
ir::OpSchema bitwise_right_shift_15() {
  return exact_binary(TERROIR_BINARY("BitwiseRightShift", TERROIR_INTEGERS, shift_right(a, b)));
}

}  // namespace terroir::ops
