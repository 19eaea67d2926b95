// The OpenVINO header of this name: the names of Terroir under namespace ov.
#pragma once

#include "terroir/infer_request.hpp"

namespace ov = terroir;
