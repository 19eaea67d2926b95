#include "runtime/extension/host.hpp"

#include <algorithm>
#include <cstddef>

#include "runtime/extension/elements.hpp"
#include "runtime/extension/layer.hpp"

namespace terroir::custom {
namespace {

// A library that asks for what is not there gets nothing: it must not take the process with it.
template <typename T>
const T* value_of(const terroir_attributes* attributes, uint32_t index) {
  return index < attributes->values.size() ? std::get_if<T>(&attributes->values[index]) : nullptr;
}

int64_t attribute_integer(const terroir_attributes* attributes, uint32_t index) {
  if (const auto* flag = value_of<bool>(attributes, index)) return *flag ? 1 : 0;
  const auto* value = value_of<int64_t>(attributes, index);
  return value != nullptr ? *value : 0;
}

double attribute_real(const terroir_attributes* attributes, uint32_t index) {
  const auto* value = value_of<double>(attributes, index);
  return value != nullptr ? *value : 0;
}

const char* attribute_text(const terroir_attributes* attributes, uint32_t index) {
  const auto* value = value_of<std::string>(attributes, index);
  return value != nullptr ? value->c_str() : "";
}

template <typename T>
uint64_t attribute_list(const terroir_attributes* attributes, uint32_t index, const T** values) {
  const auto* list = value_of<std::vector<T>>(attributes, index);
  *values = list != nullptr ? list->data() : nullptr;
  return list != nullptr ? list->size() : 0;
}

int32_t input_count(const terroir_inference* inference) { return inference->inputs; }

bool has_input(const terroir_inference* inference, int32_t input) { return input >= 0 && input < inference->inputs; }

terroir_element input_type(const terroir_inference* inference, int32_t input) {
  return has_input(inference, input) ? to_abi(inference->context.type(input)) : TERROIR_DYNAMIC;
}

int32_t input_rank(const terroir_inference* inference, int32_t input) {
  if (!has_input(inference, input)) return -1;
  const PartialShape& shape = inference->context.shape(input);
  return shape.rank().is_static() ? static_cast<int32_t>(shape.size()) : -1;
}

terroir_dimension input_dimension(const terroir_inference* inference, int32_t input, int32_t axis) {
  if (axis < 0 || axis >= input_rank(inference, input)) return {0, -1};
  const Dimension& d = inference->context.shape(input)[static_cast<size_t>(axis)];
  return {d.get_min_length(), d.has_upper_bound() ? d.get_max_length() : -1};
}

const terroir_tensor* input_value(const terroir_inference* inference, int32_t input) {
  if (!has_input(inference, input)) return nullptr;
  const std::optional<ir::TensorView> value = inference->context.value(input);
  if (!value) return nullptr;
  terroir_inference::Known& known = inference->known.emplace_back();
  known.view = *value;
  known.tensor = {const_cast<void*>(known.view.data),
                  to_abi(known.view.type),
                  static_cast<int32_t>(known.view.dims.size()),
                  known.view.dims.data(),
                  TERROIR_PLAIN,
                  1};
  return &known.tensor;
}

PartialShape shape_from(int32_t rank, const terroir_dimension* dimensions) {
  if (rank < 0) return PartialShape::dynamic();
  if (rank > 0 && dimensions == nullptr)
    throw_error(ErrorCode::invalid_argument, "there are no extents, for rank ", rank);
  constexpr int32_t kMostAxes = 1024;  // as PartialShape::dynamic()
  if (rank > kMostAxes)
    throw_error(ErrorCode::invalid_argument, "a tensor of ", rank, " axes: there may be ", kMostAxes, " at most");
  std::vector<Dimension> extents;
  for (int32_t i = 0; i < rank; ++i) {
    const auto [min, max] = dimensions[i];
    if (min < 0 || (max >= 0 && max < min))
      throw_error(ErrorCode::invalid_argument, "extent ", i, " is to be between ", min, " and ", max);
    extents.push_back(max < 0 ? Dimension(min, -1) : Dimension(min, max));
  }
  return PartialShape(extents);
}

void set_output(terroir_inference* inference, int32_t output, terroir_element type, int32_t rank,
                const terroir_dimension* dimensions) {
  const auto refuse = [&](const std::string& text) {
    if (inference->wrong.empty()) inference->wrong = concat("set_output(", output, "): ", text);
  };
  const auto index = static_cast<size_t>(output);
  if (inference->grows && output >= 0 && output < inference->outputs && index >= inference->output_set.size())
    inference->output_set.resize(index + 1);
  if (output < 0 || index >= inference->output_set.size())
    return refuse(concat("the layer has ", inference->grows ? "at most " : "",
                         inference->grows ? static_cast<size_t>(inference->outputs) : inference->output_set.size(),
                         " outputs and states"));
  try {
    const PartialShape shape = shape_from(rank, dimensions);
    if (output < inference->outputs) inference->context.set_output(output, from_abi(type), shape);
    inference->output_set[index] = true;
  } catch (const Exception& error) {
    refuse(error.message());
  }
}

void parallel_for(terroir_run* run, int64_t tasks, void (*body)(void*, int64_t), void* argument) {
  run->arena.parallel_for(tasks, [&](int64_t task) { body(argument, task); });
}

void set_extents(terroir_run* run, int32_t output, const int64_t* dims) {
  if (output < 0 || output >= run->output_count) return;
  const terroir_tensor& tensor = run->outputs[output];
  const auto rank = static_cast<size_t>(tensor.rank);
  if (run->extents == nullptr) {
    if (run->wrong_output >= 0 || (dims != nullptr && std::equal(dims, dims + rank, tensor.dims))) return;
    run->wrong_output = output;
    run->wrong_extents = dims != nullptr ? ir::Dims(dims, dims + rank) : ir::Dims(rank, -1);
    return;
  }
  ir::Dims& used = (*run->extents)[static_cast<size_t>(output)];
  dims != nullptr ? used.assign(dims, dims + rank) : used.assign(rank, -1);  // which is refused behind compute()
}

void add_supported_layer(terroir_layer_names* names, const char* layer) {
  if (layer != nullptr) names->names.emplace_back(layer);
}

void* bind_output(terroir_run* run, int32_t output, terroir_element type, int32_t rank, const int64_t* dims) {
  if (run->device == nullptr) return nullptr;
  terroir_run::Device& device = *run->device;
  try {
    const auto index = static_cast<size_t>(output);
    if (output < 0 || index >= device.ports.size())
      throw_error(ErrorCode::invalid_argument, "bind_output(", output, "): the model has ", device.ports.size(),
                  " outputs");
    if (device.bound[index])
      throw_error(ErrorCode::invalid_argument, "bind_output(", output, "): it was called for this output before");
    if (rank < 0 || (rank > 0 && dims == nullptr))
      throw_error(ErrorCode::invalid_argument, "bind_output(", output, "): the rank is ", rank);
    const ir::Dims extents(dims, dims + rank);
    if (std::any_of(extents.begin(), extents.end(), [](int64_t extent) { return extent < 0; }))
      throw_error(ErrorCode::invalid_argument, "bind_output(", output, "): there are no extents ", extents);
    const plugin::PortInfo& port = device.ports[index];
    const element::Type element = type == TERROIR_DYNAMIC ? port.type : from_abi(type);
    if (!port.type.compatible(element) ||
        !port.shape.compatible(PartialShape(std::vector<Dimension>(extents.begin(), extents.end()))))
      throw_error(ErrorCode::shape_mismatch, "bind_output(", output, "): it is to be ", element, extents,
                  ", but the model's output is ", port.type, port.shape);
    device.bound[index] = true;
    void* memory = device.binder.bind(index, element, extents);
    // Outputs without elements may have no memory, which here would mean that something is wrong.
    static std::max_align_t nothing;
    return memory != nullptr ? memory : &nothing;
  } catch (...) {
    if (!device.wrong) device.wrong = std::current_exception();
    return nullptr;
  }
}

int32_t cancelled(const terroir_run* run) {
  return run->device != nullptr && run->device->cancelled.load(std::memory_order_relaxed) ? 1 : 0;
}

void set_error(terroir_error* error, const char* text) { error->text = text != nullptr ? text : ""; }

}  // namespace

const terroir_host& host() {
  static constexpr terroir_host functions = {sizeof(terroir_host),
                                             TERROIR_ABI_VERSION,
                                             &attribute_integer,
                                             &attribute_real,
                                             &attribute_text,
                                             &attribute_list<int64_t>,
                                             &attribute_list<double>,
                                             &input_count,
                                             &input_type,
                                             &input_rank,
                                             &input_dimension,
                                             &input_value,
                                             &set_output,
                                             &parallel_for,
                                             &set_extents,
                                             &set_error,
                                             &add_supported_layer,
                                             &bind_output,
                                             &cancelled};
  return functions;
}

}  // namespace terroir::custom
