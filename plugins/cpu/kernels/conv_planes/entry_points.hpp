// What: what the files of two buckets define, for run.cpp, and what that file does for them, by which dispatch.cpp of
// the convolutions makes rows.
#pragma once

#include "plugins/cpu/kernels/conv_planes/planes_types.hpp"

#define TERROIR_PLANES_ENTRY_POINTS(isa)                                                      \
  namespace terroir::cpu::isa {                                                               \
  /* [outputs - 1] */                                                                         \
  const PlanesTileFns* planes_tiles() noexcept;                                               \
  /* dst[i] = src[2 * i]; reads nothing behind the last of them */                            \
  void planes_every_second(const float* src, int64_t count, float* dst) noexcept;             \
  void conv_planes(const ConvPlan& plan, const ConvArgs& args, const ConvTile& box) noexcept; \
  }

TERROIR_PLANES_ENTRY_POINTS(avx2)
TERROIR_PLANES_ENTRY_POINTS(avx512)
#undef TERROIR_PLANES_ENTRY_POINTS
