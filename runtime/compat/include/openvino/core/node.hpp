// The OpenVINO header of this name: the names of Terroir under namespace ov.
#pragma once

// Programs that include nothing but OpenVINO's headers find these in the one that this stands for.
#include <atomic>
#include <cstring>
#include <deque>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "openvino/core/namespace.hpp"
#include "terroir/node.hpp"
