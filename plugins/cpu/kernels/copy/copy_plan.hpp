#pragma once
// What: CopyPlan, a copy in which every element of the destination has one place in the source, or takes a fill value,
// and that place is found axis by axis: slices, pads, tiles, broadcasts, reversals, rolls, permutations.
// Formula: dst[sum of dst_step[a] * i[a]] = src[sum of source[a](i[a])], source[a](i) = src_step[a] * i or as runs say;
//   the fill value where a run says kFill. Steps are in bytes, of any sign; 0 in the source repeats.
// How: axes that go together are one axis, and what is contiguous on both sides is one unit. The last axis is a row:
//   whole runs by memcpy, units of 1, 2, 4, 8 or 16 bytes by tight loops. Where the source is contiguous along another
//   axis than the destination, the two are a tile, moved in small squares.
// Aliasing: none. Alignment: any.
// Cost: memory bound. Decided when the plan is made; run() allocates nothing.
// Threads: tasks are independent and write disjoint bytes.
// Edge cases: an extent of 0: no task.
#include <cstdint>
#include <vector>

#include "plugins/cpu/kernels/copy/copy_rows.hpp"
#include "plugins/cpu/kernels/copy/copy_runs.hpp"

namespace terroir::cpu {

/// One axis of the destination.
struct CopyAxis {
  int64_t extent = 1;
  int64_t dst_step = 0;
  int64_t src_step = 0;
  CopyRuns runs = {};  // of all indices; empty: multiples of src_step
};

class CopyPlan {
 public:
  /// Axes outermost first, as the destination should be written. `src_begin`, `dst_begin`: bytes of index 0.
  CopyPlan(std::vector<CopyAxis> axes, int64_t element_bytes, int64_t src_begin = 0, int64_t dst_begin = 0,
           const TileKernels& tiles = {});

  /// One run of bytes: the destination is a part of the source, seen as it lies.
  bool is_one_run() const {
    return how_ == How::segments && outer_.empty() && unit_ == 1 && row_.dst_step == 1 && segments_.size() == 1 &&
           segments_[0].src == 0 && segments_[0].src_step == 1;
  }
  int64_t src_begin() const { return src_begin_; }

  int64_t tasks() const { return row_blocks_ * pieces_; }
  /// `fill`: one element, null for zero; not read where nothing is filled.
  void run(int64_t task, const void* src, void* dst, const void* fill) const noexcept;

 private:
  enum class How { segments, indexed, tile };
  struct Range {
    int64_t begin, end;
  };

  void simplify(std::vector<CopyAxis>& axes);
  void choose_row();
  void choose_segments();
  void cut_into_tasks();
  Range piece(int64_t index) const;
  void run_row(const char* src, char* dst, const void* fill, Range part) const noexcept;
  void fill_units(char* dst, int64_t count, const void* fill) const noexcept;

  std::vector<CopyAxis> outer_;
  How how_ = How::segments;
  CopyAxis row_, column_;         // column: of tiles, contiguous in the source
  CopyRuns segments_;             // of a row
  std::vector<int64_t> indexed_;  // the sources of a row whose segments are short
  int64_t element_bytes_, unit_;
  int64_t src_begin_, dst_begin_;
  TileKernels tiles_;
  int64_t rows_ = 1, rows_per_block_ = 1, row_blocks_ = 1;
  int64_t pieces_ = 1, piece_extent_ = 0;
  bool pieces_of_column_ = false;
};

}  // namespace terroir::cpu
