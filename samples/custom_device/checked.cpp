// A device of your own, as a library for `benchmark_app -extensions custom_device.so -d CHECKED` or
// Core::add_extension().
//
// CHECKED runs every inference twice, on the CPU and on the slow reference, and refuses results that are further apart
// than rounding explains: for looking for the model, the layer or the machine that computes something else.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <terroir/device.hpp>
#include <terroir/terroir.hpp>

namespace ext = terroir::extension;

namespace {

constexpr double kTolerance = 1e-3;  // of the largest value of an output

void compare(const terroir::Tensor& fast, const terroir::Tensor& exact, size_t output) {
  const auto* a = fast.data<float>();
  const auto* b = exact.data<float>();
  double largest = 0;
  double apart = 0;
  for (size_t i = 0; i < exact.get_size(); ++i) {
    if (std::isnan(a[i]) != std::isnan(b[i])) apart = INFINITY;
    if (!std::isfinite(b[i])) continue;
    largest = std::max(largest, std::fabs(static_cast<double>(b[i])));
    apart = std::max(apart, std::fabs(static_cast<double>(a[i]) - b[i]));
  }
  if (apart > kTolerance * largest)
    throw std::runtime_error("output " + std::to_string(output) + " is " + std::to_string(apart) +
                             " away from the reference, whose largest value is " + std::to_string(largest));
}

class Request : public ext::DeviceRequest {
 public:
  Request(terroir::CompiledModel& fast, terroir::CompiledModel& exact)
      : model_(fast), fast_(fast.create_infer_request()), exact_(exact.create_infer_request()) {}

  void infer(const ext::DeviceRun& run) override {
    for (int32_t i = 0; i < run.input_count(); ++i) {
      const std::vector<int64_t> dims = run.input(i).dims();
      const auto index = static_cast<size_t>(i);
      const terroir::Tensor input(model_.input(index).get_element_type(), terroir::Shape(dims.begin(), dims.end()),
                                  run.input(i).data<void>());
      fast_.set_input_tensor(index, input);
      exact_.set_input_tensor(index, input);
    }
    fast_.infer();
    exact_.infer();
    for (size_t i = 0; i < model_.outputs().size(); ++i) {
      const terroir::Tensor fast = fast_.get_output_tensor(i);
      if (fast.get_element_type() == terroir::element::f32) compare(fast, exact_.get_output_tensor(i), i);
      void* output = run.output(static_cast<int32_t>(i), {fast.get_shape().begin(), fast.get_shape().end()});
      if (fast.get_byte_size() > 0) std::memcpy(output, fast.data(), fast.get_byte_size());
    }
  }

 private:
  terroir::CompiledModel& model_;
  terroir::InferRequest fast_, exact_;
};

class Compiled : public ext::DeviceModel {
 public:
  explicit Compiled(const std::shared_ptr<terroir::Model>& model)
      : fast_(terroir::Core().compile_model(model, "CPU")),
        exact_(terroir::Core().compile_model(model, "INTERPRETER")) {}
  std::unique_ptr<ext::DeviceRequest> create_request() override { return std::make_unique<Request>(fast_, exact_); }

 private:
  terroir::CompiledModel fast_, exact_;
};

std::shared_ptr<terroir::Model> read(const ext::ModelText& text) {
  const terroir::Tensor weights(terroir::element::u8, {text.weight_bytes});  // the model keeps them
  if (text.weight_bytes > 0) std::memcpy(weights.data(), text.weights, text.weight_bytes);
  return terroir::Core().read_model(std::string(text.xml), weights);
}

struct Checked : ext::Device {
  static constexpr const char* name = "CHECKED";
  static constexpr const char* full_name = "CPU, checked by the reference";

  std::vector<std::string> supported_layers(const ext::ModelText& text) const {
    std::vector<std::string> names;
    for (const auto& [layer, device] : terroir::Core().query_model(read(text), "CPU")) names.push_back(layer);
    return names;
  }
  std::unique_ptr<ext::DeviceModel> compile(const ext::ModelText& text, const ext::Properties&) const {
    return std::make_unique<Compiled>(read(text));
  }
};

}  // namespace

TERROIR_EXTENSION("checked", Checked)
