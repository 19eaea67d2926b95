// PrePostProcessor of the C API.
#include <cstdarg>

#include <terroir/preprocess.hpp>
#include "openvino/c/ov_prepostprocess.h"
#include "runtime/compat/c/objects.hpp"

namespace pre = terroir::preprocess;

struct ov_preprocess_prepostprocessor {
  pre::PrePostProcessor object;
};
// Handles of parts refer to the processor.
struct ov_preprocess_input_info {
  pre::InputInfo* object;
};
struct ov_preprocess_input_tensor_info {
  pre::InputTensorInfo* object;
};
struct ov_preprocess_input_model_info {
  pre::InputModelInfo* object;
};
struct ov_preprocess_preprocess_steps {
  pre::PreProcessSteps* object;
};
struct ov_preprocess_output_info {
  pre::OutputInfo* object;
};
struct ov_preprocess_output_tensor_info {
  pre::OutputTensorInfo* object;
};

using namespace terroir::c;

namespace {

pre::ColorFormat to_color(ov_color_format_e format) {
  switch (format) {
    case NV12_SINGLE_PLANE:
      return pre::ColorFormat::NV12_SINGLE_PLANE;
    case NV12_TWO_PLANES:
      return pre::ColorFormat::NV12_TWO_PLANES;
    case I420_SINGLE_PLANE:
      return pre::ColorFormat::I420_SINGLE_PLANE;
    case I420_THREE_PLANES:
      return pre::ColorFormat::I420_THREE_PLANES;
    case RGB:
      return pre::ColorFormat::RGB;
    case BGR:
      return pre::ColorFormat::BGR;
    case GRAY:
      return pre::ColorFormat::GRAY;
    case RGBX:
      return pre::ColorFormat::RGBX;
    case BGRX:
      return pre::ColorFormat::BGRX;
    default:
      return pre::ColorFormat::UNDEFINED;
  }
}

pre::ResizeAlgorithm to_algorithm(ov_preprocess_resize_algorithm_e algorithm) {
  return algorithm == RESIZE_LINEAR  ? pre::ResizeAlgorithm::RESIZE_LINEAR
         : algorithm == RESIZE_CUBIC ? pre::ResizeAlgorithm::RESIZE_CUBIC
                                     : pre::ResizeAlgorithm::RESIZE_NEAREST;
}

/// The processor is const in the C API, though its parts are changed.
ov_status_e part(const auto* whole, auto** out, const auto& get) {
  return guarded([&] { *out = new std::remove_reference_t<decltype(**out)>{&get(*whole)}; }, whole, out);
}
pre::PrePostProcessor& of(const ov_preprocess_prepostprocessor_t& whole) {
  return const_cast<ov_preprocess_prepostprocessor_t&>(whole).object;
}

/// A step or fact added to a part.
ov_status_e change(auto* info, const auto& apply) {
  return guarded([&] { apply(*info->object); }, info);
}

}  // namespace

ov_status_e ov_preprocess_prepostprocessor_create(const ov_model_t* model, ov_preprocess_prepostprocessor_t** out) {
  return guarded([&] { *out = new ov_preprocess_prepostprocessor{pre::PrePostProcessor(model->object)}; }, model, out);
}
void ov_preprocess_prepostprocessor_free(ov_preprocess_prepostprocessor_t* preprocess) { delete preprocess; }
ov_status_e ov_preprocess_prepostprocessor_build(const ov_preprocess_prepostprocessor_t* preprocess,
                                                 ov_model_t** model) {
  return guarded([&] { *model = new ov_model{of(*preprocess).build()}; }, preprocess, model);
}

