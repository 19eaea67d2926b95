#include <array>

#include "plugins/cpu/kernels/conv_wino/conv_wino.hpp"
#include "plugins/cpu/kernels/conv_wino/entry_points.hpp"
#include "plugins/cpu/kernels/dispatch_table.hpp"

namespace terroir::cpu {
namespace {

#define TERROIR_WINO_ROW(isa, shape, layout, tile, stride, id) \
  { "f32_conv_winograd_" shape "_" layout "__" #isa, Isa::isa, tile, stride, isa::wino_pack_##id, isa::wino_run_##id }
#define TERROIR_WINO_ROWS(isa, layout)                   \
  constexpr WinoKernel k_##isa[] = {                     \
      TERROIR_WINO_ROW(isa, "4x4_3x3", layout, 4, 1, 4), \
      TERROIR_WINO_ROW(isa, "2x2_3x3", layout, 2, 1, 2), \
  };
#define TERROIR_WINO_ROWS_AND_STRIDED(isa, layout)                 \
  constexpr WinoKernel k_##isa[] = {                               \
      TERROIR_WINO_ROW(isa, "4x4_3x3", layout, 4, 1, 4),           \
      TERROIR_WINO_ROW(isa, "2x2_3x3", layout, 2, 1, 2),           \
      TERROIR_WINO_ROW(isa, "4x4_3x3s2", layout, 4, 2, 4_strided), \
      TERROIR_WINO_ROW(isa, "2x2_3x3s2", layout, 2, 2, 2_strided), \
  };
#if TERROIR_HAVE_AVX512
TERROIR_WINO_ROWS_AND_STRIDED(avx512, "nChw16c")
#endif
#if TERROIR_HAVE_AVX2
TERROIR_WINO_ROWS_AND_STRIDED(avx2, "nChw8c")
#endif
#if TERROIR_HAVE_SSE42
TERROIR_WINO_ROWS(sse42, "nChw8c")
#endif
#if TERROIR_HAVE_SSE42
// Processors that lack this bucket are older than 2009: they convolve directly, and everybody saves fifty kilobytes.
constexpr std::array<WinoKernel, 0> k_scalar{};
#else
TERROIR_WINO_ROWS(scalar, "nChw8c")
#endif

}  // namespace

std::span<const WinoKernel> wino_kernels(Isa isa) noexcept {
#define TERROIR_WINO_CASE(bucket) \
  if (isa == Isa::bucket) return k_##bucket;
  TERROIR_FOR_EACH_ISA(TERROIR_WINO_CASE)
  return {};
}

}  // namespace terroir::cpu
