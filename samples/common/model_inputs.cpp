#include "common/model_inputs.hpp"

#include <random>
#include <stdexcept>

namespace samples {
namespace {

// The engine's sequence is the same everywhere; the standard distributions are not.
template <typename T, typename Draw>
void fill(const terroir::Tensor& tensor, uint64_t seed, Draw draw) {
  std::mt19937_64 engine(seed);
  T* values = tensor.data<T>();
  for (size_t i = 0; i < tensor.get_size(); ++i) values[i] = static_cast<T>(draw(engine()));
}

constexpr auto kReal = [](uint64_t bits) { return static_cast<float>(bits >> 40) * 0x1p-24f; };
constexpr auto kBit = [](uint64_t bits) { return static_cast<int>(bits >> 63); };
constexpr auto kByte = [](uint64_t bits) { return static_cast<int>(bits >> 56); };

}  // namespace

void fill_random(const terroir::Tensor& tensor, uint64_t seed) {
  using terroir::element::Type_t;
  switch (tensor.get_element_type()) {
    case Type_t::f32:
      return fill<float>(tensor, seed, kReal);
    case Type_t::f64:
      return fill<double>(tensor, seed, kReal);
    case Type_t::f16:
      return fill<terroir::float16>(tensor, seed, kReal);
    case Type_t::bf16:
      return fill<terroir::bfloat16>(tensor, seed, kReal);
    case Type_t::boolean:
      return fill<char>(tensor, seed, kBit);
    case Type_t::u8:
      return fill<uint8_t>(tensor, seed, kByte);
    case Type_t::i8:
      return fill<int8_t>(tensor, seed, kBit);
    case Type_t::i16:
      return fill<int16_t>(tensor, seed, kBit);
    case Type_t::u16:
      return fill<uint16_t>(tensor, seed, kBit);
    case Type_t::i32:
      return fill<int32_t>(tensor, seed, kBit);
    case Type_t::u32:
      return fill<uint32_t>(tensor, seed, kBit);
    case Type_t::i64:
      return fill<int64_t>(tensor, seed, kBit);
    case Type_t::u64:
      return fill<uint64_t>(tensor, seed, kBit);
    default:
      throw std::runtime_error("cannot make random values of type " + tensor.get_element_type().to_string());
  }
}

}  // namespace samples
