#include "terroir/preprocess.hpp"

#include <limits>
#include <ostream>

#include "ir/base/error.hpp"
#include "ir/graph/names.hpp"
#include "runtime/api/held.hpp"
#include "runtime/api/preprocess_color.hpp"
#include "runtime/api/preprocess_state.hpp"

namespace terroir::preprocess {

using detail::InfoAccess;
using terroir::detail::GraphState;

namespace {

void require_no_shape(const detail::TensorInfo& info, const char* function) {
  if (info.shape) {
    throw_error(ErrorCode::invalid_argument, function,
                "() cannot be combined with set_shape() or set_from(), which say height and width, too");
  }
}

void require_no_spatial(const detail::TensorInfo& info, const char* function) {
  if (info.spatial) {
    throw_error(ErrorCode::invalid_argument, function,
                "() cannot be combined with set_spatial_static_shape() or set_spatial_dynamic_shape()");
  }
}

void require_pixels(const char* function, size_t height, size_t width) {
  if (height == 0 || width == 0) {
    throw_error(ErrorCode::invalid_argument, function, ": height and width must be positive, got ", height, " and ",
                width);
  }
}

Dimension extent(size_t value, const char* what) {
  if (value > static_cast<size_t>(std::numeric_limits<int>::max())) {
    throw_error(ErrorCode::invalid_argument, what, " ", value, " is too large");
  }
  return static_cast<int64_t>(value);
}

}  // namespace

InputTensorInfo::InputTensorInfo() : info_(std::make_unique<detail::TensorInfo>()) {}
InputTensorInfo::~InputTensorInfo() = default;

InputTensorInfo& InputTensorInfo::set_element_type(const element::Type& type) {
  info_->type = type;
  return *this;
}

InputTensorInfo& InputTensorInfo::set_layout(const Layout& layout) {
  info_->layout = layout;
  return *this;
}

InputTensorInfo& InputTensorInfo::set_spatial_dynamic_shape() {
  require_no_shape(*info_, "set_spatial_dynamic_shape");
  info_->spatial.emplace();
  return *this;
}

InputTensorInfo& InputTensorInfo::set_spatial_static_shape(size_t height, size_t width) {
  require_no_shape(*info_, "set_spatial_static_shape");
  require_pixels("set_spatial_static_shape", height, width);
  info_->spatial = {extent(height, "the height"), extent(width, "the width")};
  return *this;
}

InputTensorInfo& InputTensorInfo::set_color_format(const ColorFormat& format,
                                                   const std::vector<std::string>& sub_names) {
  const size_t planes = detail::planes_of(format);
  if (!sub_names.empty() && (planes == 1 || sub_names.size() != planes)) {
    throw_error(ErrorCode::invalid_argument, "set_color_format: an image in ", detail::name_of(format), " takes ",
                planes == 1 ? "no names of planes" : concat(planes, " names of planes or none"), ", got ",
                sub_names.size());
  }
  info_->color = format;
  info_->sub_names = sub_names;
  return *this;
}

InputTensorInfo& InputTensorInfo::set_memory_type(const std::string& memory_type) {
  if (!memory_type.empty()) {
    throw_error(ErrorCode::unsupported, "set_memory_type: '", memory_type,
                "' is memory of a device that is not there; tensors are in main memory, leave this call out");
  }
  return *this;
}

InputTensorInfo& InputTensorInfo::set_shape(const PartialShape& shape) {
  require_no_spatial(*info_, "set_shape");
  info_->shape = shape;
  return *this;
}

InputTensorInfo& InputTensorInfo::set_from(const Tensor& runtime_tensor) {
  require_no_spatial(*info_, "set_from");
  info_->type = runtime_tensor.get_element_type();
  info_->shape = runtime_tensor.get_shape();
  return *this;
}

InputModelInfo::InputModelInfo() : info_(std::make_unique<detail::TensorInfo>()) {}
InputModelInfo::~InputModelInfo() = default;

InputModelInfo& InputModelInfo::set_layout(const Layout& layout) {
  info_->layout = layout;
  return *this;
}

PreProcessSteps::PreProcessSteps() : steps_(std::make_unique<detail::PreSteps>()) {}
PreProcessSteps::~PreProcessSteps() = default;

PreProcessSteps& PreProcessSteps::convert_element_type(const element::Type& type) {
  steps_->steps.push_back(detail::convert_type_step(type));
  return *this;
}

PreProcessSteps& PreProcessSteps::convert_color(const ColorFormat& dst_format) {
  steps_->steps.push_back(detail::convert_color_step(dst_format));
  return *this;
}

PreProcessSteps& PreProcessSteps::scale(float value) { return scale(std::vector<float>{value}); }

PreProcessSteps& PreProcessSteps::scale(const std::vector<float>& values) {
  steps_->steps.push_back(detail::scale_step(values));
  return *this;
}

PreProcessSteps& PreProcessSteps::mean(float value) { return mean(std::vector<float>{value}); }

PreProcessSteps& PreProcessSteps::mean(const std::vector<float>& values) {
  steps_->steps.push_back(detail::mean_step(values));
  return *this;
}

PreProcessSteps& PreProcessSteps::pad(const std::vector<int>& pads_begin, const std::vector<int>& pads_end, float value,
                                      PaddingMode mode) {
  return pad(pads_begin, pads_end, std::vector<float>{value}, mode);
}

PreProcessSteps& PreProcessSteps::pad(const std::vector<int>& pads_begin, const std::vector<int>& pads_end,
                                      const std::vector<float>& values, PaddingMode mode) {
  steps_->steps.push_back(detail::pad_step(pads_begin, pads_end, values, mode));
  return *this;
}

PreProcessSteps& PreProcessSteps::clamp(double min_value, double max_value) {
  steps_->steps.push_back(detail::clamp_step(min_value, max_value));
  return *this;
}

PreProcessSteps& PreProcessSteps::custom(const CustomPreprocessOp& preprocess_cb) {
  steps_->steps.push_back(detail::custom_step(preprocess_cb));
  return *this;
}

PreProcessSteps& PreProcessSteps::resize(ResizeAlgorithm alg, size_t dst_height, size_t dst_width) {
  require_pixels("resize", dst_height, dst_width);
  steps_->steps.push_back(detail::resize_step(alg, extent(dst_height, "resize: the height").get_length(),
                                              extent(dst_width, "resize: the width").get_length()));
  return *this;
}

PreProcessSteps& PreProcessSteps::resize(ResizeAlgorithm alg) {
  steps_->steps.push_back(detail::resize_step(alg));
  return *this;
}

PreProcessSteps& PreProcessSteps::crop(const std::vector<int>& begin, const std::vector<int>& end) {
  if (begin.size() != end.size()) {
    throw_error(ErrorCode::invalid_argument, "crop: begin ", begin, " and end ", end,
                " must have the same number of entries");
  }
  steps_->steps.push_back(detail::crop_step(begin, end));
  return *this;
}

PreProcessSteps& PreProcessSteps::convert_layout(const Layout& dst_layout) {
  steps_->steps.push_back(detail::convert_layout_step(dst_layout));
  steps_->conversions.emplace_back(dst_layout);
  return *this;
}

PreProcessSteps& PreProcessSteps::convert_layout(const std::vector<uint64_t>& dims) {
  if (dims.empty()) return *this;
  steps_->steps.push_back(detail::transpose_step(dims));
  steps_->conversions.emplace_back(dims);
  return *this;
}

PreProcessSteps& PreProcessSteps::reverse_channels() {
  steps_->steps.push_back(detail::reverse_channels_step());
  return *this;
}

OutputTensorInfo::OutputTensorInfo() : info_(std::make_unique<detail::TensorInfo>()) {}
OutputTensorInfo::~OutputTensorInfo() = default;

OutputTensorInfo& OutputTensorInfo::set_element_type(const element::Type& type) {
  info_->type = type;
  return *this;
}

OutputTensorInfo& OutputTensorInfo::set_layout(const Layout& layout) {
  info_->layout = layout;
  return *this;
}

OutputModelInfo::OutputModelInfo() : info_(std::make_unique<detail::TensorInfo>()) {}
OutputModelInfo::~OutputModelInfo() = default;

OutputModelInfo& OutputModelInfo::set_layout(const Layout& layout) {
  info_->layout = layout;
  return *this;
}

OutputModelInfo& OutputModelInfo::set_color_format(const ColorFormat& format, const std::vector<std::string>&) {
  info_->color = format;
  return *this;
}

PostProcessSteps::PostProcessSteps() : steps_(std::make_unique<detail::PostSteps>()) {}
PostProcessSteps::~PostProcessSteps() = default;

PostProcessSteps& PostProcessSteps::convert_element_type(const element::Type& type) {
  steps_->steps.push_back(detail::convert_type_step(type));
  return *this;
}

PostProcessSteps& PostProcessSteps::convert_layout(const Layout& dst_layout) {
  steps_->steps.push_back(detail::convert_layout_step(dst_layout));
  return *this;
}

PostProcessSteps& PostProcessSteps::convert_layout(const std::vector<uint64_t>& dims) {
  if (!dims.empty()) steps_->steps.push_back(detail::transpose_step(dims));
  return *this;
}

PostProcessSteps& PostProcessSteps::clamp(double min_value, double max_value) {
  steps_->steps.push_back(detail::clamp_step(min_value, max_value));
  return *this;
}

PostProcessSteps& PostProcessSteps::convert_color(const ColorFormat& dst_format) {
  steps_->steps.push_back(detail::convert_output_color_step(dst_format));
  return *this;
}

PostProcessSteps& PostProcessSteps::custom(const CustomPostprocessOp& postprocess_cb) {
  steps_->steps.push_back(detail::custom_step(postprocess_cb));
  return *this;
}

struct InputInfo::Parts {
  InputTensorInfo tensor = InfoAccess::make<InputTensorInfo>();
  PreProcessSteps steps = InfoAccess::make<PreProcessSteps>();
  InputModelInfo model = InfoAccess::make<InputModelInfo>();
};

InputInfo::InputInfo() : parts_(std::make_unique<Parts>()) {}
InputInfo::InputInfo(InputInfo&&) noexcept = default;
InputInfo& InputInfo::operator=(InputInfo&&) noexcept = default;
InputInfo::~InputInfo() = default;
InputTensorInfo& InputInfo::tensor() { return terroir::detail::held(parts_, "InputInfo").tensor; }
PreProcessSteps& InputInfo::preprocess() { return terroir::detail::held(parts_, "InputInfo").steps; }
InputModelInfo& InputInfo::model() { return terroir::detail::held(parts_, "InputInfo").model; }

struct OutputInfo::Parts {
  OutputModelInfo model = InfoAccess::make<OutputModelInfo>();
  PostProcessSteps steps = InfoAccess::make<PostProcessSteps>();
  OutputTensorInfo tensor = InfoAccess::make<OutputTensorInfo>();
};

OutputInfo::OutputInfo() : parts_(std::make_unique<Parts>()) {}
OutputInfo::OutputInfo(OutputInfo&&) noexcept = default;
OutputInfo& OutputInfo::operator=(OutputInfo&&) noexcept = default;
OutputInfo::~OutputInfo() = default;
OutputModelInfo& OutputInfo::model() { return terroir::detail::held(parts_, "OutputInfo").model; }
PostProcessSteps& OutputInfo::postprocess() { return terroir::detail::held(parts_, "OutputInfo").steps; }
OutputTensorInfo& OutputInfo::tensor() { return terroir::detail::held(parts_, "OutputInfo").tensor; }

struct PrePostProcessor::State {
  explicit State(const std::shared_ptr<Model>& of) : model(of) {
    if (!model) throw_error(ErrorCode::invalid_argument, "PrePostProcessor: the model is a null pointer");
    for (size_t i = 0; i < graph().parameters().size(); ++i) inputs.push_back(InfoAccess::make<InputInfo>());
    for (size_t i = 0; i < graph().results().size(); ++i) outputs.push_back(InfoAccess::make<OutputInfo>());
  }

