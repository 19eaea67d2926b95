// The OpenVINO header of this name: the names of Terroir under namespace ov.
#pragma once

#include "openvino/core/type/element_type.hpp"
