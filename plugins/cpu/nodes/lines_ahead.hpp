#pragma once
// What: the constants that the steps behind a convolution read first, as lines its kernel fetches into cache while it
// computes: weights of a classifier or of squeeze-and-excite are read once and have next to no arithmetic to hide
// behind. Threads: a slice fetches what the slice of the same number will read; slices stay with their threads as a
// rule.
#include <array>
#include <cstddef>
#include <cstdint>

#include "plugins/cpu/executor.hpp"
#include "plugins/cpu/kernels/conv/conv_types.hpp"

namespace terroir::cpu {

/// As much as is worth fetching of constants that are read many times: more costs the step before what it wins here.
inline constexpr size_t kSomeBytesAhead = size_t{16} << 10;

class LinesAhead {
 public:
  /// Of the slice `slice`, shared by `runs` runs of a kernel; as much as may stay in L2 beside what the step itself
  /// reads and writes. Of those lines, one after the other, the share `share` of `shares`, for runs that may be on
  /// different threads.
  LinesAhead(const RunArgs& args, int64_t slice, int64_t runs, int64_t share = 0, int64_t shares = 1) noexcept;
  LinesAhead(const LinesAhead&) = delete;
  LinesAhead& operator=(const LinesAhead&) = delete;

  /// What is left.
  ConvAhead* get() noexcept { return &ahead_; }

 private:
  std::array<ConvLines, 4> lines_;
  ConvAhead ahead_;
};

}  // namespace terroir::cpu
