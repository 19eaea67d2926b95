// What: how threads share layers whose kernels multiply tiles.
#include "plugins/cpu/nodes/tile_split.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace terroir::cpu {
namespace {

/// Pairs of numbers of bf16: `positions` in a line of 64 * `inputs` channels, to 16 * `blocks`, to which others are
/// added.
TileWork line_of(int64_t positions, int64_t inputs, int64_t blocks) {
  TileWork work{};
  work.slices = 1;
  work.rows = work.most_rows = positions;
  work.cut = kTilePositions;
  work.units = (blocks + 3) / 4;
  work.width = work.pitch = 1;
  work.tile_ns = 48.0 * static_cast<double>(inputs * blocks);
  work.others_ns = 0.1;
  work.near_weights = 512 << 10;
  work.weights = 4096.0 * static_cast<double>(inputs * blocks);
  work.copied = work.read = 256.0 * static_cast<double>(positions * inputs);
  work.stored = 128.0 * static_cast<double>(positions * blocks);
  return work;
}

std::vector<int64_t> band_rows(const TileSplit& split, const TileWork& work) {
  std::vector<int64_t> rows;
  for (int64_t band = 0; band < split.per_slice; ++band) {
    const Stretch stretch = split.rows(band, work.rows);
    rows.push_back(stretch.end - stretch.begin);
  }
  return rows;
}

TEST(TileSplit, BandsCoverASliceAndAreNeverLargerThanTheirRoom) {
  for (const int64_t threads : {1, 2, 3, 4, 8, 17})
    for (const int64_t slices : {1, 2, 5, 40})
      for (const int64_t rows : {1, 7, 15, 16, 17, 49, 196, 785, 3136})
        for (const int64_t most : {16, 32, 208, 4000})
          for (const int64_t blocks : {1, 4, 23, 128}) {
            TileWork work = line_of(rows, 3, blocks);
            work.slices = slices;
            work.most_rows = std::min(most, rows);
            const TileSplit split = split_of(work, threads);
            SCOPED_TRACE(testing::Message() << threads << " threads, " << slices << " of " << rows << " rows, " << most
                                            << " at once, " << blocks << " blocks");
            EXPECT_EQ(split.bands, slices * split.per_slice);
            EXPECT_GE(split.parts, 1);
            EXPECT_LE(split.parts, work.units);
            int64_t covered = 0;
            for (const int64_t count : band_rows(split, work)) {
              EXPECT_GT(count, 0);
              EXPECT_LE(count, work.most_rows);
              covered += count;
            }
            EXPECT_EQ(covered, rows);
          }
}

TEST(TileSplit, SeveralBandsOfAThreadHaveWholeTiles) {
  const TileWork work = line_of(784, 2, 32);
  const TileSplit split = split_of(work, 2);
  EXPECT_EQ(split.parts, 1);
  EXPECT_EQ(band_rows(split, work), (std::vector<int64_t>{128, 128, 128, 128, 128, 144}));
}

TEST(TileSplit, ManyWeightsAreReadOnceByEachThread) {
  const TileWork work = line_of(196, 4, 64);
  const TileSplit split = split_of(work, 2);
  EXPECT_EQ(split.parts, 1);
  EXPECT_EQ(band_rows(split, work), (std::vector<int64_t>{98, 98}));
}

TEST(TileSplit, PartsReadMoreWeightsThanAllElseOnlyOnce) {
  const TileSplit split = split_of(line_of(49, 16, 128), 2);
  EXPECT_EQ(split.parts, 2);
  EXPECT_EQ(split.bands, 1);
}

TEST(TileSplit, OneTileIsSharedInParts) { EXPECT_EQ(split_of(line_of(16, 4, 64), 4).parts, 4); }

TEST(TileSplit, RowsWhoseTilesGoOnAreJoined) {
  TileWork work = line_of(7, 8, 32);
  work.cut = 1;
  work.width = 7;
  work.pitch = 9;
  // 7 * 9 positions less the last two are four tiles; three rows are two, four are three.
  work.copied = 0;
  work.weights = 0;
  const double per_tile = work.tile_ns, unit = work.band_ns(3, 1) - 2 * per_tile;
  EXPECT_DOUBLE_EQ(work.band_ns(7, 1), unit + 4 * per_tile);
  EXPECT_DOUBLE_EQ(work.band_ns(4, 1), unit + 3 * per_tile);
}

}  // namespace
}  // namespace terroir::cpu
