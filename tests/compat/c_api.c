/* The C API as a C program uses it: reads a model from memory and from a file, runs it in every way, and looks at what
 * it says about errors. main FOLDER. */
// With stdio.h, on which programs rely.
#include <openvino/c/openvino.h>
#include <stdlib.h>
#include <string.h>

static const char kModel[] =
    "<net name=\"positive\" version=\"11\"><layers>"
    "<layer id=\"0\" name=\"x\" type=\"Parameter\" version=\"opset1\"><data shape=\"2,3\" element_type=\"f32\"/>"
    "<output><port id=\"0\" precision=\"FP32\" names=\"data\"><dim>2</dim><dim>3</dim></port></output></layer>"
    "<layer id=\"1\" name=\"act\" type=\"ReLU\" version=\"opset1\">"
    "<input><port id=\"0\"><dim>2</dim><dim>3</dim></port></input>"
    "<output><port id=\"1\" precision=\"FP32\" names=\"prob\"><dim>2</dim><dim>3</dim></port></output></layer>"
    "<layer id=\"2\" name=\"out\" type=\"Result\" version=\"opset1\">"
    "<input><port id=\"0\"><dim>2</dim><dim>3</dim></port></input></layer>"
    "</layers><edges><edge from-layer=\"0\" from-port=\"0\" to-layer=\"1\" to-port=\"0\"/>"
    "<edge from-layer=\"1\" from-port=\"1\" to-layer=\"2\" to-port=\"0\"/></edges></net>";

static int failures = 0;

