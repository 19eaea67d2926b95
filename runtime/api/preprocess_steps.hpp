// Steps of PreProcessSteps and PostProcessSteps: what each adds to the model.
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "terroir/preprocess.hpp"

namespace terroir::preprocess::detail {

/// Where the steps have come to, and where they must lead.
struct Flow {
  std::vector<Output<Node>> values;  // one, or one per plane
  Layout layout;
  ColorFormat color = ColorFormat::UNDEFINED;
  Layout target_layout;
  element::Type target_type;
  PartialShape model_shape;  // of the model's input; unknown for outputs
  std::string name;          // of the layer that new layers are named after
};

struct Step {
  std::string text;
  std::function<void(Flow&)> apply;  // throws Exception
};

Step convert_type_step(const element::Type& type);
Step convert_layout_step(const Layout& layout);
Step transpose_step(const std::vector<uint64_t>& order);
Step clamp_step(double min, double max);
Step custom_step(const std::function<Output<Node>(const Output<Node>&)>& callback);
/// A difference or a quotient with one value or one per channel.
Step mean_step(const std::vector<float>& values);
Step scale_step(const std::vector<float>& values);
/// Without sizes: those of the model.
Step resize_step(ResizeAlgorithm algorithm, int64_t height = -1, int64_t width = -1);
Step crop_step(const std::vector<int>& begin, const std::vector<int>& end);
Step pad_step(const std::vector<int>& begin, const std::vector<int>& end, const std::vector<float>& values,
              PaddingMode mode);
Step reverse_channels_step();
Step convert_color_step(ColorFormat format);
/// Of an output: RGB and BGR only.
Step convert_output_color_step(ColorFormat format);

/// Steps that convert what differs from the target: the element type, then the layout.
std::vector<Step> implicit_steps(const Flow& flow);

struct PreSteps {
  std::vector<Step> steps;
  /// Those of `steps` that change the layout: the program's layout is told from the model's through them, and the other
  /// way round.
  std::vector<std::variant<Layout, std::vector<uint64_t>>> conversions;
};

struct PostSteps {
  std::vector<Step> steps;
};

}  // namespace terroir::preprocess::detail
