// The OpenVINO header of this name: the names of Terroir under namespace ov.
#pragma once

#include "openvino/core/namespace.hpp"
#include "terroir/broadcast_adapters.hpp"
#include "terroir/layout.hpp"
