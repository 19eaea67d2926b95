// Finds objects in an image with an SSD-style detector, and draws them: object_detection MODEL IMAGE.
#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "common/arguments.hpp"
#include "common/drawing.hpp"
#include "common/image.hpp"
#include "common/report.hpp"

namespace {

struct Options {
  std::string model, image;
  std::string device = "CPU";
  std::string output = "out.png";
  float threshold = 0.5f;
};

struct Detection {
  int label;
  float confidence;
  float x_min, y_min, x_max, y_max;  // fractions of width and height
};

/// Rows of [1,1,N,7]: image_id, label, confidence, x_min, y_min, x_max, y_max; a negative image_id ends them.
std::vector<Detection> detections(const terroir::Tensor& tensor, float threshold) {
  std::vector<Detection> found;
  const float* row = tensor.data<float>();
  for (size_t i = 0; i < tensor.get_size() / 7 && row[0] >= 0; ++i, row += 7) {
    if (row[0] == 0 && row[2] >= threshold) {
      found.push_back({static_cast<int>(row[1]), row[2], row[3], row[4], row[5], row[6]});
    }
  }
  return found;
}

terroir::Output<const terroir::Node> detection_output(const terroir::CompiledModel& compiled) {
  std::string others;
  for (const auto& port : compiled.outputs()) {
    const terroir::PartialShape shape = port.get_partial_shape();
    if (shape.rank() == terroir::Rank(4) && shape[3] == terroir::Dimension(7) &&
        port.get_element_type() == terroir::element::f32) {
      return port;
    }
    others += (others.empty() ? "" : ", ") + samples::text(port);
  }
  throw std::runtime_error("the model has no output f32[1,1,N,7] of detections, only " + others);
}

int pixel(float fraction, int extent) { return static_cast<int>(std::lround(fraction * static_cast<float>(extent))); }

int detect(const Options& options) {
  terroir::Core core;
  samples::info() << terroir::get_terroir_version() << '\n';
  samples::info() << "Loading model files: " << options.model << '\n';
  const auto model = core.read_model(options.model);
  samples::print_model(*model);

  samples::Image image = samples::load_image(options.image);
  samples::take_photos(model, image);
  terroir::CompiledModel compiled = core.compile_model(model, options.device);
  const auto output = detection_output(compiled);
  terroir::InferRequest request = compiled.create_infer_request();
  request.set_input_tensor(samples::photo_tensor(image, compiled.input()));
  request.infer();

  const auto found = detections(request.get_tensor(output), options.threshold);
  samples::info() << found.size() << " objects with confidence of at least " << options.threshold << " in "
                  << options.image << " (" << image.width << " x " << image.height << ")\n";
  const int thickness = std::max(2, std::min(image.width, image.height) / 300);
  for (size_t i = 0; i < found.size(); ++i) {
    const Detection& d = found[i];
    const int left = pixel(d.x_min, image.width), top = pixel(d.y_min, image.height);
    const int right = pixel(d.x_max, image.width), bottom = pixel(d.y_max, image.height);
    std::cout << '[' << i << "] label " << d.label << std::fixed << std::setprecision(4) << ", confidence "
              << d.confidence << ", (" << left << ", " << top << ")-(" << right << ", " << bottom << "), fractions "
              << d.x_min << ' ' << d.y_min << ' ' << d.x_max << ' ' << d.y_max << '\n';
    std::ostringstream label;
    label << d.label << ": " << std::fixed << std::setprecision(3) << d.confidence;
    samples::draw_frame(image, left, top, right, bottom, thickness, {0, 255, 0});
    samples::draw_label(image, left, top - 1, label.str(), {0, 0, 0}, {0, 255, 0});
  }
  samples::save_png(image, options.output);
  samples::info() << "The image with boxes was written to " << options.output << std::endl;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Finds objects in an image with a detector that ends in DetectionOutput, prints and draws them.",
               "object_detection");
  Options options;
  app.add_option("MODEL", options.model, "IR model, .xml, with an output [1,1,N,7]")->required();
  app.add_option("IMAGE", options.image,
                 "JPEG, PNG, BMP or PPM; it is resized to the model's input, blue-green-red, 0..255")
      ->required();
  app.add_option("-d,--device", options.device, "device to run on")->capture_default_str();
  app.add_option("-o,--output", options.output, "PNG file to write")->capture_default_str();
  app.add_option("-t,--threshold", options.threshold, "least confidence of the objects shown")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  return samples::run_sample(app, argc, argv, [&] { return detect(options); });
}