ov_status_e ov_preprocess_prepostprocessor_get_input_info(const ov_preprocess_prepostprocessor_t* preprocess,
                                                          ov_preprocess_input_info_t** info) {
  return part(
      preprocess, info, [](const auto& whole) -> auto& { return of(whole).input(); });
}
ov_status_e ov_preprocess_prepostprocessor_get_input_info_by_name(const ov_preprocess_prepostprocessor_t* preprocess,
                                                                  const char* name, ov_preprocess_input_info_t** info) {
  if (name == nullptr) return null_argument();
  return part(
      preprocess, info, [&](const auto& whole) -> auto& { return of(whole).input(std::string(name)); });
}
ov_status_e ov_preprocess_prepostprocessor_get_input_info_by_index(const ov_preprocess_prepostprocessor_t* preprocess,
                                                                   const size_t index,
                                                                   ov_preprocess_input_info_t** info) {
  return part(
      preprocess, info, [&](const auto& whole) -> auto& { return of(whole).input(index); });
}
ov_status_e ov_preprocess_prepostprocessor_get_output_info(const ov_preprocess_prepostprocessor_t* preprocess,
                                                           ov_preprocess_output_info_t** info) {
  return part(
      preprocess, info, [](const auto& whole) -> auto& { return of(whole).output(); });
}
ov_status_e ov_preprocess_prepostprocessor_get_output_info_by_name(const ov_preprocess_prepostprocessor_t* preprocess,
                                                                   const char* name,
                                                                   ov_preprocess_output_info_t** info) {
  if (name == nullptr) return null_argument();
  return part(
      preprocess, info, [&](const auto& whole) -> auto& { return of(whole).output(std::string(name)); });
}
ov_status_e ov_preprocess_prepostprocessor_get_output_info_by_index(const ov_preprocess_prepostprocessor_t* preprocess,
                                                                    const size_t index,
                                                                    ov_preprocess_output_info_t** info) {
  return part(
      preprocess, info, [&](const auto& whole) -> auto& { return of(whole).output(index); });
}
ov_status_e ov_preprocess_input_info_get_tensor_info(const ov_preprocess_input_info_t* info,
                                                     ov_preprocess_input_tensor_info_t** out) {
  return part(
      info, out, [](const auto& whole) -> auto& { return whole.object->tensor(); });
}
ov_status_e ov_preprocess_input_info_get_preprocess_steps(const ov_preprocess_input_info_t* info,
                                                          ov_preprocess_preprocess_steps_t** out) {
  return part(
      info, out, [](const auto& whole) -> auto& { return whole.object->preprocess(); });
}
ov_status_e ov_preprocess_input_info_get_model_info(const ov_preprocess_input_info_t* info,
                                                    ov_preprocess_input_model_info_t** out) {
  return part(
      info, out, [](const auto& whole) -> auto& { return whole.object->model(); });
}
ov_status_e ov_preprocess_output_info_get_tensor_info(const ov_preprocess_output_info_t* info,
                                                      ov_preprocess_output_tensor_info_t** out) {
  return part(
      info, out, [](const auto& whole) -> auto& { return whole.object->tensor(); });
}
void ov_preprocess_input_info_free(ov_preprocess_input_info_t* info) { delete info; }
void ov_preprocess_input_tensor_info_free(ov_preprocess_input_tensor_info_t* info) { delete info; }
void ov_preprocess_input_model_info_free(ov_preprocess_input_model_info_t* info) { delete info; }
void ov_preprocess_preprocess_steps_free(ov_preprocess_preprocess_steps_t* steps) { delete steps; }
void ov_preprocess_output_info_free(ov_preprocess_output_info_t* info) { delete info; }
void ov_preprocess_output_tensor_info_free(ov_preprocess_output_tensor_info_t* info) { delete info; }

