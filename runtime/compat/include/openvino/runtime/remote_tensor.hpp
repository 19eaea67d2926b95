// The OpenVINO header of this name: its classes exist, no device has such things.
#pragma once

#include "terroir/remote_context.hpp"

namespace ov = terroir;
