// The OpenVINO header of this name: get_openvino_version() tells Terroir's version.
#pragma once

#include "openvino/core/core_visibility.hpp"
#include "terroir/version.hpp"

namespace terroir {

inline Version get_openvino_version() noexcept { return get_terroir_version(); }

}  // namespace terroir

namespace ov = terroir;