#define EXPECT(condition)                                        \
  do {                                                           \
    if (!(condition)) {                                          \
      const char* reason = ov_get_last_err_msg();                \
      printf("line %d: %s: %s\n", __LINE__, #condition, reason); \
      ov_free(reason);                                           \
      ++failures;                                                \
    }                                                            \
  } while (0)
#define EXPECT_OK(call) EXPECT((call) == OK)

static void expect_shape(const ov_shape_t* shape, int64_t rows, int64_t columns) {
  EXPECT(shape->rank == 2 && shape->dims[0] == rows && shape->dims[1] == columns);
}

static void look_at_model(const ov_model_t* model) {
  size_t count = 0;
  char* name = NULL;
  ov_output_const_port_t* input = NULL;
  ov_output_port_t* output = NULL;
  ov_shape_t shape;
  ov_partial_shape_t partial;
  ov_element_type_e type = DYNAMIC;
  EXPECT_OK(ov_model_inputs_size(model, &count));
  EXPECT(count == 1);
  EXPECT_OK(ov_model_outputs_size(model, &count));
  EXPECT(count == 1);
  EXPECT(!ov_model_is_dynamic(model));
  EXPECT_OK(ov_model_get_friendly_name(model, &name));
  EXPECT(strcmp(name, "positive") == 0);
  ov_free(name);
  EXPECT_OK(ov_model_const_input_by_index(model, 0, &input));
  EXPECT_OK(ov_port_get_any_name(input, &name));
  EXPECT(strcmp(name, "data") == 0);
  ov_free(name);
  EXPECT_OK(ov_port_get_element_type(input, &type));
  EXPECT(type == F32);
  EXPECT_OK(ov_const_port_get_shape(input, &shape));
  expect_shape(&shape, 2, 3);
  ov_shape_free(&shape);
  EXPECT_OK(ov_port_get_partial_shape(input, &partial));
  EXPECT(partial.rank.min == 2 && partial.dims[1].max == 3);
  ov_partial_shape_free(&partial);
  EXPECT_OK(ov_model_output_by_name(model, "prob", &output));
  EXPECT_OK(ov_port_get_shape(output, &shape));
  expect_shape(&shape, 2, 3);
  ov_shape_free(&shape);
  ov_output_const_port_free(input);
  ov_output_port_free(output);
  output = NULL;
  EXPECT(ov_model_output_by_name(model, "nothing", &output) == NOT_FOUND);
  EXPECT(output == NULL);
}

static void expect_positive(const ov_tensor_t* output, const float* given, size_t count) {
  void* data = NULL;
  size_t size = 0;
  EXPECT_OK(ov_tensor_get_size(output, &size));
  EXPECT(size == count);
  EXPECT_OK(ov_tensor_data(output, &data));
  for (size_t i = 0; i < count; ++i) EXPECT(((const float*)data)[i] == (given[i] > 0 ? given[i] : 0));
}

static void count_call(void* args) { ++*(int*)args; }

static void run(const ov_compiled_model_t* compiled) {
  float values[6] = {1, -2, 3, -4, 5, -6};
  int64_t dims[2] = {2, 3};
  int calls = 0;
  ov_callback_t callback = {count_call, &calls};
  ov_shape_t shape;
  ov_infer_request_t* request = NULL;
  ov_tensor_t *input = NULL, *output = NULL;
  ov_profiling_info_list_t profile;
  EXPECT_OK(ov_shape_create(2, dims, &shape));
  EXPECT_OK(ov_tensor_create_from_host_ptr(F32, shape, values, &input));
  EXPECT_OK(ov_compiled_model_create_infer_request(compiled, &request));
  EXPECT_OK(ov_infer_request_set_input_tensor_by_index(request, 0, input));
  EXPECT_OK(ov_infer_request_infer(request));
  EXPECT_OK(ov_infer_request_get_output_tensor_by_index(request, 0, &output));
  expect_positive(output, values, 6);
  ov_tensor_free(output);

  EXPECT_OK(ov_infer_request_set_callback(request, &callback));
  for (int i = 1; i <= 3; ++i) {
    values[0] = (float)i;
    EXPECT_OK(ov_infer_request_start_async(request));
    EXPECT_OK(ov_infer_request_wait_for(request, 10000));
    EXPECT_OK(ov_infer_request_wait(request));
    EXPECT(calls == i);
    EXPECT_OK(ov_infer_request_get_tensor(request, "prob", &output));
    expect_positive(output, values, 6);
    ov_tensor_free(output);
  }
  EXPECT_OK(ov_infer_request_get_profiling_info(request, &profile));
  EXPECT(profile.size > 0 && profile.profiling_infos[0].node_name != NULL);
  ov_profiling_info_list_free(&profile);

  shape.dims[1] = 4;
  EXPECT(ov_tensor_set_shape(input, shape) != OK); /* borrowed memory is too small */
  ov_tensor_free(input);
  EXPECT_OK(ov_tensor_create(F32, shape, &input));
  EXPECT(ov_infer_request_set_tensor(request, "data", input) == PARAMETER_MISMATCH);
  ov_tensor_free(input);
  ov_shape_free(&shape);
  ov_infer_request_free(request);
}

static void look_at_shapes(void) {
  ov_dimension_t dims[3] = {{-1, -1}, {3, 3}, {1, 10}};
  ov_rank_t unknown = {-1, -1};
  ov_partial_shape_t partial;
  ov_shape_t shape;
  const char* text = NULL;
  ov_layout_t* layout = NULL;
  EXPECT(ov_dimension_is_dynamic(dims[0]) && !ov_dimension_is_dynamic(dims[1]) && ov_dimension_is_dynamic(dims[2]));
  EXPECT_OK(ov_partial_shape_create(3, dims, &partial));
  EXPECT(ov_partial_shape_is_dynamic(partial));
  text = ov_partial_shape_to_string(partial);
  EXPECT(strcmp(text, "[?,3,1..10]") == 0);
  ov_free(text);
  EXPECT(ov_partial_shape_to_shape(partial, &shape) == PARAMETER_MISMATCH);
  ov_partial_shape_free(&partial);
  EXPECT_OK(ov_partial_shape_create_dynamic(unknown, NULL, &partial));
  EXPECT(ov_rank_is_dynamic(partial.rank));
  ov_partial_shape_free(&partial);
  EXPECT_OK(ov_layout_create("NC", &layout));
  text = ov_layout_to_string(layout);
  EXPECT(strcmp(text, "[N,C]") == 0);
  ov_free(text);
  ov_layout_free(layout);
  layout = NULL;
  EXPECT(ov_layout_create("N!", &layout) != OK);
}

static void reshape(const ov_model_t* model) {
  int64_t dims[2] = {5, 7};
  ov_partial_shape_t partial;
  ov_output_port_t* output = NULL;
  ov_shape_t shape;
  EXPECT_OK(ov_partial_shape_create_static(2, dims, &partial));
  EXPECT_OK(ov_model_reshape_input_by_name(model, "data", partial));
  EXPECT_OK(ov_model_output(model, &output));
  EXPECT_OK(ov_port_get_shape(output, &shape));
  expect_shape(&shape, 5, 7);
  ov_shape_free(&shape);
  ov_output_port_free(output);
  ov_partial_shape_free(&partial);
}

static void look_at_errors(const ov_core_t* core) {
  ov_model_t* model = NULL;
  const char* message = NULL;
  EXPECT(ov_core_read_model(core, "no/such/model.xml", NULL, &model) == GENERAL_ERROR);
  message = ov_get_last_err_msg();
  EXPECT(strstr(message, "no/such/model.xml") != NULL);
  ov_free(message);
  EXPECT(ov_core_read_model(core, NULL, NULL, &model) == INVALID_C_PARAM);
  EXPECT(ov_core_set_property(core, "CPU", "NO_SUCH_PROPERTY", "1") == NOT_FOUND);
  EXPECT(strlen(ov_get_error_info(NOT_FOUND)) > 0);
  EXPECT(model == NULL);
  ov_model_free(NULL);
  ov_core_free(NULL);
}

/* As any other null pointer. */
static void give_null_in_lists(const ov_model_t* model) {
  const char* texts[2] = {"a", NULL};
  const ov_output_port_t* ports[1] = {NULL};
  int64_t dims[2] = {2, 1};
  ov_shape_t shape = {1, dims};
  ov_partial_shape_t partial;
  ov_tensor_t* tensor = NULL;
  ov_preprocess_prepostprocessor_t* processor = NULL;
  ov_preprocess_input_info_t* info = NULL;
  ov_preprocess_input_tensor_info_t* tensor_info = NULL;
  EXPECT_OK(ov_partial_shape_create_static(2, dims, &partial));
  EXPECT(ov_model_reshape_input_by_name(model, NULL, partial) == INVALID_C_PARAM);
  EXPECT(ov_model_reshape(model, texts + 1, &partial, 1) == INVALID_C_PARAM);
  EXPECT(ov_model_reshape_by_ports(model, ports, &partial, 1) == INVALID_C_PARAM);
  ov_partial_shape_free(&partial);
  EXPECT(ov_tensor_create_from_string_array(texts, 2, shape, &tensor) == INVALID_C_PARAM);
  EXPECT(tensor == NULL);
  EXPECT_OK(ov_tensor_create(STRING, shape, &tensor));
  EXPECT(ov_tensor_set_string_data(tensor, texts, 2) == INVALID_C_PARAM);
  ov_tensor_free(tensor);
  EXPECT_OK(ov_preprocess_prepostprocessor_create(model, &processor));
  EXPECT_OK(ov_preprocess_prepostprocessor_get_input_info(processor, &info));
  EXPECT_OK(ov_preprocess_input_info_get_tensor_info(info, &tensor_info));
  EXPECT(ov_preprocess_input_tensor_info_set_color_format_with_subname(tensor_info, NV12_TWO_PLANES, 2, "y",
                                                                       (const char*)NULL) == INVALID_C_PARAM);
  EXPECT_OK(ov_preprocess_input_tensor_info_set_color_format_with_subname(tensor_info, NV12_TWO_PLANES, 2, "y", "uv"));
  ov_preprocess_input_tensor_info_free(tensor_info);
  ov_preprocess_input_info_free(info);
  ov_preprocess_prepostprocessor_free(processor);
}

/* Keys of the C++ API, which are taken as they are there, or by no device. */
static void look_at_keys(const ov_core_t* core) {
  const char* const known[][2] = {
      {ov_property_key_hint_enable_cpu_pinning, "NO"},      {ov_property_key_hint_enable_cpu_reservation, "NO"},
      {ov_property_key_hint_enable_hyper_threading, "YES"}, {ov_property_key_hint_scheduling_core_type, "ANY_CORE"},
      {ov_property_key_cache_mode, "OPTIMIZE_SPEED"},       {ov_property_key_enable_mmap, "YES"},
      {ov_property_key_auto_batch_timeout, "1000"},         {ov_property_key_force_tbb_terminate, "NO"}};
  const char* const unknown[] = {ov_property_key_hint_model_priority, ov_property_key_optimal_batch_size,
                                 ov_property_key_max_batch_size};
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
    EXPECT_OK(ov_core_set_property(core, "CPU", known[i][0], known[i][1]));
  }
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; ++i) {
    EXPECT(ov_core_set_property(core, "CPU", unknown[i], "1") == NOT_FOUND);
  }
  EXPECT_OK(ov_core_set_property(core, "AUTO", ov_property_key_device_priorities, "CPU"));
}

