#include "tests/support/model_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "ir/base/error.hpp"
#include "plugins/cpu/isa.hpp"
#include "tests/support/elements.hpp"

namespace terroir::test {

std::filesystem::path shared_folder() {
  const char* set = std::getenv("TERROIR_SHARED_DIR");
  std::filesystem::path folder = set ? set : TERROIR_SHARED_DIR;
  return !folder.empty() && std::filesystem::is_directory(folder) ? folder : std::filesystem::path();
}

Tensor to_tensor(const HostTensor& host) {
  Tensor tensor(host.type(), ir::to_shape(host.dims()));
  if (tensor.get_byte_size() > 0) std::memcpy(tensor.data(), host.view().data, tensor.get_byte_size());
  return tensor;
}

ir::TensorView view_of(const Tensor& tensor) {
  return {tensor.get_element_type(), ir::to_dims(tensor.get_shape()), tensor.data()};
}

Tensor counted_input(const element::Type& type, const Shape& shape) {
  Tensor tensor(type, shape);
  for (size_t i = 0; i < tensor.get_size(); ++i) {
    if (type == element::f32)
      tensor.data<float>()[i] = static_cast<float>((static_cast<double>(i * 2654435761u % 65536) / 65536 - 0.5) * 2);
    else if (type == element::i64)
      tensor.data<int64_t>()[i] = static_cast<int64_t>(i % 1000);
    else
      throw_error(ErrorCode::unsupported, "no rule for inputs of ", type);
  }
  return tensor;
}

std::vector<Tensor> infer(CompiledModel& compiled, const std::vector<Tensor>& inputs) {
  InferRequest request = compiled.create_infer_request();
  for (size_t i = 0; i < inputs.size(); ++i) request.set_input_tensor(i, inputs[i]);
  request.infer();
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < compiled.outputs().size(); ++i) outputs.push_back(request.get_output_tensor(i));
  return outputs;
}

std::string difference_to_scale(const ir::TensorView& expected, const ir::TensorView& actual, double relative) {
  if (expected.dims != actual.dims) return concat("shape ", actual.dims, ", expected ", expected.dims);
  long double largest = 0;
  for (int64_t i = 0; i < expected.count(); ++i) largest = std::max(largest, std::fabs(element_at(expected, i)));
  return difference(expected, actual, {0, relative * static_cast<double>(largest)});
}

std::string missing_device(Core& core, const std::string& device) {
  const auto devices = core.get_available_devices();
  if (std::find(devices.begin(), devices.end(), device) == devices.end()) return "this build has no device " + device;
  if (device != "CPU") return {};
  try {
    cpu::active_isa();
    return {};
  } catch (const Exception& error) {  // of TERROIR_FORCE_ISA
    return error.what();
  }
}

}  // namespace terroir::test
