// The OpenVINO header of this name: classes of layers for a Core.
#pragma once

#include "openvino/core/extension.hpp"
#include "openvino/op/op.hpp"
#include "terroir/op_extension.hpp"
