// What: copies of source rows of one block of channels with zeros beside them, so that every tap of a depthwise kernel
// reaches every column.
// Cost: a load and a store per position of a copy; every row serves the output rows above and below it.
// Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/conv/bucket.hpp"
#include "plugins/cpu/kernels/conv/conv_tile.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

// Output columns, ends excluded, and source rows before `row_end`.
struct PaddedBox {
  int64_t column_begin, column_end, row_end;
};

class PaddedRows {
 public:
  PaddedRows(const ConvPlan& plan, float* memory) : plan_(plan), memory_(memory) {}

  // Another block, of which so many lanes exist.
  void begin_block(int64_t lanes) {
    lanes_ = lanes;
    slice_ = nullptr;
  }

  bool hold(const float* slice, int64_t begin, int64_t end) const {
    return slice == slice_ && begin_ <= begin && end <= end_;
  }

  // Source rows of a slice from `begin` on, as many as there is room for. The columns of all boxes are the same.
  void copy(const float* slice, int64_t begin, const PaddedBox& box) {
    slice_ = slice;
    begin_ = begin;
    end_ = begin + plan_.padded_rows < box.row_end ? begin + plan_.padded_rows : box.row_end;
    for (int64_t y = begin_; y < end_; ++y) copy_row(y, box);
  }

  // Where the window of output column 0 begins in source row `y`.
  const float* row(int64_t y) const { return memory_ + (y - begin_) * row_floats(); }

  int64_t row_floats() const { return seen_columns(plan_.exec.w) * kBlock; }

 private:
  void copy_row(int64_t y, const PaddedBox& box) {
    const ConvAxis& axis = plan_.exec.w;
    const int64_t end = (box.column_end - 1) * axis.stride - axis.pad + (axis.kernel - 1) * axis.dilation + 1;
    const int64_t inside_end = end < axis.in ? end : axis.in;
    float* to = memory_ + (y - begin_) * row_floats() + box.column_begin * axis.stride * kBlock;
    int64_t x = box.column_begin * axis.stride - axis.pad;
    const bool is_clear = y - begin_ < clear_rows_;
    for (; x < 0 && x < end; ++x, to += kBlock)
      if (!is_clear) clear(to);
    // Copies: stores of vectors might change fields, for all that the compiler knows.
    const int64_t lanes = lanes_, step = plan_.src.w;
    const float* from = slice_ + y * plan_.src.h + x * step;
    if (lanes >= kBlock) {
      for (; x < inside_end; ++x, from += step, to += kBlock)
        for (int64_t l = 0; l < kBlock; l += kLanes) storeu(to + l, loadu(from + l));
    } else {
      for (; x < inside_end; ++x, from += step, to += kBlock)
        for (int64_t l = 0; l < kBlock; l += kLanes)
          storeu(to + l, l < lanes ? load_n(from + l, lanes - l < kLanes ? lanes - l : kLanes) : zero());
    }
    if (is_clear) return;
    for (; x < end; ++x, to += kBlock) clear(to);
    clear_rows_ = y - begin_ + 1;
  }

  static void clear(float* to) {
    for (int64_t l = 0; l < kBlock; l += kLanes) storeu(to + l, zero());
  }

  const ConvPlan& plan_;
  float* memory_;
  int64_t lanes_ = 0;
  const float* slice_ = nullptr;
  int64_t begin_ = 0, end_ = 0;  // rows that are there
  int64_t clear_rows_ = 0;       // places of rows with zeros beside them
};

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
