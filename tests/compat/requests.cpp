// A program of OpenVINO's C++ API that looks at the devices, and runs requests one after another from their callback:
// main MODEL.
#include <openvino/openvino.hpp>
#include <openvino/runtime/properties.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace {

void print_devices(const ov::Core& core) {
  for (auto&& device : core.get_available_devices()) {
    std::cout << device << std::endl;
    auto properties = core.get_property(device, ov::supported_properties);
    OPENVINO_ASSERT(std::find(properties.begin(), properties.end(), ov::device::full_name.name()) != properties.end(),
                    device, " has no name");
    for (auto&& property : properties) {
      if (property == ov::supported_properties.name()) continue;
      std::cout << (property.is_mutable() ? "  Mutable: " : "  Immutable: ") << property << " : "
                << core.get_property(device, property).as<std::string>() << std::endl;
    }
  }
}

}  // namespace

int main(int argc, char* argv[]) {
  try {
    OPENVINO_ASSERT(argc == 2, "usage: ", argv[0], " MODEL");
    ov::Core core;
    print_devices(core);
    std::shared_ptr<ov::Model> model = core.read_model(argv[1]);
    OPENVINO_ASSERT(model->inputs().size() == 1, "a model with one input, please");
    ov::CompiledModel compiled = core.compile_model(
        model, "CPU", ov::hint::performance_mode(ov::hint::PerformanceMode::LATENCY), ov::enable_profiling(true));
    ov::InferRequest request = compiled.create_infer_request();
    ov::Tensor input = request.get_input_tensor();
    std::fill_n(input.data<float>(), input.get_size(), 0.5f);

    std::mutex mutex;
    std::condition_variable finished;
    std::exception_ptr failure;
    size_t count = 0;
    constexpr size_t kWanted = 10;
    request.set_callback([&](std::exception_ptr error) {
      const std::lock_guard<std::mutex> lock(mutex);
      failure = error;
      if (!error && ++count < kWanted) {
        request.start_async();
      } else {
        finished.notify_one();
      }
    });
    request.start_async();
    {
      std::unique_lock<std::mutex> lock(mutex);
      finished.wait(lock, [&] { return failure || count == kWanted; });
    }
    if (failure) std::rethrow_exception(failure);
    request.wait();

    int64_t microseconds = 0;
    for (const ov::ProfilingInfo& info : request.get_profiling_info()) {
      if (info.status == ov::ProfilingInfo::Status::EXECUTED) microseconds += info.real_time.count();
    }
    std::cout << count << " inferences, the last one took " << microseconds << " us" << std::endl;
    return count == kWanted ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const ov::Exception& error) {
    std::cerr << error.what() << std::endl;
    return EXIT_FAILURE;
  }
}
