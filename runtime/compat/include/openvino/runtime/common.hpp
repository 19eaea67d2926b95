// The OpenVINO header of this name: SupportedOpsMap under namespace ov.
#pragma once

#include "openvino/core/namespace.hpp"
#include "terroir/core.hpp"
