#pragma once
// What: the Winograd kernels of first layers as nodes see them; see kernels/conv_wino/polyphase_conv.hpp.
#include <variant>

#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/conv_wino/polyphase_conv.hpp"

namespace terroir::cpu {

struct FirstWinograd {
  const ConvKernel* (*kernel)(Isa isa) noexcept;
  double (*speedup)(const ConvProblem& problem, const ConvKernel& kernel) noexcept;
  double (*error_bound)(const ConvProblem& problem, const float* weights) noexcept;
};
inline constexpr FirstWinograd kFirstWinograd7x7{&polyphase_kernel, &polyphase_speedup, &polyphase_error_bound};
inline constexpr FirstWinograd kFirstWinograd3x3{&polyphase_2x2_kernel, &polyphase_2x2_speedup,
                                                 &polyphase_2x2_error_bound};

/// Times the direct kernel's speed, or why the direct kernel must be taken.
std::variant<double, Reject> first_winograd_offer(const NodeContext& context, const FirstWinograd& first);

/// Of a choice that may have been stored; throws if this instruction set has none: Exception (parse_error).
const ConvKernel& chosen_first_winograd(const NodeContext& context, const FirstWinograd& first);

}  // namespace terroir::cpu
