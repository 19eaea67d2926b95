/* Inferences. */
#pragma once

#include "openvino/c/ov_node.h"
#include "openvino/c/ov_tensor.h"

typedef struct ov_infer_request ov_infer_request_t;

typedef struct {
  void(OPENVINO_C_API_CALLBACK* callback_func)(void* args);
  void* args;
} ov_callback_t;

typedef struct {
  enum Status { NOT_RUN, OPTIMIZED_OUT, EXECUTED } status;
  int64_t real_time; /* microseconds */
  int64_t cpu_time;
  const char* node_name;
  const char* exec_type;
  const char* node_type;
} ov_profiling_info_t;

typedef struct {
  ov_profiling_info_t* profiling_infos;
  size_t size;
} ov_profiling_info_list_t;

OPENVINO_C_API(ov_status_e)
ov_infer_request_set_tensor(ov_infer_request_t* infer_request, const char* tensor_name, const ov_tensor_t* tensor);
OPENVINO_C_API(ov_status_e)
ov_infer_request_set_tensor_by_port(ov_infer_request_t* infer_request, const ov_output_port_t* port,
                                    const ov_tensor_t* tensor);
OPENVINO_C_API(ov_status_e)
ov_infer_request_set_tensor_by_const_port(ov_infer_request_t* infer_request, const ov_output_const_port_t* port,
                                          const ov_tensor_t* tensor);
OPENVINO_C_API(ov_status_e)
ov_infer_request_set_input_tensor_by_index(ov_infer_request_t* infer_request, const size_t idx,
                                           const ov_tensor_t* tensor);
OPENVINO_C_API(ov_status_e)
ov_infer_request_set_input_tensor(ov_infer_request_t* infer_request, const ov_tensor_t* tensor);
OPENVINO_C_API(ov_status_e)
ov_infer_request_set_output_tensor_by_index(ov_infer_request_t* infer_request, const size_t idx,
                                            const ov_tensor_t* tensor);
OPENVINO_C_API(ov_status_e)
ov_infer_request_set_output_tensor(ov_infer_request_t* infer_request, const ov_tensor_t* tensor);
OPENVINO_C_API(ov_status_e)
ov_infer_request_get_tensor(const ov_infer_request_t* infer_request, const char* tensor_name, ov_tensor_t** tensor);
OPENVINO_C_API(ov_status_e)
ov_infer_request_get_tensor_by_const_port(const ov_infer_request_t* infer_request, const ov_output_const_port_t* port,
                                          ov_tensor_t** tensor);
OPENVINO_C_API(ov_status_e)
ov_infer_request_get_tensor_by_port(const ov_infer_request_t* infer_request, const ov_output_port_t* port,
                                    ov_tensor_t** tensor);
OPENVINO_C_API(ov_status_e)
ov_infer_request_get_input_tensor_by_index(const ov_infer_request_t* infer_request, const size_t idx,
                                           ov_tensor_t** tensor);
OPENVINO_C_API(ov_status_e)
ov_infer_request_get_input_tensor(const ov_infer_request_t* infer_request, ov_tensor_t** tensor);
OPENVINO_C_API(ov_status_e)
ov_infer_request_get_output_tensor_by_index(const ov_infer_request_t* infer_request, const size_t idx,
                                            ov_tensor_t** tensor);
OPENVINO_C_API(ov_status_e)
ov_infer_request_get_output_tensor(const ov_infer_request_t* infer_request, ov_tensor_t** tensor);
OPENVINO_C_API(ov_status_e) ov_infer_request_infer(ov_infer_request_t* infer_request);
OPENVINO_C_API(ov_status_e) ov_infer_request_cancel(ov_infer_request_t* infer_request);
OPENVINO_C_API(ov_status_e) ov_infer_request_start_async(ov_infer_request_t* infer_request);
OPENVINO_C_API(ov_status_e) ov_infer_request_wait(ov_infer_request_t* infer_request);
/** At most `timeout` milliseconds; OK also if it has not ended by then, as in OpenVINO. */
OPENVINO_C_API(ov_status_e) ov_infer_request_wait_for(ov_infer_request_t* infer_request, const int64_t timeout);
/** Called at the end of every ov_infer_request_start_async(), whether it went well or not: ov_infer_request_wait()
 * tells. */
OPENVINO_C_API(ov_status_e)
ov_infer_request_set_callback(ov_infer_request_t* infer_request, const ov_callback_t* callback);
OPENVINO_C_API(void) ov_infer_request_free(ov_infer_request_t* infer_request);
OPENVINO_C_API(ov_status_e)
ov_infer_request_get_profiling_info(const ov_infer_request_t* infer_request, ov_profiling_info_list_t* profiling_infos);
OPENVINO_C_API(void) ov_profiling_info_list_free(ov_profiling_info_list_t* profiling_infos);
