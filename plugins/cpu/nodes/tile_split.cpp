#include "plugins/cpu/nodes/tile_split.hpp"

#include <algorithm>
#include <limits>

#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

// A byte: copied; of weights, for the first time and from cache.
constexpr double kCopiedNs = 0.06, kFirstNs = 0.05, kAgainNs = 0.0125;
constexpr double kUnitNs = 100;  // to begin a unit of a band

double bands_ns(const TileWork& work, const TileSplit& split, int64_t begin, int64_t end) {
  double time = 0;
  for (int64_t item = begin; item < end; ++item) {
    const Stretch rows = split.rows(item % split.bands, work.rows);
    time += work.band_ns(rows.end - rows.begin, split.parts);
  }
  return time;
}

double busiest_ns(const TileWork& work, const TileSplit& split, int64_t threads) {
  constexpr int64_t kFew = 8;  // for a thread
  const int64_t items = split.count();
  double most = 0;
  if (items > kFew * threads) {
    const double slices = static_cast<double>(work.slices * split.parts) / static_cast<double>(threads);
    most = bands_ns(work, split, 0, split.per_slice) * slices;
  } else {
    for (int64_t t = 0; t < threads; ++t)
      most = std::max(most, bands_ns(work, split, ceil_div(t * items, threads), ceil_div((t + 1) * items, threads)));
  }
  most += kFirstNs * work.weights / static_cast<double>(split.parts);
  if (split.parts == 1) return most;
  const auto all = static_cast<double>(threads), others = (all - 1) / all;
  return most + work.others_ns * others * (work.read + work.stored / all);
}

/// Of a slice, into so many bands or, to keep these small enough, into more.
TileSplit into_bands(const TileWork& work, int64_t parts, int64_t bands, int64_t cut) {
  const int64_t cuts = ceil_div(work.rows, cut), least = ceil_div(cuts, ceil_div(work.most_rows, cut));
  const int64_t per_slice = std::clamp(bands, least, std::max(least, cuts));
  return {parts, work.slices * per_slice, per_slice, cut};
}

}  // namespace

double TileWork::band_ns(int64_t band_rows, int64_t parts) const {
  const int64_t tiles = ceil_div((band_rows - 1) * pitch + width, kTilePositions);
  const double share = 1 / static_cast<double>(parts), all_rows = static_cast<double>(slices * rows);
  const double own_weights = weights * share;
  // Fewer stay in cache from band to band.
  const bool stay = own_weights <= near_weights;
  return kUnitNs * static_cast<double>(ceil_div(units, parts)) + static_cast<double>(tiles) * tile_ns * share +
         (stay ? 0 : kAgainNs * own_weights) +
         kCopiedNs * (copied * static_cast<double>(band_rows) / all_rows + copied_of_band);
}

TileSplit split_of(const TileWork& work, int64_t threads) {
  TileSplit best = into_bands(work, 1, 1, work.cut);
  if (threads == 1) return best;
  double time = std::numeric_limits<double>::infinity();
  const auto consider = [&](const TileSplit& split) {
    // More items come first: who is done early takes over some of another's.
    constexpr double kBetter = 0.98;
    const double ns = busiest_ns(work, split, threads);
    if (ns >= kBetter * time) return;
    best = split;
    time = ns;
  };
  constexpr int64_t kItems = 3;  // of a thread, at most
  // Of several bands each has whole tiles. One is as large as any other thread's, and has no more tiles for that.
  for (int64_t items = kItems; items > 0; --items)
    consider(into_bands(work, 1, ceil_div(items * threads, work.slices), items > 1 ? work.cut : 1));
  if (work.units < threads) return best;
  for (int64_t items = work.copied > 0 ? 1 : kItems; items > 0; --items)
    consider(into_bands(work, std::min(work.units, items * threads), 1, work.cut));
  return best;
}

}  // namespace terroir::cpu
