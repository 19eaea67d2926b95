// What: the plain data that Winograd kernels of every bucket share: the plan of one convolution, and a box of its work.
// No std containers, no functions: this header is seen by files compiled for one ISA.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plugins/cpu/kernels/conv/conv_types.hpp"

namespace terroir::cpu {

// The interpolation points are 0, +-kWinoInner, +-kWinoOuter and infinity for F(4,3); 0, +-1 and infinity for F(2,3).
// Of all pairs of sixteenths, this one has the smallest worst-case bound (a fifth of that of the textbook's 1 and 2)
// and a measured error within 2 % of the smallest. Their powers up to the fourth and products are exact in float.
inline constexpr float kWinoInner = 0.6875f;
inline constexpr float kWinoOuter = 1.5f;
// With stride 2, F(4,3) takes 0, +-kWinoStridedPair, kWinoStridedSingle and infinity. Among sixteenths, within a tenth
// of the smallest worst-case bound, which is little more than half of that of F(4,3) with stride 1.
inline constexpr float kWinoStridedPair = 0.75f;
inline constexpr float kWinoStridedSingle = 2.0f;

// Tiles along one axis: the first `full` have WinoPlan::tile outputs each, the others one less, which spares them the
// point at infinity (stride 2: the last sum): it reaches a tile's last output only. The last tile may have fewer
// outputs still.
struct WinoAxis {
  int64_t tiles, full;
  // Outputs that far apart, which read the same inputs: a phase. Tiles are of one phase; the first `longer` phases have
  // one output more than the others.
  int64_t dilation, longer;
  // With dilation, those of a longer phase, and of another. The others have one at least, for the sake of divisions.
  int64_t phase_tiles[2], phase_full[2];
};

// Where weights are transformed: once, while packing; or by every run, from a copy that takes a fourth (F(4x4,3x3)) of
// the memory and of the time to read it: some channels at a time into scratch memory, or, where the products of few
// tiles take less time than to store and load the weights again, in registers.
enum class WinoWeights : uint8_t { packed, staged, in_registers };

// How boxes are cut along tiles: between parts of spans of so many consecutive ones. Where weights are in_registers, a
// span is an image of 2x2 tiles, or a row of tiles, and the products of a part share the registers; else it is a tile.
struct WinoSpans {
  int64_t tiles, parts;  // of nearly equal size
};

// Tiles of a part, at most.
inline constexpr int64_t kMostSpanTiles = 4;

// Segments of a kernel along an axis, at most.
inline constexpr int64_t kMostSegments = 3;

// Rows of weights that a run stages at once, at most.
inline constexpr int64_t kStagedRows = 2;

// How rows of a source that is nowhere as a whole are made while a run goes over them, from the top: wants one part of
// output slices only, 4x4 or 2x2 tiles, one group, no dilation.
struct WinoRowsMade {
  int64_t ring;  // rows in memory, of a tile's points at least: row i lies at (i + pad) % ring
  void* maker;
  // Called for each row of tiles before it is read, and again where a block begins within it: rows [begin, end) of
  // image n must be there then, and those above them are read no more.
  void (*make)(void* maker, int64_t n, int64_t begin, int64_t end) noexcept;
};

// Everything that is decided before the first run. Kernels read `exec`, not `problem`: kernels of other sizes than 3x3
// are cut into segments of 3x3, the last ones with zeros, each of which is one with input channels of its own, which
// see the source so many rows and columns further. A transposed convolution is one of stride 1 for each place that an
// output may have between two inputs, a phase, all of the same inputs. "Blocks" are channel blocks, per group. A tile
// is at most `tile` x `tile` outputs of one output slice (d) of one image, of one phase, and those of the other phases
// are as many; tiles of all images are numbered n, row, column.
struct WinoPlan {
  ConvProblem problem, exec;
  ConvStrides src, dst;
  int64_t block, lanes, registers;  // of the bucket: channels per block, floats per vector, vector registers
  bool fused;                       // multiply-add is one instruction
  int64_t tile, alpha;              // outputs per side of a tile, and inputs, as many as products
  int64_t sums_side, weights_side;  // likewise sums of products, and transformed weights; stride 1: alpha
  WinoAxis rows, cols;              // tiles per slice
  int64_t ic_blocks, oc_blocks;     // per group; ic: of all segments
  int64_t source_blocks;            // of a segment
  int64_t row_segments, col_segments;
  int64_t row_phases, col_phases;     // the strides of a transposed convolution, else 1
  int64_t unit_blocks;                // oc blocks per unit: the width of the register tile
  int64_t units;                      // oc units per group: the same blocks in all phases, one after the other
  int64_t register_tiles;             // tiles per register tile
  int64_t block_tiles, block_slices;  // at most so many tiles x output slices are transformed at once
  int64_t chunk_units;                // oc units whose products are held at once
  WinoWeights weights;                // in_registers: units are one block
  int64_t stage_blocks;               // staged: ic blocks whose weights are transformed at once, else 0
  int64_t stage_floats;               // and their memory
  WinoSpans spans;
  bool prefetch;                  // packed weights are beyond L2
  const WinoRowsMade* rows_made;  // of a run's own copy of the plan; null: the source is there
  size_t packed_floats;
  size_t scratch_floats;  // per concurrent run() call
};

// What a run leaves in its scratch memory for the next one there, of the same plan and arguments: the transformed
// inputs of its last block. To begin with: nothing.
struct alignas(64) WinoKept {
  int64_t group = -1, s0 = 0, tiles = 0, d0 = 0, slices = 0;
};

// A box of the work, ends excluded: oc units of all groups, parts of the spans of all images, output slices.
struct WinoBox {
  int64_t oc0, oc1, s0, s1, d0, d1;
};

}  // namespace terroir::cpu
