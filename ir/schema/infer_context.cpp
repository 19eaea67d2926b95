#include "ir/schema/infer_context.hpp"

#include <terroir/bfloat16.hpp>
#include <terroir/float16.hpp>

namespace terroir::ir {
namespace {

template <class T, class To>
std::vector<To> widened(const TensorView& tensor) {
  const T* data = tensor.as<T>();
  std::vector<To> result(static_cast<size_t>(tensor.count()));
  for (size_t i = 0; i < result.size(); ++i) result[i] = static_cast<To>(data[i]);
  return result;
}

/// Types of which several elements share a byte: u1 from the highest bit on, 4-bit types from the lower half on.
template <class To>
std::vector<To> unpacked(const TensorView& tensor) {
  const auto* bytes = static_cast<const uint8_t*>(tensor.data);
  std::vector<To> result(static_cast<size_t>(tensor.count()));
  for (size_t i = 0; i < result.size(); ++i) {
    if (tensor.type == element::u1) {
      result[i] = static_cast<To>((bytes[i / 8] >> (7 - i % 8)) & 1);
    } else {
      const int half = (bytes[i / 2] >> (i % 2 * 4)) & 15;
      result[i] = static_cast<To>(tensor.type == element::i4 && half > 7 ? half - 16 : half);
    }
  }
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
    case element::Type_t::u1:
    case element::Type_t::u4:
    case element::Type_t::i4:
      return unpacked<To>(tensor);
    default:
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
      return integers_as<double>(tensor);
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
