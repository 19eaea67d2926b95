// The OpenVINO header of this name: Cancelled and Busy under namespace ov.
#pragma once

#include "openvino/core/namespace.hpp"
#include "terroir/exception.hpp"