/* A null pointer for its name. */
static void use_default_device(const ov_core_t* core, const ov_model_t* model, const char* path) {
  ov_compiled_model_t* compiled = NULL;
  char* value = NULL;
  EXPECT_OK(ov_core_set_property(core, NULL, ov_property_key_enable_profiling, "YES"));
  EXPECT_OK(ov_core_get_property(core, "CPU", ov_property_key_enable_profiling, &value));
  EXPECT(strcmp(value, "YES") == 0);
  ov_free(value);
  EXPECT_OK(ov_core_compile_model(core, model, NULL, 0, &compiled));
  run(compiled);
  ov_compiled_model_free(compiled);
  EXPECT_OK(ov_core_compile_model_from_file(core, path, NULL, 2, &compiled, ov_property_key_num_streams, "1"));
  run(compiled);
  ov_compiled_model_free(compiled);
  EXPECT_OK(ov_core_set_property(core, NULL, ov_property_key_enable_profiling, "NO"));
}

static void look_at_core(const ov_core_t* core) {
  ov_available_devices_t devices;
  ov_core_version_list_t versions;
  ov_version_t version;
  char* value = NULL;
  EXPECT_OK(ov_get_openvino_version(&version));
  EXPECT(strlen(version.buildNumber) > 0);
  ov_version_free(&version);
  EXPECT_OK(ov_core_get_available_devices(core, &devices));
  EXPECT(devices.size > 0 && strcmp(devices.devices[0], "CPU") == 0);
  ov_available_devices_free(&devices);
  EXPECT_OK(ov_core_get_versions_by_device_name(core, "CPU", &versions));
  EXPECT(versions.size == 1 && strcmp(versions.versions[0].device_name, "CPU") == 0);
  EXPECT(strlen(versions.versions[0].version.buildNumber) > 0);
  ov_core_versions_free(&versions);
  EXPECT_OK(ov_core_set_property(core, "CPU", ov_property_key_num_streams, "2"));
  EXPECT_OK(ov_core_get_property(core, "CPU", ov_property_key_num_streams, &value));
  EXPECT(strcmp(value, "2") == 0);
  ov_free(value);
}

