#include "benchmark_app/options.hpp"

#include <cmath>
#include <cstdlib>
#include <stdexcept>

namespace benchmark_app {
namespace {

constexpr double kDefaultSeconds = 60;

CLI::Validator in_range(double least, double most, const std::string& words) {
  return CLI::Validator(
      [least, most, words](std::string& text) {
        char* end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        const bool fits = !text.empty() && *end == '\0' && std::isfinite(value) && value >= least && value <= most;
        return fits ? std::string() : "must be " + words + ", got '" + text + "'";
      },
      "");
}

CLI::Validator at_least(double least, const std::string& words) { return in_range(least, HUGE_VAL, words); }

CLI::Validator one_of(const std::vector<std::string>& words) { return CLI::IsMember(words).description(""); }

}  // namespace

void Options::add_to(CLI::App& app) {
  add_run_options(app);
  add_shape_options(app);
  add_device_options(app);
  add_report_options(app);
}

void Options::add_run_options(CLI::App& app) {
  app.add_option("-m,--model", model, "IR model, .xml, or a compiled model that was exported, .blob")->required();
  app.add_option("-i,--input", inputs,
                 "files or folders for the inputs: \"a.jpg,b.jpg\", or per input \"data:a.jpg,b.jpg\" \"mask:m.bin\". "
                 ".bin: the bytes of one sample or of the whole tensor; .npy: the same as an array; .bmp, .jpg, .png "
                 "...: images, resized to the input. \"data:random\", \"data:random[0..255]\": random values (of this "
                 "range); \"info:image_info\": width and height of the image input. Default: random values")
      ->expected(1, CLI::detail::expected_max_vector_size);
  app.add_option("-d,--device", device, "device to run on")->capture_default_str();
  app.add_option("--extensions", extensions, "libraries with layers of the model, separated by commas")->delimiter(',');
  app.add_flag("--load_from_file", load_from_file,
               "compile the file at once, without reading it as a model first; options that change the model, such as "
               "--shape, have no effect");
  app.add_option("--cache_dir", cache_dir, "folder where compiled models are kept for the next start");
  app.add_option("--niter", iterations, "least number of iterations; 0: compile the model and stop")
      ->check(in_range(0, 1e15, "a number from 0 to 1e15"));
  app.add_option("-t,--time", seconds, "least duration in seconds; default: 60 if there is no --niter")
      ->check(in_range(1e-3, 1e9, "a number of seconds above 0 and at most 1e9"));
  app.add_option("--max_irate", max_rate, "most samples per second; default: as many as the device can do")
      ->check(at_least(0, "a number of at least 0"));
  app.add_flag_callback(
      "--no_warmup", [this] { warm_up = false; }, "measure from the first inference on");
}

void Options::add_shape_options(CLI::App& app) {
  app.add_option("-b,--batch", batch,
                 "batch size: the extent of axis N of the inputs (the first axis of inputs without a layout); default: "
                 "as in the model")
      ->check(at_least(1, "a number of at least 1"));
  app.add_option("--shape", shape, "shapes of the inputs: \"[1,3,224,224]\" or \"data[1,3,?,?],mask[1,1..10]\"");
  app.add_option("--data_shape", data_shape,
                 "shapes of the tensors given to inputs whose shape is dynamic, one or several: "
                 "\"[1,3,64,64][2,3,96,96]\", \"data[1,8][1,16],mask[1,8][1,16]\"");
  app.add_option("--layout", layout, "meaning of the axes of the inputs: \"[NCHW]\" or \"data[NCHW],mask[NC]\"");
  app.add_option("--ip", input_type, "element type of all inputs: u8, f16, f32 ...; default: u8 for images");
  app.add_option("--op", output_type, "element type of all outputs");
  app.add_option("--iop", port_types,
                 "element type by input or output: \"data:u8,prob:f16\"; goes before --ip and --op");
  app.add_option("--mean_values", mean_values,
                 "values to subtract from the channels of image inputs: \"[123.7,116.3,103.5]\" or \"data[...]\"");
  app.add_option("--scale_values", scale_values,
                 "values to divide the channels of image inputs by, after --mean_values; written like them");
}

void Options::add_device_options(CLI::App& app) {
  app.add_option("--hint", hint,
                 "latency, throughput (tput), cumulative_throughput (ctput) or none; default: throughput, latency for "
                 "--api sync, none with --nstreams")
      ->check(one_of({"latency", "throughput", "tput", "cumulative_throughput", "ctput", "none"}));
  app.add_option("--api", api, "sync or async; default: sync with --hint latency, else async")
      ->check(one_of({"sync", "async"}));
  app.add_option("--nireq", requests,
                 "number of inference requests; default: what the compiled model asks for, 1 for --api sync")
      ->check(at_least(1, "a number of at least 1"));
  app.add_option("--nstreams", streams, "number of streams, or AUTO; also \"CPU:2\"");
  app.add_option("--nthreads", threads, "number of threads of all streams together; 0: as many as there are")
      ->check(at_least(0, "a number of at least 0"));
  app.add_option("--pin", pin, "YES or NO: whether threads stay on one processor each")->check(one_of({"YES", "NO"}));
  app.add_option("--infer_precision", infer_precision,
                 "element type in which floating-point layers may be computed: f32, or bf16 where the device has it; also \"CPU:bf16\"");
  app.add_option_function<bool>(
         "--inference_only", [this](const bool& value) { inference_only = value; },
         "whether setting the inputs is left out of the measurement; default: true, but false if there are several "
         "shapes or the model is dynamic")
      ->expected(0, 1)
      ->default_str("true")
      ->option_text("BOOL");
}

void Options::add_report_options(CLI::App& app) {
  app.add_option("--latency_percentile", latency_percentile, "percentile to print as latency")
      ->check(in_range(1, 100, "a number from 1 to 100"))
      ->capture_default_str();
  app.add_option("--report_type", report_type,
                 "no_counters: write options and results to benchmark_report.csv; average_counters, detailed_counters, "
                 "sort_detailed_counters: also what each layer cost, as the mean of all requests or for each of them")
      ->check(one_of({"no_counters", "average_counters", "detailed_counters", "sort_detailed_counters"}));
  app.add_option("--report_folder", report_folder, "folder for the reports, made if needed; default: the current one");
  app.add_option("--json_stats", json_word_, "write the reports as JSON; with a name: the results, to this file")
      ->expected(0, 1)
      ->option_text("[FILE]");
  app.add_option_function<bool>(
         "--pc", [this](const bool& value) { counters = value; },
         "print what each layer of the last inference cost, why reorders exist and why layers are slow")
      ->expected(0, 1)
      ->default_str("true")
      ->option_text("BOOL");
  app.add_option("--pcsort", counters_order,
                 "print what each layer cost and its share of the time: sort: dearest first; no_sort: in their order; "
                 "simple_sort: dearest first, only layers that ran")
      ->check(one_of({"sort", "no_sort", "simple_sort"}));
  app.add_flag("--pcseq", latency_per_shape, "print the latency of each shape of --data_shape");
  app.add_option("--exec_graph_path", exec_graph_path, "write the graph as it is executed to this file (.xml)");
  app.add_option("--dump_config", dump_config, "write the properties of the devices to this file (.json)");
  app.add_option("--load_config", load_config,
                 "properties of the devices, {\"CPU\": {\"NUM_STREAMS\": \"2\"}}; the command line goes before them");
}

bool Options::wants_counters() const {
  if (counters) return *counters;
  return !counters_order.empty() || !exec_graph_path.empty() || (!report_type.empty() && report_type != "no_counters");
}

void Options::complete(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0) continue;
    std::string value;
    for (const std::string& word : option->results()) value += (value.empty() ? "" : " ") + word;
    const std::string name = option->get_snames().empty() ? option->get_lnames().front() : option->get_snames().front();
    given.emplace_back(name, value);
  }
  hint_given = !hint.empty();
  if (hint == "tput") hint = "throughput";
  if (hint == "ctput") hint = "cumulative_throughput";
  if (api.empty()) api = hint == "latency" ? "sync" : "async";
  if (hint.empty()) hint = !streams.empty() ? "none" : is_async() ? "throughput" : "latency";
  if (seconds == 0 && !iterations) seconds = kDefaultSeconds;
  if (!is_async() && seconds == 0 && !compile_only() && requests > *iterations) {
    throw std::runtime_error("--nireq " + std::to_string(requests) + " is more than --niter " +
                             std::to_string(*iterations) + ": with --api sync a request would never run");
  }
  json_stats = app.count("--json_stats") != 0 && json_word_ != "false";
  if (json_stats && !json_word_.empty() && json_word_ != "true") json_file = json_word_;
  if (json_stats && report_type.empty()) report_type = "no_counters";
  if (!wants_counters() && !report_type.empty() && report_type != "no_counters") {
    throw std::runtime_error("--report_type " + report_type + " needs the counters that --pc=false turns off");
  }
  if (is_compiled() && (!mean_values.empty() || !scale_values.empty() || !input_type.empty() || !output_type.empty() ||
                        !port_types.empty())) {
    throw std::runtime_error("--mean_values, --scale_values, --ip, --op and --iop change the model, and '" + model +
                             "' is compiled; compile it with them");
  }
  if (load_from_file && (!mean_values.empty() || !scale_values.empty())) {
    throw std::runtime_error(
        "--mean_values and --scale_values change the model, which --load_from_file does not read; "
        "leave one of them out");
  }
}

}  // namespace benchmark_app
