// The OpenVINO header of this name: the names of Terroir under namespace ov.
#pragma once

#include <istream>
#include <ostream>
#include <sstream>
#include <string>

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
inline std::istream& operator>>(std::istream& in, Affinity& affinity) {
  std::string text;
  in >> text;
  for (const Affinity known : {Affinity::NONE, Affinity::CORE, Affinity::NUMA, Affinity::HYBRID_AWARE}) {
    std::ostringstream name;
    name << known;
    if (name.str() == text) {
      affinity = known;
      return in;
    }
  }
  in.setstate(std::ios_base::failbit);
  return in;
}
inline constexpr Property<Affinity> affinity{"AFFINITY"};

}  // namespace terroir
