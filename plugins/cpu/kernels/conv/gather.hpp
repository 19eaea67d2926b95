// What: a strided 1x1 convolution over channel blocks as one without strides: the positions it reads are gathered into
// a dense tensor. One long row has fewer and fuller tiles than many short ones, and its tiles more channels.
//   if (conv_gathers(problem, kernel)) { plan conv_gathered(problem);
//     conv_gather(problem, block, src, gathered, {0, conv_gather_pieces(problem, block)}, {0, positions of an image}) }
// Layouts: src and gathered nChw8c or nChw16c; gathered is dense, with the extents of the output.
// By the way: plans of the strided problem that gather (ConvPlan::gathers, ConvArgs::gathered) do it while they compute
// the first unit of output channels, which hides most of it; the dense plan then has the other units to do.
// Threads: any parts of pieces and positions in any order, in parallel.
#pragma once

#include "plugins/cpu/kernels/conv/conv.hpp"
#include "plugins/cpu/slices.hpp"

namespace terroir::cpu {

/// Whether that takes less time than the kernel on the problem itself.
bool conv_gathers(const ConvProblem& problem, const ConvKernel& kernel) noexcept;
ConvProblem conv_gathered(const ConvProblem& problem) noexcept;
int64_t conv_gathered_floats(const ConvProblem& problem, int64_t block) noexcept;
/// A piece is a channel block of an image.
int64_t conv_gather_pieces(const ConvProblem& problem, int64_t block) noexcept;
void conv_gather(const ConvProblem& problem, int64_t block, const float* src, float* gathered, Stretch pieces,
                 Stretch positions) noexcept;

}  // namespace terroir::cpu
