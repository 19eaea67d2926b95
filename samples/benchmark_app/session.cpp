#include "benchmark_app/session.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <stdexcept>

#include "benchmark_app/arithmetic.hpp"
#include "benchmark_app/device_config.hpp"
#include "benchmark_app/feeds.hpp"
#include "benchmark_app/inputs.hpp"
#include "benchmark_app/layers.hpp"
#include "benchmark_app/machine.hpp"
#include "benchmark_app/measure.hpp"
#include "benchmark_app/preprocess.hpp"
#include "benchmark_app/report.hpp"
#include "benchmark_app/results.hpp"
#include "common/report.hpp"

namespace benchmark_app {
namespace {

using samples::info;
using samples::warning;

constexpr const char* kSteps[] = {"Parsing and validating input arguments",
                                  "Loading Terroir Runtime",
                                  "Setting device configuration",
                                  "Reading model files",
                                  "Resizing model to match image sizes and given batch",
                                  "Configuring input of the model",
                                  "Loading the model to the device",
                                  "Querying optimal runtime parameters",
                                  "Creating infer requests and preparing input tensors",
                                  "Measuring performance",
                                  "Dumping statistics report"};

void heading(size_t number, const std::string& more = {}) {
  std::cout << "[Step " << number << "/" << std::size(kSteps) << "] " << kSteps[number - 1]
            << (more.empty() ? "" : " (" + more + ")") << std::endl;
}

class Timer {
 public:
  double milliseconds() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

void print_ports(const char* title, const Ports& ports) {
  info() << title << '\n';
  for (const auto& port : ports) {
    const terroir::Layout layout = terroir::layout::get_layout(port);
    info() << "    " << samples::name(port) << " (node: " << port.get_node()->get_friendly_name()
           << ") : " << port.get_element_type() << " / " << (layout.empty() ? "[...]" : layout.to_string()) << " / "
           << port.get_partial_shape() << '\n';
  }
}

std::string limits_text(const Limits& limits) {
  std::string text;
  if (limits.milliseconds != 0) text = std::to_string(std::llround(limits.milliseconds)) + " ms duration";
  if (limits.iterations != 0) text += (text.empty() ? "" : ", ") + std::to_string(limits.iterations) + " iterations";
  return text;
}

class Session {
 public:
  explicit Session(const Options& options) : options_(options), report_(options) {}

  void run() {
    std::cout << std::fixed << std::setprecision(2);
    heading(1);
    info() << "Parsing input parameters\n";
    try {
      load_runtime();
      configure_device();
      if (options_.is_compiled()) {
        import_model();
      } else {
        options_.load_from_file ? load_from_file() : load_model();
      }
      query_parameters();
      if (options_.compile_only()) {
        info() << "The model is compiled; --niter 0 asks for no inference\n";
        heading(9, "skipped");
        heading(10, "skipped");
        heading(11);
        write_files();
        report_.write();
        return;
      }
      prepare_requests();
      measure();
      tell_results();
    } catch (const std::exception& error) {
      report_error(error.what());
      throw;
    }
  }

 private:
  void report_error(const std::string& text) {
    report_.add_results({{"error", "error", text}});
    try {
      report_.write();
    } catch (const std::exception& error) {  // `text` is what matters
      warning() << error.what() << '\n';
    }
  }

  void load_runtime() {
    heading(2);
    for (const std::string& library : options_.extensions) {
      core_.add_extension(library);
      info() << "Extensions are loaded: " << library << '\n';
    }
    device_name_ = core_.get_property(options_.device, terroir::device::full_name);
    info() << "Build: " << terroir::get_terroir_version() << '\n';
    info() << "Device info: " << options_.device << ", " << device_name_ << '\n';
  }

  void configure_device() {
    heading(3);
    config_ = device_config(core_, options_);
    const terroir::AnyMap& properties = config_[options_.device];
    core_.set_property(options_.device, properties);
    for (const auto& [key, value] : properties) info() << key << ": " << value << '\n';
  }

  void load_model() {
    heading(4);
    info() << "Loading model files: " << options_.model << '\n';
    memory_before_ = Memory::now();
    const Timer timer;
    model_ = core_.read_model(options_.model);
    add_time("Read model", "read model time (ms)", "read_model_time", timer.milliseconds());
    print_ports("Model inputs:", std::as_const(*model_).inputs());
    print_ports("Model outputs:", std::as_const(*model_).outputs());

    heading(5);
    const Ports ports = std::as_const(*model_).inputs();
    inputs_ = describe_inputs(ports, options_, model_.get());
    assign_sources(options_.inputs, ports, inputs_);
    if (const auto time = reshape(*model_, inputs_, options_)) {
      add_time("Reshape model", "reshape model time (ms)", "reshape_model_time", *time);
    }
    find_shapes(std::as_const(*model_).inputs());

    heading(6);
    add_preprocessing(model_, inputs_, options_);
    print_ports("Model inputs:", std::as_const(*model_).inputs());
    print_ports("Model outputs:", std::as_const(*model_).outputs());
    count_arithmetic();
    compile([&] { return core_.compile_model(model_, options_.device); });
    topology_ = model_->get_friendly_name();
  }

