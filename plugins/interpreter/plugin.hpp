#pragma once
// What: the device INTERPRETER: Program behind the device interface. For checking other devices, not for speed.
#include <memory>

#include "runtime/plugin/plugin.hpp"

namespace terroir::interpreter {

std::unique_ptr<plugin::Plugin> make_plugin();

}  // namespace terroir::interpreter
