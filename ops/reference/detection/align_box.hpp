#pragma once
// What: one region pooled to a grid from interpolated samples, for all channels of one image.
// How: the samples of a row are placed once, then looked up in every channel; each cell sums its samples in order.
#include <algorithm>
#include <vector>

#include "ops/reference/detection/roi_geometry.hpp"

namespace terroir::ops::reference {

/// `src`: the image; `dims`: [regions, channels, rows, columns]; `out`: [channels, rows, columns].
template <class T, class C, class Place>
void align_box(const T* src, const FeatureMap& map, const AlignedGrid<C>& grid, RoiAlignMode mode, const ir::Dims& dims,
               T* out, const Place& place) {
  const int64_t rows = dims[2], columns = dims[3];
  const auto channels = static_cast<size_t>(map.channels);
  std::vector<BilinearSample> samples;
  std::vector<double> sum(channels), most(channels);
  for (int64_t y = 0; y < rows; ++y)
    for (int64_t x = 0; x < columns; ++x) {
      std::fill(sum.begin(), sum.end(), 0.0);
      std::fill(most.begin(), most.end(), 0.0);
      for (int64_t i = 0; i < grid.down(); ++i) {
        samples.clear();
        grid.sample_row(y, x, i, place, [&](const BilinearSample* sample) {
          if (sample) samples.push_back(*sample);
        });
        for (size_t c = 0; c < channels; ++c) {
          const T* plane = src + static_cast<int64_t>(c) * map.plane();
          for (const BilinearSample& sample : samples) {
            const double value = sample.of(plane);
            sum[c] += value;
            most[c] = std::max(most[c], value);
          }
        }
      }
      for (size_t c = 0; c < channels; ++c) {
        const double pooled = mode == RoiAlignMode::max ? most[c] : sum[c] / grid.samples();
        out[(static_cast<int64_t>(c) * rows + y) * columns + x] = grid.samples() > 0 ? from_sum<T>(pooled) : T{};
      }
    }
}

}  // namespace terroir::ops::reference
