// Models, their ports, and tensors of the C API.
#include <map>

#include "runtime/compat/c/objects.hpp"

using namespace terroir::c;

namespace {

/// A port as the caller wants it, read-only or not.
template <typename Handle, typename Port>
ov_status_e hand_out(Handle** out, const Port& port) {
  return guarded([&] { *out = new Handle{port()}; }, out);
}

template <typename Out>
ov_status_e input(const ov_model_t* model, Out** out, const auto&... which) {
  if (model == nullptr) return null_argument();
  return hand_out(out, [&] { return model->object->input(which...); });
}

template <typename Out>
ov_status_e output(const ov_model_t* model, Out** out, const auto&... which) {
  if (model == nullptr) return null_argument();
  return hand_out(out, [&] { return model->object->output(which...); });
}

/// A name that may be null.
ov_status_e with_name(const char* name, const auto& use) {
  return name == nullptr ? null_argument() : use(std::string(name));
}

}  // namespace

void ov_model_free(ov_model_t* model) { delete model; }

ov_status_e ov_model_const_input(const ov_model_t* model, ov_output_const_port_t** port) { return input(model, port); }
ov_status_e ov_model_const_input_by_name(const ov_model_t* model, const char* name, ov_output_const_port_t** port) {
  return with_name(name, [&](const std::string& text) { return input(model, port, text); });
}
ov_status_e ov_model_const_input_by_index(const ov_model_t* model, const size_t index, ov_output_const_port_t** port) {
  return input(model, port, index);
}
ov_status_e ov_model_input(const ov_model_t* model, ov_output_port_t** port) { return input(model, port); }
ov_status_e ov_model_input_by_name(const ov_model_t* model, const char* name, ov_output_port_t** port) {
  return with_name(name, [&](const std::string& text) { return input(model, port, text); });
}
ov_status_e ov_model_input_by_index(const ov_model_t* model, const size_t index, ov_output_port_t** port) {
  return input(model, port, index);
}
ov_status_e ov_model_const_output(const ov_model_t* model, ov_output_const_port_t** port) {
  return output(model, port);
}
ov_status_e ov_model_const_output_by_name(const ov_model_t* model, const char* name, ov_output_const_port_t** port) {
  return with_name(name, [&](const std::string& text) { return output(model, port, text); });
}
ov_status_e ov_model_const_output_by_index(const ov_model_t* model, const size_t index, ov_output_const_port_t** port) {
  return output(model, port, index);
}
ov_status_e ov_model_output(const ov_model_t* model, ov_output_port_t** port) { return output(model, port); }
ov_status_e ov_model_output_by_name(const ov_model_t* model, const char* name, ov_output_port_t** port) {
  return with_name(name, [&](const std::string& text) { return output(model, port, text); });
}
ov_status_e ov_model_output_by_index(const ov_model_t* model, const size_t index, ov_output_port_t** port) {
  return output(model, port, index);
}

ov_status_e ov_model_inputs_size(const ov_model_t* model, size_t* size) {
  return guarded([&] { *size = model->object->inputs().size(); }, model, size);
}
ov_status_e ov_model_outputs_size(const ov_model_t* model, size_t* size) {
  return guarded([&] { *size = model->object->outputs().size(); }, model, size);
}
bool ov_model_is_dynamic(const ov_model_t* model) { return model != nullptr && model->object->is_dynamic(); }

ov_status_e ov_model_reshape(const ov_model_t* model, const char** tensor_names,
                             const ov_partial_shape_t* partial_shapes, size_t size) {
  if (has_null(tensor_names, size)) return null_argument();
  return guarded(
      [&] {
        std::map<std::string, terroir::PartialShape> shapes;
        for (size_t i = 0; i < size; ++i) shapes[tensor_names[i]] = to_partial_shape(partial_shapes[i]);
        model->object->reshape(shapes);
      },
      model, tensor_names, partial_shapes);
}
ov_status_e ov_model_reshape_input_by_name(const ov_model_t* model, const char* tensor_name,
                                           const ov_partial_shape_t partial_shape) {
  return ov_model_reshape(model, &tensor_name, &partial_shape, 1);
}
ov_status_e ov_model_reshape_single_input(const ov_model_t* model, const ov_partial_shape_t partial_shape) {
  return guarded([&] { model->object->reshape(to_partial_shape(partial_shape)); }, model);
}
ov_status_e ov_model_reshape_by_port_indexes(const ov_model_t* model, const size_t* port_indexes,
                                             const ov_partial_shape_t* partial_shape, size_t size) {
  return guarded(
      [&] {
        std::map<size_t, terroir::PartialShape> shapes;
        for (size_t i = 0; i < size; ++i) shapes[port_indexes[i]] = to_partial_shape(partial_shape[i]);
        model->object->reshape(shapes);
      },
      model, port_indexes, partial_shape);
}
ov_status_e ov_model_reshape_by_ports(const ov_model_t* model, const ov_output_port_t** output_ports,
                                      const ov_partial_shape_t* partial_shapes, size_t size) {
  if (has_null(output_ports, size)) return null_argument();
  return guarded(
      [&] {
        std::map<terroir::Output<terroir::Node>, terroir::PartialShape> shapes;
        for (size_t i = 0; i < size; ++i) shapes[output_ports[i]->object] = to_partial_shape(partial_shapes[i]);
        model->object->reshape(shapes);
      },
      model, output_ports, partial_shapes);
}
ov_status_e ov_model_get_friendly_name(const ov_model_t* model, char** friendly_name) {
  return guarded([&] { *friendly_name = copy_text(model->object->get_friendly_name()); }, model, friendly_name);
}

