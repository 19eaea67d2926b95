// The OpenVINO header of this name: the names of Terroir under namespace ov.
#pragma once

#include <ostream>

#include "openvino/core/namespace.hpp"
#include "terroir/cpu_properties.hpp"
#include "terroir/properties.hpp"

namespace terroir {

/// Former name of hint::enable_cpu_pinning; no device supports it, so programs that ask leave it alone.
enum class Affinity { NONE = -1, CORE = 0, NUMA = 1, HYBRID_AWARE = 2 };
inline std::ostream& operator<<(std::ostream& out, Affinity affinity) {
  static constexpr const char* kNames[] = {"NONE", "CORE", "NUMA", "HYBRID_AWARE"};
  return out << kNames[static_cast<int>(affinity) + 1];
}
inline constexpr Property<Affinity> affinity{"AFFINITY"};

}  // namespace terroir
