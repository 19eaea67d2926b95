#pragma once
// What: RowTable, the taps of a row that is resized element by element, as row kernels of one instruction set want them
// (RowTaps in kernels/interpolate/interpolate.hpp).
#include <cstddef>
#include <cstdint>
#include <vector>

#include "plugins/cpu/kernels/interpolate/interpolate.hpp"

namespace terroir::cpu {

class RowTable {
 public:
  RowTable() = default;
  /// No taps yet.
  RowTable(int64_t outputs, int64_t taps, int64_t lanes);
  /// The first taps of an output before the others.
  void set(int64_t tap, int64_t output, int64_t index, float weight);
  /// After the last tap. `readable`: elements of the source from the beginning of a row on that exist.
  void finish(int64_t readable);

  RowTaps taps() const noexcept { return {index_.data(), weight_.data(), near_.data(), taps_, stride_, has_holes_}; }
  size_t bytes() const;

 private:
  void share_weights();
  void find_near(int64_t readable);

  int64_t outputs_ = 0, taps_ = 0, lanes_ = 1, stride_ = 0;
  bool has_holes_ = false;
  std::vector<int32_t> index_, near_;
  std::vector<float> weight_;
};

}  // namespace terroir::cpu
