// What: what each bucket's file defines; dispatch.cpp puts it into rows.
#pragma once

#include "plugins/cpu/kernels/conv_wino/wino_types.hpp"

#define TERROIR_WINO_ENTRY_POINTS(isa)                                                                      \
  namespace terroir::cpu::isa {                                                                             \
  void wino_run_2(const WinoPlan& plan, const ConvArgs& args, const WinoBox& box) noexcept;                 \
  void wino_run_4(const WinoPlan& plan, const ConvArgs& args, const WinoBox& box) noexcept;                 \
  void wino_run_2_strided(const WinoPlan& plan, const ConvArgs& args, const WinoBox& box) noexcept;         \
  void wino_run_4_strided(const WinoPlan& plan, const ConvArgs& args, const WinoBox& box) noexcept;         \
  void wino_pack_2(const WinoPlan& plan, const ConvConstants& constants, float* packed, int64_t u0,         \
                   int64_t u1) noexcept;                                                                    \
  void wino_pack_4(const WinoPlan& plan, const ConvConstants& constants, float* packed, int64_t u0,         \
                   int64_t u1) noexcept;                                                                    \
  void wino_pack_2_strided(const WinoPlan& plan, const ConvConstants& constants, float* packed, int64_t u0, \
                           int64_t u1) noexcept;                                                            \
  void wino_pack_4_strided(const WinoPlan& plan, const ConvConstants& constants, float* packed, int64_t u0, \
                           int64_t u1) noexcept;                                                            \
  }

TERROIR_WINO_ENTRY_POINTS(scalar)
TERROIR_WINO_ENTRY_POINTS(sse42)
TERROIR_WINO_ENTRY_POINTS(avx2)
TERROIR_WINO_ENTRY_POINTS(avx512)
#undef TERROIR_WINO_ENTRY_POINTS
