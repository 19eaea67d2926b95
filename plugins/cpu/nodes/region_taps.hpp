#pragma once
// What: where the cells of a region get their taps, and what becomes of them: who places a region says how many there
// will be at most, takes(), and gives them to either
//   CellByCell   each cell is computed for all channels when it has its taps, in a few calls if they are many
//   TapTable     they are kept, for kernels that compute all cells for some channels at a time
// Layouts: maps channels-last. Threads: one each.
#include <algorithm>
#include <cstdint>

#include "ops/reference/detection/roi_geometry.hpp"
#include "plugins/cpu/kernels/sample/sample.hpp"

namespace terroir::cpu {

/// What a cell is of its taps.
enum class CellOf { sum, most, largest };  // most: of 0 and the sums over four taps

/// Four taps of an interpolated point.
template <class Sink>
void add_sample(const ops::reference::BilinearSample& sample, double scale, int64_t channels, Sink& sink) {
  const double lower = sample.down * scale, upper = (1 - sample.down) * scale;
  sink.add(sample.top_left * channels, upper * (1 - sample.right));
  sink.add(sample.top_right * channels, upper * sample.right);
  sink.add(sample.bottom_left * channels, lower * (1 - sample.right));
  sink.add(sample.bottom_right * channels, lower * sample.right);
}

class CellByCell {
 public:
  /// Results at `out`, the channels of a cell side by side.
  CellByCell(const SampleKernels& kernels, CellOf cell, int64_t channels, float* out)
      : kernels_(kernels), cell_(cell), channels_(channels), out_(out) {}

  void begin(const float* map) { map_ = map; }
  static constexpr bool takes(int64_t /*taps*/) { return true; }
  void add(int64_t offset, double weight) {
    if (count_ == kMost) flush();
    offsets_[count_] = offset;
    weights_[count_++] = static_cast<float>(weight);
  }
  void end_cell() {
    if (count_ > 0) flush();
    if (first_) std::fill_n(out_, channels_, 0.0f);
    out_ += channels_;
    first_ = true;
  }

 private:
  static constexpr int64_t kMost = 256;  // whole samples

  void flush() {
    const SampleTaps taps{map_, offsets_, weights_, count_};
    if (cell_ == CellOf::sum)
      kernels_.sum(taps, out_, channels_, first_);
    else if (cell_ == CellOf::most)
      kernels_.most(taps, 4, out_, channels_, first_);
    else
      kernels_.largest(taps, out_, channels_, first_);
    count_ = 0;
    first_ = false;
  }

  const SampleKernels& kernels_;
  CellOf cell_;
  int64_t channels_;
  float* out_;
  const float* map_ = nullptr;
  int64_t offsets_[kMost];
  float weights_[kMost];
  int64_t count_ = 0;
  bool first_ = true;
};

class TapTable {
 public:
  /// Floats of memory for a table, a multiple of a cache line.
  static int64_t floats(int64_t cells) { return (3 * kMost + cells + 15) / 16 * 16; }
  /// `memory` is aligned to 8 bytes.
  explicit TapTable(float* memory)
      : offsets_(reinterpret_cast<int64_t*>(memory)),
        weights_(memory + 2 * kMost),
        ends_(reinterpret_cast<int32_t*>(memory + 3 * kMost)) {}

  void begin(const float* map) {
    map_ = map;
    count_ = cells_ = 0;
    full_ = false;
  }
  /// False, and full, if there is no room for so many: who places them may stop at once.
  bool takes(int64_t taps) {
    full_ = taps > kMost;
    return !full_;
  }
  void add(int64_t offset, double weight) {
    offsets_[count_] = offset;
    weights_[count_++] = static_cast<float>(weight);
  }
  void end_cell() { ends_[cells_++] = count_; }

  /// There are no taps: the region has too many.
  bool full() const { return full_; }
  /// For channels from `first` on.
  CellTaps taps(int64_t first) const { return {map_ + first, offsets_, weights_, ends_, cells_}; }

 private:
  static constexpr int32_t kMost = 4096;

  int64_t* offsets_;
  float* weights_;
  int32_t* ends_;
  const float* map_ = nullptr;
  int32_t count_ = 0;
  int64_t cells_ = 0;
  bool full_ = false;
};

}  // namespace terroir::cpu
