// The devices inside this library, in the order in which Core lists them; the first one is the default.
#include "plugins/cpu/plugin.hpp"
#include "plugins/interpreter/plugin.hpp"
#include "runtime/plugin/plugin.hpp"

namespace terroir::plugin {

void register_builtin_plugins(PluginRegistry& registry) {
  registry.add(cpu::make_cpu_plugin());
  registry.add(interpreter::make_plugin());
}

}  // namespace terroir::plugin
