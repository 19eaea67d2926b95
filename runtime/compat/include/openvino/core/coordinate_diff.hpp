// The OpenVINO header of this name: the classes of Terroir under namespace ov.
#pragma once

#include "openvino/core/namespace.hpp"
#include "terroir/op/attributes.hpp"
