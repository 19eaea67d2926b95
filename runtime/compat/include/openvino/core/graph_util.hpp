// The OpenVINO header of this name: the names of Terroir under namespace ov.
#pragma once

#include "terroir/model.hpp"

namespace ov = terroir;
