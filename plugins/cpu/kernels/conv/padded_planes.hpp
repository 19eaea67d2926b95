// What: rows of all channels of a plain source, copied with zeros beside them, so that every tap of a dense kernel
// reaches every column: columns at the borders are tiles like all others then.
// Cost: a load and a store per vector of a row, for some output rows at a time; every tile of those reads the copies.
// Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/conv/bucket.hpp"
#include "plugins/cpu/kernels/conv/conv_tile.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

// Source rows [begin, end) of one image, `width` columns each: those that the windows of an output row see.
class PaddedPlanes {
 public:
  PaddedPlanes(const ConvPlan& plan, const float* image, int64_t width) : plan_(plan), image_(image), width_(width) {}

  TERROIR_NOINLINE void copy(int64_t begin, int64_t end) {
    begin_ = begin;
    const ConvAxis& axis = plan_.exec.w;
    const int64_t seen = width_ - axis.pad < axis.in ? width_ - axis.pad : axis.in;
    for (int64_t c = 0; c < plan_.exec.ic; ++c) {
      float* to = memory_ + c * plane_floats();
      for (int64_t y = begin; y < end; ++y, to += width_) {
        const float* const from = image_ + c * plan_.src.c + y * plan_.src.h;
        for (int64_t x = 0; x < axis.pad; ++x) to[x] = 0.0f;
        int64_t x = 0;
        for (; x + kLanes <= seen; x += kLanes) storeu(to + axis.pad + x, loadu(from + x));
        if (x < seen) store_n(to + axis.pad + x, load_n(from + x, seen - x), seen - x);
        for (x = axis.pad + seen; x < width_; ++x) to[x] = 0.0f;
      }
    }
  }

  // The plan and the source of the copies, which take the place of rows [begin, end).
  ConvPlan plan() const {
    ConvPlan plan = plan_;
    plan.exec.w.in = width_;
    plan.exec.w.pad = 0;
    plan.src.n = 0;
    plan.src.c = plane_floats();
    plan.src.h = width_;
    return plan;
  }
  const float* source() const { return memory_ - begin_ * width_; }

 private:
  int64_t plane_floats() const { return plan_.padded_rows * width_; }

  const ConvPlan& plan_;
  const float* image_;
  int64_t width_, begin_ = 0;
  alignas(64) float memory_[kMostPaddedFloats];
};

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