ov_status_e ov_preprocess_preprocess_steps_resize(ov_preprocess_preprocess_steps_t* steps,
                                                  const ov_preprocess_resize_algorithm_e algorithm) {
  return change(steps, [&](auto& to) { to.resize(to_algorithm(algorithm)); });
}
ov_status_e ov_preprocess_preprocess_steps_scale(ov_preprocess_preprocess_steps_t* steps, float value) {
  return change(steps, [&](auto& to) { to.scale(value); });
}
ov_status_e ov_preprocess_preprocess_steps_scale_multi_channels(ov_preprocess_preprocess_steps_t* steps,
                                                                const float* values, const int32_t size) {
  if (values == nullptr) return null_argument();
  return change(steps, [&](auto& to) { to.scale(std::vector<float>(values, values + size)); });
}
ov_status_e ov_preprocess_preprocess_steps_mean(ov_preprocess_preprocess_steps_t* steps, float value) {
  return change(steps, [&](auto& to) { to.mean(value); });
}
ov_status_e ov_preprocess_preprocess_steps_mean_multi_channels(ov_preprocess_preprocess_steps_t* steps,
                                                               const float* values, const int32_t size) {
  if (values == nullptr) return null_argument();
  return change(steps, [&](auto& to) { to.mean(std::vector<float>(values, values + size)); });
}
ov_status_e ov_preprocess_preprocess_steps_crop(ov_preprocess_preprocess_steps_t* steps, int32_t* begin,
                                                int32_t begin_size, int32_t* end, int32_t end_size) {
  if (begin == nullptr || end == nullptr) return null_argument();
  return change(steps, [&](auto& to) {
    to.crop(std::vector<int>(begin, begin + begin_size), std::vector<int>(end, end + end_size));
  });
}
ov_status_e ov_preprocess_preprocess_steps_convert_layout(ov_preprocess_preprocess_steps_t* steps,
                                                          ov_layout_t* layout) {
  if (layout == nullptr) return null_argument();
  return change(steps, [&](auto& to) { to.convert_layout(layout->object); });
}
ov_status_e ov_preprocess_preprocess_steps_reverse_channels(ov_preprocess_preprocess_steps_t* steps) {
  return change(steps, [&](auto& to) { to.reverse_channels(); });
}
ov_status_e ov_preprocess_preprocess_steps_convert_element_type(ov_preprocess_preprocess_steps_t* steps,
                                                                const ov_element_type_e type) {
  return change(steps, [&](auto& to) { to.convert_element_type(to_element_type(type)); });
}
ov_status_e ov_preprocess_preprocess_steps_convert_color(ov_preprocess_preprocess_steps_t* steps,
                                                         const ov_color_format_e format) {
  return change(steps, [&](auto& to) { to.convert_color(to_color(format)); });
}

ov_status_e ov_preprocess_input_tensor_info_set_element_type(ov_preprocess_input_tensor_info_t* info,
                                                             const ov_element_type_e type) {
  return change(info, [&](auto& to) { to.set_element_type(to_element_type(type)); });
}
ov_status_e ov_preprocess_input_tensor_info_set_color_format(ov_preprocess_input_tensor_info_t* info,
                                                             const ov_color_format_e format) {
  return change(info, [&](auto& to) { to.set_color_format(to_color(format)); });
}
ov_status_e ov_preprocess_input_tensor_info_set_color_format_with_subname(ov_preprocess_input_tensor_info_t* info,
                                                                          const ov_color_format_e format,
                                                                          const size_t sub_names_size, ...) {
  va_list arguments;
  va_start(arguments, sub_names_size);
  std::vector<const char*> names;
  const ov_status_e status = change(info, [&](auto& to) {
    for (size_t i = 0; i < sub_names_size; ++i) names.push_back(va_arg(arguments, const char*));
    if (!has_null(names.data(), names.size())) to.set_color_format(to_color(format), {names.begin(), names.end()});
  });
  va_end(arguments);
  return has_null(names.data(), names.size()) ? null_argument() : status;
}
ov_status_e ov_preprocess_input_tensor_info_set_spatial_static_shape(ov_preprocess_input_tensor_info_t* info,
                                                                     const size_t height, const size_t width) {
  return change(info, [&](auto& to) { to.set_spatial_static_shape(height, width); });
}
ov_status_e ov_preprocess_input_tensor_info_set_from(ov_preprocess_input_tensor_info_t* info,
                                                     const ov_tensor_t* tensor) {
  if (tensor == nullptr) return null_argument();
  return change(info, [&](auto& to) { to.set_from(tensor->object); });
}
ov_status_e ov_preprocess_input_tensor_info_set_layout(ov_preprocess_input_tensor_info_t* info, ov_layout_t* layout) {
  if (layout == nullptr) return null_argument();
  return change(info, [&](auto& to) { to.set_layout(layout->object); });
}
ov_status_e ov_preprocess_input_model_info_set_layout(ov_preprocess_input_model_info_t* info, ov_layout_t* layout) {
  if (layout == nullptr) return null_argument();
  return change(info, [&](auto& to) { to.set_layout(layout->object); });
}
ov_status_e ov_preprocess_output_set_element_type(ov_preprocess_output_tensor_info_t* info,
                                                  const ov_element_type_e type) {
  return change(info, [&](auto& to) { to.set_element_type(to_element_type(type)); });
}
