#pragma once
// What: Winograd convolutions that go over their tiles in bands: some rows of tiles of one image at a time, which the
// threads share. WinogradBands are those of a convolution whose result takes the place of its source, or of some of the
// source's channels.
//   for each band of tile rows, of all images, from the top:
//     in parallel, each thread its slice of the band's tiles: results -> buffer
//     in parallel, each thread its share of the band's rows: from the buffer to the place of the source
// A band reads one row above itself at most, so the last row of the band before it waits in a buffer of its own until
// the band is done. The sums are those of any other slicing, so are the bits.
// Wants: can_overwrite_source(); the result begins with one of the source's channel blocks.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "plugins/cpu/kernels/conv_wino/conv_wino.hpp"

namespace terroir::cpu {

/// How the tiles of a convolution lie in bands. Rows are those of an image.
class WinogradBandGrid {
 public:
  struct Range {
    int64_t begin, end;
    int64_t count() const noexcept { return end - begin; }
  };

  /// `least_rows`: of tiles in a band, if the image has as many.
  WinogradBandGrid(const WinoPlan& plan, int64_t threads, int64_t least_rows = 1) noexcept;

  int64_t slices() const noexcept { return slices_; }
  int64_t bands_of_image() const noexcept;
  int64_t bands() const noexcept { return batch_ * bands_of_image(); }
  int64_t image(int64_t band) const noexcept { return band / bands_of_image(); }
  /// Output rows that a band has at most.
  int64_t most_outputs() const noexcept { return std::min(rows_ * tile_, axis_outputs_); }
  Range tile_rows_of(int64_t band) const noexcept;
  Range outputs_of(int64_t band) const noexcept { return outputs_of(tile_rows_of(band)); }
  Range outputs_of(Range tile_rows) const noexcept;
  /// Tiles of a band that a slice has, counted from the band's first.
  Range tiles_of(int64_t band, int64_t slice) const noexcept;
  /// The band's first tile, as boxes of the plan count.
  int64_t first_tile(int64_t band) const noexcept {
    return (image(band) * axis_.tiles + tile_rows_of(band).begin) * columns_;
  }

 private:
  WinoAxis axis_;
  int64_t batch_, axis_outputs_, columns_, tile_;
  int64_t rows_;  // tile rows of a band
  int64_t slices_;
};

/// Stride 1, same extents in space, no more channels (with several images, as many blocks of them), at most one row of
/// padding above; more than 2x2 tiles.
bool can_overwrite_source(const WinoPlan& plan) noexcept;

/// Whole rows of channel blocks, of one image, from one tensor to another whose rows are as long.
void copy_rows(const float* from, const ConvStrides& from_strides, float* to, const ConvStrides& to_strides,
               int64_t blocks, int64_t slices, WinogradBandGrid::Range rows) noexcept;

class WinogradBands {
 public:
  WinogradBands(const WinoPlan& plan, int64_t threads) noexcept;

  /// Two for each band; of the last ones, the results are in their places.
  int64_t rounds() const noexcept { return 2 * grid_.bands(); }
  int64_t slices() const noexcept { return grid_.slices(); }
  int64_t buffer_floats() const noexcept { return band_floats_ + 2 * row_floats_; }

  /// One slice of one round. `args`: source and result of the whole convolution, scratch of this slice.
  void run(const WinoKernel& kernel, const ConvArgs& args, float* buffers, int64_t round, int64_t slice) const noexcept;

 private:
  void compute(const WinoKernel& kernel, ConvArgs args, float* buffers, int64_t band, int64_t slice) const noexcept;
  void store(float* dst, float* buffers, int64_t band, int64_t slice) const noexcept;
  /// Where row 0 of the image would lie, that the band's own rows lie in its buffer.
  float* base(int64_t band, float* buffers) const noexcept;
  /// Likewise of the last row of a band while it waits.
  float* waiting_base(int64_t band, float* buffers) const noexcept;

  WinoPlan plan_;  // whose result is a buffer
  ConvStrides dst_;
  ConvStrides row_;  // of a waiting row
  WinogradBandGrid grid_;
  int64_t band_floats_, row_floats_;
};

}  // namespace terroir::cpu
