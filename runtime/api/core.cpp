#include "terroir/core.hpp"

#include <iterator>
#include <mutex>
#include <utility>

#include "ir/base/error.hpp"
#include "ir/base/function_ref.hpp"
#include "ir/base/log.hpp"
#include "ir/base/mapped_file.hpp"
#include "ir/base/short_memory.hpp"
#include "ir/xml/reader.hpp"
#include "ops/registry.hpp"
#include "runtime/api/compiled_state.hpp"
#include "runtime/api/framework_node.hpp"
#include "runtime/extension/library.hpp"
#include "runtime/extension/states.hpp"
#include "runtime/parallel/available_threads.hpp"
#include "runtime/parallel/wake.hpp"
#include "runtime/plugin/model_cache.hpp"
#include "runtime/plugin/plugin.hpp"
#include "runtime/plugin/stored_model.hpp"
#include "runtime/plugin/threading.hpp"
#include "runtime/plugin/variables.hpp"

namespace terroir {

namespace {

ir::ReaderOptions reader_options(const plugin::Config& config) {
  ir::ReaderOptions options;
  options.strict = config.strict_reading;
  options.map_weights = config.map_weights;
  return options;
}

std::unique_ptr<ir::Graph> read_file(const std::string& model_path, const std::string& bin_path,
                                     const ir::OpRegistry& registry, const plugin::Config& config) {
  return ir::read_model(model_path, bin_path, registry, reader_options(config));
}

/// What a tensor holds, and who keeps it.
struct Bytes {
  std::shared_ptr<const void> owner;
  const std::byte* data = nullptr;
  size_t size = 0;
};

Bytes bytes_of(const Tensor& tensor, const char* what) {
  const detail::TensorState& state = detail::TensorAccess::state(tensor);
  if (!state.dense) throw_error(ErrorCode::invalid_argument, what, " must be a continuous tensor");
  if (state.type == element::string) throw_error(ErrorCode::type_mismatch, what, " cannot be texts");
  // The memory itself if it is the tensor's, which may be given other memory later.
  std::shared_ptr<const void> owner = detail::TensorAccess::pointer(tensor);
  if (state.owner != nullptr) owner = state.owner;
  return {std::move(owner), static_cast<const std::byte*>(state.data), tensor.get_byte_size()};
}

std::shared_ptr<Model> read_memory(const std::string& model, const Tensor& weights, const ir::OpRegistry& registry,
                                   const plugin::Config& config) {
  const Bytes bytes = weights ? bytes_of(weights, "the weights") : Bytes();
  return detail::ModelAccess::make(
      ir::read_model_from_memory(model, bytes.owner, bytes.data, bytes.size, registry, reader_options(config)));
}

constexpr const char* kToSet = "to set properties of";

}  // namespace

namespace detail {

/// A level that somebody wants. The log is the process's: of those who want one, the last has it; if there is nobody
/// any more, it is as it was before.
class WantedLogLevel {
 public:
  WantedLogLevel() = default;
  WantedLogLevel(const WantedLogLevel&) = delete;
  ~WantedLogLevel() {
    const std::lock_guard lock(mutex_);
    if (take_out()) set_log_categories(last_ != nullptr ? last_->categories_ : before_);
  }
  void set(log::Level level) {
    const std::lock_guard lock(mutex_);
    const auto warning = static_cast<unsigned>(LogCategory::warning);
    categories_ = level >= log::Level::DEBUG     ? parse_log_categories("all")
                  : level >= log::Level::INFO    ? parse_log_categories("threads")
                  : level >= log::Level::WARNING ? warning
                                                 : 0;
    const unsigned former = set_log_categories(categories_);
    if (last_ == nullptr) before_ = former;
    take_out();
    earlier_ = std::exchange(last_, this);
  }

 private:
  bool take_out() {
    WantedLogLevel** at = &last_;
    while (*at != nullptr && *at != this) at = &(*at)->earlier_;
    if (*at == nullptr) return false;
    *at = earlier_;
    return true;
  }

  // Nothing to destroy: a Core may be a variable of the program, and go when it ends.
  static inline std::mutex mutex_;  // of all
  static inline WantedLogLevel* last_ = nullptr;
  static inline unsigned before_ = 0;

  WantedLogLevel* earlier_ = nullptr;
  unsigned categories_ = 0;
};

}  // namespace detail

struct Core::State {
  plugin::PluginRegistry plugins;

