// The OpenVINO header of this name: the names of Terroir under namespace ov.
#pragma once

#include "terroir/dimension.hpp"

namespace ov = terroir;
