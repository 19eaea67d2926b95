// The OpenVINO header of this name: get_openvino_version() tells Terroir's version.
#pragma once

#include "openvino/core/core_visibility.hpp"
#include "openvino/core/namespace.hpp"
#include "terroir/version.hpp"
