// A program of OpenVINO's C++ API that sets properties in all the ways there are, exports, imports and asks which
// layers a device takes: main MODEL.
#include <openvino/openvino.hpp>
#include <openvino/runtime/auto/properties.hpp>
#include <openvino/runtime/intel_cpu/properties.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <new>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

namespace {

/// Counts what is given out and comes back.
struct CountingAllocator {
  std::shared_ptr<int> live = std::make_shared<int>(0);
  void* allocate(const size_t bytes, const size_t alignment = alignof(std::max_align_t)) {
    ++*live;
    return ::operator new(bytes, std::align_val_t(alignment));
  }
  void deallocate(void* memory, const size_t, size_t alignment = alignof(std::max_align_t)) noexcept {
    --*live;
    ::operator delete(memory, std::align_val_t(alignment));
  }
  bool is_equal(const CountingAllocator& other) const { return live == other.live; }
};

void devices(ov::Core& core) {
  const ov::AnyMap former{ov::affinity("NUMA")};
  OPENVINO_ASSERT(former.at("AFFINITY").as<ov::Affinity>() == ov::Affinity::NUMA, "an affinity was not read from text");
  core.set_property(ov::log::level(ov::log::Level::WARNING));
  core.set_property("CPU", ov::hint::performance_mode(ov::hint::PerformanceMode::LATENCY), ov::num_streams(1));
  core.set_property("CPU", {{"NUM_STREAMS", "2"}, {ov::inference_num_threads.name(), 2}});
  OPENVINO_ASSERT(core.get_property("CPU", ov::num_streams) == 2, "streams were not taken as a text");
  std::tuple<unsigned int, unsigned int, unsigned int> requests =
      core.get_property("CPU", ov::range_for_async_infer_requests);
  OPENVINO_ASSERT(std::get<0>(requests) <= std::get<1>(requests), "the range is empty");
  const auto capabilities = core.get_property("CPU", ov::device::capabilities);
  OPENVINO_ASSERT(std::count(capabilities.begin(), capabilities.end(), ov::device::capability::FP32) == 1, "no FP32");
  const std::string name = core.get_property("CPU", ov::device::full_name);
  const auto versions = core.get_versions("CPU");
  OPENVINO_ASSERT(!name.empty() && versions.count("CPU") == 1, "the device has no name");
  std::cout << name << '\n' << versions.at("CPU") << std::endl;
  for (const auto& device : core.get_available_devices()) {
    auto properties = core.get_property(device, "SUPPORTED_PROPERTIES").as<std::vector<ov::PropertyName>>();
    OPENVINO_ASSERT(!properties.empty(), device, " has no properties");
  }
}

void compiled(ov::Core& core, const std::shared_ptr<ov::Model>& model) {
  ov::AnyMap config = {ov::hint::performance_mode(ov::hint::PerformanceMode::THROUGHPUT),
                       {"INFERENCE_NUM_THREADS", 2},
                       ov::enable_profiling(true)};
  config.insert(ov::hint::inference_precision(ov::element::f32));
  config[ov::num_streams.name()] = ov::streams::AUTO;
  ov::CompiledModel first = core.compile_model(model, "CPU", config);
  OPENVINO_ASSERT(first.get_property(ov::hint::performance_mode) == ov::hint::PerformanceMode::THROUGHPUT, "the hint");
  OPENVINO_ASSERT(first.get_property(ov::hint::inference_precision) == ov::element::f32, "the precision");
  OPENVINO_ASSERT(first.get_property("PERF_COUNT").as<bool>(), "profiling");
  const uint32_t requests = first.get_property(ov::optimal_number_of_infer_requests);
  OPENVINO_ASSERT(requests >= 1, "requests");
  const std::vector<std::string> devices = first.get_property(ov::execution_devices);
  OPENVINO_ASSERT(devices.size() == 1 && devices[0] == "CPU", "devices");
  std::cout << first.get_property(ov::hint::performance_mode) << ' ' << ov::hint::PerformanceMode::LATENCY << ' '
            << ov::element::f16 << ' ' << requests << std::endl;

  ov::CompiledModel second =
      core.compile_model(model, "AUTO", ov::device::priorities("CPU"),
                         ov::device::properties("CPU", ov::enable_profiling(true)), ov::hint::num_requests(2));
  ov::CompiledModel third =
      core.compile_model(model, "CPU", ov::hint::execution_mode(ov::hint::ExecutionMode::ACCURACY),
                         ov::intel_cpu::denormals_optimization(true));
  OPENVINO_ASSERT(third.get_property(ov::hint::execution_mode) == ov::hint::ExecutionMode::ACCURACY, "the mode");
  bool refused = false;
  try {
    core.compile_model(model, "CPU", {{"NO_SUCH_PROPERTY", 1}});
  } catch (const ov::Exception& error) {
    refused = std::string(error.what()).find("NO_SUCH_PROPERTY") != std::string::npos;
  }
  OPENVINO_ASSERT(refused, "a property there is not was taken");

  std::stringstream blob;
  second.export_model(blob);
  ov::CompiledModel imported = core.import_model(blob, "CPU", {});
  OPENVINO_ASSERT(imported.inputs().size() == model->inputs().size(), "the imported model has other inputs");
}

void affinities(ov::Core& core, const std::shared_ptr<ov::Model>& model) {
  const ov::SupportedOpsMap taken = core.query_model(model, "CPU");
  for (auto&& node : model->get_ops()) {
    const auto device = taken.find(node->get_friendly_name());
    OPENVINO_ASSERT(device != taken.end(), *node, " is not taken");
    node->get_rt_info()["affinity"] = device->second;
  }
  for (auto&& node : model->get_ops()) {
    OPENVINO_ASSERT(node->get_rt_info()["affinity"].as<std::string>() == "CPU", *node, " has no affinity");
  }
  model->set_rt_info("value", "conversion_parameters", "framework");
  OPENVINO_ASSERT(model->has_rt_info("conversion_parameters", "framework"), "no runtime information");
  auto& parameters = model->get_rt_info()["conversion_parameters"].as<ov::AnyMap>();
  OPENVINO_ASSERT(parameters.at("framework").as<std::string>() == "value", "another value");
}

void tensors() {
  CountingAllocator counting;
  {
    ov::Tensor tensor(ov::element::f32, {1, 3, 8, 8}, ov::Allocator(counting));
    OPENVINO_ASSERT(*counting.live == 1 && tensor.get_byte_size() == 768, "the allocator was not asked");
    ov::Tensor window(tensor, ov::Coordinate{0, 1, 2, 2}, ov::Coordinate{1, 2, 6, 8});
    OPENVINO_ASSERT(window.get_shape() == (ov::Shape{1, 1, 4, 6}) && !window.is_continuous(), "the window");
    OPENVINO_ASSERT(window.get_strides() == tensor.get_strides(), "the strides of the window");
    ov::Tensor dense(ov::element::f32, window.get_shape());
    window.copy_to(dense);
    tensor = ov::Tensor();
    OPENVINO_ASSERT(*counting.live == 1, "the window lost its memory");
  }
  OPENVINO_ASSERT(*counting.live == 0, "the memory did not come back");
  ov::Tensor words(ov::element::string, ov::Shape{2});
  words.data<std::string>()[1] = "word";
  OPENVINO_ASSERT(words.data<const std::string>()[1].size() == 4, "the text");
  float numbers[] = {1, 2, 3, 4, 5, 6};
  const ov::Tensor rows(ov::element::f32, ov::Shape{2, 2}, numbers, ov::Strides{12, 4});
  OPENVINO_ASSERT(!rows.is_continuous() && rows.get_size() == 4, "rows with gaps");
}

}  // namespace

int main(int argc, char* argv[]) {
  try {
    OPENVINO_ASSERT(argc == 2, "usage: ", argv[0], " MODEL");
    ov::Core core;
    devices(core);
    const std::shared_ptr<ov::Model> model = core.read_model(argv[1]);
    compiled(core, model);
    affinities(core, model);
    tensors();
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
