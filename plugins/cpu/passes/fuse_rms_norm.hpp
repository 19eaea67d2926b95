#pragma once
// What: division by the root of the mean square over the last axis, and a scale behind it, become one step:
//   x * (ReduceMean(Power(x, 2)) + eps)^-0.5 -> [Multiply(scale)]   =>  cpu.RmsNorm
// Forms: ops/rewrites/normalization_pattern.hpp, not centered.
// Refuses: other axes than the last, unknown shapes; a scale that is not a constant per element of a row, or behind a
// value that something else reads too, stays a node of its own.
#include "ir/pass/pass_manager.hpp"
#include "plugins/cpu/ops.hpp"

namespace terroir::cpu {

ir::Pass fuse_rms_norm(const CpuOps& ops);

}  // namespace terroir::cpu
