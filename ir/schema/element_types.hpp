#pragma once
// What: a set of element types, as a value: what an operation takes, what its reference kernel has code for.
#include <cstdint>
#include <initializer_list>
#include <string>
#include <terroir/element_type.hpp>

namespace terroir::ir {

class ElementTypes {
 public:
  constexpr ElementTypes() = default;
  constexpr ElementTypes(std::initializer_list<element::Type_t> types) {
    for (const element::Type_t type : types) bits_ |= bit(type);
  }
  constexpr bool contains(element::Type_t type) const { return (bits_ & bit(type)) != 0; }
  constexpr ElementTypes operator|(ElementTypes other) const { return ElementTypes(bits_ | other.bits_); }
  constexpr bool operator==(const ElementTypes&) const = default;
  /// "f32, f16, i32", in the order of element::Type_t.
  std::string names() const;

 private:
  explicit constexpr ElementTypes(uint32_t bits) : bits_(bits) {}
  static constexpr uint32_t bit(element::Type_t type) { return uint32_t{1} << static_cast<unsigned>(type); }

  uint32_t bits_ = 0;
};

// Sets that the specification has words for.
namespace types {
using element::Type_t;
/// Floating-point types and integers that the processor has words for; the others are widened to compute with them.
inline constexpr ElementTypes kWideFloats{Type_t::f64, Type_t::f32, Type_t::f16, Type_t::bf16};
inline constexpr ElementTypes kWideIntegers{Type_t::i8, Type_t::i16, Type_t::i32, Type_t::i64,
                                            Type_t::u8, Type_t::u16, Type_t::u32, Type_t::u64};
inline constexpr ElementTypes kBoolean{Type_t::boolean};
inline constexpr ElementTypes kString{Type_t::string};

inline constexpr ElementTypes kFloats =
    kWideFloats | ElementTypes{Type_t::f8e4m3, Type_t::f8e5m2, Type_t::f8e8m0, Type_t::f4e2m1, Type_t::nf4};
inline constexpr ElementTypes kIntegers =
    kWideIntegers | ElementTypes{Type_t::i4, Type_t::u1, Type_t::u2, Type_t::u3, Type_t::u4, Type_t::u6};
inline constexpr ElementTypes kNumbers = kFloats | kIntegers;
inline constexpr ElementTypes kAny = kNumbers | kBoolean | kString;
}  // namespace types

}  // namespace terroir::ir
