// The OpenVINO header of this name: the names of Terroir under namespace ov.
#pragma once

// Some for programs that include nothing but OpenVINO's headers, as the one that this stands for.
#include <algorithm>
#include <string>
#include <typeindex>

#include "openvino/core/namespace.hpp"
#include "terroir/any.hpp"
