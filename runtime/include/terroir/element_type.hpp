// Element types of tensors.
//
// Types narrower than a byte are packed: bitwidth() counts, size() rounds up to a whole byte for one element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <type_traits>
#include <vector>

#include "terroir/bfloat16.hpp"
#include "terroir/export.hpp"
#include "terroir/float16.hpp"
#include "terroir/small_float.hpp"

namespace terroir {
namespace element {

enum class Type_t {
  dynamic,  ///< not known (yet)
  undefined = dynamic,
  boolean,  ///< one byte, 0 or 1
  bf16,
  f16,
  f32,
  f64,
  i4,
  i8,
  i16,
  i32,
  i64,
  u1,
  u2,
  u3,
  u4,
  u6,
  u8,
  u16,
  u32,
  u64,
  nf4,
  f8e4m3,
  f8e5m2,
  string,  ///< std::string elements
  f4e2m1,
  f8e8m0
};

/// An element type: Type_t with its properties. Compares equal to the Type_t it holds.
class TERROIR_API Type {
 public:
  constexpr Type() = default;
  constexpr Type(Type_t type) : type_(type) {}  // NOLINT: implicit, as in OpenVINO
  /// From a name: "f32", "boolean" ... or an IR precision "FP32", "BOOL" ..., in any case.
  /// Throws Exception (invalid_argument) for another text.
  explicit Type(const std::string& name);

  constexpr operator Type_t() const { return type_; }  // NOLINT: implicit, for switch

  /// Bits of one element; 0 for dynamic; 8 * sizeof(std::string) for string.
  size_t bitwidth() const;
  /// Bytes that hold one element: bitwidth() rounded up to whole bytes.
  size_t size() const;
  constexpr bool is_static() const { return type_ != Type_t::dynamic; }
  constexpr bool is_dynamic() const { return type_ == Type_t::dynamic; }
  /// A floating-point type, of any width.
  bool is_real() const;
  /// An integer type or boolean.
  bool is_integral() const;
  /// An integer type, not boolean.
  bool is_integral_number() const;
  /// A type with negative values: floating-point (but f8e8m0) and signed integers.
  bool is_signed() const;
  /// 8-bit and narrower integers, as used by quantised models.
  bool is_quantized() const;
  /// "f32", "boolean", "dynamic" ...
  std::string get_type_name() const;
  std::string to_string() const { return get_type_name(); }
  /// The C++ type's name: "float", "int64_t", "char" of boolean; "uint4_t" and the like of types that C++ has not.
  std::string c_type_string() const;
  size_t hash() const { return static_cast<size_t>(type_); }
  /// All types but `undefined`, in the order of Type_t; they live as long as the process.
  static std::vector<const Type*> get_known_types();
  /// Equal, or one of them dynamic.
  bool compatible(const Type& other) const;
  /// The more static of two compatible types into `dst`; false (dst untouched) if they contradict.
  static bool merge(Type& dst, const Type& a, const Type& b);

  friend constexpr bool operator==(const Type& a, const Type& b) { return a.type_ == b.type_; }
  friend constexpr bool operator!=(const Type& a, const Type& b) { return a.type_ != b.type_; }
  friend constexpr bool operator==(const Type& a, Type_t b) { return a.type_ == b; }
  friend constexpr bool operator!=(const Type& a, Type_t b) { return a.type_ != b; }
  friend constexpr bool operator==(Type_t a, const Type& b) { return a == b.type_; }
  friend constexpr bool operator!=(Type_t a, const Type& b) { return a != b.type_; }
  friend constexpr bool operator<(const Type& a, const Type& b) { return a.type_ < b.type_; }

