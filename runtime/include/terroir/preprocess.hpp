// Work before and after a model that becomes part of the model.
//
// Use: preprocess::PrePostProcessor processor(model);
//      processor.input().tensor().set_element_type(element::u8).set_layout("NHWC").set_spatial_dynamic_shape();
//      processor.input().model().set_layout("NCHW");
//      processor.input().preprocess().resize(ResizeAlgorithm::RESIZE_LINEAR).mean({124, 117, 104}).scale(58);
//      processor.output().tensor().set_element_type(element::f16);
//      model = processor.build();
// What: for each input, tensor() says what the program has, model() what the model means, and preprocess() lists the
//       steps from one to the other; for each output model(), postprocess() and tensor() likewise. What differs still
//       after the last step is converted by itself: the element type first, then the layout.
// Layouts: channels, height and width are found by the layout that the steps have come to. An input whose layout is
//       not set has that of the model, or NHWC if it has a colour format.
// Throws: functions that record a step throw Exception (invalid_argument) only where it says so; the others are checked
//       by build(), whose error names the input or output and the step, and says what was expected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "terroir/element_type.hpp"
#include "terroir/export.hpp"
#include "terroir/layout.hpp"
#include "terroir/model.hpp"
#include "terroir/node.hpp"
#include "terroir/op/pad_mode.hpp"
#include "terroir/partial_shape.hpp"
#include "terroir/tensor.hpp"

namespace terroir {

namespace preprocess {

enum class ColorFormat {
  UNDEFINED,
  NV12_SINGLE_PLANE,  ///< [N, 3/2 H, W, 1]: Y, then U and V in turn, half as high and wide
  NV12_TWO_PLANES,    ///< [N, H, W, 1] and [N, H/2, W/2, 2]
  I420_SINGLE_PLANE,  ///< [N, 3/2 H, W, 1]: Y, then U, then V, half as high and wide
  I420_THREE_PLANES,  ///< [N, H, W, 1] and twice [N, H/2, W/2, 1]
  RGB,
  BGR,
  GRAY,  ///< one channel
  RGBX,  ///< four channels, the last one without meaning
  BGRX
};

enum class ResizeAlgorithm {
  RESIZE_LINEAR,           ///< between the two nearest in each direction; pixels have their centre at one half
  RESIZE_CUBIC,            ///< between the four nearest in each direction
  RESIZE_NEAREST,          ///< the nearest one
  RESIZE_BILINEAR_PILLOW,  ///< as the Python library Pillow: averages when the image gets smaller
  RESIZE_BICUBIC_PILLOW
};

using PaddingMode = op::PadMode;

namespace detail {
struct PreSteps;
struct PostSteps;
struct TensorInfo;
struct InfoAccess;
}  // namespace detail

/// What the program gives as an input. What is not set is as the model has it.
class TERROIR_API InputTensorInfo final {
 public:
  ~InputTensorInfo();

  InputTensorInfo& set_element_type(const element::Type& type);
  InputTensorInfo& set_layout(const Layout& layout);
  /// Height and width may be any. Throws Exception (invalid_argument) after set_shape() or set_from().
  InputTensorInfo& set_spatial_dynamic_shape();
  /// Height and width. Throws Exception (invalid_argument) after set_shape() or set_from().
  InputTensorInfo& set_spatial_static_shape(size_t height, size_t width);
  /// A format of several planes makes an input of each, in the place of the one there was: the following inputs move,
  /// and ports that were taken before mean the input that is now at their place. `sub_names`, one per plane, name them
  /// "input/sub_name". Without, they have no tensor names and are found by index. Throws Exception (invalid_argument)
  /// for another number of names, and for any name if there is one plane.
  InputTensorInfo& set_color_format(const ColorFormat& format, const std::vector<std::string>& sub_names = {});
  /// Throws Exception (unsupported) but for "", which means main memory: there is no other here.
  InputTensorInfo& set_memory_type(const std::string& memory_type);
  /// The whole shape, of all planes together. Throws Exception (invalid_argument) after set_spatial_...().
  InputTensorInfo& set_shape(const PartialShape& shape);
  /// Element type and shape of this tensor. Throws Exception (invalid_argument) after set_spatial_...(), and for an
  /// empty tensor.
  InputTensorInfo& set_from(const Tensor& runtime_tensor);

