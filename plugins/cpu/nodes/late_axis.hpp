#pragma once
// What: an axis that only the run knows: one executor for each that it may be, made when compiling.
// Edge cases: an axis outside of the rank is the Exception of the reference.
#include <memory>
#include <vector>

#include "plugins/cpu/impl.hpp"

namespace terroir::cpu {

/// By axis; `axis` is the operand that names it, of an index type (see indices.hpp).
std::unique_ptr<const Executor> late_axis(std::vector<std::unique_ptr<const Executor>> by_axis, size_t axis,
                                          element::Type axis_type);

/// What runs a node when nothing else does.
std::unique_ptr<const Executor> reference_executor(const NodeContext& context);

}  // namespace terroir::cpu
