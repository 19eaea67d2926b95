#include "plugins/cpu/nodes/winograd_bands.hpp"

#include <algorithm>
#include <cstring>

#include "plugins/cpu/kernels/conv_wino/wino_spans.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

/// The first output of a tile; of the one behind the last: the end.
int64_t begin_of(const WinoAxis& axis, int64_t tile, int64_t size, int64_t outputs) {
  return std::min(axis_tile(axis, tile, size).begin, outputs);
}

/// Tiles that a slice should have: as many as the kernel takes at once, or fewer where the weights stay at hand.
int64_t wanted_tiles(const WinoPlan& plan) {
  const bool at_hand = plan.weights == WinoWeights::packed &&
                       static_cast<int64_t>(plan.packed_floats * sizeof(float)) <= cache_sizes().l2 / 2;
  return at_hand ? ceil_div(2 * plan.register_tiles, plan.block_slices) : plan.block_tiles;
}

}  // namespace

bool can_overwrite_source(const WinoPlan& plan) noexcept {
  const ConvProblem& p = plan.problem;
  if (p.d.in != p.d.out || p.h.in != p.h.out || p.w.in != p.w.out || p.h.pad > 1 || plan.spans.tiles > 1 ||
      p.h.stride > 1 || dilated(plan) || cuts_taps(plan))
    return false;
  return p.oc <= p.ic && (p.batch == 1 || plan.oc_blocks == plan.ic_blocks);
}

WinogradBandGrid::WinogradBandGrid(const WinoPlan& plan, int64_t threads, int64_t least_rows) noexcept
    : axis_(plan.rows),
      batch_(plan.problem.batch),
      axis_outputs_(plan.problem.h.out),
      columns_(plan.cols.tiles),
      tile_(plan.tile) {
  const int64_t rows = ceil_div(std::max<int64_t>(threads, 1) * wanted_tiles(plan), columns_);
  rows_ = std::clamp<int64_t>(std::max(rows, least_rows), 1, axis_.tiles);
  slices_ = std::clamp<int64_t>(threads, 1, rows_ * columns_);
}

int64_t WinogradBandGrid::bands_of_image() const noexcept { return ceil_div(axis_.tiles, rows_); }

WinogradBandGrid::Range WinogradBandGrid::tile_rows_of(int64_t band) const noexcept {
  const int64_t first = band % bands_of_image() * rows_;
  return {first, std::min(first + rows_, axis_.tiles)};
}

WinogradBandGrid::Range WinogradBandGrid::outputs_of(Range tile_rows) const noexcept {
  return {begin_of(axis_, tile_rows.begin, tile_, axis_outputs_), begin_of(axis_, tile_rows.end, tile_, axis_outputs_)};
}

WinogradBandGrid::Range WinogradBandGrid::tiles_of(int64_t band, int64_t slice) const noexcept {
  // The last band of an image may have fewer: each slice keeps to its part of the buffer.
  const int64_t all = rows_ * columns_, there = tile_rows_of(band).count() * columns_;
  return {std::min(slice * all / slices_, there), std::min((slice + 1) * all / slices_, there)};
}

void copy_rows(const float* from, const ConvStrides& from_strides, float* to, const ConvStrides& to_strides,
               int64_t blocks, int64_t slices, WinogradBandGrid::Range rows) noexcept {
  for (int64_t block = 0; block < blocks; ++block)
    for (int64_t d = 0; d < slices; ++d)
      std::memcpy(to + block * to_strides.c + d * to_strides.d + rows.begin * to_strides.h,
                  from + block * from_strides.c + d * from_strides.d + rows.begin * from_strides.h,
                  static_cast<size_t>(rows.count() * to_strides.h) * sizeof(float));
}

WinogradBands::WinogradBands(const WinoPlan& plan, int64_t threads) noexcept
    : plan_(plan), dst_(plan.dst), row_(plan.dst), grid_(plan, threads) {
  const ConvProblem& p = plan.problem;
  const int64_t blocks = p.groups * plan.oc_blocks;
  row_.h = plan_.dst.h = p.w.out * plan.block;
  row_.d = row_.h;
  plan_.dst.d = grid_.most_outputs() * row_.h;
  row_.c = p.d.out * row_.d;
  plan_.dst.c = p.d.out * plan_.dst.d;
  plan_.dst.n = 0;
  row_floats_ = blocks * row_.c;
  band_floats_ = blocks * plan_.dst.c;
}

float* WinogradBands::base(int64_t band, float* buffers) const noexcept {
  return buffers - grid_.outputs_of(band).begin * plan_.dst.h;
}

float* WinogradBands::waiting_base(int64_t band, float* buffers) const noexcept {
  return buffers + band_floats_ + band % 2 * row_floats_ - (grid_.outputs_of(band).end - 1) * row_.h;
}

void WinogradBands::run(const WinoKernel& kernel, const ConvArgs& args, float* buffers, int64_t round,
                        int64_t slice) const noexcept {
  if (round % 2 == 0)
    compute(kernel, args, buffers, round / 2, slice);
  else
    store(args.dst, buffers, round / 2, slice);
}

void WinogradBands::compute(const WinoKernel& kernel, ConvArgs args, float* buffers, int64_t band,
                            int64_t slice) const noexcept {
  const WinogradBandGrid::Range tiles = grid_.tiles_of(band, slice);
  if (tiles.count() == 0) return;
  const int64_t first = grid_.first_tile(band);
  args.dst = base(band, buffers);
  kernel.run(plan_, args, {0, wino_units(plan_), first + tiles.begin, first + tiles.end, 0, plan_.problem.d.out});
}

void WinogradBands::store(float* dst, float* buffers, int64_t band, int64_t slice) const noexcept {
  const int64_t blocks = plan_.problem.groups * plan_.oc_blocks;
  const auto copy = [&](const float* from, const ConvStrides& from_strides, float* to, const ConvStrides& to_strides,
                        WinogradBandGrid::Range some) {
    copy_rows(from, from_strides, to, to_strides, blocks, plan_.problem.d.out, some);
  };
  float* const image = dst + grid_.image(band) * dst_.n;
  const int64_t bands = grid_.bands_of_image();
  const bool is_first = band % bands == 0, is_last = band % bands == bands - 1;
  WinogradBandGrid::Range rows = grid_.outputs_of(band);
  if (!is_first) --rows.begin;
  WinogradBandGrid::Range own{rows.begin + slice * rows.count() / slices(),
                              rows.begin + (slice + 1) * rows.count() / slices()};
  if (own.count() == 0) return;
  if (!is_first && own.begin == rows.begin) {
    copy(waiting_base(band - 1, buffers), row_, image, dst_, {own.begin, own.begin + 1});
    ++own.begin;
  }
  if (!is_last && own.end == rows.end && own.count() > 0) {
    --own.end;
    copy(base(band, buffers), plan_.dst, waiting_base(band, buffers), row_, {own.end, own.end + 1});
  }
  copy(base(band, buffers), plan_.dst, image, dst_, own);
}

}  // namespace terroir::cpu
