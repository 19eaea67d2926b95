// The OpenVINO header of this name: its classes exist, no device has such things.
#pragma once

#include "openvino/core/namespace.hpp"
#include "terroir/remote_context.hpp"