 private:
  Type_t type_ = Type_t::dynamic;
};

using TypeVector = std::vector<Type>;

inline constexpr Type dynamic(Type_t::dynamic);
inline constexpr Type undefined(Type_t::undefined);
inline constexpr Type boolean(Type_t::boolean);
inline constexpr Type bf16(Type_t::bf16);
inline constexpr Type f16(Type_t::f16);
inline constexpr Type f32(Type_t::f32);
inline constexpr Type f64(Type_t::f64);
inline constexpr Type i4(Type_t::i4);
inline constexpr Type i8(Type_t::i8);
inline constexpr Type i16(Type_t::i16);
inline constexpr Type i32(Type_t::i32);
inline constexpr Type i64(Type_t::i64);
inline constexpr Type u1(Type_t::u1);
inline constexpr Type u2(Type_t::u2);
inline constexpr Type u3(Type_t::u3);
inline constexpr Type u4(Type_t::u4);
inline constexpr Type u6(Type_t::u6);
inline constexpr Type u8(Type_t::u8);
inline constexpr Type u16(Type_t::u16);
inline constexpr Type u32(Type_t::u32);
inline constexpr Type u64(Type_t::u64);
inline constexpr Type nf4(Type_t::nf4);
inline constexpr Type f8e4m3(Type_t::f8e4m3);
inline constexpr Type f8e5m2(Type_t::f8e5m2);
inline constexpr Type string(Type_t::string);
inline constexpr Type f4e2m1(Type_t::f4e2m1);
inline constexpr Type f8e8m0(Type_t::f8e8m0);

namespace detail {
template <typename T>
constexpr Type_t type_of() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, bool>) {
    return Type_t::boolean;
  } else if constexpr (std::is_same_v<U, char>) {
    return Type_t::boolean;  // as in OpenVINO, whose boolean storage is char
  } else if constexpr (std::is_integral_v<U> && std::is_signed_v<U>) {
    return sizeof(U) == 1 ? Type_t::i8 : sizeof(U) == 2 ? Type_t::i16 : sizeof(U) == 4 ? Type_t::i32 : Type_t::i64;
  } else if constexpr (std::is_integral_v<U>) {
    return sizeof(U) == 1 ? Type_t::u8 : sizeof(U) == 2 ? Type_t::u16 : sizeof(U) == 4 ? Type_t::u32 : Type_t::u64;
  } else if constexpr (std::is_same_v<U, float>) {
    return Type_t::f32;
  } else if constexpr (std::is_same_v<U, double>) {
    return Type_t::f64;
  } else if constexpr (std::is_same_v<U, float16>) {
    return Type_t::f16;
  } else if constexpr (std::is_same_v<U, bfloat16>) {
    return Type_t::bf16;
  } else if constexpr (std::is_same_v<U, float4_e2m1>) {
    return Type_t::f4e2m1;
  } else if constexpr (std::is_same_v<U, float8_e4m3>) {
    return Type_t::f8e4m3;
  } else if constexpr (std::is_same_v<U, float8_e5m2>) {
    return Type_t::f8e5m2;
  } else if constexpr (std::is_same_v<U, float8_e8m0>) {
    return Type_t::f8e8m0;
  } else if constexpr (std::is_same_v<U, std::string>) {
    return Type_t::string;
  } else {
    static_assert(!sizeof(U), "this C++ type is not an element type");
  }
}

template <Type_t T>
struct Fundamental {};
// clang-format off
template <> struct Fundamental<Type_t::boolean> { using type = char; };
template <> struct Fundamental<Type_t::bf16> { using type = bfloat16; };
template <> struct Fundamental<Type_t::f16> { using type = float16; };
template <> struct Fundamental<Type_t::f32> { using type = float; };
template <> struct Fundamental<Type_t::f64> { using type = double; };
template <> struct Fundamental<Type_t::i8> { using type = int8_t; };
template <> struct Fundamental<Type_t::i16> { using type = int16_t; };
template <> struct Fundamental<Type_t::i32> { using type = int32_t; };
template <> struct Fundamental<Type_t::i64> { using type = int64_t; };
template <> struct Fundamental<Type_t::u8> { using type = uint8_t; };
template <> struct Fundamental<Type_t::u16> { using type = uint16_t; };
template <> struct Fundamental<Type_t::u32> { using type = uint32_t; };
template <> struct Fundamental<Type_t::u64> { using type = uint64_t; };
template <> struct Fundamental<Type_t::string> { using type = std::string; };
template <> struct Fundamental<Type_t::f8e4m3> { using type = float8_e4m3; };
template <> struct Fundamental<Type_t::f8e5m2> { using type = float8_e5m2; };
template <> struct Fundamental<Type_t::f8e8m0> { using type = float8_e8m0; };
template <> struct Fundamental<Type_t::f4e2m1> { using type = float4_e2m1; };
template <> struct Fundamental<Type_t::i4> { using type = int8_t; };
template <> struct Fundamental<Type_t::u1> { using type = int8_t; };
template <> struct Fundamental<Type_t::u2> { using type = int8_t; };
template <> struct Fundamental<Type_t::u3> { using type = int8_t; };
template <> struct Fundamental<Type_t::u4> { using type = int8_t; };
template <> struct Fundamental<Type_t::u6> { using type = int8_t; };
template <> struct Fundamental<Type_t::nf4> { using type = int8_t; };
// clang-format on
}  // namespace detail

/// The element type of a C++ type: from<float>() == f32. Does not compile for a type that is none.
template <typename T>
constexpr Type from() {
  return Type(detail::type_of<T>());
}

TERROIR_API std::ostream& operator<<(std::ostream& out, const Type& type);
/// Reads a name as Type(const std::string&) does.
TERROIR_API std::istream& operator>>(std::istream& in, Type& type);

}  // namespace element

/// The C++ type that holds one element of type T; of types narrower than a byte, one taken out of its tensor.
template <element::Type_t T>
using fundamental_type_for = typename element::detail::Fundamental<T>::type;
template <element::Type_t T>
struct element_type_traits {
  using value_type = fundamental_type_for<T>;
};

}  // namespace terroir
