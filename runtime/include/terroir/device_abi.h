/* Whole devices from shared libraries, in the language of extension_abi.h, which says how versions, memory and errors
 * are handled.
 *
 * What: a device gets models in the form of files, IR version 11: the text of the .xml and the bytes of the .bin. It
 *       compiles them and infers; the host does everything else (reading, properties, requests, streams, tensors of the
 *       user, variables, which reach a device as inputs and outputs behind the model's own).
 * Threads: any function may be called from several threads at once, but infer() of one request. */
#ifndef TERROIR_DEVICE_ABI_H
#define TERROIR_DEVICE_ABI_H

#include "terroir/extension_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Valid during the call. */
typedef struct terroir_model_text {
  const char* xml;
  uint64_t xml_bytes;
  const void* weights; /* aligned to 64 bytes */
  uint64_t weight_bytes;
} terroir_model_text;

/* A property that the user set or the host decided, as texts: {"NUM_STREAMS", "2"}. */
typedef struct terroir_property {
  const char* key;
  const char* value;
} terroir_property;

struct terroir_device {
  uint32_t struct_size;
  uint32_t abi_version;
  const char* name;         /* for compile_model(): capital letters, digits and _ */
  const char* full_name;    /* for people */
  const char* capabilities; /* "FP32|INT8" */
  void* user;               /* passed to the callbacks */

  /* Calls terroir_host::add_supported_layer() for each layer of the model that the device runs. */
  int32_t (*query)(void* user, const terroir_host* host, const terroir_model_text* model, terroir_layer_names* names,
                   terroir_error* error);
  /* A compiled model is not released before its requests are. */
  int32_t (*compile)(void* user, const terroir_host* host, const terroir_model_text* model, uint32_t property_count,
                     const terroir_property* properties, void** compiled, terroir_error* error);
  void (*release)(void* user, void* compiled);
  int32_t (*create_request)(void* user, const terroir_host* host, void* compiled, void** request, terroir_error* error);
  void (*release_request)(void* user, void* request);
  /* Inputs are dense and of the types and shapes that the model allows. For every output, in any order, the device asks
   * terroir_host::bind_output() once for the memory to write it to (type TERROIR_DYNAMIC: as the model says); where
   * that is null, it gives up and returns 1. terroir_host::cancelled() says whether the user no longer waits; what the
   * outputs hold then does not matter. */
  int32_t (*infer)(void* user, const terroir_host* host, void* request, terroir_run* run, int32_t input_count,
                   const terroir_tensor* inputs, terroir_error* error);
};

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
