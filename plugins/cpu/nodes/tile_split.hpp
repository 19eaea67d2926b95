#pragma once
// What: how threads share the work of a layer whose kernel multiplies tiles: boxes of units by bands of rows.
// How: of some ways the one whose busiest thread is done first. In bands the tiles may not come out even, and each of
//   them reads all weights; in parts each thread copies the whole source, which others have written, and others read
//   what it stores.
#include <cstdint>

#include "plugins/cpu/slices.hpp"

namespace terroir::cpu {

/// Parts of the units by bands of all slices. Bands of a slice begin at multiples of `cut` rows.
struct TileSplit {
  int64_t parts, bands, per_slice, cut = 1;
  int64_t count() const { return parts * bands; }
  Stretch rows(int64_t band, int64_t extent) const { return part_of({0, extent}, band % per_slice, per_slice, cut); }
};

inline constexpr int64_t kTilePositions = 16;

/// Rows are those of outputs; of a line, its positions. Bytes are those of all slices.
struct TileWork {
  int64_t slices, rows, most_rows;  // of a slice, of a band
  int64_t cut;                      // rows of whole tiles; most_rows are a multiple, or all
  int64_t units;
  // Positions of a row, and from row to row where tiles go on from one to the next; otherwise the whole tiles of one.
  int64_t width, pitch;
  double tile_ns;    // with all weights
  double others_ns;  // to read a byte that another thread has written, or is going to read
  double weights, copied, copied_of_band, read, stored;  // of a band, those that its neighbours copy, too
  double near_weights;                                   // most bytes of these that stay in cache from band to band

  double band_ns(int64_t band_rows, int64_t parts) const;
};

TileSplit split_of(const TileWork& work, int64_t threads);

}  // namespace terroir::cpu
