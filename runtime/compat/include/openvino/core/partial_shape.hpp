// The OpenVINO header of this name: the names of Terroir under namespace ov.
#pragma once

#include "terroir/partial_shape.hpp"

namespace ov = terroir;
