#include "benchmark_app/inputs.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <stdexcept>

#include "common/image.hpp"
#include "common/npy.hpp"
#include "common/report.hpp"

using terroir::Layout;
using terroir::PartialShape;
using terroir::Shape;

namespace benchmark_app {
namespace {

constexpr int64_t kMostChannels = 4;

/// Whether this axis has few positions and the other one may have many.
bool few_at(const PartialShape& shape, size_t few, size_t many) {
  const auto may_have_many = [&](size_t axis) {
    return shape[axis].is_dynamic() || shape[axis].get_length() > kMostChannels;
  };
  return !may_have_many(few) && may_have_many(many);
}

Layout guessed(const PartialShape& shape) {
  if (shape.rank().is_dynamic() || shape.size() < 2) return {};
  if (shape.size() == 4) return few_at(shape, 3, 1) ? "NHWC" : "NCHW";
  if (shape.size() == 3 && few_at(shape, 2, 0)) return "HWC";
  if (shape.size() == 3 && few_at(shape, 0, 2) && shape[0] == 3) return "CHW";
  return "N...";
}

bool has_axes(const Layout& layout, std::initializer_list<const char*> letters) {
  return std::all_of(letters.begin(), letters.end(), [&](const char* letter) { return layout.has_name(letter); });
}

PartialShape parse_shape(const std::string& text, const std::string& option) {
  try {
    return PartialShape("[" + text + "]");
  } catch (const terroir::Exception& error) {
    throw std::runtime_error(option + ": " + error.what());
  }
}

void set_axis(PartialShape& shape, const std::optional<size_t>& axis, int64_t extent) {
  if (axis && shape.rank().is_static() && *axis < shape.size()) shape[*axis] = extent;
}

/// The shape of a tensor for an input of unknown extents, from the files it is filled with, beginning at `first`.
Shape shape_of_file(const Input& input, size_t first, int64_t batch) {
  const Source& source = input.sources[first % input.sources.size()];
  PartialShape shape = input.shape;
  if (source.kind == Source::Kind::npy) {
    const Shape whole = samples::load_npy(source.text).shape;
    if (shape.compatible(whole)) return whole;
  } else if (source.kind == Source::Kind::image && shape.rank().is_static() && has_axes(input.layout, {"H", "W"})) {
    const auto n = input.axis("N");
    if (n && shape[*n].is_dynamic()) set_axis(shape, n, std::max<int64_t>(batch, 1));
    const samples::Image image = samples::load_image(source.text);
    const auto set_if_unknown = [&](const char* letter, int64_t extent) {
      const auto axis = input.axis(letter);
      if (axis && shape[*axis].is_dynamic()) shape[*axis] = extent;
    };
    set_if_unknown("H", image.height);
    set_if_unknown("W", image.width);
    set_if_unknown("C", 3);
    if (shape.is_static() && input.shape.compatible(shape)) return shape.to_shape();
  }
  throw std::runtime_error("the input '" + input.name + "' has the dynamic shape " + input.shape.to_string() +
                           ", which '" + source.text + "' does not settle; give --data_shape");
}

/// The shapes of --data_shape for one input, none if it does not name the input.
std::vector<Shape> given_shapes(const Input& input, const std::vector<std::string>& texts) {
  std::vector<Shape> shapes;
  for (const std::string& text : texts) {
    const PartialShape shape = parse_shape(text, "--data_shape");
    if (shape.is_dynamic()) {
      throw std::runtime_error("--data_shape: " + shape.to_string() + " has unknown extents; data have a size");
    }
    if (input.shape.is_static() && shape != input.shape) {
      throw std::runtime_error("--data_shape: the input '" + input.name + "' has the static shape " +
                               input.shape.to_string() + "; --shape changes it");
    }
    if (!input.shape.compatible(shape)) {
      throw std::runtime_error("--data_shape: " + shape.to_string() + " does not fit the input '" + input.name +
                               "' of shape " + input.shape.to_string());
    }
    shapes.push_back(shape.to_shape());
  }
  return shapes;
}

/// One or several shapes of the data of an input.
std::vector<Shape> shapes_of(const Input& input, const std::vector<std::string>& texts, const Options& options) {
  std::vector<Shape> shapes = given_shapes(input, texts);
  if (!shapes.empty()) return shapes;
  if (input.shape.is_static()) return {input.shape.to_shape()};
  PartialShape shape = input.shape;
  if (options.batch != 0) set_axis(shape, input.axis("N"), options.batch);
  if (shape.is_static()) return {shape.to_shape()};
  const bool from_files = !input.sources.empty() && input.sources.front().is_file();
  if (!from_files) {
    throw std::runtime_error("the input '" + input.name + "' has the dynamic shape " + input.shape.to_string() +
                             "; fix it with --shape, or give the shape of its data with --data_shape or -i");
  }
  for (size_t file = 0; file < input.sources.size();) {
    shapes.push_back(shape_of_file(input, file, options.batch));
    file += input.sources[file].kind == Source::Kind::image ? std::max<size_t>(1, input.batch_of(shapes.back())) : 1;
  }
  return shapes;
}

}  // namespace

std::optional<size_t> Input::axis(const char* letter) const {
  if (!layout.has_name(letter)) return std::nullopt;
  const int64_t index = layout.get_index_by_name(letter);
  if (index >= 0) return static_cast<size_t>(index);
  if (shape.rank().is_dynamic()) return std::nullopt;
  return static_cast<size_t>(index + shape.rank().get_length());
}

size_t Input::batch_of(const Shape& tensor) const {
  const auto n = axis("N");
  return n && *n < tensor.size() ? tensor[*n] : 1;
}

bool Input::is_image() const {
  if (!has_axes(layout, {"C", "H", "W"}) || layout.has_name("D") || shape.rank().is_dynamic()) return false;
  return shape[*axis("C")].compatible(3);
}

bool Input::is_image_info() const {
  return axis("N") == size_t{0} && shape.rank().is_static() && shape.size() == 2 &&
         (shape[1].is_dynamic() || shape[1].get_length() >= 2);
}

std::vector<Input> describe_inputs(const Ports& ports, const Options& options, terroir::Model* model) {
  if (ports.empty()) throw std::runtime_error("the model has no inputs");
  const auto layouts = one_per_input(options.layout, ports, "--layout");
  std::vector<Input> inputs;
  for (size_t i = 0; i < ports.size(); ++i) {
    Input input{samples::name(ports[i]), terroir::layout::get_layout(ports[i]), ports[i].get_partial_shape()};
    const auto found = layouts.find(i);
    if (found != layouts.end()) {
      try {
        // Names between commas are what Layout has in brackets, which are the option's here.
        const bool is_list = found->second.find(',') != std::string::npos;
        input.layout = Layout(is_list ? "[" + found->second + "]" : found->second);
        if (model != nullptr) terroir::layout::set_layout(model->input(i), input.layout);
      } catch (const terroir::Exception& error) {
        throw std::runtime_error(std::string("--layout: ") + error.what());
      }
    }
    if (input.layout.empty()) {
      input.layout = guessed(input.shape);
      if (!input.layout.empty()) {
        samples::warning() << "the layout of input '" << input.name << "' is not known; " << input.layout.to_string()
                           << " is assumed, --layout says better\n";
      }
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

std::optional<double> reshape(terroir::Model& model, std::vector<Input>& inputs, const Options& options) {
  const auto texts = one_per_input(options.shape, std::as_const(model).inputs(), "--shape");
  std::map<size_t, PartialShape> wanted;
  bool has_batch = options.batch == 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto found = texts.find(i);
    PartialShape shape = found != texts.end() ? parse_shape(found->second, "--shape") : inputs[i].shape;
    if (options.batch != 0 && inputs[i].axis("N")) {
      set_axis(shape, inputs[i].axis("N"), options.batch);
      has_batch = true;
    }
    if (shape != inputs[i].shape) wanted.emplace(i, shape);
    inputs[i].shape = shape;
  }
  if (!has_batch) throw std::runtime_error("--batch: no input has an axis N; --layout says which axis it is");
  if (wanted.empty()) return std::nullopt;
  samples::info() << "Reshaping model:";
  for (const auto& [i, shape] : wanted) std::cout << " '" << inputs[i].name << "': " << shape;
  std::cout << '\n';
  const auto start = std::chrono::steady_clock::now();
  model.reshape(wanted);
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

std::vector<ShapeSet> data_shapes(const std::vector<Input>& inputs, const Ports& ports, const Options& options) {
  const auto texts = per_input(options.data_shape, ports, "--data_shape");
  std::vector<std::vector<Shape>> by_input;
  size_t sets = 1;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto found = texts.find(i);
    by_input.push_back(
        shapes_of(inputs[i], found != texts.end() ? found->second : std::vector<std::string>(), options));
    sets = std::max(sets, by_input.back().size());
  }
  std::vector<ShapeSet> result(sets);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const size_t count = by_input[i].size();
    if (count != 1 && count != sets) {
      throw std::runtime_error("the input '" + inputs[i].name + "' has " + std::to_string(count) +
                               " shapes of data and another one " + std::to_string(sets) +
                               "; give each input one shape or as many as the others, with --data_shape or -i");
    }
    for (size_t set = 0; set < sets; ++set) result[set].push_back(by_input[i][set % count]);
  }
  return result;
}

size_t batch_size(const std::vector<Input>& inputs, const ShapeSet& shapes) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].axis("N")) return inputs[i].batch_of(shapes[i]);
  }
  return 1;
}

std::string to_text(const std::vector<Input>& inputs, const ShapeSet& shapes) {
  std::string text;
  for (size_t i = 0; i < inputs.size(); ++i) {
    text += (text.empty() ? "" : ",") + inputs[i].name + shapes[i].to_string();
  }
  return text;
}

}  // namespace benchmark_app
