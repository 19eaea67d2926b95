// Builds, writes, reads, compiles and runs a model on every device; main FOLDER.
#include <algorithm>
#include <iostream>
#include <string>

#include <terroir/terroir.hpp>

namespace {

// data[1,2,3,3] -> 3x3 sum of each channel, minus 100 -> ReLU
std::shared_ptr<terroir::Model> sums() {
  namespace element = terroir::element;
  terroir::ModelBuilder b("sums");
  const auto data = b.parameter(element::f32, {1, 2, 3, 3}, "data");
  const auto ones = b.constant(element::f32, terroir::Shape{2, 1, 1, 3, 3}, {1.0f});
  const auto sum = b.op("GroupConvolution", "opset1", {data, ones},
                        {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}});
  const auto hundred = b.constant(element::f32, terroir::Shape{}, {100.0f});
  b.result(b.op("ReLU", "opset1", {b.op("Subtract", "opset1", {sum, hundred})}), "sums");
  return b.build();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string path = std::string(argv[1]) + "/sums.xml";
  terroir::serialize(sums(), path);
  terroir::Core core;
  int wrong = 0;
  for (const std::string& device : core.get_available_devices()) {
    terroir::CompiledModel compiled = core.compile_model(path, device, terroir::num_streams(1));
    terroir::InferRequest request = compiled.create_infer_request();
    const terroir::Tensor input = request.get_input_tensor();
    for (size_t i = 0; i < input.get_size(); ++i) input.data<float>()[i] = static_cast<float>(i);
    request.infer();
    const float* result = request.get_tensor("sums").data<float>();
    const bool right = result[0] == 0 && result[1] == 17;  // 0 + ... + 8 - 100 < 0, 9 + ... + 17 - 100
    std::cout << device << (right ? " is right\n" : " is wrong\n");
    if (!right) ++wrong;
  }
  try {
    core.read_model(path + ".missing");
    ++wrong;
  } catch (const terroir::Exception& error) {
    if (error.code() != terroir::ErrorCode::file_not_found) ++wrong;
  }
  return wrong;
}