  void load_from_file() {
    skip_reading("loading model from file", "--load_from_file");
    compile([&] { return core_.compile_model(options_.model, options_.device); });
    describe_compiled();
  }

  void import_model() {
    info() << "Model is compiled\n";
    skip_reading("compiled model", "a compiled model");
    compile([&] { return core_.import_model(std::filesystem::path(options_.model), options_.device); },
            {"Import", "import", "import model time (ms)", "import_model_time"});
    describe_compiled();
  }

  void skip_reading(const std::string& what, const std::string& cause) {
    for (const size_t step : {4, 5, 6}) {
      heading(step);
      info() << "Skipping the step for " << what << '\n';
    }
    for (const auto& [option, value] :
         {std::pair("--shape", options_.shape), std::pair("--ip", options_.input_type),
          std::pair("--op", options_.output_type), std::pair("--iop", options_.port_types)}) {
      if (!value.empty()) warning() << option << " has no effect with " << cause << '\n';
    }
    memory_before_ = Memory::now();
  }

  void describe_compiled() {
    const Ports ports = compiled_.inputs();
    print_ports("Model inputs:", ports);
    print_ports("Model outputs:", compiled_.outputs());
    inputs_ = describe_inputs(ports, options_, nullptr);
    assign_sources(options_.inputs, ports, inputs_);
    find_shapes(ports);
    topology_ = compiled_.get_property(terroir::model_name);
  }

  void find_shapes(const Ports& ports) {
    if (options_.compile_only()) return;
    shape_sets_ = data_shapes(inputs_, ports, options_);
    batch_ = batch_size(inputs_, shape_sets_.front());
    if (std::none_of(inputs_.begin(), inputs_.end(), [](const Input& input) { return input.axis("N").has_value(); })) {
      warning() << "no input has an axis N; an inference counts as one sample\n";
    }
    info() << "Model batch size: " << batch_ << '\n';
  }

  void count_arithmetic() {
    for (const ShapeSet& shapes : shape_sets_) {
      std::map<size_t, terroir::PartialShape> fixed;
      for (size_t i = 0; i < shapes.size(); ++i) fixed.emplace(i, shapes[i]);
      const auto copy = model_->clone();
      if (copy->is_dynamic()) copy->reshape(fixed);
      flops_.push_back(count_flops(*copy));
    }
  }

  /// Step 7, in the words of what it does.
  struct Words {
    const char* verb = "Compile";
    const char* noun = "compilation";
    const char* csv_name = "compile model time (ms)";
    const char* json_name = "load_model_time";
  };
  template <typename Compile>
  void compile(const Compile& compile_model, const Words& words = {}) {
    heading(7);
    const Memory begin = Memory::now();
    const Timer timer;
    compiled_ = compile_model();
    const double time = timer.milliseconds();
    const Memory end = Memory::now();
    add_time(std::string(words.verb) + " model", words.csv_name, words.json_name, time);
    info() << "Start of " << words.noun << " memory usage: Peak " << begin.peak_virtual << " KB\n";
    info() << "End of " << words.noun << " memory usage: Peak " << end.peak_virtual << " KB\n";
    info() << words.verb << " model ram used " << end.peak_virtual - begin.peak_virtual << " KB\n";
    model_memory_ = end.resident - memory_before_.resident;
    check_cache();
  }

  void check_cache() const {
    if (options_.cache_dir.empty()) return;
    std::error_code error;
    const bool is_empty = std::filesystem::is_empty(options_.cache_dir, error);
    if (!error && !is_empty) return;
    warning() << "--cache_dir: no compiled model is in '" << options_.cache_dir << "'"
              << (error ? ": " + error.message() : std::string()) << '\n';
  }

  void query_parameters() {
    heading(8);
    info() << "Model:\n";
    for (const terroir::PropertyName& key : compiled_.get_property(terroir::supported_properties)) {
      if (key == terroir::supported_properties.name()) continue;
      info() << "  " << std::string(key) << ": " << compiled_.get_property(std::string(key)) << '\n';
    }
    if (!options_.exec_graph_path.empty()) check_runtime_model();
  }

  /// Says now, not after the run, if the device has none. Models of unknown extents have theirs when they have run.
  void check_runtime_model() const {
    try {
      compiled_.get_runtime_model();
    } catch (const terroir::Exception& error) {
      if (error.code() == terroir::ErrorCode::not_implemented) refuse_exec_graph(error);
    }
  }

