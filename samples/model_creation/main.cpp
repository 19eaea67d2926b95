// Builds a MobileNet-v2 through the model builder, writes it if asked, and classifies an image with it.
#include <chrono>
#include <filesystem>
#include <iomanip>
#include <iostream>

#include "common/arguments.hpp"
#include "common/image.hpp"
#include "common/report.hpp"
#include "model_creation/mobilenet.hpp"

namespace {

struct Options {
  std::string image;
  std::string device = "CPU";
  std::string folder;
  int size = 224;
};

/// A picture for those who have none at hand: smooth colours with a disc.
samples::Image test_picture(int size) {
  samples::Image image{size, size, std::vector<uint8_t>(static_cast<size_t>(size) * static_cast<size_t>(size) * 3)};
  for (int y = 0; y < size; ++y) {
    for (int x = 0; x < size; ++x) {
      const int dx = 2 * x - size, dy = 2 * y - size;
      const bool disc = 4 * (dx * dx + dy * dy) < size * size;
      uint8_t* pixel = image.pixel(x, y);
      pixel[0] = static_cast<uint8_t>(disc ? 240 : 255 * x / size);
      pixel[1] = static_cast<uint8_t>(disc ? 200 : 255 * y / size);
      pixel[2] = static_cast<uint8_t>(disc ? 40 : 255 * (2 * size - x - y) / (2 * size));
    }
  }
  return image;
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

int create(const Options& options) {
  std::cout << std::fixed << std::setprecision(2);
  samples::info() << terroir::get_terroir_version() << '\n';
  auto start = std::chrono::steady_clock::now();
  const auto model = build_mobilenet(options.size);
  samples::info() << "Built the model in " << milliseconds_since(start) << " ms\n";
  samples::print_model(*model);

  if (!options.folder.empty()) {
    const auto path = std::filesystem::path(options.folder) / "model.xml";
    std::filesystem::create_directories(options.folder);
    terroir::serialize(model, path.string());
    samples::info() << "Written to " << path.string() << '\n';
  }

  const samples::Image image = options.image.empty() ? test_picture(options.size) : samples::load_image(options.image);
  samples::take_photos(model, image);
  terroir::Core core;
  start = std::chrono::steady_clock::now();
  terroir::CompiledModel compiled = core.compile_model(model, options.device);
  samples::info() << "Compiled it for " << options.device << " in " << milliseconds_since(start) << " ms\n";
  terroir::InferRequest request = compiled.create_infer_request();
  request.set_input_tensor(samples::photo_tensor(image, compiled.input()));
  start = std::chrono::steady_clock::now();
  request.infer();
  samples::info() << "First inference took " << milliseconds_since(start) << " ms\n";
  samples::print_top_results(request.get_output_tensor(), 10,
                             options.image.empty() ? "Image made up" : "Image " + options.image);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Builds a MobileNet-v2 classifier with the model builder and runs it. Its weights are pseudo-random, so it costs "
      "what the trained network costs, but its answers mean nothing.",
      "model_creation");
  Options options;
  app.add_option("IMAGE", options.image, "JPEG, PNG, BMP or PPM to classify; none: one is made up");
  app.add_option("-o,--output", options.folder, "folder to write model.xml and model.bin to; made if missing");
  app.add_option("-d,--device", options.device, "device to run on")->capture_default_str();
  app.add_option("--size", options.size, "height and width of the model's input")
      ->capture_default_str()
      ->check(CLI::Range(32, 4096));
  return samples::run_sample(app, argc, argv, [&] { return create(options); });
}
