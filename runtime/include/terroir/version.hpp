// The version of the library.
#pragma once

#include <iosfwd>

#include "terroir/export.hpp"

namespace terroir {

struct Version {
  const char* buildNumber;  // NOLINT: OpenVINO's spelling
  const char* description;
};

/// E.g. {"0.1.0", "Terroir Runtime"}.
TERROIR_API Version get_terroir_version() noexcept;

TERROIR_API std::ostream& operator<<(std::ostream& out, const Version& version);

}  // namespace terroir
