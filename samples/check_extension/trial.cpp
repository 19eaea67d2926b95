#include "check_extension/trial.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <optional>

namespace check {
namespace {

using terroir::Output;
using terroir::Shape;
using terroir::Tensor;
namespace element = terroir::element;

constexpr size_t kMargin = 256;
constexpr unsigned char kGuard = 0xA7;

/// What the trial feeds the layer.
struct Subject {
  const terroir_layer& layer;
  terroir::AnyMap attributes;
  std::vector<Tensor> inputs;

  std::string text() const {
    std::string result = text_of(attributes);
    for (const Tensor& input : inputs)
      result += ", " + input.get_element_type().get_type_name() + input.get_shape().to_string();
    return result;
  }
};

Tensor some_tensor(const element::Type& type, const Shape& shape, Random& random) {
  Tensor tensor(type, shape);
  for (size_t i = 0; i < tensor.get_size(); ++i) {
    const int64_t value = between(random, type == element::u8 || type == element::boolean ? 0 : -8, 8);
    void* data = tensor.data();
    if (type == element::f32) static_cast<float*>(data)[i] = static_cast<float>(value) * 0.25f;
    if (type == element::f64) static_cast<double*>(data)[i] = static_cast<double>(value) * 0.25;
    if (type == element::i64) static_cast<int64_t*>(data)[i] = value;
    if (type == element::i32) static_cast<int32_t*>(data)[i] = static_cast<int32_t>(value);
    if (type == element::i8) static_cast<int8_t*>(data)[i] = static_cast<int8_t>(value);
    if (type == element::u8) static_cast<uint8_t*>(data)[i] = static_cast<uint8_t>(value);
    if (type == element::boolean) static_cast<uint8_t*>(data)[i] = value > 4;
  }
  return tensor;
}

Shape some_shape(Random& random) {
  // Below, at and above what kernels like to cut things into; now and then nothing at all.
  constexpr size_t kExtents[] = {1, 2, 3, 5, 8, 15, 16, 17, 33, 0};
  Shape shape;
  for (int64_t rank = between(random, 0, 5); rank > 0; --rank) {
    const int64_t choice = between(random, 0, 9) == 0 ? 9 : between(random, 0, shape.size() > 2 ? 4 : 8);
    shape.push_back(kExtents[choice]);
  }
  return shape;
}

Subject some_subject(const terroir_layer& layer, Random& random) {
  Subject subject{layer, some_attributes(layer, random), {}};
  const std::vector<element::Type> types = input_types(layer);
  constexpr int64_t kMoreInputs = 8;  // than a layer needs, to try those that take any number
  const int64_t most =
      layer.max_inputs < 0 ? layer.min_inputs + 2 : std::min<int64_t>(layer.max_inputs, layer.min_inputs + kMoreInputs);
  const int64_t count = between(random, layer.min_inputs, most);
  const Shape common = some_shape(random);
  const auto some_type = [&] {
    return types[static_cast<size_t>(between(random, 0, static_cast<int64_t>(types.size()) - 1))];
  };
  const element::Type type = some_type();
  for (int64_t i = 0; i < count; ++i) {
    const bool alike = between(random, 0, 3) > 0;
    subject.inputs.push_back(some_tensor(alike ? type : some_type(), alike ? common : some_shape(random), random));
  }
  return subject;
}

/// A convolution that changes nothing, in whose layout its neighbours are computed.
Output<terroir::Node> identity(terroir::ModelBuilder& builder, const Output<terroir::Node>& value) {
  const Shape shape = value.get_partial_shape().to_shape();
  Shape weights_shape(shape.size(), 1);
  weights_shape[0] = weights_shape[1] = shape[1];
  Tensor weights(element::f32, weights_shape);
  for (size_t c = 0; c < shape[1]; ++c) weights.data<float>()[c * shape[1] + c] = 1;
  const std::vector<int64_t> ones(shape.size() - 2, 1), zeros(shape.size() - 2, 0);
  return builder.op("Convolution", "opset1", {value, builder.constant(weights)},
                    {{"strides", ones}, {"dilations", ones}, {"pads_begin", zeros}, {"pads_end", zeros}});
}

bool has_channels(const Output<terroir::Node>& value) {
  const terroir::PartialShape shape = value.get_partial_shape();
  if (value.get_element_type() != element::f32 || shape.is_dynamic() || shape.size() < 3) return false;
  const Shape extents = shape.to_shape();
  return std::all_of(extents.begin(), extents.end(), [](size_t extent) { return extent > 0; });
}

/// How a model around the layer is made.
enum class Surrounding { nothing, unknown_extents, convolutions };

/// Empty when the surrounding does not suit the layer's shapes.
std::shared_ptr<terroir::Model> model_of(terroir::Core& core, const Subject& subject, Surrounding surrounding) {
  terroir::ModelBuilder builder(core);
  std::vector<Output<terroir::Node>> inputs;
  bool any = false;
  for (const Tensor& input : subject.inputs) {
    terroir::PartialShape shape(input.get_shape());
    if (surrounding == Surrounding::unknown_extents)
      for (size_t axis = 0; axis < shape.size(); ++axis) shape[axis] = terroir::Dimension::dynamic();
    inputs.push_back(builder.parameter(input.get_element_type(), shape));
    if (surrounding != Surrounding::convolutions || !has_channels(inputs.back())) continue;
    inputs.back() = identity(builder, inputs.back());
    any = true;
  }
  if (surrounding == Surrounding::convolutions && !any) return nullptr;
  const auto opset = subject.layer.opset != nullptr ? subject.layer.opset : "extension";
  const auto first = builder.op(subject.layer.type, opset, inputs, subject.attributes, "layer");
  for (size_t i = 0; i < first.get_node()->get_output_size(); ++i) {
    const auto output = first.get_node()->output(i);
    const bool wrapped = surrounding == Surrounding::convolutions && has_channels(output);
    builder.result(wrapped ? identity(builder, output) : output);
  }
  return builder.build();
}

/// Contents of the outputs; tensors of unknown extents are the request's own.
using Contents = std::vector<std::pair<Shape, std::vector<unsigned char>>>;

Contents run(terroir::Core& core, const std::shared_ptr<terroir::Model>& model, const Subject& subject,
             const std::string& device, int threads, unsigned char fill, Findings& findings) {
  const terroir::AnyMap properties{terroir::num_streams(1), terroir::inference_num_threads(threads)};
  terroir::InferRequest request = core.compile_model(model, device, properties).create_infer_request();
  for (size_t i = 0; i < subject.inputs.size(); ++i) request.set_input_tensor(i, subject.inputs[i]);
  std::vector<std::unique_ptr<Guarded>> guarded;
  for (size_t i = 0; i < model->outputs().size(); ++i) {
    const auto port = model->output(i);
    if (port.get_partial_shape().is_dynamic()) continue;
    guarded.push_back(std::make_unique<Guarded>(port.get_element_type(), port.get_shape(), fill));
    request.set_output_tensor(i, guarded.back()->tensor());
  }
  request.infer();
  for (const auto& output : guarded)
    if (!output->intact()) findings.add_fault("writes outside of an output", subject.text());
  Contents contents;
  for (size_t i = 0; i < model->outputs().size(); ++i) {
    const Tensor output = request.get_output_tensor(i);
    const auto* bytes = static_cast<const unsigned char*>(output.data());
    contents.emplace_back(output.get_shape(), std::vector<unsigned char>(bytes, bytes + output.get_byte_size()));
  }
  return contents;
}

/// Equal as numbers where the outputs are f32, so that -0 and 0 are: convolutions make one of the other.
bool same_numbers(const Contents& a, const Contents& b, const terroir::Model& model) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].first != b[i].first) return false;
    if (model.outputs()[i].get_element_type() != element::f32) {
      if (a[i].second != b[i].second) return false;
      continue;
    }
    for (size_t at = 0; at + sizeof(float) <= a[i].second.size(); at += sizeof(float)) {
      float x = 0, y = 0;
      std::memcpy(&x, &a[i].second[at], sizeof x);
      std::memcpy(&y, &b[i].second[at], sizeof y);
      if (x != y && !(x != x && y != y)) return false;
    }
  }
  return true;
}

