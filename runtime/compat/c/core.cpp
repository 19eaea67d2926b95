// Core, compiled models and properties of the C API.
#include <cstdarg>
#include <fstream>

#include "runtime/compat/c/objects.hpp"

using namespace terroir::c;

namespace {

/// Pairs of texts from the variable arguments of a function.
terroir::AnyMap read_properties(size_t count, va_list arguments) {
  if (count % 2 != 0) throw terroir::Exception(terroir::ErrorCode::invalid_argument, "properties come in pairs");
  terroir::AnyMap properties;
  for (size_t i = 0; i < count; i += 2) {
    const char* const key = va_arg(arguments, const char*);
    const char* const value = va_arg(arguments, const char*);
    if (key == nullptr || value == nullptr) {
      throw terroir::Exception(terroir::ErrorCode::invalid_argument, "a property is a null pointer");
    }
    properties[key] = std::string(value);
  }
  return properties;
}

ov_status_e port(ov_output_const_port_t** out, const auto& find) {
  return guarded([&] { *out = new ov_output_const_port{find()}; }, out);
}

const char* text_or_null(const char* text) { return text != nullptr ? text : ""; }

}  // namespace

const char* ov_property_key_supported_properties = terroir::supported_properties.name();
const char* ov_property_key_available_devices = terroir::available_devices.name();
const char* ov_property_key_optimal_number_of_infer_requests = terroir::optimal_number_of_infer_requests.name();
const char* ov_property_key_range_for_async_infer_requests = terroir::range_for_async_infer_requests.name();
const char* ov_property_key_range_for_streams = terroir::range_for_streams.name();
const char* ov_property_key_device_full_name = terroir::device::full_name.name();
const char* ov_property_key_device_capabilities = terroir::device::capabilities.name();
const char* ov_property_key_model_name = terroir::model_name.name();
const char* ov_property_key_cache_dir = terroir::cache_dir.name();
const char* ov_property_key_num_streams = terroir::num_streams.name();
const char* ov_property_key_inference_num_threads = terroir::inference_num_threads.name();
const char* ov_property_key_hint_performance_mode = terroir::hint::performance_mode.name();
const char* ov_property_key_hint_execution_mode = terroir::hint::execution_mode.name();
const char* ov_property_key_hint_inference_precision = terroir::hint::inference_precision.name();
const char* ov_property_key_hint_num_requests = terroir::hint::num_requests.name();
const char* ov_property_key_log_level = terroir::log::level.name();
const char* ov_property_key_enable_profiling = terroir::enable_profiling.name();
const char* ov_property_key_hint_enable_cpu_pinning = terroir::hint::enable_cpu_pinning.name();
const char* ov_property_key_hint_enable_cpu_reservation = terroir::hint::enable_cpu_reservation.name();
const char* ov_property_key_hint_enable_hyper_threading = terroir::hint::enable_hyper_threading.name();
const char* ov_property_key_hint_scheduling_core_type = terroir::hint::scheduling_core_type.name();
const char* ov_property_key_hint_model_priority = terroir::hint::model_priority.name();
const char* ov_property_key_cache_mode = terroir::cache_mode.name();
const char* ov_property_key_enable_mmap = terroir::enable_mmap.name();
const char* ov_property_key_force_tbb_terminate = terroir::force_tbb_terminate.name();
const char* ov_property_key_auto_batch_timeout = terroir::auto_batch_timeout.name();
const char* ov_property_key_device_priorities = terroir::device::priorities.name();
const char* ov_property_key_optimal_batch_size = terroir::optimal_batch_size.name();
const char* ov_property_key_max_batch_size = terroir::max_batch_size.name();

ov_status_e ov_get_openvino_version(ov_version_t* version) {
  return guarded(
      [&] {
        const terroir::Version own = terroir::get_terroir_version();
        *version = {copy_text(own.buildNumber), copy_text(own.description)};
      },
      version);
}
void ov_version_free(ov_version_t* version) {
  if (version == nullptr) return;
  ov_free(version->buildNumber);
  ov_free(version->description);
  *version = {nullptr, nullptr};
}

ov_status_e ov_core_create(ov_core_t** core) { return ov_core_create_with_config("", core); }
ov_status_e ov_core_create_with_config(const char* xml_config_file, ov_core_t** core) {
  return guarded([&] { *core = new ov_core{std::make_shared<terroir::Core>(xml_config_file)}; }, xml_config_file, core);
}
void ov_core_free(ov_core_t* core) { delete core; }

