#pragma once
// What: calls a template with the C++ type of an element type.
//   dispatch_type<float, float16, int32_t>(tensor.type, "ReLU", [&](auto tag) { using T = decltype(tag); ... });
// A type that is not in the list is an Exception (unsupported) which names the op, the type and what is supported.
#include <initializer_list>
#include <terroir/element_type.hpp>

#include "ir/base/error.hpp"

namespace terroir::ops::reference {

/// The Exception of dispatch_type; out of line, since there are hundreds of dispatches.
[[noreturn]] void throw_unsupported_type(element::Type type, const char* op,
                                         std::initializer_list<element::Type> supported);

template <class... Ts, class Fn>
void dispatch_type(element::Type type, const char* op, Fn&& fn) {
  const bool found = ((element::from<Ts>() == type ? (fn(Ts{}), true) : false) || ...);
  if (!found) throw_unsupported_type(type, op, {element::from<Ts>()...});
}

/// f32 for the narrow floating-point types, bool for boolean (stored as char, any non-zero is true), the type itself
/// for the others: what sums and functions are computed in.
template <class T>
struct ComputeType {
  using type = T;
};
template <>
struct ComputeType<float16> {
  using type = float;
};
template <>
struct ComputeType<bfloat16> {
  using type = float;
};
template <>
struct ComputeType<char> {
  using type = bool;
};
template <class T>
using compute_t = typename ComputeType<T>::type;

// Lists for dispatch_type, to be pasted: dispatch_type<TERROIR_FLOATS>(...)
#define TERROIR_FLOATS float, float16, bfloat16, double
#define TERROIR_INTEGERS int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
#define TERROIR_NUMBERS TERROIR_FLOATS, TERROIR_INTEGERS

}  // namespace terroir::ops::reference
