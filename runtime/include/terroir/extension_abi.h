/* The boundary between Terroir and libraries that bring layers of their own: plain C, fixed-width integers, structs of
 * function pointers. Nothing of C++ crosses it: no std:: type, no exception, no memory that one side frees for the
 * other. C++ programs use terroir/extension.hpp, which makes a layer a short struct and speaks this language for it.
 *
 * What: a library exports terroir_get_extension(), which returns a list of layers. For every layer it says its name,
 *       attributes and arity, computes the shapes of its outputs from those of its inputs, and computes the outputs.
 *       It may bring whole devices as well: see device_abi.h.
 * Versions: every struct begins with its size and the version of this header. Later versions only add members at the
 *           end, so a library keeps working with newer hosts; a host refuses libraries of a newer version than its own.
 *           Version 2 added devices, version 3 states of layers.
 * Memory: what a struct of the library points to lives as long as the process (libraries are never unloaded). What the
 *         host passes to a callback is valid during the call.
 * Threads: any function of a layer may be called from several threads at once, compute() also with the same instance;
 *          what differs between calls belongs into their scratch memory, what is kept from one inference to the next
 *          into their states.
 * Errors: a callback that returns anything but 0 has failed; it says why with terroir_host::set_error(). */
#ifndef TERROIR_EXTENSION_ABI_H
#define TERROIR_EXTENSION_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TERROIR_ABI_VERSION 3u

#if defined(_WIN32)
#define TERROIR_EXTENSION_EXPORT __declspec(dllexport)
#else
#define TERROIR_EXTENSION_EXPORT __attribute__((visibility("default")))
#endif

/* Element types. Types narrower than a byte are packed over the whole tensor, the first element in the low bits; in the
 * highest one if it is u1. u3 and u6: three bytes hold eight or four elements, two of them the lower two thirds of the
 * bits of each, the third byte the upper thirds, the first element highest. */
typedef int32_t terroir_element;
enum {
  TERROIR_DYNAMIC = 0, /* not known; during inference of shapes only */
  TERROIR_BOOLEAN = 1, /* one byte, 0 or 1 */
  TERROIR_BF16 = 2,
  TERROIR_F16 = 3,
  TERROIR_F32 = 4,
  TERROIR_F64 = 5,
  TERROIR_I4 = 6,
  TERROIR_I8 = 7,
  TERROIR_I16 = 8,
  TERROIR_I32 = 9,
  TERROIR_I64 = 10,
  TERROIR_U1 = 11,
  TERROIR_U2 = 12,
  TERROIR_U3 = 13,
  TERROIR_U4 = 14,
  TERROIR_U6 = 15,
  TERROIR_U8 = 16,
  TERROIR_U16 = 17,
  TERROIR_U32 = 18,
  TERROIR_U64 = 19,
  TERROIR_NF4 = 20,
  TERROIR_F8E4M3 = 21,
  TERROIR_F8E5M2 = 22,
  TERROIR_F4E2M1 = 23,
  TERROIR_F8E8M0 = 24
};
#define TERROIR_ELEMENT_BIT(element) (UINT64_C(1) << (element))

/* An extent: known if min == max; max < 0 means without bound. */
typedef struct terroir_dimension {
  int64_t min;
  int64_t max;
} terroir_dimension;

/* How the elements of a tensor lie. */
enum {
  TERROIR_PLAIN = 0,         /* row-major, axes in their order: NCHW */
  TERROIR_CHANNELS_LAST = 1, /* axis 1 innermost: NHWC */
  TERROIR_BLOCKED = 2        /* axis 1 in blocks of terroir_tensor::block, the block innermost: nChw16c. The last block
                                is padded with zeros if the extent does not fill it; the host sees to the padding of
                                outputs. */
};
#define TERROIR_LAYOUT_BIT(layout) (1u << (layout))

typedef struct terroir_tensor {
  void* data; /* of inputs: not to be written; null where the value is not known (create() only) */
  terroir_element type;
  int32_t rank;
  const int64_t* dims; /* logical extents, outermost first */
  int32_t layout;
  int32_t block; /* of TERROIR_BLOCKED, else 1 */
} terroir_tensor;

/* What the host hands to callbacks, for its functions to be called with. */
typedef struct terroir_attributes terroir_attributes;
typedef struct terroir_inference terroir_inference;
typedef struct terroir_run terroir_run;
typedef struct terroir_error terroir_error;
typedef struct terroir_layer_names terroir_layer_names;

