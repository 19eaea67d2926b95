#include "plugins/cpu/nodes/winograd_bands.hpp"

#include <algorithm>
#include <cstring>

#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

/// The first output of a tile; of the one behind the last: the end.
int64_t begin_of(const WinoAxis& axis, int64_t tile, int64_t size, int64_t outputs) {
  return std::min(tile * size - std::max<int64_t>(0, tile - axis.full), outputs);
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
  if (p.d.in != p.d.out || p.h.in != p.h.out || p.w.in != p.w.out || p.h.pad > 1 || plan.s_tiles > 1) return false;
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

WinogradBands::WinogradBands(const WinoPlan& plan, int64_t threads) noexcept
    : plan_(plan), dst_(plan.dst), grid_(plan, threads) {
  const ConvProblem& p = plan.problem;
  plan_.dst.n = 0;
  plan_.dst.h = p.w.out * plan.block;
  plan_.dst.d = grid_.most_outputs() * plan_.dst.h;
  plan_.dst.c = p.d.out * plan_.dst.d;
  buffer_floats_ = p.groups * plan.oc_blocks * plan_.dst.c;
}

float* WinogradBands::base(int64_t band, float* buffers) const noexcept {
  return buffers + band % 2 * buffer_floats_ - grid_.outputs_of(band).begin * plan_.dst.h;
}

void WinogradBands::run(const WinoKernel& kernel, const ConvArgs& args, float* buffers, int64_t round,
                        int64_t slice) const noexcept {
  if (round >= 2) store(args.dst, buffers, round - 2, slice);
  if (round < grid_.bands()) compute(kernel, args, buffers, round, slice);
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
  const ConvProblem& p = plan_.problem;
  const WinogradBandGrid::Range tiles = grid_.tiles_of(band, slice);
  const float* const from = base(band, buffers);
  float* const to = dst + grid_.image(band) * dst_.n;
  const int64_t cols = plan_.cols.tiles;
  for (int64_t at = tiles.begin; at < tiles.end;) {
    // What the slice has of one tile row.
    const int64_t row = at / cols, end = std::min(tiles.end, (row + 1) * cols);
    const int64_t tile_row = grid_.tile_rows_of(band).begin + row;
    const auto [h0, h1] = grid_.outputs_of({tile_row, tile_row + 1});
    const int64_t w0 = begin_of(plan_.cols, at - row * cols, plan_.tile, p.w.out),
                  w1 = begin_of(plan_.cols, end - row * cols, plan_.tile, p.w.out);
    for (int64_t block = 0; block < p.groups * plan_.oc_blocks; ++block)
      for (int64_t d = 0; d < p.d.out; ++d)
        for (int64_t h = h0; h < h1; ++h)
          std::memcpy(to + block * dst_.c + d * dst_.d + h * dst_.h + w0 * plan_.block,
                      from + block * plan_.dst.c + d * plan_.dst.d + h * plan_.dst.h + w0 * plan_.block,
                      static_cast<size_t>((w1 - w0) * plan_.block) * sizeof(float));
    at = end;
  }
}

}  // namespace terroir::cpu