bool all_finite(const Contents& contents, const terroir::Model& model) {
  for (size_t i = 0; i < contents.size(); ++i) {
    if (model.outputs()[i].get_element_type() != element::f32) continue;
    for (size_t at = 0; at + sizeof(float) <= contents[i].second.size(); at += sizeof(float)) {
      float x = 0;
      std::memcpy(&x, &contents[i].second[at], sizeof x);
      if (!(x - x == 0)) return false;
    }
  }
  return true;
}

void compare_runs(terroir::Core& core, const Subject& subject, const std::shared_ptr<terroir::Model>& model,
                  Findings& findings) {
  const Contents expected = run(core, model, subject, "INTERPRETER", 1, 0x00, findings);
  ++findings.run;
  if ((subject.layer.flags & TERROIR_LAYER_IMPURE) != 0) return;
  const auto expect = [&](const Contents& got, const std::string& fault) {
    if (got != expected) findings.add_fault(fault, subject.text());
  };
  expect(run(core, model, subject, "INTERPRETER", 1, 0xFF, findings),
         "gives other results the second time, or leaves elements unwritten");
  for (const int threads : {1, 2, 4})
    expect(run(core, model, subject, "CPU", threads, 0xFF, findings),
           "gives other results on " + std::to_string(threads) + " threads");

  if (const auto unknown = model_of(core, subject, Surrounding::unknown_extents)) {
    expect(run(core, unknown, subject, "CPU", 2, 0xFF, findings), "gives other results where extents are unknown");
    ++findings.dynamic;
  }
  const auto other = model_of(core, subject, Surrounding::convolutions);
  // Between convolutions, one value that is no number reaches others.
  if (other == nullptr || !all_finite(expected, *model)) return;
  if (!same_numbers(run(core, other, subject, "CPU", 2, 0xFF, findings), expected, *model))
    findings.add_fault("gives other results in the layouts between convolutions", subject.text());
  ++findings.blocked;
}

}  // namespace

