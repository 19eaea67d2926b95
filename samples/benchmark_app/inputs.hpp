// The inputs of the model: what their axes mean, the shapes the model gets and the shapes its data have.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <terroir/terroir.hpp>

#include "benchmark_app/input_files.hpp"
#include "benchmark_app/options.hpp"
#include "benchmark_app/per_input.hpp"

namespace benchmark_app {

struct Input {
  std::string name;
  terroir::Layout layout;         // of the command line, of the model, or guessed
  terroir::PartialShape shape;    // of the model's input
  std::vector<Source> sources{};  // files and the like; none: random values

  /// Position of an axis of the layout in a tensor of this rank, if the layout has it.
  std::optional<size_t> axis(const char* letter) const;
  /// N of the shape of a tensor; 1 without such an axis.
  size_t batch_of(const terroir::Shape& tensor) const;
  /// Whether it takes pictures of three channels.
  bool is_image() const;
  /// A table with the sizes of pictures, as old detectors want it.
  bool is_image_info() const;
};

/// One set of shapes of the data, by input.
using ShapeSet = std::vector<terroir::Shape>;

/// The inputs as they are. Layouts of --layout are written to the model if there is one; those that nobody knows are
/// guessed, with a warning: pictures by their few channels, else the first axis of several is N.
std::vector<Input> describe_inputs(const Ports& ports, const Options& options, terroir::Model* model);

/// Applies --shape, then --batch. Returns the milliseconds it took, if anything was changed. Throws std::runtime_error
/// that names the option, or the terroir::Exception of the layer that refuses its new input.
std::optional<double> reshape(terroir::Model& model, std::vector<Input>& inputs, const Options& options);

/// Shapes of the data, one set or several: those of the inputs where they are static, those of --data_shape, else those
/// of the images and arrays. Throws std::runtime_error that says which input lacks what.
std::vector<ShapeSet> data_shapes(const std::vector<Input>& inputs, const Ports& ports, const Options& options);

/// Samples in one inference: N of the first input that has such an axis.
size_t batch_size(const std::vector<Input>& inputs, const ShapeSet& shapes);

/// "data[1,3,64,64],mask[1,8]", as in --data_shape.
std::string to_text(const std::vector<Input>& inputs, const ShapeSet& shapes);

}  // namespace benchmark_app
