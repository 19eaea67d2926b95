// What: what each bucket's files define; dispatch.cpp puts them into rows.
#pragma once

#include "plugins/cpu/kernels/conv/conv_types.hpp"

#define TERROIR_CONV_ENTRY_POINTS(isa)                                                        \
  namespace terroir::cpu::isa {                                                               \
  void conv_dense(const ConvPlan& plan, const ConvArgs& args, const ConvTile& tile) noexcept; \
  void conv_lanes(const ConvPlan& plan, const ConvArgs& args, const ConvTile& tile) noexcept; \
  /* of avx2 and avx512 */                                                                    \
  void conv_few(const ConvPlan& plan, const ConvArgs& args, const ConvTile& tile) noexcept;   \
  }

TERROIR_CONV_ENTRY_POINTS(scalar)
TERROIR_CONV_ENTRY_POINTS(sse42)
TERROIR_CONV_ENTRY_POINTS(avx2)
TERROIR_CONV_ENTRY_POINTS(avx512)
#undef TERROIR_CONV_ENTRY_POINTS
