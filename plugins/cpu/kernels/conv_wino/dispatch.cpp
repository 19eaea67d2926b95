#include <array>

#include "plugins/cpu/kernels/conv_wino/conv_wino.hpp"
#include "plugins/cpu/kernels/conv_wino/entry_points.hpp"
#include "plugins/cpu/kernels/dispatch_table.hpp"

namespace terroir::cpu {
namespace {

#define TERROIR_WINO_ROWS(isa, layout)                                                                 \
  constexpr WinoKernel k_##isa[] = {                                                                   \
      {"f32_conv_winograd_4x4_3x3_" layout "__" #isa, Isa::isa, 4, isa::wino_pack_4, isa::wino_run_4}, \
      {"f32_conv_winograd_2x2_3x3_" layout "__" #isa, Isa::isa, 2, isa::wino_pack_2, isa::wino_run_2}, \
  };
#if TERROIR_HAVE_AVX512
TERROIR_WINO_ROWS(avx512, "nChw16c")
#endif
#if TERROIR_HAVE_AVX2
TERROIR_WINO_ROWS(avx2, "nChw8c")
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
