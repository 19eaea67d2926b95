// Everything a program of OpenVINO's C++ API includes; namespace ov is terroir.
#pragma once

#include "openvino/core/core.hpp"
#include "openvino/core/namespace.hpp"
#include "openvino/runtime/runtime.hpp"
#include "terroir/terroir.hpp"
