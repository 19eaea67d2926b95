/* Models made ready to run. Properties are pairs of texts, a key and its value. */
#pragma once

#include "openvino/c/ov_infer_request.h"
#include "openvino/c/ov_model.h"
#include "openvino/c/ov_node.h"

typedef struct ov_compiled_model ov_compiled_model_t;

OPENVINO_C_API(ov_status_e) ov_compiled_model_inputs_size(const ov_compiled_model_t* compiled_model, size_t* size);
OPENVINO_C_API(ov_status_e)
ov_compiled_model_input(const ov_compiled_model_t* compiled_model, ov_output_const_port_t** input_port);
OPENVINO_C_API(ov_status_e)
ov_compiled_model_input_by_index(const ov_compiled_model_t* compiled_model, const size_t index,
                                 ov_output_const_port_t** input_port);
OPENVINO_C_API(ov_status_e)
ov_compiled_model_input_by_name(const ov_compiled_model_t* compiled_model, const char* name,
                                ov_output_const_port_t** input_port);
OPENVINO_C_API(ov_status_e) ov_compiled_model_outputs_size(const ov_compiled_model_t* compiled_model, size_t* size);
OPENVINO_C_API(ov_status_e)
ov_compiled_model_output(const ov_compiled_model_t* compiled_model, ov_output_const_port_t** output_port);
OPENVINO_C_API(ov_status_e)
ov_compiled_model_output_by_index(const ov_compiled_model_t* compiled_model, const size_t index,
                                  ov_output_const_port_t** output_port);
OPENVINO_C_API(ov_status_e)
ov_compiled_model_output_by_name(const ov_compiled_model_t* compiled_model, const char* name,
                                 ov_output_const_port_t** output_port);
OPENVINO_C_API(ov_status_e)
ov_compiled_model_get_runtime_model(const ov_compiled_model_t* compiled_model, ov_model_t** model);
OPENVINO_C_API(ov_status_e)
ov_compiled_model_create_infer_request(const ov_compiled_model_t* compiled_model, ov_infer_request_t** infer_request);
OPENVINO_C_API(ov_status_e)
ov_compiled_model_get_property(const ov_compiled_model_t* compiled_model, const char* property_key,
                               char** property_value);
/** One key and its value follow. Always refused: properties are settled when a model is compiled. */
OPENVINO_C_API(ov_status_e) ov_compiled_model_set_property(const ov_compiled_model_t* compiled_model, ...);
/** Into a file, for ov_core_import_model(). */
OPENVINO_C_API(ov_status_e)
ov_compiled_model_export_model(const ov_compiled_model_t* compiled_model, const char* export_model_path);
OPENVINO_C_API(void) ov_compiled_model_free(ov_compiled_model_t* compiled_model);
