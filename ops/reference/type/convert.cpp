#include "ops/reference/type/convert.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "ir/base/error.hpp"
#include "ir/base/packed.hpp"
#include "ir/base/small_float.hpp"
#include "ops/reference/numeric.hpp"

namespace terroir::ops::reference {
namespace {

constexpr int64_t kBlock = 512;

/// Every element type fits one of these exactly.
enum class Carrier { i64, u64, f64 };

union Block {
  int64_t i64[kBlock];
  uint64_t u64[kBlock];
  double f64[kBlock];
};

Carrier carrier_of(element::Type type) {
  if (type.is_real()) return Carrier::f64;
  return type == element::u64 ? Carrier::u64 : Carrier::i64;
}

/// Calls fn with a value of the C++ type of `type`, if there is one.
template <class Fn>
bool with_whole_type(element::Type type, Fn fn) {
  switch (type) {
#define TERROIR_CASE(name, T) \
  case element::Type_t::name: \
    fn(T{});                  \
    return true;
    TERROIR_CASE(i8, int8_t)
    TERROIR_CASE(i16, int16_t)
    TERROIR_CASE(i32, int32_t)
    TERROIR_CASE(i64, int64_t)
    TERROIR_CASE(u8, uint8_t)
    TERROIR_CASE(u16, uint16_t)
    TERROIR_CASE(u32, uint32_t)
    TERROIR_CASE(u64, uint64_t)
    TERROIR_CASE(f16, float16)
    TERROIR_CASE(bf16, bfloat16)
    TERROIR_CASE(f32, float)
    TERROIR_CASE(f64, double)
#undef TERROIR_CASE
    default:
      return false;
  }
}

void load(const ir::TensorView& src, int64_t first, int64_t count, Block& block) {
  const bool whole = with_whole_type(src.type, [&](auto tag) {
    using T = decltype(tag);
    const T* data = src.as<T>() + first;
    if constexpr (std::is_same_v<T, uint64_t>) {
      std::copy_n(data, count, block.u64);
    } else if constexpr (std::is_integral_v<T>) {
      for (int64_t i = 0; i < count; ++i) block.i64[i] = data[i];
    } else {
      for (int64_t i = 0; i < count; ++i) block.f64[i] = static_cast<double>(data[i]);
    }
  });
  if (whole) return;
  const auto* bytes = static_cast<const uint8_t*>(src.data);
  const auto width = static_cast<int>(src.type.bitwidth());
  if (src.type == element::boolean) {
    for (int64_t i = 0; i < count; ++i) block.i64[i] = bytes[first + i] != 0;
  } else if (ir::is_small_float(src.type)) {
    const float* values = ir::small_float_values(src.type);
    for (int64_t i = 0; i < count; ++i)
      block.f64[i] =
          static_cast<double>(values[width == 8 ? bytes[first + i] : ir::read_bits(bytes, first + i, width)]);
  } else {
    const int sign = src.type == element::i4 ? 8 : 0;
    for (int64_t i = 0; i < count; ++i) block.i64[i] = (ir::read_bits(bytes, first + i, width) ^ sign) - sign;
  }
}

/// fn(i, element) for the elements of a block in their carrier type.
template <class Fn>
void for_each(const Block& block, Carrier carrier, int64_t count, Fn fn) {
  switch (carrier) {
    case Carrier::i64:
      for (int64_t i = 0; i < count; ++i) fn(i, block.i64[i]);
      break;
    case Carrier::u64:
      for (int64_t i = 0; i < count; ++i) fn(i, block.u64[i]);
      break;
    case Carrier::f64:
      for (int64_t i = 0; i < count; ++i) fn(i, block.f64[i]);
      break;
  }
}

template <class To, class From>
To convert_element(From x) {
  if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>)
    return saturate<To>(x);
  else if constexpr (std::is_same_v<To, float16> || std::is_same_v<To, bfloat16>)
    return To(static_cast<float>(x));
  else
    return static_cast<To>(x);
}

uint8_t to_packed(element::Type type, double x) {
  const double top = static_cast<double>((1 << type.bitwidth()) - 1);
  const double low = type == element::i4 ? -8 : 0;
  return static_cast<uint8_t>(saturate<int>(std::min(std::max(x, low), type == element::i4 ? 7 : top)));
}
uint8_t to_packed(element::Type, int64_t x) { return static_cast<uint8_t>(x); }
uint8_t to_packed(element::Type, uint64_t x) { return static_cast<uint8_t>(x); }

void store(const Block& block, Carrier carrier, int64_t first, int64_t count, const ir::MutableTensorView& dst) {
  const bool whole = with_whole_type(dst.type, [&](auto tag) {
    using T = decltype(tag);
    T* data = dst.as<T>() + first;
    for_each(block, carrier, count, [data](int64_t i, auto x) { data[i] = convert_element<T>(x); });
  });
  if (whole) return;
  auto* bytes = static_cast<uint8_t*>(dst.data);
  const auto width = static_cast<int>(dst.type.bitwidth());
  if (dst.type == element::boolean) {
    for_each(block, carrier, count, [&](int64_t i, auto x) { bytes[first + i] = x != 0; });
  } else if (ir::is_small_float(dst.type)) {
    for_each(block, carrier, count, [&](int64_t i, auto x) {
      const uint8_t code = ir::encode_small_float(dst.type, static_cast<double>(x));
      if (width == 8)
        bytes[first + i] = code;
      else
        ir::write_bits(bytes, first + i, width, code);
    });
  } else {
    for_each(block, carrier, count,
             [&](int64_t i, auto x) { ir::write_bits(bytes, first + i, width, to_packed(dst.type, x)); });
  }
}

template <class From, class To>
bool direct(const ir::TensorView& src, const ir::MutableTensorView& dst, int64_t count) {
  if (src.type != element::from<From>() || dst.type != element::from<To>()) return false;
  const From* from = src.as<From>();
  To* to = dst.as<To>();
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<To>(from[i]);
  return true;
}

bool convertible(element::Type type) { return type.is_static() && type != element::string; }

}  // namespace

void convert(const ir::TensorView& src, const ir::MutableTensorView& dst) {
  if (!convertible(src.type) || !convertible(dst.type))
    throw_error(ErrorCode::unsupported, "there is no conversion from ", src.type.get_type_name(), " to ",
                dst.type.get_type_name());
  const int64_t count = src.count();
  if (count != dst.count())
    throw_error(ErrorCode::shape_mismatch, "cannot convert the shape ", src.dims, " into ", dst.dims);
  if (count == 0) return;
  if (src.type == dst.type && src.type != element::boolean) {
    std::memcpy(dst.data, src.data, src.bytes());
    return;
  }
  if (direct<float16, float>(src, dst, count) || direct<bfloat16, float>(src, dst, count) ||
      direct<float, float16>(src, dst, count) || direct<float, bfloat16>(src, dst, count) ||
      direct<int64_t, int32_t>(src, dst, count) || direct<int32_t, int64_t>(src, dst, count) ||
      direct<int32_t, float>(src, dst, count) || direct<int64_t, float>(src, dst, count) ||
      direct<uint8_t, float>(src, dst, count) || direct<int8_t, float>(src, dst, count))
    return;
  // The last byte of a packed tensor may hold bits beyond the last element; they become 0.
  if (dst.type.bitwidth() < 8) std::memset(dst.data, 0, dst.bytes());
  const Carrier carrier = carrier_of(src.type);
  Block block;
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t n = std::min(kBlock, count - first);
    load(src, first, n, block);
    store(block, carrier, first, n, dst);
  }
}

}  // namespace terroir::ops::reference
