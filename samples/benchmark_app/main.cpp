// Measures latency and throughput of a model, in the eleven steps of OpenVINO's tool of this name.
#include <chrono>
#include <cmath>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <stdexcept>

#include "benchmark_app/measure.hpp"
#include "benchmark_app/options.hpp"
#include "benchmark_app/shapes.hpp"
#include "benchmark_app/statistics.hpp"
#include "common/arguments.hpp"
#include "common/model_inputs.hpp"
#include "common/report.hpp"

namespace {

using samples::info;
using samples::warning;
using Json = nlohmann::ordered_json;

void heading(int number, const std::string& text) { std::cout << "[Step " << number << "/11] " << text << std::endl; }

class Timer {
 public:
  double milliseconds() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

void print_ports(const char* title, const std::vector<terroir::Output<const terroir::Node>>& ports) {
  info() << title << '\n';
  for (const auto& port : ports) {
    const terroir::Layout layout = terroir::layout::get_layout(port);
    info() << "    " << samples::name(port) << " (node: " << port.get_node()->get_friendly_name()
           << ") : " << port.get_element_type() << " / " << (layout.empty() ? "[...]" : layout.to_string()) << " / "
           << port.get_partial_shape() << '\n';
  }
}

void print_ports(const terroir::Model& model) {
  print_ports("Model inputs:", model.inputs());
  print_ports("Model outputs:", model.outputs());
}

/// --shape, then -b on top of it.
void reshape(const std::shared_ptr<terroir::Model>& model, const Options& options) {
  const auto shapes = parse_shapes(options.shape);
  check_names(*model, shapes);
  std::map<size_t, terroir::PartialShape> wanted;
  const auto inputs = model->inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    terroir::PartialShape shape = shape_for(inputs[i], shapes);
    const int64_t axis = batch_axis(inputs[i]);
    if (options.batch != 0 && axis >= 0 && shape.rank().is_static() && axis < shape.rank().get_length()) {
      if (terroir::layout::get_layout(inputs[i]).empty()) {
        warning() << "the layout of input '" << samples::name(inputs[i])
                  << "' is not known; its first axis is taken as N\n";
      }
      shape[axis] = options.batch;
    }
    if (shape != inputs[i].get_partial_shape()) wanted.emplace(i, shape);
  }
  if (wanted.empty()) return;
  const Timer timer;
  info() << "Reshaping model:";
  for (const auto& [i, shape] : wanted) std::cout << " '" << samples::name(inputs[i]) << "': " << shape;
  std::cout << '\n';
  model->reshape(wanted);
  info() << "Reshape model took " << timer.milliseconds() << " ms\n";
}

terroir::AnyMap device_properties(const Options& options) {
  using terroir::hint::PerformanceMode;
  terroir::AnyMap properties;
  if (options.hint != Options::Hint::none) {
    properties.insert(terroir::hint::performance_mode(
        options.hint == Options::Hint::latency ? PerformanceMode::LATENCY : PerformanceMode::THROUGHPUT));
    if (options.requests != 0) properties.insert(terroir::hint::num_requests(options.requests));
  }
  if (!options.streams.empty()) properties.insert(terroir::num_streams(options.streams));
  if (options.threads) properties.insert(terroir::inference_num_threads(*options.threads));
  if (options.counters) properties.insert(terroir::enable_profiling(true));
  return properties;
}

/// What to feed to each input. Throws std::runtime_error if a shape stays unknown.
std::vector<terroir::Shape> data_shapes(const terroir::Model& model, const Options& options) {
  const auto shapes = parse_shapes(options.data_shape);
  check_names(model, shapes);
  std::vector<terroir::Shape> result;
  for (const auto& port : model.inputs()) {
    const terroir::PartialShape shape = shape_for(port, shapes);
    if (shape.is_dynamic()) {
      throw std::runtime_error("the input '" + samples::name(port) + "' has the dynamic shape " + shape.to_string() +
                               "; fix it with --shape, or give the shape of its data with --data_shape");
    }
    result.push_back(shape.to_shape());
  }
  return result;
}

std::string limits_text(const Limits& limits) {
  std::string text;
  if (limits.milliseconds != 0) text = std::to_string(std::llround(limits.milliseconds)) + " ms duration";
  if (limits.iterations != 0) text += (text.empty() ? "" : ", ") + std::to_string(limits.iterations) + " iterations";
  return text;
}

void write_json(const Json& report, const std::string& path) {
  std::ofstream file(path);
  file << report.dump(2) << '\n';
  if (!file.flush()) throw std::runtime_error("cannot write '" + path + "'");
  info() << "Statistics report is stored to " << path << std::endl;
}

int benchmark(const Options& options, const std::string& command_line) {
  std::cout << std::fixed << std::setprecision(2);
  heading(1, "Parsing and validating input arguments");
  const bool async = options.api == Options::Api::async;
  if (!async && options.requests > 1) throw std::runtime_error("--nireq above 1 needs --api async");
  info() << "Parsing input parameters\n";

  heading(2, "Loading Terroir Runtime");
  terroir::Core core;
  for (const std::string& library : options.extensions) {
    core.add_extension(library);
    info() << "Extensions are loaded: " << library << '\n';
  }
  info() << "Build: " << terroir::get_terroir_version() << '\n';
  info() << "Device info: " << options.device << ", " << core.get_property(options.device, terroir::device::full_name)
         << '\n';

  heading(3, "Setting device configuration");
  const terroir::AnyMap properties = device_properties(options);
  core.set_property(options.device, properties);
  for (const auto& [key, value] : properties) info() << key << ": " << value << '\n';

  heading(4, "Reading model files");
  info() << "Loading model files: " << options.model << '\n';
  const Timer read_timer;
  const auto model = core.read_model(options.model);
  const double read_time = read_timer.milliseconds();
  info() << "Read model took " << read_time << " ms\n";
  print_ports(*model);

  heading(5, "Resizing model to match image sizes and given batch");
  reshape(model, options);
  const std::vector<terroir::Shape> shapes = data_shapes(*model, options);

  heading(6, "Configuring input of the model");
  print_ports(*model);
  int64_t batch = 1;
  for (size_t i = shapes.size(); i-- > 0;) {
    if (const int64_t axis = batch_axis(std::as_const(*model).input(i)); axis >= 0) {
      batch = static_cast<int64_t>(shapes[i].at(static_cast<size_t>(axis)));
    }
  }
  info() << "Model batch size: " << batch << '\n';

  heading(7, "Loading the model to the device");
  const Timer compile_timer;
  terroir::CompiledModel compiled = core.compile_model(model, options.device);
  const double compile_time = compile_timer.milliseconds();
  info() << "Compile model took " << compile_time << " ms\n";

  heading(8, "Querying optimal runtime parameters");
  for (const terroir::PropertyName& key : compiled.get_property(terroir::supported_properties)) {
    if (key == terroir::supported_properties.name()) continue;
    info() << "  " << std::string(key) << ": " << compiled.get_property(std::string(key)) << '\n';
  }

  heading(9, "Creating infer requests and preparing input tensors");
  const uint32_t count = options.requests != 0 ? options.requests
                         : async ? std::max(1u, compiled.get_property(terroir::optimal_number_of_infer_requests))
                                 : 1u;
  for (const auto& port : compiled.inputs())
    info() << "Fill input '" << samples::name(port) << "' with random values\n";
  std::vector<terroir::InferRequest> requests;
  for (uint32_t r = 0; r < count; ++r) {
    requests.push_back(compiled.create_infer_request());
    for (size_t i = 0; i < shapes.size(); ++i) {
      const terroir::Tensor tensor(compiled.input(i).get_element_type(), shapes[i]);
      samples::fill_random(tensor, r * shapes.size() + i);
      requests.back().set_input_tensor(i, tensor);
    }
  }

  Limits limits{options.iterations, options.seconds * 1000};
  if (limits.iterations % count != 0) {
    limits.iterations += count - limits.iterations % count;
    warning() << "Number of iterations was aligned by request number from " << options.iterations << " to "
              << limits.iterations << '\n';
  }
  heading(10, "Measuring performance (Start inference " +
                  (async ? "asynchronously, " + std::to_string(count) + " inference requests"
                         : std::string("synchronously")) +
                  ", limits: " + limits_text(limits) + ")");
  const Timer first_timer;
  requests[0].infer();
  const double first_time = first_timer.milliseconds();
  info() << "First inference took " << first_time << " ms" << std::endl;
  for (size_t r = 1; r < requests.size(); ++r) requests[r].infer();  // memory is made on first use
  const Statistics results =
      statistics_of(async ? measure_async(requests, limits) : measure_sync(requests[0], limits), batch);

  heading(11, "Dumping statistics report");
  Json report{
      {"cmd_options", command_line},
      {"configuration_setup",
       {{"topology", model->get_friendly_name()},
        {"target_device", options.device},
        {"API", to_string(options.api)},
        {"hint", to_string(options.hint)},
        {"batch_size", batch},
        {"nstreams", static_cast<int32_t>(compiled.get_property(terroir::num_streams))},
        {"nthreads", compiled.get_property(terroir::inference_num_threads)},
        {"nireq", count}}},
      {"execution_results",
       {{"read_model_time", read_time}, {"load_model_time", compile_time}, {"first_inference_time", first_time}}}};
  report["execution_results"].update(to_json(results));
  if (options.counters) {
    const auto layers = requests[0].get_profiling_info();
    info() << "Performance counts for 0-th infer request:\n";
    print(layers);
    report["performance_counters"] = to_json(layers);
  }
  if (!options.json_file.empty()) write_json(report, options.json_file);
  info() << "Execution Devices: [ " << compiled.get_property(std::string(terroir::execution_devices.name())) << " ]\n";
  print(results);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Measures the latency and the throughput of a model on random data. Options of several letters take one dash or "
      "two.",
      "benchmark_app");
  Options options;
  options.add_to(app);
  std::string command_line;
  for (int i = 1; i < argc; ++i) command_line += (i > 1 ? " " : "") + std::string(argv[i]);
  return samples::run_sample(app, argc, argv, [&] {
    options.complete(app);
    return benchmark(options, command_line);
  });
}
