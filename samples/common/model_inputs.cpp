#include "common/model_inputs.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>

namespace samples {
namespace {

// The engine's sequence is the same everywhere; the standard distributions are not.
template <typename T, typename Draw>
void fill(const terroir::Tensor& tensor, uint64_t seed, Draw draw) {
  std::mt19937_64 engine(seed);
  T* values = tensor.data<T>();
  for (size_t i = 0; i < tensor.get_size(); ++i) values[i] = static_cast<T>(draw(engine()));
}

/// 0 <= u < 1.
float unit(uint64_t bits) { return static_cast<float>(bits >> 40) * 0x1p-24f; }

template <typename T>
void fill_real(const terroir::Tensor& tensor, uint64_t seed, const Range& range) {
  fill<T>(tensor, seed, [&](uint64_t bits) {
    return static_cast<float>(range.low) + unit(bits) * static_cast<float>(range.high - range.low);
  });
}

template <typename T>
void fill_integer(const terroir::Tensor& tensor, uint64_t seed, const Range& range) {
  const double low = std::ceil(range.low), high = std::floor(range.high);
  const double least = static_cast<double>(std::numeric_limits<T>::min());
  const double most = static_cast<double>(std::numeric_limits<T>::max());
  if (low > high || low < least || high > most || high - low >= 0x1p32) {
    throw std::runtime_error("an input of type " + tensor.get_element_type().to_string() +
                             " cannot have random values of the range " + std::to_string(range.low) + " to " +
                             std::to_string(range.high));
  }
  // Scaling the upper 32 bits is uniform but for 2^-32 of the range, which is enough for test data.
  const auto count = static_cast<uint64_t>(high - low) + 1;
  fill<T>(tensor, seed,
          [&](uint64_t bits) { return static_cast<int64_t>(low) + static_cast<int64_t>((bits >> 32) * count >> 32); });
}

}  // namespace

void fill_random(const terroir::Tensor& tensor, uint64_t seed, const Range& range) {
  using terroir::element::Type_t;
  switch (tensor.get_element_type()) {
    case Type_t::f32:
      return fill_real<float>(tensor, seed, range);
    case Type_t::f64:
      return fill_real<double>(tensor, seed, range);
    case Type_t::f16:
      return fill_real<terroir::float16>(tensor, seed, range);
    case Type_t::bf16:
      return fill_real<terroir::bfloat16>(tensor, seed, range);
    case Type_t::boolean:
      return fill_integer<char>(tensor, seed, range);
    case Type_t::u8:
      return fill_integer<uint8_t>(tensor, seed, range);
    case Type_t::i8:
      return fill_integer<int8_t>(tensor, seed, range);
    case Type_t::i16:
      return fill_integer<int16_t>(tensor, seed, range);
    case Type_t::u16:
      return fill_integer<uint16_t>(tensor, seed, range);
    case Type_t::i32:
      return fill_integer<int32_t>(tensor, seed, range);
    case Type_t::u32:
      return fill_integer<uint32_t>(tensor, seed, range);
    case Type_t::i64:
      return fill_integer<int64_t>(tensor, seed, range);
    case Type_t::u64:
      return fill_integer<uint64_t>(tensor, seed, range);
    default:
      throw std::runtime_error("cannot make random values of type " + tensor.get_element_type().to_string());
  }
}

void fill_random(const terroir::Tensor& tensor, uint64_t seed) {
  fill_random(tensor, seed, {0, tensor.get_element_type() == terroir::element::u8 ? 255.0 : 1.0});
}

}  // namespace samples