ov_status_e ov_const_port_get_shape(const ov_output_const_port_t* port, ov_shape_t* shape) {
  return guarded([&] { from_shape(port->object.get_shape(), *shape); }, port, shape);
}
ov_status_e ov_port_get_shape(const ov_output_port_t* port, ov_shape_t* shape) {
  return guarded([&] { from_shape(port->object.get_shape(), *shape); }, port, shape);
}
ov_status_e ov_port_get_any_name(const ov_output_const_port_t* port, char** name) {
  return guarded([&] { *name = copy_text(port->object.get_any_name()); }, port, name);
}
ov_status_e ov_port_get_partial_shape(const ov_output_const_port_t* port, ov_partial_shape_t* shape) {
  return guarded([&] { from_partial_shape(port->object.get_partial_shape(), *shape); }, port, shape);
}
ov_status_e ov_port_get_element_type(const ov_output_const_port_t* port, ov_element_type_e* type) {
  return guarded([&] { *type = from_element_type(port->object.get_element_type()); }, port, type);
}
void ov_output_port_free(ov_output_port_t* port) { delete port; }
void ov_output_const_port_free(ov_output_const_port_t* port) { delete port; }

ov_status_e ov_tensor_create_from_host_ptr(const ov_element_type_e type, const ov_shape_t shape, void* host_ptr,
                                           ov_tensor_t** tensor) {
  return guarded(
      [&] {
        *tensor = new ov_tensor{{to_element_type(type), to_shape(shape), host_ptr}};
      },
      tensor, static_cast<const char*>(host_ptr));
}
ov_status_e ov_tensor_create(const ov_element_type_e type, const ov_shape_t shape, ov_tensor_t** tensor) {
  return guarded([&] { *tensor = new ov_tensor{{to_element_type(type), to_shape(shape)}}; }, tensor);
}
ov_status_e ov_tensor_create_from_string_array(const char** string_array, const size_t array_size,
                                               const ov_shape_t shape, ov_tensor_t** tensor) {
  ov_tensor_t* made = nullptr;
  if (tensor == nullptr) return null_argument();
  ov_status_e status = ov_tensor_create(STRING, shape, &made);
  if (status == OK) status = ov_tensor_set_string_data(made, string_array, array_size);
  if (status != OK) {
    delete made;
    return status;
  }
  *tensor = made;
  return OK;
}
ov_status_e ov_tensor_set_string_data(ov_tensor_t* tensor, const char** string_array, const size_t array_size) {
  if (has_null(string_array, array_size)) return null_argument();
  return guarded(
      [&] {
        if (array_size != tensor->object.get_size()) {
          throw terroir::Exception(terroir::ErrorCode::shape_mismatch,
                                   "the tensor has " + std::to_string(tensor->object.get_size()) + " elements, got " +
                                       std::to_string(array_size) + " texts");
        }
        std::string* const texts = tensor->object.data<std::string>();
        for (size_t i = 0; i < array_size; ++i) texts[i] = string_array[i];
      },
      tensor, string_array);
}
ov_status_e ov_tensor_set_shape(ov_tensor_t* tensor, const ov_shape_t shape) {
  return guarded([&] { tensor->object.set_shape(to_shape(shape)); }, tensor);
}
ov_status_e ov_tensor_get_shape(const ov_tensor_t* tensor, ov_shape_t* shape) {
  return guarded([&] { from_shape(tensor->object.get_shape(), *shape); }, tensor, shape);
}
ov_status_e ov_tensor_get_element_type(const ov_tensor_t* tensor, ov_element_type_e* type) {
  return guarded([&] { *type = from_element_type(tensor->object.get_element_type()); }, tensor, type);
}
ov_status_e ov_tensor_get_size(const ov_tensor_t* tensor, size_t* elements_size) {
  return guarded([&] { *elements_size = tensor->object.get_size(); }, tensor, elements_size);
}
ov_status_e ov_tensor_get_byte_size(const ov_tensor_t* tensor, size_t* byte_size) {
  return guarded([&] { *byte_size = tensor->object.get_byte_size(); }, tensor, byte_size);
}
ov_status_e ov_tensor_data(const ov_tensor_t* tensor, void** data) {
  return guarded([&] { *data = const_cast<ov_tensor_t*>(tensor)->object.data(); }, tensor, data);
}
void ov_tensor_free(ov_tensor_t* tensor) { delete tensor; }