static void write_model(const char* path) {
  FILE* file = fopen(path, "wb");
  EXPECT(file != NULL);
  if (file == NULL) return;
  EXPECT(fwrite(kModel, 1, sizeof kModel - 1, file) == sizeof kModel - 1);
  fclose(file);
}

/* Bytes instead of floats: the conversion, and a mean of 3, become part of the model. */
static void run_on_bytes(const ov_core_t* core, const ov_model_t* model) {
  uint8_t bytes[6] = {1, 2, 3, 4, 5, 6};
  const float wanted[6] = {-2, -1, 0, 1, 2, 3};
  int64_t dims[2] = {2, 3};
  ov_shape_t shape;
  ov_preprocess_prepostprocessor_t* processor = NULL;
  ov_preprocess_input_info_t* info = NULL;
  ov_preprocess_input_tensor_info_t* tensor_info = NULL;
  ov_preprocess_preprocess_steps_t* steps = NULL;
  ov_model_t* converted = NULL;
  ov_compiled_model_t* compiled = NULL;
  ov_infer_request_t* request = NULL;
  ov_tensor_t *input = NULL, *output = NULL;
  EXPECT_OK(ov_preprocess_prepostprocessor_create(model, &processor));
  EXPECT_OK(ov_preprocess_prepostprocessor_get_input_info_by_index(processor, 0, &info));
  EXPECT_OK(ov_preprocess_input_info_get_tensor_info(info, &tensor_info));
  EXPECT_OK(ov_preprocess_input_tensor_info_set_element_type(tensor_info, U8));
  EXPECT_OK(ov_preprocess_input_info_get_preprocess_steps(info, &steps));
  EXPECT_OK(ov_preprocess_preprocess_steps_convert_element_type(steps, F32));
  EXPECT_OK(ov_preprocess_preprocess_steps_mean(steps, 3));
  EXPECT_OK(ov_preprocess_prepostprocessor_build(processor, &converted));
  EXPECT_OK(ov_core_compile_model(core, converted, "CPU", 0, &compiled));
  EXPECT_OK(ov_compiled_model_create_infer_request(compiled, &request));
  EXPECT_OK(ov_shape_create(2, dims, &shape));
  EXPECT_OK(ov_tensor_create_from_host_ptr(U8, shape, bytes, &input));
  EXPECT_OK(ov_infer_request_set_input_tensor(request, input));
  EXPECT_OK(ov_infer_request_infer(request));
  EXPECT_OK(ov_infer_request_get_output_tensor(request, &output));
  expect_positive(output, wanted, 6);
  ov_tensor_free(output);
  ov_tensor_free(input);
  ov_shape_free(&shape);
  ov_infer_request_free(request);
  ov_compiled_model_free(compiled);
  ov_model_free(converted);
  ov_preprocess_preprocess_steps_free(steps);
  ov_preprocess_input_tensor_info_free(tensor_info);
  ov_preprocess_input_info_free(info);
  ov_preprocess_prepostprocessor_free(processor);
}