  const std::shared_ptr<GraphState>& state() const { return terroir::detail::ModelAccess::state(*model); }
  const ir::Graph& graph() const { return *state()->graph; }

  void require_open() const {
    if (built) {
      throw_error(ErrorCode::invalid_argument,
                  "PrePostProcessor: build() has been called; make another one for further steps");
    }
    if (graph().parameters().size() != inputs.size() || graph().results().size() != outputs.size()) {
      throw_error(ErrorCode::invalid_argument,
                  "PrePostProcessor: the inputs or outputs of the model have changed since it was made");
    }
  }

  /// Puts all steps into `target`, a graph with the inputs and outputs of the model.
  void add_all(const std::shared_ptr<GraphState>& target, std::ostream* log) const {
    const auto name = [&](bool is_input, size_t index) {
      const ir::Value value = terroir::detail::end_value(graph(), is_input, index);
      const auto names = ir::tensor_names(graph(), {terroir::detail::ends(graph(), is_input)[index], 0});
      return concat(is_input ? "input '" : "output '", names.empty() ? graph().node(value.node).name : names.front(),
                    "'");
    };
    const std::vector<ir::NodeId> results = target->graph->results();
    std::vector<std::string> names;
    for (size_t i = 0; i < inputs.size(); ++i) names.push_back(name(true, i));
    for (size_t i = 0; i < outputs.size(); ++i) names.push_back(name(false, i));
    size_t at = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      with_context([&] { return names[i]; }, [&] { at += detail::add_steps(target, at, inputs[i], log); });
    }
    // Inputs may have another shape now.
    terroir::detail::infer_anew(target->writable(), "the model with its steps is not valid");
    for (size_t i = 0; i < outputs.size(); ++i) {
      with_context([&] { return names[inputs.size() + i]; },
                   [&] { detail::add_steps(target, results[i], outputs[i], log); });
    }
  }