  [[noreturn]] static void refuse_exec_graph(const terroir::Exception& error) {
    throw std::runtime_error(std::string("--exec_graph_path: ") + error.what());
  }

  /// Whether inputs are set before each inference, as part of what is measured.
  bool sets_inputs() const {
    const bool is_dynamic =
        std::any_of(inputs_.begin(), inputs_.end(), [](const Input& input) { return input.shape.is_dynamic(); });
    if (options_.inference_only.value_or(false) && shape_sets_.size() > 1) {
      throw std::runtime_error(
          "--inference_only: with several shapes of data inputs change between inferences; leave it "
          "out, or give one --data_shape");
    }
    return !options_.inference_only.value_or(!is_dynamic);
  }

  void prepare_requests() {
    plan_.is_async = options_.is_async();
    plan_.sets_inputs = sets_inputs();
    plan_.samples_per_second = options_.max_rate;
    const uint32_t count = options_.requests != 0 ? options_.requests
                           : plan_.is_async
                               ? std::max(1u, compiled_.get_property(terroir::optimal_number_of_infer_requests))
                               : 1u;
    plan_.limits = {options_.iterations.value_or(0), options_.seconds * 1000};
    if (plan_.is_async && plan_.limits.iterations != 0) align_iterations(count);

    heading(9);
    std::vector<terroir::element::Type> types;
    for (const auto& port : compiled_.inputs()) types.push_back(port.get_element_type());
    feeds_ = make_feeds(inputs_, types, shape_sets_, count);
    if (!plan_.sets_inputs && feeds_.size() > count && !options_.inputs.empty()) {
      warning() << "only " << count << " of " << feeds_.size() << " test configs are used, one for each request\n";
    }
    for (uint32_t r = 0; r < count; ++r) {
      requests_.push_back(compiled_.create_infer_request());
      set_inputs(requests_.back(), feeds_[r % feeds_.size()]);
    }
  }

  void align_iterations(uint64_t requests) {
    const uint64_t wanted = plan_.limits.iterations;
    const uint64_t step = std::max<uint64_t>(requests, shape_sets_.size());
    plan_.limits.iterations = (wanted + step - 1) / step * step;
    if (plan_.limits.iterations == wanted) return;
    warning() << "Number of iterations was aligned by " << (step == requests ? "request" : "data shape groups")
              << " number from " << wanted << " to " << plan_.limits.iterations << '\n';
  }

  void measure() {
    const std::string count = std::to_string(requests_.size());
    std::string how = plan_.is_async ? "asynchronously, " + count + " inference requests" : "synchronously";
    if (plan_.is_async && config_[options_.device].count(terroir::num_streams.name()) != 0) {
      how += " using " + compiled_.get_property(std::string(terroir::num_streams.name())).as<std::string>() +
             " streams for " + options_.device;
    }
    heading(10, "Start inference " + how + ", limits: " + limits_text(plan_.limits));
    info() << (plan_.sets_inputs
                   ? "Benchmarking in full mode (inputs filling are included in measurement loop).\n"
                   : "Benchmarking in inference only mode (inputs filling are not included in measurement loop).\n");
    warm_up();
    const auto threads = static_cast<unsigned>(std::max(1, compiled_.get_property(terroir::inference_num_threads)));
    const double peak_begin = measure_peak_flops(threads);
    const Counters begin = Counters::now();
    RunnableThreads runnable;
    const Measurement measurement = benchmark_app::measure(requests_, feeds_, plan_);
    const auto mean_runnable = runnable.mean();
    const Counters end = Counters::now();
    const double peak_end = measure_peak_flops(threads);

    results_ = results_of(measurement, shape_texts(), flops_, options_.latency_percentile);
    results_.conditions = conditions_between(begin, end);
    results_.conditions.threads = threads;
    results_.conditions.peak_begin = peak_begin;
    results_.conditions.peak_end = peak_end;
    results_.conditions.seconds = measurement.duration / 1000;
    results_.conditions.runnable = mean_runnable;
    results_.conditions.latency_drift = results_.latency.drift;
    results_.model_memory = model_memory_;
    results_.peak_memory = Memory::now().peak_resident;
    results_.planned_memory = compiled_.get_property(terroir::memory_footprint);
  }

