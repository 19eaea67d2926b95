#include "runtime/plugin/plugin.hpp"

#include <algorithm>
#include <cstring>

#include "ir/base/error.hpp"
#include "ir/graph/names.hpp"
#include "runtime/plugin/threading.hpp"

namespace terroir::plugin {

std::vector<PortInfo> input_infos(const ir::Graph& graph) {
  std::vector<PortInfo> infos;
  for (const ir::NodeId id : graph.parameters()) {
    const ir::Node& node = graph.node(id);
    const ir::OutputPort& port = node.outputs.at(0);
    infos.push_back({port.type, port.shape, ir::tensor_names(graph, {id, 0}), node.name, node.name, port.rt_info});
  }
  return infos;
}

std::vector<PortInfo> output_infos(const ir::Graph& graph) {
  std::vector<PortInfo> infos;
  for (const ir::NodeId id : graph.results()) {
    const ir::Node& node = graph.node(id);
    const ir::Value source = node.inputs.at(0);
    const ir::OutputPort& port = graph.port(source);
    infos.push_back({port.type, port.shape, ir::tensor_names(graph, {id, 0}), node.name, graph.node(source.node).name,
                     port.rt_info});
  }
  return infos;
}

bool needs_state(const ir::Node& node) { return node.is("ReadValue") || node.is("Assign"); }

CompiledGraph::CompiledGraph(const ir::Graph& graph, std::string device, Config config, int available_threads)
    : name_(graph.name()),
      device_(std::move(device)),
      config_(std::move(config)),
      threading_(config_.threading(available_threads)),
      inputs_(input_infos(graph)),
      outputs_(output_infos(graph)) {
  for (const ir::NodeId id : graph.nodes())
    TERROIR_ASSERT(!needs_state(graph.node(id)), graph.node(id).describe(), "compile_with_variables() is for these");
}

CompiledGraph::CompiledGraph(const CompiledGraph& whole, size_t inputs, size_t outputs)
    : name_(whole.name_), device_(whole.device_), config_(whole.config_), threading_(whole.threading_) {
  inputs_.assign(whole.inputs_.begin(), whole.inputs_.begin() + static_cast<std::ptrdiff_t>(inputs));
  outputs_.assign(whole.outputs_.begin(), whole.outputs_.begin() + static_cast<std::ptrdiff_t>(outputs));
}

CompiledGraph::CompiledGraph(std::string name, std::string device, Config config, int available_threads,
                             std::vector<PortInfo> inputs, std::vector<PortInfo> outputs)
    : name_(std::move(name)),
      device_(std::move(device)),
      config_(std::move(config)),
      threading_(config_.threading(available_threads)),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)) {}

const std::vector<VariableInfo>& RequestState::variables() const {
  static const std::vector<VariableInfo> none;
  return none;
}
ir::TensorView RequestState::variable(size_t) { throw_error(ErrorCode::not_found, "the model has no variables"); }
void RequestState::set_variable(size_t, const ir::TensorView&) {
  throw_error(ErrorCode::not_found, "the model has no variables");
}
void RequestState::reset_variable(size_t) { throw_error(ErrorCode::not_found, "the model has no variables"); }

std::unique_ptr<ir::Graph> CompiledGraph::runtime_graph() const {
  throw_error(ErrorCode::not_implemented, "the device ", device_, " has no runtime model to show");
}

void CompiledGraph::save(ArchiveWriter&) const {
  throw_error(ErrorCode::not_implemented, "the device ", device_, " cannot export compiled models");
}

std::vector<PropertyName> CompiledGraph::supported_properties() {
  std::vector<PropertyName> keys{terroir::supported_properties,
                                 model_name,
                                 optimal_number_of_infer_requests,
                                 execution_devices,
                                 memory_footprint,
                                 loaded_from_cache};
  for (const PropertyName& key : Config::keys()) keys.emplace_back(key, PropertyMutability::RO);
  return keys;
}

Any CompiledGraph::get_property(const std::string& key) const {
  if (key == terroir::supported_properties.name()) return supported_properties();
  if (key == model_name.name()) return name_;
  if (key == optimal_number_of_infer_requests.name()) return static_cast<uint32_t>(threading_.streams);
  if (key == execution_devices.name()) return std::vector<std::string>{device_};
  if (key == num_streams.name()) return streams::Num(threading_.streams);
  if (key == inference_num_threads.name()) return threading_.streams * threading_.threads_per_stream;
  if (key == memory_footprint.name()) {
    const Footprint needs = footprint();
    return std::map<std::string, uint64_t>{{"weights", needs.weights},
                                           {"packed", needs.packed},
                                           {"arena_per_request", needs.arena_per_request},
                                           {"peak", needs.peak(threading_.streams)}};
  }
  Any value = config_.get(key);
  if (value.empty()) throw_unknown_property("the compiled model", key, supported_properties());
  return value;
}

void CompiledGraph::set_property(const AnyMap& properties) const {
  Config checked = config_;
  checked.apply(properties, device_);
  if (properties.empty()) return;
  throw_error(ErrorCode::unsupported, "the property ", properties.begin()->first,
              " of a compiled model cannot be changed; give it to Core::compile_model()");
}

std::shared_ptr<const CompiledGraph> Plugin::load(Archive&, const Config&, const ir::OpRegistry&) const {
  throw_error(ErrorCode::not_implemented, "the device ", device_name(), " cannot import compiled models");
}