  std::shared_ptr<Model> model;
  mutable std::vector<InputInfo> inputs;
  mutable std::vector<OutputInfo> outputs;
  bool built = false;
};

PrePostProcessor::PrePostProcessor(const std::shared_ptr<Model>& model) : state_(std::make_unique<State>(model)) {}
PrePostProcessor::PrePostProcessor(PrePostProcessor&&) noexcept = default;
PrePostProcessor& PrePostProcessor::operator=(PrePostProcessor&&) noexcept = default;
PrePostProcessor::~PrePostProcessor() = default;

namespace {
constexpr const char* kWhat = "PrePostProcessor";
constexpr const char* kOwner = "PrePostProcessor: the model";

/// That of a processor which takes steps.
template <class State>
State& open_state(const std::unique_ptr<State>& of) {
  State& state = terroir::detail::held(of, kWhat);
  state.require_open();
  return state;
}
}  // namespace

InputInfo& PrePostProcessor::input() {
  State& state = open_state(state_);
  terroir::detail::check_single(state.graph(), true, kOwner);
  return state.inputs.front();
}

InputInfo& PrePostProcessor::input(const std::string& tensor_name) {
  State& state = open_state(state_);
  return state.inputs[terroir::detail::find_port(state.graph(), true, tensor_name, kOwner)];
}

