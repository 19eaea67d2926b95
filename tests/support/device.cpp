#include "tests/support/device.hpp"

#include <atomic>

#include "ir/xml/reader.hpp"
#include "ops/registry.hpp"
#include "runtime/plugin/variables.hpp"

namespace terroir::test {
namespace {

const plugin::PluginRegistry& plugins() {
  struct Filled : plugin::PluginRegistry {
    Filled() { plugin::register_builtin_plugins(*this); }
  };
  static const Filled registry;
  return registry;
}

/// Fresh memory for every output of every inference.
class Outputs final : public plugin::OutputBinder {
 public:
  explicit Outputs(size_t count) : tensors(count) {}
  void* bind(size_t index, element::Type type, const ir::Dims& dims) override {
    tensors.at(index) = HostTensor(type, dims);
    return tensors[index].writable().data;
  }
  std::vector<HostTensor> tensors;
};

}  // namespace

std::vector<std::string> device_names() { return plugins().devices(); }

DeviceModel::DeviceModel(const std::filesystem::path& xml, const std::string& device, const plugin::Config& config)
    : DeviceModel(ir::read_model(xml.string(), {}, ops::builtin_registry()), device, config) {}

DeviceModel::DeviceModel(std::shared_ptr<const ir::Graph> graph, const std::string& device,
                         const plugin::Config& config)
    : compiled_(plugin::compile_with_variables(plugins().get(device), std::move(graph), config)),
      request_(compiled_->create_request()),
      arena_(compiled_->threading().threads_per_stream) {}

std::vector<HostTensor> DeviceModel::infer(std::span<const HostTensor> inputs) {
  std::vector<ir::TensorView> views;
  for (const HostTensor& input : inputs) views.push_back(input.view());
  Outputs outputs(compiled_->outputs().size());
  const std::atomic<bool> cancelled{false};
  request_->infer(views, outputs, {arena_, cancelled});
  return std::move(outputs.tensors);
}

}  // namespace terroir::test
