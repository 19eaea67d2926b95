#include "runtime/extension/device.hpp"

#include <algorithm>
#include <cstring>

#include "ir/base/aligned_buffer.hpp"
#include "ir/base/error.hpp"
#include "ir/xml/writer.hpp"
#include "runtime/extension/elements.hpp"
#include "runtime/extension/host.hpp"
#include "runtime/parallel/available_threads.hpp"

namespace terroir::custom {
namespace {

std::string described(const Device& device) { return concat("device ", device.descriptor.name, " of ", device.source); }

/// A graph in the form of files.
class Written {
 public:
  explicit Written(const ir::Graph& graph) {
    ir::ModelText text = ir::write_model(graph);
    xml_ = std::move(text.xml);
    weights_ = AlignedBuffer(text.weights.size());
    if (!text.weights.empty()) std::memcpy(weights_.data(), text.weights.data(), text.weights.size());
    view_ = {xml_.c_str(), xml_.size(), weights_.data(), text.weights.size()};
  }
  const terroir_model_text* view() const { return &view_; }

 private:
  std::string xml_;
  AlignedBuffer weights_;
  terroir_model_text view_;
};

class Compiled;

class Request final : public plugin::RequestState {
 public:
  Request(const Device& device, const std::shared_ptr<const Compiled>& compiled, void* handle)
      : device_(device), compiled_(compiled), handle_(handle) {}
  ~Request() override { device_.descriptor.release_request(device_.descriptor.user, handle_); }

  void infer(std::span<const ir::TensorView> inputs, plugin::OutputBinder& outputs,
             const plugin::RunContext& context) override;

 private:
  const Device& device_;
  const std::shared_ptr<const Compiled> compiled_;
  void* handle_;
  std::vector<terroir_tensor> inputs_;
};

class Compiled final : public plugin::CompiledGraph, public std::enable_shared_from_this<Compiled> {
 public:
  Compiled(const Device& device, const ir::Graph& graph, const plugin::Config& config)
      : CompiledGraph(graph, device.descriptor.name, config, parallel::available_threads()), device_(device) {
    for (const std::vector<plugin::PortInfo>* ends : {&inputs(), &outputs()})
      for (const plugin::PortInfo& port : *ends)
        if (port.type == element::string)
          throw_error(ErrorCode::unsupported, "'", port.node_name, "' has texts, which the ", described(device),
                      " cannot be given");
    std::vector<std::string> texts;
    for (const PropertyName& key : plugin::Config::keys()) texts.push_back(config.get(key).as<std::string>());
    std::vector<terroir_property> properties;
    const std::vector<PropertyName> keys = plugin::Config::keys();
    for (size_t i = 0; i < keys.size(); ++i) properties.push_back({keys[i].c_str(), texts[i].c_str()});
    const Written model(graph);
    call_layer(ErrorCode::unsupported, "compile", described(device), [&](terroir_error* error) {
      return device.descriptor.compile(device.descriptor.user, &host(), model.view(),
                                       static_cast<uint32_t>(properties.size()), properties.data(), &handle_, error);
    });
  }
  ~Compiled() override { device_.descriptor.release(device_.descriptor.user, handle_); }

  std::unique_ptr<plugin::RequestState> create_request() const override {
    void* request = nullptr;
    call_layer(ErrorCode::general, "create_request", described(device_), [&](terroir_error* error) {
      return device_.descriptor.create_request(device_.descriptor.user, &host(), handle_, &request, error);
    });
    return std::make_unique<Request>(device_, shared_from_this(), request);
  }

