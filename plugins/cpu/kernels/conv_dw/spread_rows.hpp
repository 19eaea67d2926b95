// What: copies of source rows for one block of output channels, as the source of a depthwise convolution in blocks:
// each output has its own lane there, also where several see the same channel, or channels are last. Cost: a load and a
// permutation or two, and a store per position of a copy; every row serves the output rows above and
//   below it.
// Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/conv/bucket.hpp"
#include "plugins/cpu/kernels/conv/conv_tile.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

class SpreadRows {
 public:
  SpreadRows(const ConvPlan& plan, float* memory) : plan_(plan), memory_(memory) {}

  // `source_block`: the block of the first source channel.
  void begin_block(int64_t block, int64_t source_block) {
    const ConvProblem& e = plan_.exec;
    const int64_t outputs = e.oc / e.ic, first = source_block * kBlock, c0 = block * kBlock / outputs;
    const bool nhwc = plan_.src_format == ConvFormat::nhwc;
    slice_ = nullptr;
    // In nhwc a vector may begin anywhere, but not end behind the last channel.
    origin_ = 0;
    if (nhwc) origin_ = (c0 + kLanes <= e.ic ? c0 : e.ic > kLanes ? e.ic - kLanes : 0) - first;
    in_first_ = 0;
    for (int64_t l = 0; l < kBlock; ++l) {
      const int64_t o = block * kBlock + l, c = (o < e.oc ? o / outputs : c0) - first - origin_;
      const bool in_first = nhwc || c < kBlock;
      place_[l] = static_cast<int32_t>(in_first ? c : c - kBlock);
      first_[l] = in_first ? 1.0f : 0.0f;
      in_first_ += in_first ? 1 : 0;
    }
    // Of a row, those whose vectors end in it.
    const int64_t beyond = nhwc && e.ic < kLanes ? (kLanes - 1) / e.ic : 0;
    vectors_ = kLanes < kBlock ? 0 : e.w.in > beyond ? e.w.in - beyond : 0;
  }

  // Makes sure that source rows [begin, end) of a slice are there, and on the way those up to `row_end` that there is
  // room for.
  void hold(const float* slice, int64_t begin, int64_t end, int64_t row_end) {
    if (slice == slice_ && begin_ <= begin && end <= end_) return;
    slice_ = slice;
    begin_ = begin;
    end_ = begin + plan_.padded_rows < row_end ? begin + plan_.padded_rows : row_end;
    for (int64_t y = begin_; y < end_; ++y) copy_row(slice + y * plan_.src.h, memory_ + (y - begin_) * row_floats());
  }

  // Where source row 0 would be.
  const float* rows() const { return memory_ - begin_ * row_floats(); }

  int64_t row_floats() const { return plan_.exec.w.in * kBlock; }

 private:
  void copy_row(const float* from, float* to) {
    // Copies: stores of vectors might change fields, for all that the compiler knows.
    const int64_t step = plan_.src.w, next = plan_.src.c;
    const VI place = load_int(place_);
    const auto first = loadu(first_) > zero();
    const bool one = in_first_ == kBlock;
    int64_t x = 0;
    from += origin_;
    if (one) {
      for (; x < vectors_; ++x, from += step, to += kBlock) storeu(to, take(from, place));
    } else {
      for (; x < vectors_; ++x, from += step, to += kBlock)
        storeu(to, select(first, take(from, place), take(from + next, place)));
    }
    for (; x < plan_.exec.w.in; ++x, from += step, to += kBlock)
      for (int64_t l = 0; l < kBlock; ++l) to[l] = from[place_[l] + (l < in_first_ ? 0 : next)];
  }

  const ConvPlan& plan_;
  float* memory_;
  alignas(64) int32_t place_[kBlock];  // of the lane's source, in its block
  alignas(64) float first_[kBlock];    // whether that is the first one
  int64_t in_first_ = 0;               // lanes of which it is
  int64_t origin_ = 0;                 // where the first one begins
  int64_t vectors_ = 0;                // columns to copy by vectors
  const float* slice_ = nullptr;
  int64_t begin_ = 0, end_ = 0;  // rows that are there
};

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