  mutable std::mutex mutex;                        // of all below
  plugin::Config common;                           // what was set for all devices; reading uses it
  std::map<std::string, plugin::Config> devices;   // by the plugin's name
  std::map<std::string, std::string> priorities;   // device::priorities of "AUTO" and the like, where they were set
  std::shared_ptr<const ir::OpRegistry> extended;  // with the layers of extensions; null: there are none
  detail::WantedLogLevel log_level;                // if one was set

  /// The operations that models may have.
  std::shared_ptr<const ir::OpRegistry> operations() const {
    const std::lock_guard lock(mutex);
    return extended ? extended : std::shared_ptr<const ir::OpRegistry>(&ops::builtin_registry(), [](const void*) {});
  }
  plugin::Config reading() const {
    const std::lock_guard lock(mutex);
    return common;
  }
  /// Everything in it or nothing. What is there already from the same extension stays.
  void add(const custom::Extension& extension) {
    const std::lock_guard lock(mutex);
    auto all = with_operations(extension);
    std::vector<std::unique_ptr<plugin::Plugin>> fresh = new_devices(extension);
    for (auto& device : fresh) {
      devices.emplace(device->device_name(), common);
      plugins.add(std::move(device));
    }
    extended = std::move(all);
  }
  /// Whether the name stands for all devices.
  static bool is_way(const std::string& device) { return device == "AUTO" || device == "MULTI" || device == "HETERO"; }
  /// The device meant by its name; `properties` lose what only chooses it.
  const plugin::Plugin& choose(const std::string& device, AnyMap& properties) const {
    const std::string way = device.empty() ? "AUTO" : device;
    if (!is_way(way)) return plugins.get(device);
    std::string candidates = priorities_of(way);
    if (const auto given = properties.find(device::priorities.name()); given != properties.end()) {
      candidates = given->second.as<std::string>();
      properties.erase(given);
    }
    return plugins.get(candidates.empty() ? device : way + ":" + candidates);
  }
  std::string priorities_of(const std::string& way) const {
    const std::lock_guard lock(mutex);
    const auto found = priorities.find(way);
    return found != priorities.end() ? found->second : "";
  }
  plugin::Config config_of(const plugin::Plugin& plugin) const {
    const std::lock_guard lock(mutex);
    return devices.at(plugin.device_name());
  }
  plugin::Config config_of(const plugin::Plugin& plugin, const AnyMap& properties) const {
    plugin::Config config = config_of(plugin);
    config.apply(properties, plugin.device_name());
    return config;
  }
  /// The same; a level of the log among the properties holds as long as `level`.
  plugin::Config config_of(const plugin::Plugin& plugin, const AnyMap& properties,
                           detail::WantedLogLevel& level) const {
    plugin::Config config = config_of(plugin, properties);
    // Among those of one device, it is none of `properties` itself.
    if (properties.count(log::level.name()) != 0 || config.log_level != config_of(plugin).log_level)
      level.set(config.log_level);
    return config;
  }

  static std::shared_ptr<const plugin::CompiledGraph> compile_graph(std::shared_ptr<const ir::Graph> graph,
                                                                    const plugin::Plugin& plugin,
                                                                    const plugin::Config& config) {
    return with_context([&] { return concat("compiling '", graph->name(), "' for ", plugin.device_name()); },
                        [&] {
                          detail::require_known_layers(*graph);
                          return with_memory([] { return "to compile the model"; },
                                             [&] {
                                               if (auto with_ports = custom::with_states_as_ports(*graph))
                                                 graph = std::move(with_ports);
                                               return plugin::compile_with_variables(plugin, graph, config);
                                             });
                        });
  }

  CompiledModel compile(const std::shared_ptr<const Model>& model, const plugin::Plugin& plugin,
                        const plugin::Config& config) const {
    if (model == nullptr) throw_error(ErrorCode::invalid_argument, "the model is empty");
    const std::shared_ptr<const ir::Graph> graph = detail::ModelAccess::state(*model)->needed_graph();
    return cached(
        plugin, config,
        [&](const plugin::FileHashes& seen, const parallel::Arena& arena) {
          return plugin::hash_of_graph(*graph, seen, arena);
        },
        [&] { return compile_graph(graph, plugin, config); });
  }

