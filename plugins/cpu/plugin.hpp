#pragma once
// What: the device "CPU".
#include <memory>

#include "runtime/plugin/plugin.hpp"

namespace terroir::cpu {

std::unique_ptr<plugin::Plugin> make_cpu_plugin();

}  // namespace terroir::cpu
