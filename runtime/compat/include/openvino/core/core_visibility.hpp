// The OpenVINO header of this name: the release of OpenVINO whose API these headers follow.
#pragma once

#include "openvino/core/deprecated.hpp"
#include "terroir/export.hpp"

#define OPENVINO_VERSION_MAJOR 2025
#define OPENVINO_VERSION_MINOR 4
#define OPENVINO_VERSION_PATCH 0

#define OPENVINO_API TERROIR_API
#define OPENVINO_RUNTIME_API TERROIR_API
