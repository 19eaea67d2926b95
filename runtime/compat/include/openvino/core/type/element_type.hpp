// The OpenVINO header of this name: the names of Terroir under namespace ov.
#pragma once

#include "openvino/core/namespace.hpp"
#include "openvino/core/type/element_type_traits.hpp"
#include "terroir/element_type.hpp"
