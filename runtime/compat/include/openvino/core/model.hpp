// The OpenVINO header of this name: the classes of Terroir under namespace ov.
#pragma once

// As the header that this stands for.
#include <list>
#include <mutex>

#include "openvino/core/namespace.hpp"
#include "terroir/model.hpp"
#include "terroir/op/attributes.hpp"