std::vector<std::string> Plugin::supported_layers(const ir::Graph& graph) const {
  std::vector<std::string> names;
  for (const ir::NodeId id : graph.nodes()) {
    const ir::Node& node = graph.node(id);
    const bool infrastructure = node.is(ir::kParameterType) || node.is(ir::kConstType) || node.is(ir::kResultType);
    const bool runs = infrastructure || node.schema->reference != nullptr || !node.bodies.empty();
    if (runs) names.push_back(node.name);
  }
  return names;
}

std::vector<PropertyName> Plugin::supported_properties() {
  std::vector<PropertyName> keys{terroir::supported_properties,
                                 available_devices,
                                 optimal_number_of_infer_requests,
                                 range_for_streams,
                                 range_for_async_infer_requests,
                                 device::full_name,
                                 execution_devices,
                                 device::architecture,
                                 device::type,
                                 device::capabilities};
  for (const PropertyName& key : Config::keys()) keys.push_back(key);
  return keys;
}

Any Plugin::get_property(const std::string& key, const Config& config) const {
  const auto threads = static_cast<unsigned>(thread_budget(config));
  if (key == terroir::supported_properties.name()) return supported_properties();
  if (key == available_devices.name()) return std::vector<std::string>{""};
  if (key == optimal_number_of_infer_requests.name()) {
    return static_cast<uint32_t>(config.threading(static_cast<int>(threads)).streams);
  }
  if (key == range_for_streams.name()) return std::tuple<unsigned, unsigned>(1, threads);
  if (key == range_for_async_infer_requests.name()) return std::tuple<unsigned, unsigned, unsigned>(1, threads, 1);
  if (key == execution_devices.name()) return std::vector<std::string>{device_name()};
  if (key == device::type.name()) return device::Type::INTEGRATED;
  if (key == device::full_name.name()) return full_device_name();
  if (key == device::capabilities.name()) return capabilities();
  if (key == device::architecture.name()) {
#if defined(__x86_64__)
    return std::string("intel64");
#elif defined(__aarch64__)
    return std::string("arm64");
#else
    return std::string("unknown");
#endif
  }
  Any value = config.get(key);
  if (value.empty()) throw_unknown_property(device_name(), key, supported_properties());
  return value;
}

namespace {

bool contains(const std::vector<std::string_view>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// What a device's name asks for. "AUTO:GPU,CPU" names candidates, the best first, "AUTO:-GPU" whom it must not take;
/// "CPU.0" is the first device of that kind; "MULTI:CPU" and "HETERO:CPU" have one device to share the work among.
struct DeviceWish {
  std::vector<std::string_view> candidates, refused;  // an empty candidate: any device

  explicit DeviceWish(const std::string& device) {
    std::string_view words = device;
    const size_t colon = words.find(':');
    const std::string_view way = words.substr(0, colon);
    const bool chooses = device.empty() || way == "AUTO";
    const bool shares = way == "MULTI" || way == "HETERO";
    if (way == "BATCH" || (shares && words.find(',') != std::string_view::npos))
      throw_error(ErrorCode::unsupported, "the device '", device, "': ",
                  way == "BATCH" ? "requests are not gathered into batches, Model::set_batch() makes a model of batches"
                                 : "a model runs on one device, name that");
    if (chooses || shares) words.remove_prefix(colon == std::string_view::npos ? words.size() : colon + 1);
    if (!chooses) {
      candidates.push_back(words.empty() && device != way ? std::string_view(device) : without_number(words));
      return;
    }
    do {
      const size_t comma = words.find(',');
      std::string_view name = words.substr(0, comma);
      words.remove_prefix(comma == std::string_view::npos ? words.size() : comma + 1);
      const bool refuses = name.starts_with('-');
      if (refuses) name.remove_prefix(1);
      (refuses ? refused : candidates).push_back(without_number(name));
    } while (!words.empty());
    if (candidates.empty()) candidates.emplace_back();
  }

 private:
  static std::string_view without_number(std::string_view name) {
    if (name.ends_with(".0")) name.remove_suffix(2);
    return name;
  }
};

}  // namespace

void PluginRegistry::add(std::unique_ptr<Plugin> plugin) {
  const std::string name = plugin->device_name();
  const std::lock_guard lock(mutex_);
  if (find(name) != nullptr) throw_error(ErrorCode::invalid_argument, "the device ", name, " exists already");
  plugins_.push_back(std::move(plugin));
}

const Plugin* PluginRegistry::find(std::string_view device) const {
  for (const auto& plugin : plugins_)
    if (plugin->device_name() == device) return plugin.get();
  return nullptr;
}

const Plugin& PluginRegistry::get(const std::string& device) const {
  const DeviceWish wish(device);
  const std::lock_guard lock(mutex_);
  for (const std::string_view wanted : wish.candidates) {
    for (const auto& plugin : plugins_) {
      const std::string name = plugin->device_name();
      if ((wanted.empty() || wanted == name) && !contains(wish.refused, name)) return *plugin;
    }
  }
  std::string available, meant;
  for (const auto& plugin : plugins_) {
    const std::string name = plugin->device_name();
    available += (available.empty() ? "" : ", ") + name;
    for (const std::string_view wanted : wish.candidates)
      if (wanted.size() == name.size() && ::strncasecmp(wanted.data(), name.data(), name.size()) == 0) meant = name;
  }
  if (!meant.empty()) available.append("; did you mean ").append(meant).append("?");
  throw_error(ErrorCode::not_found, "there is no device '", device,
              "'; available: ", available.empty() ? "none" : available);
}

std::vector<std::string> PluginRegistry::devices() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& plugin : plugins_) names.push_back(plugin->device_name());
  return names;
}

}  // namespace terroir::plugin
