#pragma once
// What: a model file on a device, as tests drive it: below the public API, so that kernels can be tested without it.
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plugins/interpreter/host_tensor.hpp"
#include "runtime/plugin/plugin.hpp"

namespace terroir::test {

using interpreter::HostTensor;

/// The devices of this build.
std::vector<std::string> device_names();

class DeviceModel {
 public:
  /// Reads and compiles. Exceptions as they come.
  DeviceModel(const std::filesystem::path& xml, const std::string& device, const plugin::Config& config = {});

  DeviceModel(std::shared_ptr<const ir::Graph> graph, const std::string& device, const plugin::Config& config = {});

  /// The same compiled model with a request of its own.
  DeviceModel another_request() const { return DeviceModel(compiled_); }
  /// The same, written and read back.
  DeviceModel stored_and_loaded() const;

  const std::vector<plugin::PortInfo>& inputs() const { return compiled_->inputs(); }
  const std::vector<plugin::PortInfo>& outputs() const { return compiled_->outputs(); }
  const plugin::CompiledGraph& compiled() const { return *compiled_; }

  /// Outputs are filled with NaN before.
  std::vector<HostTensor> infer(std::span<const HostTensor> inputs);
  plugin::RequestState& request() { return *request_; }
  /// Of the last inference; empty without Config::profiling.
  std::vector<ProfilingInfo> profile() const { return request_->profiling(); }

 private:
  explicit DeviceModel(std::shared_ptr<const plugin::CompiledGraph> compiled);

  std::shared_ptr<const plugin::CompiledGraph> compiled_;
  std::unique_ptr<plugin::RequestState> request_;
  parallel::Arena arena_;
};

}  // namespace terroir::test
