// The OpenVINO header of this name: the names of Terroir under namespace ov.
#pragma once

#include "terroir/rt_info.hpp"

namespace ov = terroir;
