// The OpenVINO header of this name: the names of Terroir under namespace ov.
#pragma once

#include "terroir/variable_state.hpp"

namespace ov = terroir;
