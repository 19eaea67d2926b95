#pragma once
// What: which convolutions can be stages of a ConvolutionChain.
#include "plugins/cpu/impl.hpp"

namespace terroir::cpu {

/// A 1x1 convolution of stride 1, or one of few plain channels, whose rows can be made where the depthwise convolution
/// behind it reads them.
bool can_begin_chain(const NodeContext& context);
/// A depthwise convolution of channel blocks.
bool can_continue_chain(const NodeContext& context);
/// A 1x1 convolution of stride 1 that can read the depthwise convolution's rows where they were made.
bool can_end_chain(const NodeContext& context);

}  // namespace terroir::cpu
