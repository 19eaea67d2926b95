// The OpenVINO header of this name: Interval under namespace ov.
#pragma once

#include "terroir/interval.hpp"

namespace ov = terroir;
