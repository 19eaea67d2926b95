// The version of the library.
#pragma once

#include <iosfwd>
#include <map>
#include <string>

#include "terroir/export.hpp"

namespace terroir {

struct Version {
  const char* buildNumber;  // NOLINT: OpenVINO's spelling
  const char* description;
};

/// E.g. {"0.1.0", "Terroir Runtime"}.
TERROIR_API Version get_terroir_version() noexcept;

/// The same, under OpenVINO's name.
inline Version get_openvino_version() noexcept { return get_terroir_version(); }

TERROIR_API std::ostream& operator<<(std::ostream& out, const Version& version);
/// One device a line: "CPU: Terroir Runtime 0.1.0".
TERROIR_API std::ostream& operator<<(std::ostream& out, const std::map<std::string, Version>& versions);

}  // namespace terroir
