#pragma once
// What: plans of convolutions for some rows of an image alone, for steps that run several convolutions row by row.
#include <algorithm>
#include <cstdint>

#include "plugins/cpu/kernels/conv/conv.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {

struct Rows {
  int64_t begin, end;
  int64_t count() const { return end - begin; }
};

/// Rows of the source that some rows of the result need; one at least, also where these see nothing but padding.
inline Rows source_rows(const ConvAxis& h, Rows out) {
  const int64_t begin = std::clamp<int64_t>(out.begin * h.stride - h.pad, 0, h.in - 1);
  const int64_t end = (out.end - 1) * h.stride - h.pad + (h.kernel - 1) * h.dilation + 1;
  return {begin, std::clamp(end, begin + 1, h.in)};
}

/// The plan for some rows of the result alone; source and result begin with the rows given.
inline ConvPlan plan_of_rows(const ConvPlan& all, Rows src, Rows dst) {
  ConvPlan plan = all;
  if (all.column_units) {  // one row: of an image of one, or of all rows one behind the other
    ConvAxis& w = plan.exec.w;
    w.in = w.in / all.problem.h.out * dst.count();
    w.out = plan.chunks = w.out / all.problem.h.out * dst.count();
    return plan;
  }
  ConvAxis& h = plan.exec.h;
  h.pad += src.begin - dst.begin * h.stride;
  h.in = src.count();
  h.out = dst.count();
  return plan;
}

inline int64_t units_of_rows(const ConvPlan& plan) {
  return plan.column_units ? plan.exec.w.out : ceil_div(plan.exec.h.out, plan.rows) * plan.chunks;
}

}  // namespace terroir::cpu