 private:
  const Device& device_;
  void* handle_ = nullptr;
};

void Request::infer(std::span<const ir::TensorView> inputs, plugin::OutputBinder& outputs,
                    const plugin::RunContext& context) {
  inputs_.clear();
  for (const ir::TensorView& input : inputs)
    inputs_.push_back({const_cast<void*>(input.data), to_abi(input.type), static_cast<int32_t>(input.dims.size()),
                       input.dims.data(), TERROIR_PLAIN, 1});
  const std::vector<plugin::PortInfo>& ports = compiled_->outputs();
  terroir_run::Device device{outputs, ports, context.cancelled, std::vector<bool>(ports.size(), false), nullptr};
  terroir_run run{context.arena, nullptr, 0, nullptr, &device};
  try {
    call_layer(ErrorCode::general, "infer", described(device_), [&](terroir_error* error) {
      return device_.descriptor.infer(device_.descriptor.user, &host(), handle_, &run,
                                      static_cast<int32_t>(inputs_.size()), inputs_.data(), error);
    });
  } catch (const Exception&) {
    if (!device.wrong) throw;  // else the device only passes on what bind_output() could not do
  }
  if (device.wrong) std::rethrow_exception(device.wrong);
  if (context.cancelled.load(std::memory_order_relaxed)) return;
  const auto unbound = std::find(device.bound.begin(), device.bound.end(), false);
  if (unbound != device.bound.end())
    throw_error(ErrorCode::general, "infer() of the ", described(device_), " returns without output ",
                unbound - device.bound.begin(), ": it never called bind_output() for it");
}

class DevicePlugin final : public plugin::Plugin {
 public:
  explicit DevicePlugin(const Device& device) : device_(device) {}

  const Device& device() const { return device_; }
  std::string device_name() const override { return device_.descriptor.name; }
  std::string full_device_name() const override { return device_.descriptor.full_name; }
  std::vector<std::string> capabilities() const override {
    std::vector<std::string> words(1);
    for (const char* c = device_.descriptor.capabilities; *c != '\0'; ++c) {
      if (*c == '|') {
        words.emplace_back();
      } else {
        words.back() += *c;
      }
    }
    return words;
  }

  std::shared_ptr<const plugin::CompiledGraph> compile(std::shared_ptr<const ir::Graph> graph,
                                                       const plugin::Config& config) const override {
    return std::make_shared<Compiled>(device_, *graph, config);
  }

  std::vector<std::string> supported_layers(const ir::Graph& graph) const override {
    const Written model(graph);
    terroir_layer_names names;
    call_layer(ErrorCode::general, "query", described(device_), [&](terroir_error* error) {
      return device_.descriptor.query(device_.descriptor.user, &host(), model.view(), &names, error);
    });
    return names.names;
  }

 private:
  const Device& device_;
};

bool is_name(const char* text) {
  return text != nullptr && *text != '\0' && std::all_of(text, text + std::strlen(text), [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
         });
}

}  // namespace

Device checked_device(const terroir_device* descriptor, const std::string& source) {
  if (descriptor == nullptr) throw_error(ErrorCode::invalid_argument, "a device is null");
  if (descriptor->abi_version > TERROIR_ABI_VERSION)
    throw_error(ErrorCode::unsupported, "it has a device for version ", descriptor->abi_version,
                " of device_abi.h; this library knows versions up to ", TERROIR_ABI_VERSION,
                ": build it with the headers of this one");
  if (descriptor->struct_size < sizeof(terroir_device))
    throw_error(ErrorCode::invalid_argument, "a device says that it has ", descriptor->struct_size, " bytes; version ",
                descriptor->abi_version, " of device_abi.h has ", sizeof(terroir_device));
  if (!is_name(descriptor->name))
    throw_error(ErrorCode::invalid_argument, "the name of a device is '",
                descriptor->name != nullptr ? descriptor->name : "",
                "'; it must consist of capital letters, digits and _");
  const auto require = [&](bool given, const char* what) {
    if (!given) throw_error(ErrorCode::invalid_argument, "the device ", descriptor->name, " has no ", what);
  };
  require(descriptor->full_name != nullptr, "full_name");
  require(descriptor->capabilities != nullptr, "capabilities");
  require(descriptor->query != nullptr, "query()");
  require(descriptor->compile != nullptr, "compile()");
  require(descriptor->release != nullptr, "release()");
  require(descriptor->create_request != nullptr, "create_request()");
  require(descriptor->release_request != nullptr, "release_request()");
  require(descriptor->infer != nullptr, "infer()");
  return {*descriptor, source, descriptor};
}

std::unique_ptr<plugin::Plugin> make_plugin(const Device& device) { return std::make_unique<DevicePlugin>(device); }

bool is_made_from(const plugin::Plugin& plugin, const Device& device) {
  const auto* ours = dynamic_cast<const DevicePlugin*>(&plugin);
  return ours != nullptr && ours->device().origin == device.origin;
}

}  // namespace terroir::custom
