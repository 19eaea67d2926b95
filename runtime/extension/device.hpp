#pragma once
// What: a device of somebody else's library as an ordinary plugin::Plugin: what device_abi.h says, spoken from this
// side. Models: written as IR version 11 in memory for each compile() and supported_layers(); the text is released
// afterwards. Errors: what the device refuses is an Exception with its own words that names the library; models with
// texts
//         (element::string) as inputs or outputs are unsupported.
// Source: runtime/include/terroir/device_abi.h
#include <memory>
#include <string>

#include "runtime/plugin/plugin.hpp"
#include "terroir/device_abi.h"

namespace terroir::custom {

/// What the library wrote in its terroir_device, after checked_device().
struct Device {
  terroir_device descriptor;
  std::string source;            // "checked.so", for people
  const terroir_device* origin;  // tells devices of the same name apart
};

/// Checks the descriptor. Exception (invalid_argument; unsupported for another version) that names the device.
Device checked_device(const terroir_device* descriptor, const std::string& source);

/// `device` must outlive the plugin and all it made.
std::unique_ptr<plugin::Plugin> make_plugin(const Device& device);

/// Whether the plugin was made from this device.
bool is_made_from(const plugin::Plugin& plugin, const Device& device);

}  // namespace terroir::custom
