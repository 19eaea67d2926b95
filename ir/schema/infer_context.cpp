#include "ir/schema/infer_context.hpp"

#include <terroir/bfloat16.hpp>
#include <terroir/float16.hpp>

#include "ir/base/packed.hpp"
#include "ir/base/small_float.hpp"

namespace terroir::ir {
namespace {

template <class T, class To>
std::vector<To> widened(const TensorView& tensor) {
  const T* data = tensor.as<T>();
  std::vector<To> result(static_cast<size_t>(tensor.count()));
  for (size_t i = 0; i < result.size(); ++i) result[i] = static_cast<To>(data[i]);
  return result;
}

template <class To>
std::vector<To> unpacked(const TensorView& tensor) {
  const auto width = static_cast<int>(tensor.type.bitwidth());
  const int past_largest = tensor.type.is_signed() ? 1 << (width - 1) : 1 << width;
  std::vector<To> result(static_cast<size_t>(tensor.count()));
  for (size_t i = 0; i < result.size(); ++i) {
    const int bits = read_bits(static_cast<const uint8_t*>(tensor.data), static_cast<int64_t>(i), width);
    result[i] = static_cast<To>(bits < past_largest ? bits : bits - (1 << width));
  }
  return result;
}

std::vector<double> decoded(const TensorView& tensor) {
  const float* values = small_float_values(tensor.type);
  const auto width = static_cast<int>(tensor.type.bitwidth());
  const auto* bytes = static_cast<const uint8_t*>(tensor.data);
  std::vector<double> result(static_cast<size_t>(tensor.count()));
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = values[width == 8 ? bytes[i] : read_bits(bytes, static_cast<int64_t>(i), width)];
  return result;
}

template <class To>
std::vector<To> integers_as(const TensorView& tensor) {
  switch (tensor.type) {
    case element::Type_t::boolean:
      return widened<uint8_t, To>(tensor);
    case element::Type_t::i8:
      return widened<int8_t, To>(tensor);
    case element::Type_t::i16:
      return widened<int16_t, To>(tensor);
    case element::Type_t::i32:
      return widened<int32_t, To>(tensor);
    case element::Type_t::i64:
      return widened<int64_t, To>(tensor);
    case element::Type_t::u8:
      return widened<uint8_t, To>(tensor);
    case element::Type_t::u16:
      return widened<uint16_t, To>(tensor);
    case element::Type_t::u32:
      return widened<uint32_t, To>(tensor);
    case element::Type_t::u64:
      return widened<uint64_t, To>(tensor);
    default:
      if (tensor.type.is_integral_number()) return unpacked<To>(tensor);
      throw_error(ErrorCode::type_mismatch, "integer elements are expected, found ", tensor.type.get_type_name());
  }
}

}  // namespace

std::vector<int64_t> to_integers(const TensorView& tensor) { return integers_as<int64_t>(tensor); }

std::vector<double> to_reals(const TensorView& tensor) {
  switch (tensor.type) {
    case element::Type_t::f64:
      return widened<double, double>(tensor);
    case element::Type_t::f32:
      return widened<float, double>(tensor);
    case element::Type_t::f16:
      return widened<float16, double>(tensor);
    case element::Type_t::bf16:
      return widened<bfloat16, double>(tensor);
    default:
      return is_small_float(tensor.type) ? decoded(tensor) : integers_as<double>(tensor);
  }
}

std::optional<std::vector<int64_t>> InferContext::integers(int input) {
  const auto known = value(input);
  if (!known) return std::nullopt;
  return to_integers(*known);
}

std::optional<std::vector<double>> InferContext::reals(int input) {
  const auto known = value(input);
  if (!known) return std::nullopt;
  return to_reals(*known);
}

std::optional<std::vector<Dimension>> InferContext::dimensions(int input) {
  const auto numbers = integers(input);
  if (!numbers) return std::nullopt;
  std::vector<Dimension> dims;
  // Negative entries (-1 in a Reshape target) are no dimensions; they stay unknown here.
  for (int64_t number : *numbers) dims.push_back(number < 0 ? Dimension::dynamic() : Dimension(number));
  return dims;
}

void InferContext::set_output(int output, element::Type type, PartialShape shape) {
  const auto index = static_cast<size_t>(output);
  if (outputs_.size() <= index) outputs_.resize(index + 1);
  outputs_[index] = {type, std::move(shape)};
}

}  // namespace terroir::ir
