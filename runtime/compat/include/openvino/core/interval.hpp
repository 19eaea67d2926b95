// The OpenVINO header of this name: Interval under namespace ov.
#pragma once

#include "openvino/core/namespace.hpp"
#include "terroir/interval.hpp"