 private:
  friend struct detail::InfoAccess;
  InputTensorInfo();
  std::unique_ptr<detail::TensorInfo> info_;
};

/// What the model says of its input, or should have said.
class TERROIR_API InputModelInfo final {
 public:
  ~InputModelInfo();
  InputModelInfo& set_layout(const Layout& layout);

 private:
  friend struct detail::InfoAccess;
  InputModelInfo();
  std::unique_ptr<detail::TensorInfo> info_;
};

/// Steps from the program's tensor to the model's input, done in the order in which they are called.
class TERROIR_API PreProcessSteps final {
 public:
  ~PreProcessSteps();

  /// Without a type: to that of the model.
  PreProcessSteps& convert_element_type(const element::Type& type = {});
  /// From the format of InputTensorInfo::set_color_format(): every YUV format to RGB, BGR or GRAY (the Y plane alone),
  /// RGB and BGR to each other and to GRAY (0.299 R + 0.587 G + 0.114 B, integers rounded half to even), RGBX and BGRX
  /// to all of these.
  PreProcessSteps& convert_color(const ColorFormat& dst_format);
  /// Divides by one value, or by one per channel. The elements must be real: convert_element_type() first.
  PreProcessSteps& scale(float value);
  PreProcessSteps& scale(const std::vector<float>& values);
  /// Subtracts one value, or one per channel. The elements must be real: convert_element_type() first.
  PreProcessSteps& mean(float value);
  PreProcessSteps& mean(const std::vector<float>& values);
  /// Adds elements around, as many as said for each axis; negative numbers take away. `value` counts for CONSTANT. The
  /// elements must be real: convert_element_type() first.
  PreProcessSteps& pad(const std::vector<int>& pads_begin, const std::vector<int>& pads_end, float value,
                       PaddingMode mode);
  /// The same; `values` has one element.
  PreProcessSteps& pad(const std::vector<int>& pads_begin, const std::vector<int>& pads_end,
                       const std::vector<float>& values, PaddingMode mode);
  /// Limits every element.
  PreProcessSteps& clamp(double min_value, double max_value);

  /// Layers of the program's own, made by ModelBuilder(node) from the value of the step before; returns the last one.
  using CustomPreprocessOp = std::function<Output<Node>(const Output<Node>& node)>;
  PreProcessSteps& custom(const CustomPreprocessOp& preprocess_cb);

  /// Throws Exception (invalid_argument) for a size of 0 or beyond that of an int.
  PreProcessSteps& resize(ResizeAlgorithm alg, size_t dst_height, size_t dst_width);
  /// To the height and width of the model's input.
  PreProcessSteps& resize(ResizeAlgorithm alg);
  /// The elements from `begin` to `end` (exclusive) of the first axes; negative numbers count from the end.
  /// Throws Exception (invalid_argument) for lists of different lengths.
  PreProcessSteps& crop(const std::vector<int>& begin, const std::vector<int>& end);
  /// Without a layout: to that of the model. Axes that are missing are added with the extent 1.
  PreProcessSteps& convert_layout(const Layout& dst_layout = {});
  /// Axis i of the result is axis dims[i]. Does nothing if empty.
  PreProcessSteps& convert_layout(const std::vector<uint64_t>& dims);
  /// The channels in opposite order, e.g. RGB to BGR in any layout.
  PreProcessSteps& reverse_channels();

 private:
  friend struct detail::InfoAccess;
  PreProcessSteps();
  std::unique_ptr<detail::PreSteps> steps_;
};

class TERROIR_API InputInfo final {
 public:
  InputInfo(InputInfo&& other) noexcept;
  InputInfo& operator=(InputInfo&& other) noexcept;
  ~InputInfo();

  InputTensorInfo& tensor();
  PreProcessSteps& preprocess();
  InputModelInfo& model();

