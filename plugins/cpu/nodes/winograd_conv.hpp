#pragma once
// What: the Winograd kernels that are run as direct ones are, as nodes see them: of first layers, and of taps along one
// axis; see kernels/conv_wino/polyphase_conv.hpp and one_axis_conv.hpp.
#include <variant>

#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/conv_wino/one_axis_conv.hpp"
#include "plugins/cpu/kernels/conv_wino/polyphase_conv.hpp"

namespace terroir::cpu {

struct WinogradConv {
  const ConvKernel* (*kernel)(Isa isa) noexcept;
  double (*speedup)(const ConvProblem& problem, const ConvKernel& kernel) noexcept;
  double (*error_bound)(const ConvProblem& problem, const float* weights) noexcept;
};
inline constexpr WinogradConv kWinograd7x7s2{&polyphase_kernel, &polyphase_speedup, &polyphase_error_bound};
inline constexpr WinogradConv kWinograd3x3s2{&polyphase_2x2_kernel, &polyphase_2x2_speedup, &polyphase_2x2_error_bound};
inline constexpr WinogradConv kWinogradOneAxis{&one_axis_kernel, &one_axis_speedup, &one_axis_error_bound};

/// Times the direct kernel's speed, or why the direct kernel must be taken.
std::variant<double, Reject> winograd_conv_offer(const NodeContext& context, const WinogradConv& form);

/// Of a choice that may have been stored; throws if this instruction set has none: Exception (parse_error).
const ConvKernel& chosen_winograd_conv(const NodeContext& context, const WinogradConv& form);

}  // namespace terroir::cpu
