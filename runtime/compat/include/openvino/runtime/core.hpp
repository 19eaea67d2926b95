// The OpenVINO header of this name: the names of Terroir under namespace ov.
#pragma once

#include "openvino/core/extension.hpp"
#include "openvino/core/namespace.hpp"
#include "openvino/core/op_extension.hpp"
#include "terroir/core.hpp"