typedef struct terroir_host {
  uint32_t struct_size;
  uint32_t abi_version;

  /* Attributes, by their position in terroir_layer::attributes. The kind must be the declared one. Lists: the number of
   * elements, and where they are. */
  int64_t (*attribute_integer)(const terroir_attributes* attributes, uint32_t index); /* also of booleans: 0 or 1 */
  double (*attribute_real)(const terroir_attributes* attributes, uint32_t index);
  const char* (*attribute_text)(const terroir_attributes* attributes, uint32_t index);
  uint64_t (*attribute_integers)(const terroir_attributes* attributes, uint32_t index, const int64_t** values);
  uint64_t (*attribute_reals)(const terroir_attributes* attributes, uint32_t index, const double** values);

  /* Inference of shapes. */
  int32_t (*input_count)(const terroir_inference* inference);
  terroir_element (*input_type)(const terroir_inference* inference, int32_t input);
  int32_t (*input_rank)(const terroir_inference* inference, int32_t input); /* -1: not known */
  terroir_dimension (*input_dimension)(const terroir_inference* inference, int32_t input, int32_t axis);
  /* The value of an input that is known while the model is compiled, or null. */
  const terroir_tensor* (*input_value)(const terroir_inference* inference, int32_t input);
  /* `rank` -1: not known. Extents that stay unknown although all inputs are known depend on data: compute() then gets
   * memory for their bounds and says with set_extents() what it used. */
  void (*set_output)(terroir_inference* inference, int32_t output, terroir_element type, int32_t rank,
                     const terroir_dimension* dimensions);

  /* A run. body(argument, 0) ... body(argument, tasks - 1), each once, on the threads of this inference. Results must
   * not depend on who runs a task, or when. body must not fail. */
  void (*parallel_for)(terroir_run* run, int64_t tasks, void (*body)(void* argument, int64_t task), void* argument);
  void (*set_extents)(terroir_run* run, int32_t output, const int64_t* dims);

  /* The text is copied. */
  void (*set_error)(terroir_error* error, const char* text);

  /* Since version 2, for devices; see device_abi.h. */
  void (*add_supported_layer)(terroir_layer_names* names, const char* layer);
  void* (*bind_output)(terroir_run* run, int32_t output, terroir_element type, int32_t rank, const int64_t* dims);
  int32_t (*cancelled)(const terroir_run* run);
} terroir_host;

enum {
  TERROIR_ATTRIBUTE_BOOLEAN = 1,
  TERROIR_ATTRIBUTE_INTEGER = 2,
  TERROIR_ATTRIBUTE_REAL = 3,
  TERROIR_ATTRIBUTE_TEXT = 4,
  TERROIR_ATTRIBUTE_INTEGERS = 5,
  TERROIR_ATTRIBUTE_REALS = 6
};

typedef struct terroir_attribute {
  const char* name; /* as in IR files */
  int32_t kind;
  int32_t required;           /* not 0: a file that does not have it is refused */
  const char* default_value;  /* as in IR files: "1, 2", "true", "0.5"; of attributes that are not required */
  const char* allowed_values; /* of texts: "floor|ceil"; null: any */
} terroir_attribute;

enum {
  TERROIR_LAYER_IMPURE = 1u,            /* the same inputs may give other outputs, or something else happens */
  TERROIR_LAYER_ELEMENTWISE = 2u,       /* an output element depends on the input elements at its place alone */
  TERROIR_LAYER_MAPS_ZERO_TO_ZERO = 4u, /* and is zero where they are */
  TERROIR_LAYER_EXACT = 8u              /* another implementation would give the same bits */
};

typedef struct terroir_layer {
  uint32_t struct_size;
  uint32_t abi_version;
  const char* type;  /* as in IR files */
  const char* opset; /* the layer's version in IR files; null: "extension" */
  int32_t min_inputs;
  int32_t max_inputs; /* -1: any number */
  int32_t outputs;    /* -1: as many as infer() sets; not with states. Hosts that do not know it refuse the layer */
  uint32_t flags;
  uint64_t input_types; /* TERROIR_ELEMENT_BITs of the types any input may have; 0: all */
  uint32_t layouts;     /* TERROIR_LAYOUT_BITs of what all tensors of at least three axes may lie in at the same time;
                           0: plain */
  uint32_t attribute_count;
  const terroir_attribute* attributes;
  void* user; /* passed to the callbacks */

  /* Types and shapes of the outputs. */
  int32_t (*infer)(void* user, const terroir_host* host, const terroir_attributes* attributes,
                   terroir_inference* inference, terroir_error* error);
  /* Optional: what can be prepared once per layer of a compiled model, when all extents are known and some inputs may
   * be. The instance comes back to compute() and destroy(). */
  int32_t (*create)(void* user, const terroir_host* host, const terroir_attributes* attributes, int32_t input_count,
                    const terroir_tensor* inputs, int32_t output_count, const terroir_tensor* outputs,
                    void** instance, terroir_error* error);
  void (*destroy)(void* user, void* instance);
  /* Optional: bytes of memory for the use of one run, aligned to 64 bytes. */
  uint64_t (*scratch_bytes)(void* user, const void* instance, int32_t threads);
  int32_t (*compute)(void* user, const void* instance, const terroir_host* host, const terroir_attributes* attributes,
                     terroir_run* run, int32_t input_count, const terroir_tensor* inputs, int32_t output_count,
                     const terroir_tensor* outputs, void* scratch, terroir_error* error);

  /* Since version 3. Tensors that every request keeps for this layer from one inference to the next: variables of the
   * model, named "<layer>/state<i>", that InferRequest::query_state() and reset_state() know. infer() says with
   * set_output(outputs + i, ...) what state i is. create() and compute() find, behind the inputs and outputs that they
   * are told of, in inputs[input_count + i] the value that the inference before left and in outputs[output_count + i]
   * the place for the next one. At first a state is all zeros, unknown extents are 0. An inference that fails or is
   * cancelled leaves the states as they were. */
  int32_t states;
} terroir_layer;

typedef struct terroir_device terroir_device;

typedef struct terroir_extension {
  uint32_t struct_size;
  uint32_t abi_version;
  const char* name; /* for people */
  uint32_t layer_count;
  const terroir_layer* const* layers;
  /* Since version 2. */
  uint32_t device_count;
  const terroir_device* const* devices;
} terroir_extension;

/* The one function a library exports. `host_abi_version` is that of the host; a library that cannot work with it
 * returns null. */
typedef const terroir_extension* (*terroir_get_extension_function)(uint32_t host_abi_version);
#define TERROIR_EXTENSION_ENTRY "terroir_get_extension"

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
