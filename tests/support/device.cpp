#include "tests/support/device.hpp"

#include <atomic>
#include <cstring>
#include <sstream>

#include "ir/xml/reader.hpp"
#include "ops/registry.hpp"
#include "runtime/plugin/stored_model.hpp"
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

/// Fresh memory for every output of every inference, full of NaN (or 255s), so that what nobody wrote shows.
class Outputs final : public plugin::OutputBinder {
 public:
  explicit Outputs(size_t count) : tensors(count) {}
  void* bind(size_t index, element::Type type, const ir::Dims& dims) override {
    tensors.at(index) = HostTensor(type, dims);
    const ir::MutableTensorView view = tensors[index].writable();
    if (type != element::string && view.bytes() > 0) std::memset(view.data, 0xff, view.bytes());
    return view.data;
  }
  std::vector<HostTensor> tensors;
};

}  // namespace

std::vector<std::string> device_names() { return plugins().devices(); }

DeviceModel::DeviceModel(const std::filesystem::path& xml, const std::string& device, const plugin::Config& config)
    : DeviceModel(ir::read_model(xml.string(), {}, ops::builtin_registry()), device, config) {}

DeviceModel::DeviceModel(std::shared_ptr<const ir::Graph> graph, const std::string& device,
                         const plugin::Config& config)
    : DeviceModel(plugin::compile_with_variables(plugins().get(device), std::move(graph), config)) {}

DeviceModel::DeviceModel(std::shared_ptr<const plugin::CompiledGraph> compiled)
    : compiled_(std::move(compiled)),
      request_(compiled_->create_request()),
      arena_(compiled_->threading().threads_per_stream) {}

DeviceModel DeviceModel::stored_and_loaded() const {
  plugin::ArchiveWriter writer;
  plugin::store_compiled(*compiled_, writer);
  std::stringstream file;
  writer.write(
      [&file](std::span<const std::string_view> parts) {
        for (const std::string_view part : parts) file << part;
      },
      arena_);
  plugin::Archive archive = plugin::Archive::read(file, arena_);
  return DeviceModel(
      plugin::load_compiled(plugins().get(compiled_->device()), archive, compiled_->config(), ops::builtin_registry()));
}

std::vector<HostTensor> DeviceModel::infer(std::span<const HostTensor> inputs) {
  std::vector<ir::TensorView> views;
  for (const HostTensor& input : inputs) views.push_back(input.view());
  Outputs outputs(compiled_->outputs().size());
  const std::atomic<bool> cancelled{false};
  request_->infer(views, outputs, {arena_, cancelled});
  request_->commit();
  return std::move(outputs.tensors);
}

}  // namespace terroir::test
