#include "ops/rewrites/new_nodes.hpp"

#include <algorithm>

#include "ir/base/aligned_buffer.hpp"

namespace terroir::ops {

ir::Value NewNodes::add(const char* type, std::unique_ptr<ir::Attributes> attributes, std::vector<ir::Value> inputs,
                        const char* suffix) {
  const std::string name = *suffix ? node_.name + "/" + suffix : std::string();
  return patch_.add(registry_.get(type, "opset16"), std::move(attributes), std::move(inputs), {node_.id}, name);
}

ir::Value NewNodes::constant(ir::Constant constant, const char* suffix) {
  return patch_.add_constant(registry_.get(ir::kConstType, "opset1"), node_.name + "/" + suffix, std::move(constant));
}

ir::Value NewNodes::scalar(double value, const char* suffix, ir::Dims dims) {
  auto buffer = std::make_shared<AlignedBuffer>(sizeof(float));
  *buffer->as<float>() = static_cast<float>(value);
  return constant({{element::f32, std::move(dims), buffer->data()}, buffer}, suffix);
}

ir::Value NewNodes::integers(const std::vector<int64_t>& values, const char* suffix) {
  return constant(integers_constant(values), suffix);
}

ir::Constant integers_constant(const std::vector<int64_t>& values) {
  auto buffer = std::make_shared<AlignedBuffer>(values.size() * sizeof(int64_t));
  std::copy(values.begin(), values.end(), buffer->as<int64_t>());
  return {{element::i64, {static_cast<int64_t>(values.size())}, buffer->data()}, buffer};
}

}  // namespace terroir::ops
