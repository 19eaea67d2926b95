// The OpenVINO header of this name: the names of Terroir under namespace ov.
#pragma once

#include "openvino/core/namespace.hpp"
#include "openvino/pass/pass.hpp"
#include "terroir/pass/visualize_tree.hpp"
