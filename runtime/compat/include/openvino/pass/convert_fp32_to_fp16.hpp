// The OpenVINO header of this name: the names of Terroir under namespace ov.
#pragma once

#include "openvino/core/namespace.hpp"
#include "terroir/pass/convert_fp32_to_fp16.hpp"