  /// Of the cache's models without weights (CacheMode::OPTIMIZE_SIZE), or else of the file's, which is then kept there.
  CompiledModel compile_weightless(const std::string& model_path, const plugin::Plugin& plugin,
                                   const plugin::Config& config) const {
    const auto known = operations();
    const std::string weights = ir::weights_beside(model_path);
    const parallel::Arena arena(parallel::available_threads());
    const plugin::ModelCache cache(
        config, plugin::hash_of_files(model_path, weights, plugin::FileHashes(config.cache_dir), arena),
        "weightless" + custom::fingerprint(*known));
    std::shared_ptr<const ir::Graph> graph = cache.find_weightless(weights, *known, arena);
    const bool found = graph != nullptr;
    if (!found) {
      graph = read_file(model_path, {}, *known, config);
      cache.keep_weightless(*graph, weights, arena);
    }
    return detail::RuntimeAccess::make(
        std::make_shared<detail::CompiledState>(compile_graph(std::move(graph), plugin, config), found));
  }

  CompiledModel import(const std::string& device, const AnyMap& properties,
                       FunctionRef<plugin::Archive(const EncryptionCallbacks&, const parallel::Arena&)> open,
                       const std::string& file = {}) const {
    AnyMap settings = properties;
    const plugin::Plugin& plugin = choose(device, settings);
    detail::WantedLogLevel level;
    const plugin::Config config = config_of(plugin, settings, level);
    const parallel::Arena arena(parallel::available_threads());
    return with_context(
        [&] {
          const std::string name = file.empty() ? "" : " '" + file + "'";
          return "importing a compiled model" + name + " for " + plugin.device_name();
        },
        [&] {
          plugin::Archive archive = open(config.encryption, arena);
          return detail::RuntimeAccess::make(
              std::make_shared<detail::CompiledState>(plugin::load_compiled(plugin, archive, config, *operations())));
        });
  }

  /// What the cache has, or else what `compile` makes.
  CompiledModel cached(const plugin::Plugin& plugin, const plugin::Config& config,
                       FunctionRef<Hash128(const plugin::FileHashes&, const parallel::Arena&)> hash_model,
                       FunctionRef<std::shared_ptr<const plugin::CompiledGraph>()> compile) const {
    std::shared_ptr<const plugin::CompiledGraph> compiled;
    bool found = false;
    if (config.cache_dir.empty() || config.cache_mode == CacheMode::OPTIMIZE_SIZE) {
      compiled = compile();
    } else {
      const auto known = operations();
      const parallel::Arena arena(parallel::available_threads());
      const bool has_own_threads = config.executor || config.cpu_pinning || config.cpu_reservation;
      if (!has_own_threads) parallel::wake_threads(config.threading(plugin::thread_budget(config)).threads_per_stream);
      const plugin::ModelCache cache(
          config, hash_model(plugin::FileHashes(config.cache_dir), arena),
          concat(plugin.fingerprint(), ' ', config.compile_settings(), custom::fingerprint(*known)));
      compiled = cache.find(plugin, config, *known, arena);
      found = compiled != nullptr;
      if (!found) {
        compiled = compile();
        cache.keep(*compiled, arena);
      }
    }
    return detail::RuntimeAccess::make(std::make_shared<detail::CompiledState>(std::move(compiled), found));
  }

