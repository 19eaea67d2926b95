/* Keys of properties. */
#pragma once

#include "openvino/c/ov_common.h"

OPENVINO_C_VAR(const char*) ov_property_key_supported_properties;
OPENVINO_C_VAR(const char*) ov_property_key_available_devices;
OPENVINO_C_VAR(const char*) ov_property_key_optimal_number_of_infer_requests;
OPENVINO_C_VAR(const char*) ov_property_key_range_for_async_infer_requests;
OPENVINO_C_VAR(const char*) ov_property_key_range_for_streams;
OPENVINO_C_VAR(const char*) ov_property_key_device_full_name;
OPENVINO_C_VAR(const char*) ov_property_key_device_capabilities;
OPENVINO_C_VAR(const char*) ov_property_key_model_name;
OPENVINO_C_VAR(const char*) ov_property_key_cache_dir;
OPENVINO_C_VAR(const char*) ov_property_key_num_streams;
OPENVINO_C_VAR(const char*) ov_property_key_inference_num_threads;
OPENVINO_C_VAR(const char*) ov_property_key_hint_performance_mode;
OPENVINO_C_VAR(const char*) ov_property_key_hint_execution_mode;
OPENVINO_C_VAR(const char*) ov_property_key_hint_inference_precision;
OPENVINO_C_VAR(const char*) ov_property_key_hint_num_requests;
OPENVINO_C_VAR(const char*) ov_property_key_log_level;
OPENVINO_C_VAR(const char*) ov_property_key_enable_profiling;
