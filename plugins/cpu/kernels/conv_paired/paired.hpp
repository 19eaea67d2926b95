// What: 1x1 convolution in f32 that takes part of its multiplications as additions, for processors that add in pipes of
// their own (separate_add_pipes() in isa.hpp): there up to a third less time than the multiply-add pipes would need.
//   if (const ConvKernel* k = paired_kernel(isa); k && !(why = k->reject(problem, *k)) && paired_speedup(...) ...
// Formula: as conv.hpp. For two channels x, y of a source and their weights v, w
//   xv + yw = (x + w)(y + v) - xy - vw,
//   where xy is the same for all outputs of a position, vw for all positions of an output: one multiplication and two
//   additions do the work of two multiplications. Of every three channels two are such a pair, so that additions and
//   multiply-adds take equally long: of three products per output, two of each.
// Scales: x + w must lose nothing of either, so the weights of an output are multiplied by a power of two that makes
// them
//   alike, and the sources of a position whose largest is not between 1/4 and 16 by the one that brings it into [1, 2);
//   the results by what undoes both. These are exact.
// Layouts: src and dst blocked, or both nhwc, which wants whole units of outputs; weights as conv.hpp, those of a
//   transposed convolution, too. Channels beyond C in the last block: never read in src, written as zero in dst.
// Order of summation: the start value, block, channel; it depends on the position alone, never on the box.
// Edge cases: a NaN or an infinity in the source gives NaN in all outputs of its position; batch 0 gives an empty grid.
// Source: S. Winograd, A New Algorithm for Inner Product (1968).
#pragma once

#include <span>

#include "plugins/cpu/kernels/conv/conv.hpp"
#include "plugins/cpu/kernels/conv_paired/paired_types.hpp"

namespace terroir::cpu {

// Of a bucket; each leaves the format as it is, blocked or nhwc.
std::span<const ConvKernel> paired_kernels(Isa isa) noexcept;
// Null for a bucket that has none.
const ConvKernel* paired_kernel(Isa isa, ConvFormat format) noexcept;

// Times the speed of the direct kernel, of one image, on a processor with pipes of their own for additions; by a model
// fitted to measurements.
double paired_speedup(const ConvProblem& problem, const ConvKernel& kernel) noexcept;

// How the work is shared, as by conv_split(): slices are positions, or where a part has few of them, units of outputs.
// A thread keeps what it has prepared of the sources (ConvArgs::prepared) from slice to slice.
ConvSplit paired_split(const ConvPlan& plan, int64_t threads) noexcept;

// What the rounding errors of one output may add up to, relative to the largest output that inputs in [-1, 1] can give:
// the largest over output channels; infinite or NaN when the weights are, or leave float's range. In parts: what it
// depends on of the weights of some output channels (transposed: columns, problem.oc apart), and the bound by the
// largest of these.
double paired_amplification(const ConvProblem& problem, const float* weights, int64_t outputs) noexcept;
double paired_error_bound(const ConvProblem& problem, double amplification) noexcept;

}  // namespace terroir::cpu
