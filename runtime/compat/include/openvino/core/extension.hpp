// The OpenVINO header of this name: what Core::add_extension() takes, and how a library brings it.
#pragma once

#include "openvino/core/namespace.hpp"
#include "terroir/op_extension.hpp"

/// Once per library: the list of what it brings, a std::vector<ov::Extension::Ptr>.
#define OPENVINO_CREATE_EXTENSIONS(...) TERROIR_CREATE_EXTENSIONS(__VA_ARGS__)
