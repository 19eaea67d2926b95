// The OpenVINO header of this name: the names of Terroir under namespace ov.
#pragma once

#include "terroir/node_input.hpp"

namespace ov = terroir;
