// What: how register tiles broadcast their sources, for the kernels and for those who plan them. Constant functions
// with internal linkage: seen by every bucket.
#pragma once

namespace terroir::cpu {

// Of `rows` values that are each multiplied by `vectors` vectors: how many of them every product should broadcast for
// itself, where that is part of the instruction. It spares an instruction per value, but each product then takes a
// load. A core that another hardware thread uses too is short of either: measured, of two vectors some do no harm, of
// more any would.
static constexpr int rows_broadcast_by_products(int lanes, int rows, int vectors) {
  if (lanes != 16) return 0;
  return vectors == 1 ? rows : vectors == 2 ? rows * 2 / 7 : 0;
}

// Instructions of one source index of such a tile, without those of the loop.
static constexpr int tile_instructions(int lanes, int rows, int vectors) {
  return rows * vectors + rows - rows_broadcast_by_products(lanes, rows, vectors) + vectors;
}

// And its loads: those of the values, alone or in products, and of the vectors.
static constexpr int tile_loads(int lanes, int rows, int vectors) {
  return rows + (vectors - 1) * rows_broadcast_by_products(lanes, rows, vectors) + vectors;
}

}  // namespace terroir::cpu
