// The properties of devices: from the command line, from a file and into a file.
#pragma once

#include <map>
#include <string>

#include <terroir/terroir.hpp>

#include "benchmark_app/options.hpp"

namespace benchmark_app {

/// Device -> its properties.
using DeviceConfig = std::map<std::string, terroir::AnyMap>;

/// What --load_config and the command line, which goes before it, say about the devices. Throws std::runtime_error for
/// a file that cannot be read, an option that names another device, or a property that the device lacks.
DeviceConfig device_config(const terroir::Core& core, const Options& options);

/// {"CPU": {"NUM_STREAMS": "2"}}. Throws std::runtime_error that names the file.
void write_config(const DeviceConfig& config, const std::string& path);

}  // namespace benchmark_app