  void warm_up() {
    if (!options_.warm_up) {
      info() << "Skipping warmup inference due to -no_warmup flag\n";
      return;
    }
    const Memory begin = Memory::now();
    const Timer timer;
    requests_[0].infer();
    add_time("First inference", "first inference time (ms)", "first_inference_time", timer.milliseconds());
    for (size_t r = 1; r < requests_.size(); ++r) requests_[r].infer();  // memory is made on first use
    for (size_t set = 1; plan_.sets_inputs && set < shape_sets_.size(); ++set) {
      set_inputs(requests_[0], feeds_[set]);
      requests_[0].infer();  // and plans on the first use of shapes
    }
    model_memory_ += Memory::now().resident - begin.resident;
  }

  void tell_results() {
    heading(11);
    write_files();
    tell_layers();
    add_configuration();
    add_to(report_, results_, options_.latency_per_shape);
    report_.write();
    print_details(results_);
    info() << "Execution Devices: [ " << compiled_.get_property(std::string(terroir::execution_devices.name()))
           << " ]\n";
    print(results_, options_.latency_per_shape);
  }

  void write_files() const {
    if (!options_.dump_config.empty()) {
      write_config(config_, options_.dump_config);
      info() << "Configuration settings were dumped to " << options_.dump_config << '\n';
    }
    if (!options_.exec_graph_path.empty()) {
      try {
        terroir::serialize(compiled_.get_runtime_model(), options_.exec_graph_path);
      } catch (const terroir::Exception& error) {
        refuse_exec_graph(error);
      }
      info() << "Executable graph is stored to " << options_.exec_graph_path << '\n';
    }
  }

  void tell_layers() {
    if (!compiled_.get_property(terroir::enable_profiling)) return;
    std::vector<Profile> profiles;
    for (size_t r = 0; r < requests_.size(); ++r) {
      // With --no_warmup and few iterations some requests have not run.
      if (r >= results_.iterations && !options_.warm_up) break;
      profiles.push_back(requests_[r].get_profiling_info());
      if (!options_.counters.value_or(false) && options_.counters_order.empty()) continue;
      info() << (options_.counters_order.empty() ? "Performance counts for " : "Sort performance counts for ") << r
             << "-th infer request:\n";
      print(profiles.back(), device_name_, options_.counters_order);
    }
    results_.reorder_share = reorder_share(average(profiles));
    report_.write_counters(profiles);
    if (options_.json_stats) {
      report_.add_section("performance_counters", sample_layers(requests_[0], profiles.front()));
    }
  }

  void add_time(const std::string& what, const char* csv_name, const char* json_name, double time) {
    info() << what << " took " << time << " ms" << std::endl;
    report_.add_results({{csv_name, json_name, time}});
  }

  std::vector<std::string> shape_texts() const {
    std::vector<std::string> texts;
    for (const ShapeSet& set : shape_sets_) texts.push_back(to_text(inputs_, set));
    return texts;
  }

  void add_configuration() {
    const auto precision = compiled_.get_property(std::string(terroir::hint::inference_precision.name()));
    std::string all_shapes;
    for (const std::string& shapes : shape_texts()) all_shapes += (all_shapes.empty() ? "" : " ") + shapes;
    report_.add_configuration(
        {{"benchmark mode", "benchmark_mode", plan_.sets_inputs ? "full" : "inference only"},
         {"topology", "topology", topology_},
         {"model", "model", std::filesystem::path(options_.model).filename().string()},
         {"target device", "target_device", options_.device},
         {"API", "api", options_.api},
         {"hint", "hint", options_.hint},
         {"precision", "precision", precision.as<std::string>()},
         {"batch size", "batch_size", batch_},
         {"data shapes", "data_shapes", all_shapes},
         {"number of iterations", "iterations_num", plan_.limits.iterations},
         {"number of parallel infer requests", "nireq", requests_.size()},
         {"duration (ms)", "duration", static_cast<uint64_t>(std::llround(plan_.limits.milliseconds))},
         {"number of threads", "nthreads", compiled_.get_property(terroir::inference_num_threads)},
         {"number of " + options_.device + " streams", lower_case(options_.device) + "_streams_num",
          compiled_.get_property(std::string(terroir::num_streams.name())).as<std::string>()}});
  }

  static std::string lower_case(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    return text;
  }

  const Options& options_;
  Report report_;
  terroir::Core core_;
  std::string device_name_, topology_;
  DeviceConfig config_;
  std::shared_ptr<terroir::Model> model_;  // null with --load_from_file
  std::vector<Input> inputs_;
  std::vector<ShapeSet> shape_sets_;
  std::vector<double> flops_;  // by set of shapes
  size_t batch_ = 1;
  terroir::CompiledModel compiled_;
  Memory memory_before_;
  int64_t model_memory_ = 0;
  RunPlan plan_;
  std::vector<Feed> feeds_;
  std::vector<terroir::InferRequest> requests_;
  Results results_;
};

}  // namespace

void run(const Options& options) { Session(options).run(); }

}  // namespace benchmark_app