 private:
  friend struct detail::InfoAccess;
  struct Parts;
  InputInfo();
  std::unique_ptr<Parts> parts_;
};

/// What the program wants as an output. What is not set is as the model and the steps make it.
class TERROIR_API OutputTensorInfo final {
 public:
  ~OutputTensorInfo();
  OutputTensorInfo& set_element_type(const element::Type& type);
  OutputTensorInfo& set_layout(const Layout& layout);

 private:
  friend struct detail::InfoAccess;
  OutputTensorInfo();
  std::unique_ptr<detail::TensorInfo> info_;
};

/// What the model says of its output, or should have said.
class TERROIR_API OutputModelInfo final {
 public:
  ~OutputModelInfo();
  OutputModelInfo& set_layout(const Layout& layout);
  /// `sub_names` are not used.
  OutputModelInfo& set_color_format(const ColorFormat& format, const std::vector<std::string>& sub_names = {});

 private:
  friend struct detail::InfoAccess;
  OutputModelInfo();
  std::unique_ptr<detail::TensorInfo> info_;
};

/// Steps from the model's output to the program's tensor, done in the order in which they are called.
class TERROIR_API PostProcessSteps final {
 public:
  ~PostProcessSteps();

  /// Without a type: to that of OutputTensorInfo.
  PostProcessSteps& convert_element_type(const element::Type& type = {});
  /// Without a layout: to that of OutputTensorInfo.
  PostProcessSteps& convert_layout(const Layout& dst_layout = {});
  /// Axis i of the result is axis dims[i]. Does nothing if empty.
  PostProcessSteps& convert_layout(const std::vector<uint64_t>& dims);
  /// Limits every element.
  PostProcessSteps& clamp(double min_value, double max_value);
  /// RGB to BGR or back; from the format of OutputModelInfo::set_color_format().
  PostProcessSteps& convert_color(const ColorFormat& dst_format);

  /// Layers of the program's own, made by ModelBuilder(node) from the value of the step before; returns the last one.
  using CustomPostprocessOp = std::function<Output<Node>(const Output<Node>& node)>;
  PostProcessSteps& custom(const CustomPostprocessOp& postprocess_cb);

 private:
  friend struct detail::InfoAccess;
  PostProcessSteps();
  std::unique_ptr<detail::PostSteps> steps_;
};

class TERROIR_API OutputInfo final {
 public:
  OutputInfo(OutputInfo&& other) noexcept;
  OutputInfo& operator=(OutputInfo&& other) noexcept;
  ~OutputInfo();

  OutputModelInfo& model();
  PostProcessSteps& postprocess();
  OutputTensorInfo& tensor();

 private:
  friend struct detail::InfoAccess;
  struct Parts;
  OutputInfo();
  std::unique_ptr<Parts> parts_;
};

class TERROIR_API PrePostProcessor final {
 public:
  /// Throws Exception (invalid_argument) for a null pointer.
  explicit PrePostProcessor(const std::shared_ptr<Model>& model);
  PrePostProcessor(PrePostProcessor&&) noexcept;
  PrePostProcessor& operator=(PrePostProcessor&&) noexcept;
  ~PrePostProcessor();

  /// Inputs and outputs of the model as it was given. Without argument: the only one. These throw Exception: not_found
  /// for a name or index there is not, invalid_argument if there are several and none was chosen.
  InputInfo& input();
  InputInfo& input(const std::string& tensor_name);
  InputInfo& input(size_t input_index);
  OutputInfo& output();
  OutputInfo& output(const std::string& tensor_name);
  OutputInfo& output(size_t output_index);

  /// Puts everything into the model that was given, and returns it. Inputs and outputs keep their order, their layer
  /// and tensor names, but for those that became planes. Throws Exception, and then the model is as it was: what was
  /// wrong may be mended by further calls. A second build() after a successful one: invalid_argument.
  std::shared_ptr<Model> build();

 private:
  friend TERROIR_API std::ostream& operator<<(std::ostream& out, const PrePostProcessor& processor);
  struct State;
  std::unique_ptr<State> state_;
};

/// What build() would do, input by input and step by step, with types, shapes and layouts; and the error it would end
/// in. Inputs and outputs with nothing to do are left out.
TERROIR_API std::ostream& operator<<(std::ostream& out, const PrePostProcessor& processor);

}  // namespace preprocess
}  // namespace terroir
