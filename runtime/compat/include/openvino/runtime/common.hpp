// The OpenVINO header of this name: SupportedOpsMap under namespace ov.
#pragma once

#include "terroir/core.hpp"

namespace ov = terroir;