ov_status_e ov_core_read_model(const ov_core_t* core, const char* model_path, const char* bin_path,
                               ov_model_t** model) {
  return guarded([&] { *model = new ov_model{core->object->read_model(model_path, text_or_null(bin_path))}; }, core,
                 model_path, model);
}
ov_status_e ov_core_read_model_from_memory_buffer(const ov_core_t* core, const char* model_str, const size_t str_len,
                                                  const ov_tensor_t* weights, ov_model_t** model) {
  return guarded(
      [&] {
        const std::string text(model_str, str_len);
        *model = new ov_model{core->object->read_model(text, weights != nullptr ? weights->object : terroir::Tensor())};
      },
      core, model_str, model);
}

ov_status_e ov_core_compile_model(const ov_core_t* core, const ov_model_t* model, const char* device_name,
                                  const size_t property_args_size, ov_compiled_model_t** compiled_model, ...) {
  va_list arguments;
  va_start(arguments, compiled_model);
  const ov_status_e status = guarded(
      [&] {
        *compiled_model = new ov_compiled_model{core->object->compile_model(
            model->object, std::string(text_or_null(device_name)), read_properties(property_args_size, arguments))};
      },
      core, model, compiled_model);
  va_end(arguments);
  return status;
}
ov_status_e ov_core_compile_model_from_file(const ov_core_t* core, const char* model_path, const char* device_name,
                                            const size_t property_args_size, ov_compiled_model_t** compiled_model,
                                            ...) {
  va_list arguments;
  va_start(arguments, compiled_model);
  const ov_status_e status = guarded(
      [&] {
        *compiled_model = new ov_compiled_model{
            core->object->compile_model(std::string(model_path), std::string(text_or_null(device_name)),
                                        read_properties(property_args_size, arguments))};
      },
      core, model_path, compiled_model);
  va_end(arguments);
  return status;
}

ov_status_e ov_core_import_model(const ov_core_t* core, const char* content, const size_t content_size,
                                 const char* device_name, ov_compiled_model_t** compiled_model) {
  return guarded(
      [&] {
        const terroir::Tensor bytes(terroir::element::u8, terroir::Shape{content_size});
        std::memcpy(bytes.data(), content, content_size);
        *compiled_model = new ov_compiled_model{core->object->import_model(bytes, std::string(device_name))};
      },
      core, content, device_name, compiled_model);
}

ov_status_e ov_core_set_property(const ov_core_t* core, const char* device_name, ...) {
  va_list arguments;
  va_start(arguments, device_name);
  const ov_status_e status = guarded(
      [&] { core->object->set_property(std::string(text_or_null(device_name)), read_properties(2, arguments)); }, core);
  va_end(arguments);
  return status;
}
ov_status_e ov_core_get_property(const ov_core_t* core, const char* device_name, const char* property_key,
                                 char** property_value) {
  return guarded(
      [&] {
        *property_value = copy_text(
            core->object->get_property(std::string(device_name), std::string(property_key)).as<std::string>());
      },
      core, device_name, property_key, property_value);
}

ov_status_e ov_core_get_available_devices(const ov_core_t* core, ov_available_devices_t* devices) {
  return guarded(
      [&] {
        const std::vector<std::string> names = core->object->get_available_devices();
        *devices = {new_array<char*>(names.size()), names.size()};
        for (size_t i = 0; i < names.size(); ++i) devices->devices[i] = copy_text(names[i]);
      },
      core, devices);
}
void ov_available_devices_free(ov_available_devices_t* devices) {
  if (devices == nullptr) return;
  for (size_t i = 0; i < devices->size; ++i) ov_free(devices->devices[i]);
  std::free(devices->devices);
  *devices = {nullptr, 0};
}

