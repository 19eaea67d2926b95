#include "ops/reference/floats.hpp"

#include <algorithm>
#include <cmath>

#include "ir/schema/infer_context.hpp"
#include "ops/reference/dispatch.hpp"
#include "ops/reference/parallel.hpp"

namespace terroir::ops::reference {
namespace {

int64_t to_index(float whole) {
  constexpr float kMost = 1073741824.0f;
  return std::isnan(whole) ? 0 : static_cast<int64_t>(std::clamp(whole, -kMost, kMost));
}

}  // namespace

std::vector<float> to_floats(const ir::TensorView& tensor) {
  if (tensor.type == element::f32) return {tensor.as<float>(), tensor.as<float>() + tensor.count()};
  const std::vector<double> wide = ir::to_reals(tensor);
  std::vector<float> values(wide.size());
  for (size_t i = 0; i < wide.size(); ++i) values[i] = static_cast<float>(wide[i]);
  return values;
}

FloatElements::FloatElements(const ir::TensorView& tensor) {
  if (tensor.type != element::f32) converted_ = to_floats(tensor);
  data_ = tensor.type == element::f32 ? tensor.as<float>() : converted_.data();
  size_ = static_cast<size_t>(tensor.count());
}

FloatResult::FloatResult(const ir::MutableTensorView& tensor, const char* op) : tensor_(tensor), op_(op) {
  if (tensor.type != element::f32) buffer_.resize(static_cast<size_t>(tensor.count()));
  data_ = tensor.type == element::f32 ? tensor.as<float>() : buffer_.data();
}

void FloatResult::store() const {
  if (tensor_.type != element::f32) from_floats(buffer_, tensor_, op_);
}

void from_floats(const std::vector<float>& values, const ir::MutableTensorView& tensor, const char* op) {
  dispatch_type<TERROIR_FLOATS>(tensor.type, op, [&](auto tag) {
    using T = decltype(tag);
    T* dst = tensor.as<T>();
    for (size_t i = 0; i < values.size(); ++i) dst[i] = static_cast<T>(values[i]);
  });
}

void from_indices(const std::vector<int64_t>& values, const ir::MutableTensorView& tensor) {
  dispatch_type<int64_t, int32_t>(tensor.type, "an output of indices", [&](auto tag) {
    using T = decltype(tag);
    constexpr int64_t kTaskElements = 16384;
    T* dst = tensor.as<T>();
    parallel_ranges(static_cast<int64_t>(values.size()), kTaskElements, [&](int64_t begin, int64_t end) {
      bool fit = true;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t value = values[static_cast<size_t>(i)];
        dst[i] = static_cast<T>(value);
        fit = fit && dst[i] == value;
      }
      if (!fit)
        throw_error(ErrorCode::unsupported, "an index needs more bits than ", tensor.type, " has; i64 has them");
    });
  });
}

int64_t floor_to_index(float x) { return to_index(std::floor(x)); }
int64_t ceil_to_index(float x) { return to_index(std::ceil(x)); }
int64_t round_to_index(float x) { return to_index(std::round(x)); }

}  // namespace terroir::ops::reference
