#pragma once
// What: which axes an Interpolate of any version resizes, and how, where that is known when compiling.
#include <variant>

#include "ops/defs/image/interpolate.hpp"
#include "plugins/cpu/impl.hpp"

namespace terroir::cpu {

/// Rejects axes that 32-bit indices cannot run along: tables of taps consist of them.
std::variant<ops::InterpolateGeometry, Reject> geometry_of(const NodeContext& context);

}  // namespace terroir::cpu
