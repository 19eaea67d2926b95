// Classifies one image: hello_classification MODEL IMAGE DEVICE.
#include <iostream>

#include "common/arguments.hpp"
#include "common/image.hpp"
#include "common/report.hpp"

namespace {

int classify(const std::string& model_path, const std::string& image_path, const std::string& device) {
  terroir::Core core;
  samples::info() << terroir::get_terroir_version() << '\n';
  samples::info() << "Loading model files: " << model_path << '\n';
  const auto model = core.read_model(model_path);
  samples::print_model(*model);

  const samples::Image image = samples::load_image(image_path);
  samples::take_photos(model, image);
  terroir::CompiledModel compiled = core.compile_model(model, device);
  terroir::InferRequest request = compiled.create_infer_request();
  request.set_input_tensor(samples::photo_tensor(image, compiled.input()));
  request.infer();
  samples::print_top_results(request.get_output_tensor(), 10, "Image " + image_path);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Prints the ten classes a model finds most probable for an image.", "hello_classification");
  std::string model, image, device;
  app.add_option("MODEL", model, "IR model, .xml")->required();
  app.add_option("IMAGE", image, "JPEG, PNG, BMP or PPM; it is resized to the model's input, blue-green-red, 0..255")
      ->required();
  app.add_option("DEVICE", device, "e.g. CPU")->required();
  return samples::run_sample(app, argc, argv, [&] { return classify(model, image, device); });
}
