// The OpenVINO header of this name: the names of Terroir under namespace ov.
#pragma once

#include "openvino/core/namespace.hpp"
#include "terroir/graph_util.hpp"
#include "terroir/model.hpp"