Guarded::Guarded(const element::Type& type, const Shape& shape, unsigned char fill) {
  constexpr size_t kMostBytes = size_t{1} << 40;  // of which nothing wraps around
  size_t bits = type.bitwidth();
  bool fits = true;
  for (const size_t extent : shape) fits = fits && !__builtin_mul_overflow(bits, extent, &bits);
  bytes_ = bits / 8 + (bits % 8 != 0);
  if (!fits || bytes_ > kMostBytes) {
    throw terroir::Exception(terroir::ErrorCode::out_of_memory,
                             "a tensor " + type.to_string() + shape.to_string() + " is more than a machine can have");
  }
  memory_.assign(bytes_ + 2 * kMargin, kGuard);
  std::memset(memory_.data() + kMargin, fill, bytes_);
  tensor_ = Tensor(type, shape, memory_.data() + kMargin);
}

bool Guarded::intact() const {
  const auto is_guard = [](unsigned char byte) { return byte == kGuard; };
  return std::all_of(memory_.begin(), memory_.begin() + kMargin, is_guard) &&
         std::all_of(memory_.end() - kMargin, memory_.end(), is_guard);
}

void run_trial(terroir::Core& core, const terroir_layer& layer, uint64_t seed, Findings& findings) {
  Random random(seed);
  const Subject subject = some_subject(layer, random);
  std::shared_ptr<terroir::Model> model;
  try {
    model = model_of(core, subject, Surrounding::nothing);
  } catch (const terroir::Exception& refusal) {
    ++findings.refusals[refusal.message()];
    return;
  }
  try {
    compare_runs(core, subject, model, findings);
  } catch (const terroir::Exception& failure) {
    findings.add_fault("fails with what its shape inference accepts: " + failure.message(), subject.text());
  } catch (const std::bad_alloc&) {
    findings.add_fault("needs more memory than there is, for what its shape inference accepts", subject.text());
  }
}

}  // namespace check