/* Into a file, and from its bytes, which may go. */
static void export_and_import(const ov_core_t* core, const ov_compiled_model_t* compiled, const char* path) {
  static char bytes[1 << 20];
  ov_compiled_model_t* imported = NULL;
  size_t size = 0;
  FILE* file = NULL;
  EXPECT_OK(ov_compiled_model_export_model(compiled, path));
  file = fopen(path, "rb");
  EXPECT(file != NULL);
  if (file == NULL) return;
  size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  EXPECT(size > 0 && size < sizeof bytes);
  EXPECT_OK(ov_core_set_property(core, "CPU", ov_property_key_enable_profiling, "YES"));
  EXPECT_OK(ov_core_import_model(core, bytes, size, "CPU", &imported));
  EXPECT_OK(ov_core_set_property(core, "CPU", ov_property_key_enable_profiling, "NO"));
  memset(bytes, 0, size);
  run(imported);
  EXPECT(ov_compiled_model_set_property(imported, ov_property_key_num_streams, "2") != OK);
  ov_compiled_model_free(imported);
  imported = NULL;
  EXPECT(ov_core_import_model(core, bytes, size, "CPU", &imported) != OK); /* zeroes are no model */
  EXPECT(imported == NULL);
  EXPECT(ov_compiled_model_export_model(compiled, "no/such/folder/model.blob") != OK);
  EXPECT(ov_core_import_model(core, NULL, 0, "CPU", &imported) == INVALID_C_PARAM);
}

int main(int argc, char** argv) {
  char path[4096];
  char* value = NULL;
  ov_core_t* core = NULL;
  ov_model_t* model = NULL;
  ov_compiled_model_t* compiled = NULL;
  if (argc != 2) return 2;
  snprintf(path, sizeof path, "%s/c_api_model.xml", argv[1]);
  write_model(path);
  EXPECT(ov_core_create_with_config("no/such/plugins.xml", &core) != OK);
  EXPECT_OK(ov_core_create_with_config("", &core));
  ov_core_free(core);
  EXPECT_OK(ov_core_create(&core));
  look_at_core(core);
  look_at_shapes();
  look_at_errors(core);
  look_at_keys(core);
  EXPECT_OK(ov_core_read_model(core, path, NULL, &model));
  look_at_model(model);
  give_null_in_lists(model);
  ov_model_free(model);
  EXPECT_OK(ov_core_read_model_from_memory_buffer(core, kModel, sizeof kModel - 1, NULL, &model));
  EXPECT_OK(ov_core_compile_model(core, model, "CPU", 6, &compiled, ov_property_key_enable_profiling, "YES",
                                  ov_property_key_num_streams, "1", ov_property_key_inference_num_threads, "1"));
  EXPECT_OK(ov_compiled_model_get_property(compiled, ov_property_key_inference_num_threads, &value));
  EXPECT(strcmp(value, "1") == 0);
  ov_free(value);
  run(compiled);
  use_default_device(core, model, path);
  snprintf(path, sizeof path, "%s/c_api_model.blob", argv[1]);
  export_and_import(core, compiled, path);
  snprintf(path, sizeof path, "%s/c_api_model.xml", argv[1]);
  ov_compiled_model_free(compiled);
  EXPECT_OK(ov_core_compile_model_from_file(core, path, "CPU", 2, &compiled, ov_property_key_enable_profiling, "YES"));
  run(compiled);
  ov_compiled_model_free(compiled);
  reshape(model);
  ov_model_free(model);
  EXPECT_OK(ov_core_read_model(core, path, NULL, &model));
  run_on_bytes(core, model);
  ov_model_free(model);
  ov_core_free(core);
  if (failures == 0) printf("every expectation of the C API holds\n");
  return failures == 0 ? 0 : 1;
}
