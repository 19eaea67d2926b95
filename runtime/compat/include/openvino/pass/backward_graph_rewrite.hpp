// The OpenVINO header of this name: the names of Terroir under namespace ov.
#pragma once

#include "openvino/pass/graph_rewrite.hpp"
