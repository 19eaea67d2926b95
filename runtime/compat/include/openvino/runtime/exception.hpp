// The OpenVINO header of this name: Cancelled and Busy under namespace ov.
#pragma once

#include "terroir/exception.hpp"

namespace ov = terroir;
