#include "terroir/version.hpp"

#include <ostream>

namespace terroir {

Version get_terroir_version() noexcept { return {TERROIR_VERSION, "Terroir Runtime"}; }

std::ostream& operator<<(std::ostream& out, const Version& version) {
  return out << version.description << ' ' << version.buildNumber;
}

std::ostream& operator<<(std::ostream& out, const std::map<std::string, Version>& versions) {
  for (const auto& [device, version] : versions) out << device << ": " << version << '\n';
  return out;
}

}  // namespace terroir
