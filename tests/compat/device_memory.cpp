// A program of OpenVINO's C++ API that would like memory of an accelerator and takes main memory where there is none,
// names inputs that have no name, bounds the extents of a model, and stores what it compiled: main MODEL BLOB.
#include <openvino/openvino.hpp>
#include <openvino/runtime/auto/properties.hpp>
#include <openvino/runtime/intel_cpu/properties.hpp>
#include <openvino/runtime/intel_gpu/properties.hpp>
#include <openvino/runtime/intel_npu/level_zero/level_zero.hpp>
#include <openvino/runtime/intel_npu/properties.hpp>
#include <openvino/runtime/intel_npu/remote_properties.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace {

ov::Tensor allocate(const ov::CompiledModel& model, const ov::Output<const ov::Node>& input) {
  try {
    auto context = model.get_context();
    auto& npu = static_cast<ov::intel_npu::level_zero::ZeroContext&>(context);
    return npu.create_l0_host_tensor(input.get_element_type(), input.get_shape(), ov::intel_npu::TensorType::INPUT);
  } catch (const ov::Exception& error) {
    std::cout << "main memory, because " << error.what() << std::endl;
  }
  ov::Tensor tensor(input.get_element_type(), input.get_shape());
  OPENVINO_ASSERT(!tensor.is<ov::RemoteTensor>(), "tensors are not remote");
  return tensor;
}

template <typename Refused>
void expect_refusal(const char* what, Refused&& refused) {
  try {
    refused();
  } catch (const ov::Exception&) {
    return;
  }
  OPENVINO_THROW(what, " was not refused");
}

/// Each device by what only it has.
void tune_devices(ov::Core& core) {
  for (const auto& device : core.get_available_devices()) {
    if (device == "CPU") core.set_property(device, ov::intel_cpu::denormals_optimization(false));
    if (device == "GPU") core.set_property(device, ov::intel_gpu::hint::queue_priority(ov::hint::Priority::LOW));
    if (device == "NPU") core.set_property(device, ov::intel_npu::turbo(true));
  }
  expect_refusal("a property of a GPU",
                 [&] { core.set_property("CPU", ov::intel_gpu::hint::enable_kernels_reuse(true)); });
  expect_refusal("a property of an NPU", [&] { core.get_property("CPU", ov::intel_npu::driver_version); });
  expect_refusal("a choice at run time", [&] {
    core.compile_model("none.xml", "AUTO",
                       ov::intel_auto::devices_utilization_threshold(std::map<std::string, double>{{"CPU", 78.5}}),
                       ov::intel_auto::schedule_policy(ov::intel_auto::SchedulePolicy::DEFAULT));
  });
}

}  // namespace

int main(int argc, char* argv[]) {
  try {
    OPENVINO_ASSERT(argc == 3, "usage: ", argv[0], " MODEL BLOB");
    ov::Core core;
    tune_devices(core);
    expect_refusal("a context of the CPU", [&] { core.get_default_context("CPU"); });
    expect_refusal("a context of an NPU", [&] { ov::intel_npu::level_zero::ZeroContext context(core); });
    expect_refusal("a tensor of no context", [] { ov::RemoteContext().create_tensor(ov::element::f32, {1}); });

    auto model = core.read_model(argv[1]);
    for (auto& input : model->inputs()) {
      if (input.get_tensor().get_names().empty()) {
        input.get_tensor_ptr()->set_names(std::unordered_set<std::string>{input.get_node_shared_ptr()->get_name()});
      }
    }
    ov::PartialShape shape = model->input().get_partial_shape();
    const ov::Shape known = shape.to_shape();
    shape[0] = ov::Dimension(1, 4);
    model->reshape({{model->input().get_any_name(), shape}});
    std::deque<ov::Interval> batches;
    for (const auto& dimension : model->input().get_partial_shape()) batches.push_back(dimension.get_interval());
    OPENVINO_ASSERT(batches.front().has_upper_bound() && batches.front().get_max_val() == 4, "got ", batches.front());
    model->reshape(known);

    auto compiled = core.compile_model(model, "CPU");
    OPENVINO_ASSERT(!compiled.get_property(ov::loaded_from_cache), "nothing was cached");
    {
      std::ofstream blob(argv[2], std::ios::binary);
      compiled.export_model(blob);
    }
    const ov::Tensor input = allocate(compiled, compiled.input());
    std::fill_n(input.data<float>(), input.get_size(), 0.5f);
    std::vector<ov::CompiledModel> models{compiled, core.import_model(std::filesystem::path(argv[2]), "CPU"),
                                          core.import_model(argv[2], "CPU", ov::num_streams(1))};
    std::vector<float> expected;
    for (auto& each : models) {
      auto request = each.create_infer_request();
      request.set_input_tensor(input);
      request.infer();
      const auto output = request.get_output_tensor();
      const std::vector<float> values(output.data<const float>(), output.data<const float>() + output.get_size());
      if (expected.empty()) expected = values;
      OPENVINO_ASSERT(values == expected, "an imported model computes something else");
    }
    std::cout << models.size() << " models agree" << std::endl;
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
