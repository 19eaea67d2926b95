/* The way in. Properties are pairs of texts, a key and its value. */
#pragma once

#include "openvino/c/ov_compiled_model.h"
#include "openvino/c/ov_model.h"
#include "openvino/c/ov_tensor.h"

typedef struct ov_core ov_core_t;

typedef struct ov_version {
  const char* buildNumber;
  const char* description;
} ov_version_t;

typedef struct {
  const char* device_name;
  ov_version_t version;
} ov_core_version_t;

typedef struct {
  ov_core_version_t* versions;
  size_t size;
} ov_core_version_list_t;

typedef struct {
  char** devices;
  size_t size;
} ov_available_devices_t;

OPENVINO_C_API(ov_status_e) ov_get_openvino_version(ov_version_t* version);
OPENVINO_C_API(void) ov_version_free(ov_version_t* version);
OPENVINO_C_API(ov_status_e) ov_core_create(ov_core_t** core);
/** "": as above. A file that names plugins is refused: devices come with the library. */
OPENVINO_C_API(ov_status_e) ov_core_create_with_config(const char* xml_config_file, ov_core_t** core);
OPENVINO_C_API(void) ov_core_free(ov_core_t* core);
/** bin_path may be null: the file beside the model. */
OPENVINO_C_API(ov_status_e)
ov_core_read_model(const ov_core_t* core, const char* model_path, const char* bin_path, ov_model_t** model);
/** From the text of the .xml, and the bytes of the .bin; weights may be null. */
OPENVINO_C_API(ov_status_e)
ov_core_read_model_from_memory_buffer(const ov_core_t* core, const char* model_str, const size_t str_len,
                                      const ov_tensor_t* weights, ov_model_t** model);
/** property_args_size texts follow: key, value, key, value ... device_name may be null: the default device. */
OPENVINO_C_API(ov_status_e)
ov_core_compile_model(const ov_core_t* core, const ov_model_t* model, const char* device_name,
                      const size_t property_args_size, ov_compiled_model_t** compiled_model, ...);
OPENVINO_C_API(ov_status_e)
ov_core_compile_model_from_file(const ov_core_t* core, const char* model_path, const char* device_name,
                                const size_t property_args_size, ov_compiled_model_t** compiled_model, ...);
/** From the bytes of a file that ov_compiled_model_export_model() wrote; they are copied. */
OPENVINO_C_API(ov_status_e)
ov_core_import_model(const ov_core_t* core, const char* content, const size_t content_size, const char* device_name,
                     ov_compiled_model_t** compiled_model);
/** One key and its value follow. device_name may be null: for all devices. */
OPENVINO_C_API(ov_status_e) ov_core_set_property(const ov_core_t* core, const char* device_name, ...);
OPENVINO_C_API(ov_status_e)
ov_core_get_property(const ov_core_t* core, const char* device_name, const char* property_key, char** property_value);
OPENVINO_C_API(ov_status_e) ov_core_get_available_devices(const ov_core_t* core, ov_available_devices_t* devices);
OPENVINO_C_API(void) ov_available_devices_free(ov_available_devices_t* devices);
OPENVINO_C_API(ov_status_e)
ov_core_get_versions_by_device_name(const ov_core_t* core, const char* device_name, ov_core_version_list_t* versions);
OPENVINO_C_API(void) ov_core_versions_free(ov_core_version_list_t* versions);
OPENVINO_C_API(ov_status_e) ov_core_add_extension(const ov_core_t* core, const char* path);
