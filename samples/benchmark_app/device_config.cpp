#include "benchmark_app/device_config.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "common/report.hpp"

namespace benchmark_app {
namespace {

using nlohmann::json;
using terroir::AnyMap;

[[noreturn]] void refuse_file(const std::string& path, const std::string& reason) {
  throw std::runtime_error("--load_config: cannot use '" + path + "': " + reason);
}

DeviceConfig read_config(const std::string& path) {
  std::ifstream file(path);
  if (!file) refuse_file(path, "it cannot be opened");
  json document;
  try {
    document = json::parse(file);
  } catch (const std::exception& error) {  // of the JSON, or of reading what is no file
    refuse_file(path, error.what());
  }
  if (!document.is_object()) refuse_file(path, "it must be an object of devices");
  DeviceConfig config;
  for (const auto& [device, properties] : document.items()) {
    if (!properties.is_object()) refuse_file(path, "'" + device + "' must be an object of properties");
    for (const auto& [key, value] : properties.items()) {
      config[device][key] = value.is_string() ? value.get<std::string>() : value.dump();
    }
  }
  return config;
}

/// Whether "CPU" or "AUTO:CPU" runs on "CPU".
bool runs_on(const std::string& devices, const std::string& device) {
  const size_t colon = devices.find(':');
  return devices == device || (colon != std::string::npos && devices.substr(colon + 1) == device);
}

/// What a file says of `devices`: of exactly these, then of those whose name "AUTO:CPU" or "CPU.0" begins with, then of
/// the one that the model runs on; what comes first counts. Those are one entry from then on.
void gather(DeviceConfig& config, const std::string& devices) {
  AnyMap& properties = config[devices];
  const auto begins_with = [&](const std::string& device) {
    return devices.compare(0, device.size(), device) == 0 &&
           std::string(":.(").find(devices[device.size()]) != std::string::npos;
  };
  for (const bool by_beginning : {true, false}) {
    for (auto entry = config.begin(); entry != config.end();) {
      const std::string& device = entry->first;
      if (device != devices && (by_beginning ? begins_with(device) : runs_on(devices, device))) {
        properties.insert(entry->second.begin(), entry->second.end());
        entry = config.erase(entry);
      } else {
        ++entry;
      }
    }
  }
}

/// "2" or "CPU:2" as "2".
std::string value_for(const std::string& device, const std::string& text, const std::string& option) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos) return text;
  if (!runs_on(device, text.substr(0, colon))) {
    throw std::runtime_error(option + ": '" + text + "' is for a device that is not run on; -d says " + device);
  }
  return text.substr(colon + 1);
}

bool has_property(const terroir::Core& core, const std::string& device, const std::string& key) {
  const auto keys = core.get_property(device, terroir::supported_properties);
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

void set_hint(AnyMap& properties, const Options& options) {
  // A default hint does not override what a file says.
  const bool from_file = properties.count(terroir::hint::performance_mode.name()) != 0 ||
                         properties.count(terroir::num_streams.name()) != 0;
  if (options.hint == "none") {
    if (options.hint_given) properties.erase(terroir::hint::performance_mode.name());
  } else if (options.hint_given || !from_file) {
    if (!options.hint_given) {
      samples::info() << "No --hint is given; it is " << options.hint << " for --api " << options.api << '\n';
    }
    std::string word = options.hint;
    std::transform(word.begin(), word.end(), word.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
    properties[terroir::hint::performance_mode.name()] = word;
  }
  if (options.requests != 0) properties[terroir::hint::num_requests.name()] = options.requests;
}

void set_counters(AnyMap& properties, const Options& options) {
  const char* key = terroir::enable_profiling.name();
  if (options.counters || options.wants_counters()) {
    if (!options.counters) samples::info() << "Layers are timed, since a report asks for it\n";
    properties[key] = options.wants_counters();
  } else if (properties.count(key) != 0) {
    samples::info() << "Layers are timed, since --load_config says so; --pc prints the times\n";
  }
}

}  // namespace

DeviceConfig device_config(const terroir::Core& core, const Options& options) {
  DeviceConfig config;
  if (!options.load_config.empty()) config = read_config(options.load_config);
  gather(config, options.device);
  AnyMap& properties = config[options.device];
  set_hint(properties, options);
  set_counters(properties, options);
  if (!options.streams.empty()) {
    properties[terroir::num_streams.name()] = value_for(options.device, options.streams, "--nstreams");
  }
  if (options.threads) properties[terroir::inference_num_threads.name()] = *options.threads;
  if (!options.infer_precision.empty()) {
    properties[terroir::hint::inference_precision.name()] =
        value_for(options.device, options.infer_precision, "--infer_precision");
  }
  if (!options.pin.empty()) {
    const char* const key = "ENABLE_CPU_PINNING";
    if (!has_property(core, options.device, key)) {
      throw std::runtime_error("--pin: the device " + options.device + " does not support it; leave it out");
    }
    properties[key] = options.pin;
  }
  if (!options.cache_dir.empty()) properties[terroir::cache_dir.name()] = options.cache_dir;
  return config;
}

void write_config(const DeviceConfig& config, const std::string& path) {
  json document = json::object();
  for (const auto& [device, properties] : config) {
    document[device] = json::object();
    for (const auto& [key, value] : properties) document[device][key] = value.as<std::string>();
  }
  std::ofstream file(path);
  file << document.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
  if (!file.flush()) throw std::runtime_error("--dump_config: cannot write '" + path + "'");
}

}  // namespace benchmark_app
