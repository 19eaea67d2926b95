// Namespace ov: another name for terroir.
//
// CMake's target compiles programs with -Dov=terroir, so that they may open namespace ov again: to put their own passes
// there, specialize its templates, declare its classes. Without that definition it is an alias, which cannot be opened.
#pragma once

// Programs get these from OpenVINO's headers, whichever of them they include.
#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <typeindex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace terroir {}
#ifndef ov
namespace ov = terroir;
#endif