InputInfo& PrePostProcessor::input(size_t input_index) {
  State& state = open_state(state_);
  terroir::detail::check_index(state.graph(), true, input_index, kOwner);
  return state.inputs[input_index];
}

OutputInfo& PrePostProcessor::output() {
  State& state = open_state(state_);
  terroir::detail::check_single(state.graph(), false, kOwner);
  return state.outputs.front();
}

OutputInfo& PrePostProcessor::output(const std::string& tensor_name) {
  State& state = open_state(state_);
  return state.outputs[terroir::detail::find_port(state.graph(), false, tensor_name, kOwner)];
}

OutputInfo& PrePostProcessor::output(size_t output_index) {
  State& state = open_state(state_);
  terroir::detail::check_index(state.graph(), false, output_index, kOwner);
  return state.outputs[output_index];
}

std::shared_ptr<Model> PrePostProcessor::build() {
  State& state = open_state(state_);
  // The first change copies the graph, because we hold it, too: this one stays as it was.
  const std::shared_ptr<ir::Graph> untouched = state.state()->graph;
  try {
    state.add_all(state.state(), nullptr);
  } catch (...) {
    state.state()->graph = untouched;
    throw;
  }
  state.built = true;
  return state.model;
}

std::ostream& operator<<(std::ostream& out, const PrePostProcessor& processor) {
  const PrePostProcessor::State& state = terroir::detail::held(processor.state_, kWhat);
  try {
    state.require_open();
    const auto copy = terroir::detail::ModelAccess::make(state.graph().clone());
    state.add_all(terroir::detail::ModelAccess::state(*copy), &out);
  } catch (const Exception& error) {
    out << "\nError occurred: " << error.what() << '\n';
  }
  return out;
}

}  // namespace terroir::preprocess
