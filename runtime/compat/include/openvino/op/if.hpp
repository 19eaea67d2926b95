// The OpenVINO header of this name: the classes of Terroir under namespace ov.
#pragma once

#include "terroir/ops.hpp"

namespace ov = terroir;