ov_status_e ov_core_get_versions_by_device_name(const ov_core_t* core, const char* device_name,
                                                ov_core_version_list_t* versions) {
  return guarded(
      [&] {
        const auto found = core->object->get_versions(device_name);
        *versions = {new_array<ov_core_version_t>(found.size()), found.size()};
        size_t i = 0;
        for (const auto& [name, version] : found) {
          versions->versions[i++] = {copy_text(name), {copy_text(version.buildNumber), copy_text(version.description)}};
        }
      },
      core, device_name, versions);
}
void ov_core_versions_free(ov_core_version_list_t* versions) {
  if (versions == nullptr) return;
  for (size_t i = 0; i < versions->size; ++i) {
    ov_free(versions->versions[i].device_name);
    ov_version_free(&versions->versions[i].version);
  }
  std::free(versions->versions);
  *versions = {nullptr, 0};
}

ov_status_e ov_core_add_extension(const ov_core_t* core, const char* path) {
  return guarded([&] { core->object->add_extension(std::string(path)); }, core, path);
}

ov_status_e ov_compiled_model_inputs_size(const ov_compiled_model_t* model, size_t* size) {
  return guarded([&] { *size = model->object.inputs().size(); }, model, size);
}
ov_status_e ov_compiled_model_outputs_size(const ov_compiled_model_t* model, size_t* size) {
  return guarded([&] { *size = model->object.outputs().size(); }, model, size);
}
ov_status_e ov_compiled_model_input(const ov_compiled_model_t* model, ov_output_const_port_t** out) {
  return model == nullptr ? null_argument() : port(out, [&] { return model->object.input(); });
}
ov_status_e ov_compiled_model_input_by_index(const ov_compiled_model_t* model, const size_t index,
                                             ov_output_const_port_t** out) {
  return model == nullptr ? null_argument() : port(out, [&] { return model->object.input(index); });
}
ov_status_e ov_compiled_model_input_by_name(const ov_compiled_model_t* model, const char* name,
                                            ov_output_const_port_t** out) {
  if (model == nullptr || name == nullptr) return null_argument();
  return port(out, [&] { return model->object.input(std::string(name)); });
}
ov_status_e ov_compiled_model_output(const ov_compiled_model_t* model, ov_output_const_port_t** out) {
  return model == nullptr ? null_argument() : port(out, [&] { return model->object.output(); });
}
ov_status_e ov_compiled_model_output_by_index(const ov_compiled_model_t* model, const size_t index,
                                              ov_output_const_port_t** out) {
  return model == nullptr ? null_argument() : port(out, [&] { return model->object.output(index); });
}
ov_status_e ov_compiled_model_output_by_name(const ov_compiled_model_t* model, const char* name,
                                             ov_output_const_port_t** out) {
  if (model == nullptr || name == nullptr) return null_argument();
  return port(out, [&] { return model->object.output(std::string(name)); });
}
ov_status_e ov_compiled_model_get_runtime_model(const ov_compiled_model_t* compiled_model, ov_model_t** model) {
  return guarded(
      [&] {
        *model = new ov_model{std::const_pointer_cast<terroir::Model>(compiled_model->object.get_runtime_model())};
      },
      compiled_model, model);
}
ov_status_e ov_compiled_model_create_infer_request(const ov_compiled_model_t* model, ov_infer_request_t** request) {
  return guarded(
      [&] {
        terroir::CompiledModel handle = model->object;
        *request = new ov_infer_request{handle.create_infer_request()};
      },
      model, request);
}
ov_status_e ov_compiled_model_get_property(const ov_compiled_model_t* model, const char* property_key,
                                           char** property_value) {
  return guarded(
      [&] { *property_value = copy_text(model->object.get_property(std::string(property_key)).as<std::string>()); },
      model, property_key, property_value);
}
ov_status_e ov_compiled_model_set_property(const ov_compiled_model_t* model, ...) {
  va_list arguments;
  va_start(arguments, model);
  const ov_status_e status = guarded(
      [&] {
        terroir::CompiledModel handle = model->object;
        handle.set_property(read_properties(2, arguments));
      },
      model);
  va_end(arguments);
  return status;
}
ov_status_e ov_compiled_model_export_model(const ov_compiled_model_t* model, const char* export_model_path) {
  return guarded(
      [&] {
        std::ofstream file(export_model_path, std::ios::binary);
        if (!file) {
          throw terroir::Exception(terroir::ErrorCode::file_not_found,
                                   std::string("cannot write '") + export_model_path + "'");
        }
        model->object.export_model(file);
      },
      model, export_model_path);
}
void ov_compiled_model_free(ov_compiled_model_t* model) { delete model; }
