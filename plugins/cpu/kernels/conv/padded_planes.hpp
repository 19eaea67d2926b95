// What: rows of all channels of a plain source, copied with zeros beside them, so that every tap of a dense kernel
// reaches every column: columns at the borders are tiles like all others then.
// Cost: a load and a store per vector of a row, for some output rows at a time; every tile of those reads the copies.
// Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/conv/bucket.hpp"
#include "plugins/cpu/kernels/conv/conv_tile.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

// Source rows [begin, end) of the planes [begin, end) of one image: those that the windows of some output rows see.
class PaddedPlanes {
 public:
  // `memory`: scratch_floats of the plan.
  PaddedPlanes(const ConvPlan& plan, float* memory) : plan_(plan), memory_(memory), width_(seen_columns(plan.exec.w)) {}

  TERROIR_NOINLINE void copy(const float* image, const Range& planes, const Range& rows) {
    planes_ = planes.begin;
    rows_ = rows.begin;
    const ConvAxis& axis = plan_.exec.w;
    const int64_t seen = width_ - axis.pad < axis.in ? width_ - axis.pad : axis.in;
    for (int64_t c = 0; c < plan_.exec.ic; ++c) {
      for (int64_t z = planes.begin; z < planes.end; ++z) {
        const float* from = image + c * plan_.src.c + z * plan_.src.d + rows.begin * plan_.src.h;
        float* to = memory_ + c * channel_floats() + (z - planes.begin) * plane_floats();
        for (int64_t y = rows.begin; y < rows.end; ++y, from += plan_.src.h, to += width_) {
          for (int64_t x = 0; x < axis.pad; ++x) to[x] = 0.0f;
          int64_t x = 0;
          for (; x + kLanes <= seen; x += kLanes) storeu(to + axis.pad + x, loadu(from + x));
          if (x < seen) store_n(to + axis.pad + x, load_n(from + x, seen - x), seen - x);
          for (x = axis.pad + seen; x < width_; ++x) to[x] = 0.0f;
        }
      }
    }
  }

  // The plan and the source of the copies, which take the place of what they are copies of.
  ConvPlan plan() const {
    ConvPlan plan = plan_;
    plan.exec.w.in = width_;
    plan.exec.w.pad = 0;
    plan.src.n = 0;
    plan.src.c = channel_floats();
    plan.src.d = plane_floats();
    plan.src.h = width_;
    return plan;
  }
  const float* source() const { return memory_ - planes_ * plane_floats() - rows_ * width_; }

 private:
  int64_t plane_floats() const { return plan_.padded_rows * width_; }
  int64_t channel_floats() const { return seen_planes(plan_.exec.d) * plane_floats(); }

  const ConvPlan& plan_;
  float* memory_;
  int64_t width_, planes_ = 0, rows_ = 0;
};

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
