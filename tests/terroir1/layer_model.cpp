#include "tests/terroir1/layer_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "tests/support/elements.hpp"
#include "tests/support/model_run.hpp"

namespace terroir::test {
namespace {

Shape shape_of(const std::vector<int64_t>& dims) { return {dims.begin(), dims.end()}; }

Tensor tensor_of(const element::Type& type, const Array& array) {
  Tensor tensor(type, shape_of(array.dims));
  for (size_t i = 0; i < array.values.size(); ++i) {
    const auto value = static_cast<float>(array.values[i]);
    if (type == element::f16)
      tensor.data<float16>()[i] = float16(value);
    else
      tensor.data<float>()[i] = value;
  }
  return tensor;
}

/// The text of an IR file and its .bin, layer by layer.
class FileText {
 public:
  explicit FileText(const element::Type& type) : type_(type), precision_(type == element::f16 ? "FP16" : "FP32") {}

  std::string port(int id, const std::vector<int64_t>& dims) const {
    std::string text = "<port id=\"" + std::to_string(id) + "\" precision=\"" + precision_ + "\">";
    for (const int64_t extent : dims) text += "<dim>" + std::to_string(extent) + "</dim>";
    return text + "</port>";
  }

  int add(const std::string& type, const std::string& opset, const Texts& data, const std::vector<int>& sources,
          const std::vector<std::vector<int64_t>>& inputs, const std::vector<int64_t>* output) {
    const int id = next_++;
    layers_ += "<layer id=\"" + std::to_string(id) + "\" name=\"" + type + std::to_string(id) + "\" type=\"" + type +
               "\" version=\"" + opset + "\">";
    if (!data.empty()) {
      layers_ += "<data";
      for (const auto& [name, value] : data) layers_ += " " + name + "=\"" + value + "\"";
      layers_ += "/>";
    }
    if (!inputs.empty()) layers_ += "<input>";
    for (size_t i = 0; i < inputs.size(); ++i) {
      layers_ += port(static_cast<int>(i), inputs[i]);
      edges_ += "<edge from-layer=\"" + std::to_string(sources[i]) + "\" from-port=\"" +
                std::to_string(output_port_[static_cast<size_t>(sources[i])]) + "\" to-layer=\"" + std::to_string(id) +
                "\" to-port=\"" + std::to_string(i) + "\"/>";
    }
    if (!inputs.empty()) layers_ += "</input>";
    output_port_.push_back(static_cast<int>(inputs.size()));
    if (output) layers_ += "<output>" + port(output_port_.back(), *output) + "</output>";
    layers_ += "</layer>\n";
    return id;
  }

  int add_constant(const Array& array) {
    const Tensor tensor = tensor_of(type_, array);
    const size_t offset = weights_.size();
    weights_.append(static_cast<const char*>(tensor.data()), tensor.get_byte_size());
    return add("Const", "opset1",
               {{"element_type", type_.get_type_name()},
                {"shape", text(array.dims)},
                {"offset", std::to_string(offset)},
                {"size", std::to_string(tensor.get_byte_size())}},
               {}, {}, &array.dims);
  }

  std::shared_ptr<Model> read() const {
    Tensor weights(element::u8, {weights_.size()});
    std::memcpy(weights.data(), weights_.data(), weights_.size());
    return Core().read_model(
        "<net name=\"layers\" version=\"11\">\n<layers>\n" + layers_ + "</layers>\n<edges>" + edges_ + "</edges></net>",
        weights);
  }