 private:  // with mutex held
  std::shared_ptr<const ir::OpRegistry> with_operations(const custom::Extension& extension) const {
    const ir::OpRegistry& before = extended ? *extended : ops::builtin_registry();
    auto all = std::make_shared<ir::OpRegistry>(before);
    for (const auto& schema : extension.operations) {
      const ir::OpSchema* known = before.find(schema->type, schema->opset);
      if (known == schema.get()) continue;
      if (known != nullptr && known->opset == schema->opset) {
        const std::string owner = custom::source_of(*known);
        throw_error(ErrorCode::invalid_argument, "it brings the operation ", schema->type, " of '", schema->opset,
                    "', which ", owner.empty() ? std::string("Terroir has itself") : "'" + owner + "' brought before",
                    ": give it another type or opset");
      }
      all->add(schema);
    }
    return all;
  }
  std::vector<std::unique_ptr<plugin::Plugin>> new_devices(const custom::Extension& extension) const {
    std::vector<std::unique_ptr<plugin::Plugin>> fresh;
    for (const custom::Device& device : extension.devices) {
      const std::string name = device.descriptor.name;
      bool taken = false;
      for (const auto& other : fresh) taken = taken || other->device_name() == name;
      if (devices.count(name) != 0) {
        if (custom::is_made_from(plugins.get(name), device)) continue;
        taken = true;
      }
      if (taken)
        throw_error(ErrorCode::invalid_argument, "it brings the device ", name,
                    ", but there is one of that name already: give it another name");
      fresh.push_back(custom::make_plugin(device));
    }
    return fresh;
  }
};

Core::Core(const std::string& xml_config_file) : state_(std::make_shared<State>()) {
  if (!xml_config_file.empty()) {
    throw_error(ErrorCode::unsupported, "the devices are those of the library; the list '", xml_config_file,
                "' cannot be used");
  }
  plugin::register_builtin_plugins(state_->plugins);
  for (const std::string& name : state_->plugins.devices()) state_->devices.emplace(name, plugin::Config());
}
Core::~Core() = default;

std::map<std::string, Version> Core::get_versions(const std::string& device) const {
  std::map<std::string, Version> versions;
  for (const std::string& name : state_->plugins.devices()) {
    if (device.empty() || &state_->plugins.get(device) == &state_->plugins.get(name)) {
      versions.emplace(name, get_terroir_version());
    }
  }
  return versions;
}

std::shared_ptr<Model> Core::read_model(const std::string& model_path, const std::string& bin_path,
                                        const AnyMap& properties) const {
  plugin::Config config = state_->reading();
  config.apply(properties, "Core");
  return detail::ModelAccess::make(read_file(model_path, bin_path, *state_->operations(), config));
}

std::shared_ptr<Model> Core::read_model(const std::string& model, const Tensor& weights) const {
  return read_memory(model, weights, *state_->operations(), state_->reading());
}

CompiledModel Core::compile_model(const std::shared_ptr<const Model>& model, const std::string& device,
                                  const AnyMap& properties) {
  AnyMap settings = properties;
  const plugin::Plugin& plugin = state_->choose(device, settings);
  detail::WantedLogLevel log_level;
  return state_->compile(model, plugin, state_->config_of(plugin, settings, log_level));
}

CompiledModel Core::compile_model(const std::string& model_path, const std::string& device, const AnyMap& properties) {
  // The device and its properties first: they are checked at once, a model takes time to read.
  AnyMap settings = properties;
  const plugin::Plugin& plugin = state_->choose(device, settings);
  detail::WantedLogLevel log_level;
  const plugin::Config config = state_->config_of(plugin, settings, log_level);
  if (!config.cache_dir.empty() && config.cache_mode == CacheMode::OPTIMIZE_SIZE)
    return state_->compile_weightless(model_path, plugin, config);
  return state_->cached(
      plugin, config,
      [&](const plugin::FileHashes& seen, const parallel::Arena& arena) {
        return plugin::hash_of_files(model_path, ir::weights_beside(model_path), seen, arena);
      },
      [&] { return State::compile_graph(read_file(model_path, {}, *state_->operations(), config), plugin, config); });
}

CompiledModel Core::compile_model(const std::string& model, const Tensor& weights, const std::string& device,
                                  const AnyMap& properties) {
  AnyMap settings = properties;
  const plugin::Plugin& plugin = state_->choose(device, settings);
  detail::WantedLogLevel log_level;
  const plugin::Config config = state_->config_of(plugin, settings, log_level);
  return state_->compile(read_memory(model, weights, *state_->operations(), config), plugin, config);
}

CompiledModel Core::import_model(std::istream& stream, const std::string& device, const AnyMap& properties) {
  return state_->import(device, properties, [&](const EncryptionCallbacks& encryption, const parallel::Arena& arena) {
    if (!encryption.decrypt) return plugin::Archive::read(stream, arena);
    const std::string secret{std::istreambuf_iterator<char>(stream), {}};
    return plugin::decrypted(encryption, secret.data(), secret.size(), arena);
  });
}

CompiledModel Core::import_model(const Tensor& model, const std::string& device, const AnyMap& properties) {
  return state_->import(device, properties, [&](const EncryptionCallbacks& encryption, const parallel::Arena& arena) {
    const Bytes bytes = bytes_of(model, "the compiled model");
    if (encryption.decrypt) return plugin::decrypted(encryption, bytes.data, bytes.size, arena);
    return plugin::Archive::over(bytes.owner, bytes.data, bytes.size, arena);
  });
}

CompiledModel Core::import_model(const std::filesystem::path& model_path, const std::string& device,
                                 const AnyMap& properties) {
  return state_->import(
      device, properties,
      [&](const EncryptionCallbacks& encryption, const parallel::Arena& arena) {
        const auto file = MappedFile::open(model_path);
        if (encryption.decrypt) return plugin::decrypted(encryption, file->data(), file->size(), arena);
        return plugin::Archive(file, file->data(), file->size(), arena);
      },
      model_path.string());
}

RemoteContext Core::create_context(const std::string& device, const AnyMap&) {
  static_cast<void>(state_->plugins.get(device));
  detail::throw_no_remote_memory("a remote context");
}

void Core::add_extension(const std::string& library_path) {
  const custom::Extension& extension = custom::load_extension(library_path);
  with_context([&] { return "extension '" + library_path + "'"; }, [&] { state_->add(extension); });
}

void Core::add_extension(const terroir_extension* extension) {
  const custom::Extension& adopted = custom::adopt_extension(extension);
  with_context([&] { return concat("extension '", extension->name != nullptr ? extension->name : "", "'"); },
               [&] { state_->add(adopted); });
}

SupportedOpsMap Core::query_model(const std::shared_ptr<const Model>& model, const std::string& device,
                                  const AnyMap& properties) const {
  if (model == nullptr) throw_error(ErrorCode::invalid_argument, "the model is empty");
  AnyMap settings = properties;
  const plugin::Plugin& plugin = state_->choose(device, settings);
  static_cast<void>(state_->config_of(plugin, settings));  // throws for what compile_model() would refuse
  SupportedOpsMap map;
  const auto graph = detail::ModelAccess::state(*model)->needed_graph();
  for (const std::string& layer : plugin.supported_layers(*graph)) {
    map.emplace(layer, plugin.device_name());
  }
  return map;
}

void Core::set_property(const AnyMap& properties) {
  with_memory_for(kToSet, "Core", [&] {
    const std::lock_guard lock(state_->mutex);
    plugin::Config common = state_->common;
    std::map<std::string, plugin::Config> devices = state_->devices;
    common.apply(properties, "Core");
    for (auto& [name, config] : devices) config.apply(properties, name);
    if (properties.count(log::level.name()) != 0) state_->log_level.set(common.log_level);
    state_->common = std::move(common);
    state_->devices = std::move(devices);
  });
}

void Core::set_property(const std::string& device, const AnyMap& properties) {
  if (device.empty()) return set_property(properties);
  with_memory_for(kToSet, device, [&] {
    AnyMap settings = properties;
    const std::string name = state_->choose(device, settings).device_name();
    const std::lock_guard lock(state_->mutex);
    plugin::Config& config = state_->devices.at(name);
    config.apply(settings, name);
    if (settings.size() < properties.size())
      state_->priorities[device] = properties.at(device::priorities.name()).as<std::string>();
    if (properties.count(log::level.name()) != 0) state_->log_level.set(config.log_level);
  });
}

void Core::set_executor(std::shared_ptr<TaskExecutor> tasks) { set_property(task_executor(std::move(tasks))); }

Any Core::get_property(const std::string& device, const std::string& name, const AnyMap& arguments) const {
  if (device.empty() && name == available_devices.name()) return get_available_devices();
  if (State::is_way(device) && name == device::priorities.name()) return state_->priorities_of(device);
  AnyMap settings = arguments;
  const plugin::Plugin& plugin = state_->choose(device, settings);
  Any value = plugin.get_property(name, state_->config_of(plugin, settings));
  if (name != supported_properties.name() || !State::is_way(device)) return value;
  // Programs that find these in the list of several devices set them for all, as "{CPU:2}"; for one device they may.
  auto listed = value.as<std::vector<PropertyName>>();
  std::erase_if(listed, [](const PropertyName& known) {
    return known == num_streams.name() || known == hint::inference_precision.name();
  });
  return listed;
}

std::shared_ptr<const ir::OpRegistry> detail::RuntimeAccess::operations(const Core& core) {
  return core.state_->operations();
}

std::vector<std::string> Core::get_available_devices() const { return state_->plugins.devices(); }

}  // namespace terroir
