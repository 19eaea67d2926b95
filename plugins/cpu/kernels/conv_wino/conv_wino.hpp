// What: convolution with 3x3 kernels (3x3 per slice in 3D) in f32 by Winograd's F(4x4,3x3) and F(2x2,3x3): fewer
// multiplications than a direct convolution, 4 and 2.25 times, for a larger rounding error and larger weights. With
// stride 2, of the even and odd inputs: F(4x4,3x3) 1.78 times, and F(2x2,3x3) 1.44 times, with the error of a direct
// convolution, nearly.
//   for (const WinoKernel& k : wino_kernels(isa)) if (!(why = wino_reject(problem, k))) ...
//   WinoPlan plan = wino_plan(problem, k); k.pack(plan, {weights, bias}, packed, 0, wino_units(plan));
//   WinoSplit split = wino_split(plan, threads);
//   for each i < split.count(): k.run(plan, args, wino_slice(plan, split, i))     in any order, in parallel
// Formula: as conv.hpp, for stride 1, or stride 2 in both axes and one kernel slice. F(4x4,3x3) takes dilated rows and
//   columns, too: a tile is of outputs a dilation apart; kernels of 2 to 9 taps a side and one group, cut into segments
//   of 3x3; and transposed convolutions of one group and any stride where an output and its neighbours read 3x3 inputs
//   at most: a tile is of outputs a stride apart.
// Layouts: src and dst blocked, as channel_block(isa) says; weights plain, as conv.hpp. Channels beyond C in the last
//   block: never read in src, written as zero in dst.
// Aliasing and alignment: dst overlaps nothing but post-op operands equal to it; 64-byte aligned bases are fast, any
//   float alignment works.
// Threads: run() and pack() are noexcept; boxes, and ranges of units, that do not overlap may be worked on at once.
//   Every output is computed in an order that depends on the plan's kernel alone, so results are bit-identical for any
//   slicing and any place in a batch.
// Edge cases: a NaN or an infinity in the source gives NaN in all outputs of the tiles that read it, as does a sum
//   above the largest float on the way.
#pragma once

#include <optional>
#include <span>

#include "plugins/cpu/isa.hpp"
#include "plugins/cpu/kernels/conv_wino/wino_types.hpp"

namespace terroir::cpu {

struct WinoKernel {
  const char* name;
  Isa isa;
  int64_t tile;  // outputs per side
  int64_t stride;
  // Units [u0, u1) of wino_units(). `packed` takes plan.packed_floats floats.
  void (*pack)(const WinoPlan& plan, const ConvConstants& constants, float* packed, int64_t u0, int64_t u1) noexcept;
  void (*run)(const WinoPlan& plan, const ConvArgs& args, const WinoBox& box) noexcept;
};

// F(4x4,3x3), F(2x2,3x3), and with stride 2 those of buckets from AVX2 on. Empty for a bucket that is not compiled in.
std::span<const WinoKernel> wino_kernels(Isa isa) noexcept;

// Null if the kernel can run the problem, else the reason in a few words.
const char* wino_reject(const ConvProblem& problem, const WinoKernel& kernel) noexcept;
// `weights`: packed or staged, as wanted instead of the cheapest; at stride 1 of F(2x2,3x3) only packed ones. At stride
// 2 each choice gives other bits.
WinoPlan wino_plan(const ConvProblem& problem, const WinoKernel& kernel,
                   std::optional<WinoWeights> weights = std::nullopt) noexcept;
// The same for fewer tiles at once, `halvings` times half as many: little more than half the scratch each, the same
// packed weights and bits, for more time, as the weights are read, and transformed, more often.
WinoPlan wino_with_small_blocks(const WinoPlan& plan, int halvings) noexcept;
// So often at most: a block still fills a register tile, and little time is lost. Not for weights that are transformed
// in registers.
int wino_halvings(const WinoPlan& plan) noexcept;
int64_t wino_units(const WinoPlan& plan) noexcept;
// Parts of spans of all images: what boxes count along s.
int64_t wino_span_parts(const WinoPlan& plan) noexcept;
// The first output channel of a unit, or behind the last unit, the number of channels.
int64_t wino_first_output(const WinoPlan& plan, int64_t unit) noexcept;

// How several threads share the work: at most one part per thread, of nearly equal cost, each cut into slices; see
// ConvSplit. Tiles are cut, or where a part is one block of them, units: a thread that keeps the transformed inputs
// from slice to slice (WinoKept) transforms them once.
struct WinoSplit {
  int64_t oc, s, d;   // parts per axis
  int64_t slices;     // of the tiles of a part
  int64_t oc_slices;  // of its units
  int64_t part_count() const noexcept { return oc * s * d; }
  int64_t per_part() const noexcept { return slices * oc_slices; }
  int64_t count() const noexcept { return part_count() * per_part(); }
};
WinoSplit wino_split(const WinoPlan& plan, int64_t threads) noexcept;
WinoBox wino_part(const WinoPlan& plan, const WinoSplit& split, int64_t part) noexcept;
WinoBox wino_slice(const WinoPlan& plan, const WinoSplit& split, int64_t slice) noexcept;
// ConvArgs::remote for a slice: parts of channels read what all have written, parts of tiles that of their neighbours.
RemoteSources wino_remote_sources(const WinoPlan& plan, const WinoSplit& split, int64_t slice) noexcept;
// ConvArgs::oc_ahead for a slice: where the slices behind it in its part end.
int64_t wino_oc_ahead(const WinoPlan& plan, const WinoSplit& split, int64_t slice) noexcept;

// What the rounding errors of one output may add up to, relative to the largest output that inputs in [-1, 1] can give:
// the largest over output channels. Infinite or NaN when the weights are, or leave float's range.
// Of the problem's stride. Derivation: error_bound.cpp.
double wino_error_bound(const ConvProblem& problem, int64_t tile, const float* weights) noexcept;
// In parts: what the bound depends on of the weights of some output channels, and the bound by the largest of these.
double wino_amplification(const ConvProblem& problem, int64_t tile, const float* weights, int64_t outputs) noexcept;
double wino_error_bound(const ConvProblem& problem, double amplification) noexcept;

// wino_error_bound() above this is too much for a model that was trained without Winograd.
inline constexpr double kWinoTolerance = 1e-3;

// How many times faster than the direct kernel this is for one image, by a model fitted to measurements on one thread
// and on two; the answer is the same for any number.
double wino_speedup(const ConvProblem& problem, const WinoKernel& kernel) noexcept;

}  // namespace terroir::cpu
