// What: the plain data that convolution kernels of every bucket share: the problem, the plan made from it once, and the
// arguments of one run. No std containers, no functions: this header is seen by files compiled for one ISA.
#pragma once

#include <cstddef>
#include <cstdint>

namespace terroir::cpu {

struct PostOp;
struct WinoKept;
struct PairedKept;

// How a kernel wants an activation tensor. `blocked` is nChw8c or nChw16c, as channel_block(isa) says.
enum class ConvFormat : int32_t { plain, nhwc, blocked };

// One spatial axis. `pad` is the padding before the first element (negative crops); what is missing after the last one
// follows from `out`. For a transposed convolution `in` and `out` are still those of its own source and destination.
struct ConvAxis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, pad = 0;
};

// ic and oc count the channels of all groups together. Absent axes keep the default (one element, one tap).
struct ConvProblem {
  int64_t batch = 1, groups = 1, ic = 1, oc = 1;
  ConvAxis d, h, w;
  bool transposed = false;
  bool cold_weights = false;  // each run finds them in memory: no cache keeps all of the model's until the next one
};

// Distances in floats. c: from one channel to the next (plain), or from one block of channels to the next.
struct ConvStrides {
  int64_t n, c, d, h, w;
};

// Extents of the work of one convolution: batch, units of output channels, units of output positions.
struct ConvGrid {
  int64_t n, oc, sp;
};

// A box of the grid, ends excluded.
struct ConvTile {
  int64_t n0, n1, oc0, oc1, sp0, sp1;
};

// Everything that is decided before the first run. Kernels read `exec`, not `problem`: the same convolution with axes
// merged where the kernel may.
struct ConvPlan {
  ConvProblem problem, exec;
  ConvFormat src_format, dst_format;
  int64_t block;         // channels per block
  ConvStrides src, dst;  // defaults are those of dense tensors; a view may change `n` after planning
  ConvGrid grid;
  int64_t oc_blocks;    // channel blocks per oc unit
  int64_t rows;         // output rows per sp unit: 1 or 2
  int64_t chunks;       // sp units per row
  bool column_units;    // every column is an sp unit: no sum depends on the tile its column lies in
  int64_t w_tile;       // output columns per register tile
  int64_t w_tile_last;  // likewise where the last oc unit has fewer blocks and every column is an sp unit
  int64_t cached_rows;  // rows of sources that stay in L2 while the oc units pass over them
  int64_t ic_chunk;     // input channel blocks per round over the rows: their weights stay in L2; 0: all
  bool prefetch;        // weights leave L2: fetch the next round's ahead
  // So do all tensors of several groups, sources most: fetch these instead, so many floats ahead; 0: do not.
  int64_t source_lead;
  bool sources_soon;    // the lead is a register tile: to L1
  bool copies_windows;  // `exec` is a 1x1 convolution over what windows see (copied_windows.hpp)
  bool gathers;         // kernels can leave the sources that they read behind
  bool lanes_in_block;  // grouped: the inputs of a block of outputs lie in one block
  // So many source rows at once are copied: of a block's lanes where several outputs see one channel; of all channels
  // and the planes that a window sees, with zeros beside, where plain; 0: none.
  int64_t padded_rows;
  size_t packed_floats;   // size of the packed weights, bias included
  size_t scratch_floats;  // per concurrent run() call
};

// The constants of a convolution, as the graph holds them; bias may be null.
struct ConvConstants {
  const float* weights;
  const float* bias;
  // Whose weights come first: only those of the pieces that are packed need be there. Transposed: 0.
  int64_t first_output = 0;
};

// Whole cache lines of constants.
struct ConvLines {
  const float* begin;
  int64_t count;
};

// What a thread reads after some runs of a kernel, to be fetched on the way: hints. Each run takes an equal share of
// what is left, or as much as it can.
struct ConvAhead {
  ConvLines* lines;  // those behind the ones already fetched
  int64_t count;
  int64_t runs;  // still to come
};

// dst must not overlap src. Operands of post-ops have the layout of dst; that of a leading addition may be dst itself.
// What other threads wrote of the source of a Winograd kernel, which fetches it ahead: much of all, or much of what is
// read by tiles before `begin` and from `end` on.
struct RemoteSources {
  bool everywhere = false;
  int64_t begin = 0, end = INT64_MAX;
};

struct ConvArgs {
  const float* src;
  const float* packed;
  float* dst;
  const PostOp* post_ops;
  int64_t post_op_count;
  float* scratch;
  int64_t oc_ahead = 0;  // the caller goes on with the oc units before this one: their weights may be fetched ahead
  ConvAhead* ahead = nullptr;
  // Of plans that gather: where a run leaves the sources that it reads, positions without gaps, as conv_gather() does.
  float* gathered = nullptr;
  // Of Winograd kernels.
  WinoKept* kept = nullptr;  // null: runs leave nothing for each other
  RemoteSources remote = {};
  // Of paired kernels, likewise: what the scratch memory holds.
  PairedKept* prepared = nullptr;
};

}  // namespace terroir::cpu
