#pragma once
// What: runs of paired kernels, and the rules by which nodes take them; see kernels/conv_paired/paired.hpp.
#include <memory>
#include <string>
#include <variant>

#include "plugins/cpu/executor.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/conv/conv.hpp"

namespace terroir::cpu {

/// How many times the speed of a direct kernel is to be expected of this one, which may be null, for a node whose
/// second input is the weights, or why it is not to be taken. `problem`: of one image.
std::variant<double, Reject> paired_offer(const NodeContext& context, const ConvProblem& problem,
                                          const ConvKernel* kernel);

/// `name`: of the kernel, for the profile.
std::unique_ptr<const Executor> paired_executor(const NodeContext& context, const ConvProblem& problem,
                                                const ConvKernel& kernel, std::string name);

}  // namespace terroir::cpu
