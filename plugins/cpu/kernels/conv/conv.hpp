// What: the f32 convolution kernels: choose one, plan, pack the weights, run tiles.
//   for (const ConvKernel& k : conv_kernels(isa)) if (!(why = k.reject(problem, k))) ...   best first
//   ConvPlan plan; k.plan(problem, k, plan);
//   for each i < k.pack_pieces(plan): k.pack(plan, k, constants, packed, i, i + 1);      in any order, in parallel
//   ConvSplit split = conv_split(plan, threads);
//   for each i < split.count(): k.run(plan, args, conv_slice(plan, split, i))     in any order, in parallel
// Formula: dst[n,o,p] = post_ops(bias[o] + sum over i,k of src[n, i, p*stride + k*dilation - pad] * weights[o,i,k]);
//   transposed: src position q adds to dst position q*stride + k*dilation - pad.
// Layouts: src and dst as ConvKernel::src/dst say. Weights plain: [O,I,k...] or [G,O/G,I/G,k...]; transposed
//   [I,O,k...] or [G,I/G,O/G,k...]. Channels beyond C in the last block: never read in src, written as zero in dst;
//   of nhwc and plain tensors no byte outside is touched.
// Aliasing and alignment: dst overlaps nothing but the operand of a leading addition, equal to it; 64-byte aligned
//   bases are fast, any float alignment works.
// Packing: once per set of weights, before the first run, by all threads at once. `packed` comes uninitialised; the
//   pieces write all of it, padding included, each its own part, which should be contiguous and some ten to hundred KB.
//   Which bytes come out depends on `packing`, the block and what packing_of() tells of a plan, nothing else of the
//   problem: layers and shapes that agree there share one packing. A family of kernels with its own form of weights
//   (say, transformed) brings a name, a pair of functions and, if more decides its bytes, an extension of ConvPacking.
// Threads: run() is const and noexcept; tiles that do not overlap may run at once. Every output element is summed in an
//   order that depends on the plan alone, so results are bit-identical for any slicing.
// Edge cases: NaN and infinity propagate as the sums and post-ops say; batch 0 gives an empty grid.
#pragma once

#include <span>

#include "plugins/cpu/isa.hpp"
#include "plugins/cpu/kernels/conv/conv_types.hpp"

namespace terroir::cpu {

struct ConvKernel {
  const char* name;
  Isa isa;
  ConvFormat src, dst;
  // Null if the kernel fits, else the reason in a few words.
  const char* (*reject)(const ConvProblem& problem, const ConvKernel& kernel) noexcept;
  void (*plan)(const ConvProblem& problem, const ConvKernel& kernel, ConvPlan& plan) noexcept;
  const char* packing;  // name of the packed form
  int64_t (*pack_pieces)(const ConvPlan& plan) noexcept;
  // Pieces [begin, end) into `packed`, the start of plan.packed_floats floats.
  void (*pack)(const ConvPlan& plan, const ConvKernel& kernel, const ConvConstants& constants, float* packed,
               int64_t begin, int64_t end) noexcept;
  void (*run)(const ConvPlan& plan, const ConvArgs& args, const ConvTile& tile) noexcept;
};

// All kernels of a bucket, best first. Empty for a bucket that is not compiled in.
std::span<const ConvKernel> conv_kernels(Isa isa) noexcept;

// What the packed bytes of a plan depend on besides the constants and ConvKernel::packing.
struct ConvPacking {
  int64_t block, oc_blocks, groups, ic, oc, kd, kh, kw;
  int64_t inner;   // input channels in the innermost run
  int64_t stride;  // of h: one-axis kernels cut taps by it
  bool transposed;
};
ConvPacking packing_of(const ConvPlan& plan) noexcept;

// Time of a kernel that accepts the problem, relative to one that fills its lanes; rough, for choosing between layouts.
double conv_slowdown(const ConvProblem& problem, const ConvKernel& kernel) noexcept;

// Floating-point operations of a problem (a multiplication and an addition count as two), padding included.
int64_t conv_flops(const ConvProblem& problem) noexcept;

// How several threads share plan.grid: at most one part per thread, of nearly equal cost, each cut into slices in the
// order in which one run over the part would take them. A thread that is done takes over what others have not begun:
// threads of rented machines are rarely equally fast.
struct ConvSplit {
  ConvGrid parts;   // per axis of the grid
  ConvGrid slices;  // of a part, per axis; those of part i are i * per_part() and the following ones
  int64_t part_count() const noexcept { return parts.n * parts.oc * parts.sp; }
  int64_t per_part() const noexcept { return slices.n * slices.oc * slices.sp; }
  int64_t count() const noexcept { return part_count() * per_part(); }
};
ConvSplit conv_split(const ConvPlan& plan, int64_t threads) noexcept;
ConvTile conv_part(const ConvPlan& plan, const ConvSplit& split, int64_t part) noexcept;
ConvTile conv_slice(const ConvPlan& plan, const ConvSplit& split, int64_t slice) noexcept;
// ConvArgs::oc_ahead for a slice: where the slices behind it in its part end.
int64_t conv_oc_ahead(const ConvPlan& plan, const ConvSplit& split, int64_t slice) noexcept;

// Where the weights of oc units [begin, end) lie in the packed ones of a dense kernel, in floats.
struct ConvWeightsRange {
  int64_t begin, count;
};
ConvWeightsRange conv_weights_of(const ConvPlan& plan, int64_t begin, int64_t end) noexcept;

}  // namespace terroir::cpu
