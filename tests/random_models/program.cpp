#include "tests/random_models/program.hpp"

#include <sstream>

#include "ir/base/error.hpp"
#include "ir/xml/writer.hpp"
#include "terroir/terroir.hpp"
#include "tests/differential/differences.hpp"
#include "tests/support/model_run.hpp"

namespace terroir::test {
namespace {

Core& core() {
  static Core core;
  return core;
}

/// A file in memory; the weights stay where they are as long as the program runs models of it.
struct File {
  explicit File(const Subject& subject) : text(ir::write_model(*subject.graph)) {}
  std::shared_ptr<Model> read() {
    return core().read_model(text.xml, Tensor(element::u8, Shape{text.weights.size()}, text.weights.data()));
  }
  ir::ModelText text;
};

CompiledModel compiled(const std::shared_ptr<Model>& model) {
  return core().compile_model(model, "CPU", num_streams(2), inference_num_threads(2));
}

std::vector<Tensor> to_tensors(const Tensors& hosts) {
  std::vector<Tensor> tensors;
  for (const HostTensor& host : hosts) tensors.push_back(to_tensor(host));
  return tensors;
}

std::string difference(const Tensors& expected, const std::vector<Tensor>& actual) {
  for (size_t i = 0; i < expected.size(); ++i)
    if (const std::string text = difference_in_bits(expected[i], HostTensor(view_of(actual[i]), nullptr));
        !text.empty())
      return concat("output ", i, ": ", text);
  return {};
}

std::vector<Tensor> outputs_of(InferRequest& request, size_t count) {
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < count; ++i) outputs.push_back(request.get_output_tensor(i));
  return outputs;
}

std::string over_two_requests(CompiledModel& model, const std::vector<Tensor>& inputs, const Tensors& expected) {
  InferRequest requests[] = {model.create_infer_request(), model.create_infer_request()};
  for (InferRequest& request : requests)
    for (size_t i = 0; i < inputs.size(); ++i) request.set_input_tensor(i, inputs[i]);
  for (InferRequest& request : requests) request.start_async();
  for (InferRequest& request : requests) request.wait();
  for (InferRequest& request : requests)
    if (const std::string text = difference(expected, outputs_of(request, expected.size())); !text.empty()) return text;
  return {};
}

/// A view of the front part of a tensor that is larger along every axis.
Tensor view_into_larger(const element::Type& type, const Shape& shape) {
  Shape larger = shape;
  for (size_t& extent : larger) ++extent;
  return Tensor(Tensor(type, larger), Coordinate(Shape(shape.size(), 0)), Coordinate(shape));
}

std::string over_views(CompiledModel& model, const std::vector<Tensor>& inputs, const Tensors& expected) {
  InferRequest request = model.create_infer_request();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool whole =
        inputs[i].get_size() == 0 || inputs[i].get_shape().empty() || inputs[i].get_element_type().bitwidth() < 8;
    Tensor input = whole ? inputs[i] : view_into_larger(inputs[i].get_element_type(), inputs[i].get_shape());
    if (!whole) inputs[i].copy_to(input);
    request.set_input_tensor(i, input);
  }
  request.infer();
  return difference(expected, outputs_of(request, expected.size()));
}

std::string over_images(const std::shared_ptr<Model>& model, const Subject& subject, const Tensors& expected) {
  for (const Output<Node>& input : model->inputs()) layout::set_layout(input, "N...");
  CompiledModel batched = compiled(model);
  InferRequest request = batched.create_infer_request();
  for (size_t i = 0; i < subject.inputs.size(); ++i) {
    std::vector<Tensor> images;
    for (int64_t n = 0; n < subject.inputs[i].dims()[0]; ++n)
      images.push_back(to_tensor(image_of(subject.inputs[i], n)));
    request.set_input_tensors(i, images);
  }
  request.infer();
  return difference(expected, outputs_of(request, expected.size()));
}

}  // namespace

std::string difference_through_api(const Subject& subject, const Tensors& expected) {
  File file(subject);
  const std::vector<Tensor> inputs = to_tensors(subject.inputs);
  CompiledModel model = compiled(file.read());
  if (const std::string text = over_two_requests(model, inputs, expected); !text.empty())
    return "two requests: " + text;
  if (const std::string text = over_views(model, inputs, expected); !text.empty()) return "views: " + text;
  std::stringstream stream;
  model.export_model(stream);
  CompiledModel imported = core().import_model(stream, "CPU");
  if (const std::string text = over_two_requests(imported, inputs, expected); !text.empty()) return "imported: " + text;
  if (subject.batched && !subject.inputs.empty() && subject.inputs[0].dims()[0] > 1)
    if (const std::string text = over_images(file.read(), subject, expected); !text.empty())
      return "single images: " + text;
  const std::shared_ptr<Model> open = file.read();
  std::map<size_t, PartialShape> unknown;
  for (size_t i = 0; i < inputs.size(); ++i)
    unknown[i] = PartialShape::dynamic(static_cast<int64_t>(inputs[i].get_shape().size()));
  open->reshape(unknown);
  CompiledModel of_unknown = compiled(open);
  const std::string text = over_two_requests(of_unknown, inputs, expected);
  return text.empty() ? text : "reshaped to unknown extents: " + text;
}

std::string difference_when_reshaped(const Subject& subject, const Tensors& inputs, const Tensors& expected) {
  File file(subject);
  const std::shared_ptr<Model> model = file.read();
  std::map<size_t, PartialShape> shapes;
  for (size_t i = 0; i < inputs.size(); ++i) shapes[i] = PartialShape(ir::to_shape(inputs[i].dims()));
  model->reshape(shapes);
  CompiledModel reshaped = compiled(model);
  return over_two_requests(reshaped, to_tensors(inputs), expected);
}

}  // namespace terroir::test