 private:
  element::Type type_;
  std::string precision_, layers_, edges_, weights_;
  std::vector<int> output_port_;
  int next_ = 0;
};

}  // namespace

std::shared_ptr<Model> model_from_file(const std::vector<int64_t>& input, const element::Type& type,
                                       const std::vector<Layer>& layers,
                                       const std::vector<std::vector<int64_t>>& outputs) {
  FileText file(type);
  const int x =
      file.add("Parameter", "opset1", {{"shape", text(input)}, {"element_type", type.get_type_name()}}, {}, {}, &input);
  for (size_t i = 0; i < layers.size(); ++i) {
    const Layer& layer = layers[i];
    std::vector<int> sources = {x, file.add_constant(layer.filter)};
    std::vector<std::vector<int64_t>> inputs = {input, layer.filter.dims};
    if (layer.bias) {
      sources.push_back(file.add_constant(*layer.bias));
      inputs.push_back(layer.bias->dims);
    }
    const int y = file.add(layer.type, layer.opset, layer.attributes, sources, inputs, &outputs[i]);
    file.add("Result", "opset1", {}, {y}, {outputs[i]}, nullptr);
  }
  return file.read();
}

std::shared_ptr<Model> model_from_builder(const std::vector<int64_t>& input, const element::Type& type,
                                          const std::vector<Layer>& layers) {
  ModelBuilder b;
  const Output<Node> x = b.parameter(type, PartialShape(shape_of(input)), "x");
  for (const Layer& layer : layers) {
    std::vector<Output<Node>> inputs = {x, b.constant(type, shape_of(layer.filter.dims), layer.filter.values)};
    if (layer.bias) inputs.push_back(b.constant(type, shape_of(layer.bias->dims), layer.bias->values));
    AnyMap attributes;
    for (const auto& [name, value] : layer.attributes) attributes[name] = value;
    b.result(b.op(layer.type, layer.opset, inputs, attributes));
  }
  return b.build();
}

namespace {

/// TERROIR_FORCE_ISA as long as it lives, unless the whole test is run with one.
class ForcedIsa {
 public:
  explicit ForcedIsa(const std::string& isa) : forces_(!isa.empty() && std::getenv("TERROIR_FORCE_ISA") == nullptr) {
    if (forces_) ::setenv("TERROIR_FORCE_ISA", isa.c_str(), 1);
  }
  ~ForcedIsa() {
    if (forces_) ::unsetenv("TERROIR_FORCE_ISA");
  }
  ForcedIsa(const ForcedIsa&) = delete;
  ForcedIsa& operator=(const ForcedIsa&) = delete;

 private:
  bool forces_;
};

}  // namespace

Outcome run(const std::shared_ptr<Model>& model, const std::string& device, int threads, const Array& input,
            const std::string& isa) {
  const ForcedIsa forced(isa);
  AnyMap config;
  if (device == "CPU") config = {inference_num_threads(threads), num_streams(1), enable_profiling(true)};
  CompiledModel compiled = Core().compile_model(model, device, config);
  InferRequest request = compiled.create_infer_request();
  request.set_input_tensor(tensor_of(compiled.input().get_element_type(), input));
  request.infer();
  Outcome result;
  for (size_t i = 0; i < compiled.outputs().size(); ++i) {
    const Tensor tensor = request.get_output_tensor(i);
    const ir::TensorView view = view_of(tensor);
    Array array{view.dims, {}};
    for (int64_t at = 0; at < view.count(); ++at) array.values.push_back(static_cast<double>(element_at(view, at)));
    result.outputs.push_back(std::move(array));
  }
  if (device == "CPU")
    for (const ProfilingInfo& info : request.get_profiling_info())
      if (info.exec_type.starts_with("ref:")) result.references.push_back(info.node_name);
  return result;
}

std::string difference(const Array& expected, const Array& actual, double relative) {
  if (expected.dims != actual.dims) return "shape " + text(actual.dims) + ", expected " + text(expected.dims);
  double largest = 1;
  for (const double value : expected.values) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < expected.values.size(); ++i)
    if (!(std::abs(expected.values[i] - actual.values[i]) <= relative * largest))
      return "element " + std::to_string(i) + " is " + std::to_string(actual.values[i]) + ", expected " +
             std::to_string(expected.values[i]);
  return {};
}

}  // namespace terroir::test
