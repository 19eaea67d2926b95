#pragma once
// What: a Winograd convolution whose result takes the place of its source, or of some of the source's channels.
//   for each band of tile rows, of all images, from the top:
//     in parallel, for each slice of the band's tiles:
//       the slice's results of two bands before: from the buffer to the place of the source
//       the slice's results of this band: into the same part of the buffer
// A band reads one row above itself at most; what is overwritten meanwhile lies a band higher. The threads meet after
// each band. There are two buffers, which the bands use in turn. The sums are those of any other slicing, so are the
// bits.
// Wants: can_overwrite_source(); the result begins with one of the source's channel blocks.
#include <cstddef>
#include <cstdint>

#include "plugins/cpu/kernels/conv_wino/conv_wino.hpp"

namespace terroir::cpu {

/// Same extents in space, no more channels (with several images, as many blocks of them), at most one row of padding
/// above; more than 2x2 tiles.
bool can_overwrite_source(const WinoPlan& plan) noexcept;

class WinogradBands {
 public:
  WinogradBands(const WinoPlan& plan, int64_t threads) noexcept;

  /// Rounds until the result lies in its place; round i begins band i, if there is one.
  int64_t rounds() const noexcept { return bands() + 2; }
  int64_t slices() const noexcept { return slices_; }
  /// Of both buffers.
  int64_t buffer_floats() const noexcept { return 2 * buffer_floats_; }

  /// One slice of one round. `args`: source and result of the whole convolution, scratch of this slice.
  void run(const WinoKernel& kernel, const ConvArgs& args, float* buffers, int64_t round, int64_t slice) const noexcept;

 private:
  struct Tiles {
    int64_t begin, end;  // of a band
  };
  int64_t bands_of_image() const noexcept;
  int64_t bands() const noexcept { return plan_.problem.batch * bands_of_image(); }
  int64_t first_row(int64_t band) const noexcept { return band % bands_of_image() * rows_; }
  Tiles tiles_of(int64_t band, int64_t slice) const noexcept;
  /// Where row 0 of the image would lie, that the band's own rows lie in its buffer.
  float* base(int64_t band, float* buffers) const noexcept;
  void compute(const WinoKernel& kernel, ConvArgs args, float* buffers, int64_t band, int64_t slice) const noexcept;
  void store(float* dst, float* buffers, int64_t band, int64_t slice) const noexcept;

  WinoPlan plan_;  // whose result is a buffer
  ConvStrides dst_;
  int64_t rows_;  // tile rows of a band
  int64_t slices_;
  int64_t buffer_floats_;
};

}  // namespace terroir::cpu
